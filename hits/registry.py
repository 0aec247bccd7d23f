"""Find HIT kinds and dataset families by folder.

A kind is a folder in one of ``settings.HIT_KIND_PACKAGES`` that has a ``kind.py`` with a module-level ``KIND``. The
names come from the folders at start; the code of a kind is imported at its first use.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hits.domain.states import Purpose

if TYPE_CHECKING:
    from hits.kind import HitKind


class PackageNotInstalled(LookupError):
    """A kind or family whose folder is in none of this process's packages, though rows may name it."""


def list_apps_with_file(packages: list[str], file: str) -> list[str]:
    """Return the dotted names of all kinds (``file`` is ``kind.py``) or families (``family.py``) in the packages.

    They are sorted, for ``INSTALLED_APPS``: kinds and families may have templates.
    """
    return sorted(f"{package}.{name}" for package in packages for name in _folders_with_file(package, file))


def kind_names() -> list[str]:
    """Return the names of all kinds, sorted."""
    return sorted(_kind_modules())


def get_kind(name: str) -> "HitKind":
    """Return the kind called ``name``.

    Raises:
        PackageNotInstalled: no kind has that name; the message lists the known kinds.
    """
    modules = _kind_modules()
    if name not in modules:
        raise PackageNotInstalled(f"unknown HIT kind {name!r}; known: {', '.join(sorted(modules)) or 'none'}")
    return _load_kind(modules[name])


def collecting_kinds_of(family: str) -> list[str]:
    """Return the names of the collecting kinds that declare a dataset family."""
    return [name for name in kinds_with_purpose(Purpose.COLLECTING) if family in get_kind(name).families]


def kind_that_collects(record_type: str) -> "HitKind":
    """Return the first kind that collects records of a type.

    Raises:
        LookupError: no kind does.
    """
    for name in kinds_with_purpose(Purpose.COLLECTING):
        if record_type in get_kind(name).record_types:
            return get_kind(name)
    raise LookupError(f"no kind collects records of type {record_type!r}")


def family_names() -> list[str]:
    """Return the names of all dataset families, sorted; the apps above define what a family is."""
    return sorted(family_modules())


def family_modules() -> dict[str, str]:
    """Return the dotted name of each family's package, found in ``settings.FAMILY_PACKAGES`` by its ``family.py``."""
    return _find_packages("FAMILY_PACKAGES", "family.py", "families")


def kind_module(name: str) -> str:
    """Return the dotted name of a kind's package.

    Raises:
        LookupError: no kind has that name.
    """
    get_kind(name)
    return _kind_modules()[name]


@cache
def kinds_with_purpose(*purposes: Purpose) -> tuple[str, ...]:
    """Return the names of the kinds with one of the ``purposes``, sorted."""
    return tuple(name for name in kind_names() if get_kind(name).purpose in purposes)


@cache
def _load_kind(module: str) -> "HitKind":
    kind: HitKind = import_module(f"{module}.kind").KIND
    folder = module.rsplit(".", 1)[1]
    if kind.name != folder:
        raise LookupError(f"{module}: KIND.name is {kind.name!r}, but the folder is called {folder!r}")
    return kind


def _kind_modules() -> dict[str, str]:
    return _find_packages("HIT_KIND_PACKAGES", "kind.py", "HIT kinds")


@cache
def _find_packages(setting: str, file: str, what: str) -> dict[str, str]:
    from django.conf import settings  # noqa: PLC0415 - settings themselves call list_apps_with_file()

    found: dict[str, str] = {}
    for package in getattr(settings, setting):
        for name in _folders_with_file(package, file):
            if name in found:
                raise LookupError(f"two {what} are called {name!r}: {found[name]} and {package}.{name}")
            found[name] = f"{package}.{name}"
    return found


def _folders_with_file(package: str, file: str) -> list[str]:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    return [
        path.parent.name
        for root in spec.submodule_search_locations
        for path in sorted(Path(root).glob(f"*/{file}"))
    ]
