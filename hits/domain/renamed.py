"""Old names of the interfaces for authors of kinds and families: refused, since Python would ignore them silently."""

from collections.abc import Mapping
from typing import Any, ClassVar


class RefusesOldNames:
    """A base class whose subclasses may not define attributes under their names of an earlier release.

    Class attributes:
        RENAMED: the new name of each old one.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a subclass that still defines an old name.

        Raises:
            TypeError: gives the class, the old names and the new ones.
        """
        super().__init_subclass__(**options)
        found = [f"{old} is now called {new}" for old, new in cls.RENAMED.items() if old in vars(cls)]
        if found:
            raise TypeError(f"{cls.__module__}.{cls.__qualname__}: {'; '.join(found)}")
