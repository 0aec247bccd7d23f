"""Old names of the interfaces for authors of kinds and families: refused, since Python would ignore them silently."""

from collections.abc import Mapping


def refuse_renamed(subclass: type, renamed: Mapping[str, str]) -> None:
    """Refuse a class that still defines attributes under their names of an earlier release.

    Raises:
        TypeError: gives the class, the old names and the new ones.
    """
    found = [f"{old} is now called {new}" for old, new in renamed.items() if old in vars(subclass)]
    if found:
        raise TypeError(f"{subclass.__module__}.{subclass.__qualname__}: {'; '.join(found)}")
