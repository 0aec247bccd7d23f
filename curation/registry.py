"""Find dataset families by folder: names at start, code when it is first asked for."""

from functools import cache
from importlib import import_module
from typing import Any

from hits import registry


def names() -> list[str]:
    """Return the names of all families, sorted."""
    return registry.family_names()


@cache
def load(name: str) -> Any:
    """Return the ``FAMILY`` of a family's folder; ``curation.versions.families`` gives it its type.

    Raises:
        NotInstalled: there is no such folder; the message lists the known ones.
        LookupError: its family is called otherwise.
    """
    modules = registry.family_modules()
    if name not in modules:
        raise registry.NotInstalled(f"unknown family {name!r}; known: {', '.join(sorted(modules)) or 'none'}")
    family = import_module(f"{modules[name]}.family").FAMILY
    if family.name != name:
        raise LookupError(
            f"{modules[name]}: FAMILY.name is {family.name!r}, but the folder is called {name!r}"
        )
    return family
