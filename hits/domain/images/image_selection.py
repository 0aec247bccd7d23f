"""Which of a project's photos a launch takes, as plain data that is kept with the batch."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from random import Random
from typing import Any


class How(StrEnum):
    """How photos are taken from those that there are."""

    ALL = "all"
    FIRST = "first"
    RANDOM = "random"
    NAMED = "named"


class ChoiceError(ValueError):
    """A choice that cannot be made; ``field`` names what to mend."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class PhotoChoice:
    """All photos, the first ``n``, ``n`` drawn with ``seed``, or those of ``names``; of one split or source if named.

    ``again``: also photos that a batch of the kind showed already.
    """

    how: How = How.ALL
    n: int | None = None
    seed: int | None = None
    names: tuple[str, ...] = ()
    split: str = ""
    source: str = ""
    again: bool = False

    def as_row(self) -> dict[str, Any]:
        """Return the choice as plain data, without what says nothing."""
        row: Mapping[str, Any] = asdict(self) | {"how": self.how.value, "names": list(self.names)}
        return {key: value for key, value in row.items() if value not in (None, "", [], False)}

    def of(self, photos: Sequence[tuple[int, str]]) -> list[int]:
        """Return the ids that are chosen from photos (id, name) in their order; drawn ones in that order, too.

        Raises:
            ChoiceError: fewer photos than asked for, or a name that none or several of them have.
        """
        ids = [pk for pk, _ in photos]
        if self.how is How.NAMED:
            return _named(photos, self.names)
        if self.how is How.ALL:
            return ids
        if not self.n or self.n < 1:
            raise ChoiceError("n", "Say how many photos.")
        if self.n > len(ids):
            raise ChoiceError("n", f"There are {len(ids)} photos; use that or fewer.")
        if self.how is How.FIRST:
            return ids[: self.n]
        if self.seed is None:
            raise ChoiceError("seed", "Give a seed, a whole number from 0.")
        places = Random(self.seed).sample(range(len(ids)), self.n)  # noqa: S311 - a sample, no secret
        return [ids[place] for place in sorted(places)]


def _named(photos: Sequence[tuple[int, str]], names: Sequence[str]) -> list[int]:
    by_name: dict[str, list[int]] = {}
    for pk, name in photos:
        by_name.setdefault(name, []).append(pk)
        by_name.setdefault(str(pk), []).append(pk)
    if not names:
        raise ChoiceError("names", "Name the photos, one a line.")
    for name in names:
        found = len(by_name.get(name, ()))
        if found != 1:
            why = "is none of these photos" if not found else f"are {found} photos; use the photo’s number"
            raise ChoiceError("names", f"{name}: {why}.")
    return list(dict.fromkeys(by_name[name][0] for name in names))
