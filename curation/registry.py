"""Find dataset families by folder: their names at start, their code at first use."""

from functools import cache
from importlib import import_module
from typing import Any

from hits import registry


@cache
def load_family(name: str) -> Any:
    """Return the ``FAMILY`` of a family's folder; ``curation.versions.families`` returns it as a typed ``Family``.

    Raises:
        PackageNotInstalled: there is no such folder; the message lists the known ones.
        LookupError: its family has another name than the folder.
    """
    modules = registry.family_modules()
    if name not in modules:
        raise registry.PackageNotInstalled(
            f"unknown family {name!r}; known: {', '.join(sorted(modules)) or 'none'}"
        )
    family = import_module(f"{modules[name]}.family").FAMILY
    if family.name != name:
        raise LookupError(f"{modules[name]}: FAMILY.name is {family.name!r}, but the folder is {name!r}")
    return family
