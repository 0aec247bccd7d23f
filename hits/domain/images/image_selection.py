"""The selection of a project's photos for a launch, as plain data that is stored with the batch."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from random import Random
from typing import Any


class SelectionMethod(StrEnum):
    """How photos are selected."""

    ALL = "all"
    FIRST = "first"
    RANDOM = "random"
    NAMED = "named"


class ImageSelectionError(ValueError):
    """A selection that is not possible; ``field`` names the wrong field."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class ImageSelection:
    """All photos, the first ``n``, ``n`` random ones by ``seed``, or ``names``; within a split or source if given.

    ``again``: include photos that a batch of the kind showed already. ``options`` are values of the options of the
    kind's planner (``hits.selectors.unit_planners``).
    """

    how: SelectionMethod = SelectionMethod.ALL
    n: int | None = None
    seed: int | None = None
    names: tuple[str, ...] = ()
    split: str = ""
    source: str = ""
    again: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def as_row(self) -> dict[str, Any]:
        """Return the selection as plain data, without empty fields."""
        own = {"how": self.how.value, "names": list(self.names), "options": dict(self.options)}
        row: Mapping[str, Any] = asdict(self) | own
        return {key: value for key, value in row.items() if value not in (None, "", [], {}, False)}

    def select(self, photos: Sequence[tuple[int, str]]) -> list[int]:
        """Return the ids of the selected photos, given (id, name) pairs, in their order.

        Raises:
            ImageSelectionError: there are fewer photos than requested, or a name matches none or several.
        """
        ids = [pk for pk, _ in photos]
        if self.how is SelectionMethod.NAMED:
            return _find_named(photos, self.names)
        if self.how is SelectionMethod.ALL:
            return ids
        if not self.n or self.n < 1:
            raise ImageSelectionError("n", "Enter the number of photos.")
        if self.n > len(ids):
            raise ImageSelectionError("n", f"There are {len(ids)} photos; use that number or fewer.")
        if self.how is SelectionMethod.FIRST:
            return ids[: self.n]
        if self.seed is None:
            raise ImageSelectionError("seed", "Give a seed, a whole number from 0.")
        indices = Random(self.seed).sample(range(len(ids)), self.n)  # noqa: S311 - a sample, no secret
        return [ids[index] for index in sorted(indices)]


def _find_named(photos: Sequence[tuple[int, str]], names: Sequence[str]) -> list[int]:
    by_name: dict[str, list[int]] = {}
    for pk, name in photos:
        by_name.setdefault(name, []).append(pk)
        by_name.setdefault(str(pk), []).append(pk)
    if not names:
        raise ImageSelectionError("names", "Enter the photos’ names, one per line.")
    for name in names:
        found = len(by_name.get(name, ()))
        if found != 1:
            problem = (
                "is none of these photos" if not found else f"matches {found} photos; use the photo’s number"
            )
            raise ImageSelectionError("names", f"{name}: {problem}.")
    return list(dict.fromkeys(by_name[name][0] for name in names))
