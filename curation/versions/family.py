"""What a dataset family is. One folder below ``curation/families`` holds one subclass, in ``family.py``.

A family says which types of records a version of it holds, how they become published rows, and how these are
written as files. Sealing, proving and comparing versions know no family: they loop over its parts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from curation.models import DatasetVersion, VersionRow
from curation.versions.plan import Plan, PlannedRow
from curation.versions.selection import REASON_LABELS
from hits.domain.hashing import canonical_json

CHUNK_SIZE = 1000
Files = Iterator[tuple[str, Iterable[bytes]]]


@dataclass(frozen=True, slots=True)
class Part:
    """One table of a version: its name in seals, what a row and several are called, and who made a row.

    ``record_type``: the records that it is made of, one for each row; none where rows are put together. ``authors``
    name the workers of a row in the file of annotators, in their order.
    """

    name: str
    nouns: tuple[str, str]
    record_type: str | None = None
    authors: tuple[str, ...] = ("worker",)

    def describe_count(self, rows: int) -> str:
        """Return a number of rows in words: ``1 pair``, ``12 pairs``."""
        return f"{rows} {self.nouns[0] if rows == 1 else self.nouns[1]}"


class Accumulator(ABC):
    """Counts rows one at a time, so that a version is never held in memory for its statistics."""

    @abstractmethod
    def add(self, row: PlannedRow) -> None:
        """Count one row."""

    @abstractmethod
    def result(self) -> dict[str, Any]:
        """Return the statistics of all rows so far as plain JSON."""


class RowCounter(Accumulator):
    """Counts rows by part and split, images and annotators: what any family can tell."""

    def __init__(self, images_of: Callable[[Mapping[str, Any]], Iterable[str]]) -> None:
        self._images_of = images_of
        self._rows: dict[str, int] = {}
        self._splits: dict[str, int] = {}
        self._images: set[str] = set()
        self._annotators: set[str] = set()

    def add(self, row: PlannedRow) -> None:
        """Count one row."""
        self._rows[row.part] = self._rows.get(row.part, 0) + 1
        self._splits[row.split or "none"] = self._splits.get(row.split or "none", 0) + 1
        self._images.update(self._images_of(row.row))
        self._annotators.update(row.workers)

    def result(self) -> dict[str, Any]:
        """Return the counts."""
        return {
            "rows": dict(sorted(self._rows.items())),
            "splits": dict(sorted(self._splits.items())),
            "images": len(self._images),
            "annotators": len(self._annotators),
        }


class Family(ABC):
    """One dataset family.

    Class attributes:
        name: the folder's name. title: what pages call it. parts: its tables, the main one first: differences
        between versions are told of the rows of all parts that are made of records.
        exclusion_words: what pages call reasons of the family's own. has_regions: whether exports can bring pictures
        of regions. evaluates: whether its versions can train scorers, be evaluated and open leaderboards.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    parts: ClassVar[tuple[Part, ...]]
    exclusion_labels: ClassVar[Mapping[str, str]] = {}
    file_labels: ClassVar[Mapping[str, str]] = {}
    has_regions: ClassVar[bool] = False
    can_evaluate: ClassVar[bool] = False

    @property
    def main_part(self) -> Part:
        """The part that comes first where there is room for one."""
        return self.parts[0]

    @property
    def compared_parts(self) -> tuple[Part, ...]:
        """The parts whose rows differences tell of: those of records, else the main one."""
        return tuple(part for part in self.parts if part.record_type) or (self.main_part,)

    @property
    def row_nouns(self) -> tuple[str, str]:
        """What one compared row and several are called, of whichever part."""
        return self.main_part.nouns if self.compared_parts == (self.main_part,) else ("record", "records")

    def describe_rows(self, counts: Mapping[str, int]) -> str:
        """Return how many rows of each compared part there are: ``12 objects, 8 moods``."""
        return ", ".join(part.describe_count(counts.get(part.name, 0)) for part in self.compared_parts)

    @property
    def record_types(self) -> tuple[str, ...]:
        """The types of records that versions hold."""
        return tuple(dict.fromkeys(part.record_type for part in self.parts if part.record_type))

    def part(self, name: str) -> Part:
        """Return the part called so.

        Raises:
            LookupError: the family has none.
        """
        for part in self.parts:
            if part.name == name:
                return part
        raise LookupError(f"family {self.name} has no part {name!r}")

    @abstractmethod
    def plan(self, version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
        """Add everything that the version would hold to ``plan``, and note what is left out with its reason.

        ``follow`` is told how many records were read.

        Raises:
            UnknownSplit: an image's split is none that we know.
            InvalidInput: the selection names what the project does not have.
        """

    def count_candidates(self, version: DatasetVersion) -> int:
        """Return how many approved records there are to choose from."""
        from hits.selectors.records import approved_records  # noqa: PLC0415 - rows are read when somebody asks

        return sum(
            approved_records(version.project, record_type).order_by().count()
            for record_type in self.record_types
        )

    def image_urls(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return what a row calls its images."""
        return ()

    @property
    def row_templates(self) -> list[str]:
        """Templates of a ``row`` of a compared ``part`` in lists of changes: the family's own, then its fields."""
        return [f"{self.name}/row.html", "curation/versions/version_row.html"]

    def statistics(self) -> Accumulator:
        """Return what counts a version's rows."""
        return RowCounter(self.image_urls)

    @property
    def statistics_templates(self) -> list[str]:
        """Templates of a version's statistics, as entries of a list: the family's own first, counts as fallback."""
        return [f"{self.name}/statistics.html", "curation/versions/version_statistics.html"]

    def counts(self, statistics: Mapping[str, Any]) -> Mapping[str, int]:
        """Return how many rows of each part a sealed version holds, by its statistics."""
        found: Mapping[str, int] = statistics.get("rows", {})
        return found

    def files(self, version: DatasetVersion, *, regions: bool = False) -> Files:
        """Yield name and content of each file of a sealed version, besides the seal, annotators and statistics.

        By default a file of canonical JSON lines for each part and split. ``regions``: also pictures of regions,
        where the family has them.
        """
        for part in self.parts:
            rows = VersionRow.objects.filter(version=version, part=part.name)
            for split in list(rows.order_by("split").values_list("split", flat=True).distinct()):
                name = f"{part.name}_{split}.jsonl" if split else f"{part.name}.jsonl"
                yield name, row_lines(rows.filter(split=split))

    def regions_left_out(self, version: DatasetVersion, written: Collection[str]) -> list[str]:
        """Return the rows whose region has no picture among the ``written`` files, where the family has them."""
        return []

    def check(self, folder: Path, *, images: Path | None = None) -> int:
        """Prove an exported folder against its seal and return how many rows of the main part there are.

        Raises:
            InvalidInput: a file or row is missing, foreign or changed.
        """
        from curation.versions.proof import check_export_rows  # noqa: PLC0415 - only for families without a reader

        return check_export_rows(
            folder, [self.main_part.name, *(part.name for part in self.parts)], images=images
        )

    def all_exclusion_labels(self) -> dict[str, str]:
        """Return what pages call each reason."""
        return {**REASON_LABELS, **self.exclusion_labels}


def row_lines(rows: Any) -> Iterator[bytes]:
    """Yield rows as canonical JSON lines, in the order in which they were sealed."""
    for row in rows.order_by("pk").values_list("row", flat=True).iterator(chunk_size=CHUNK_SIZE):
        yield canonical_json(row) + b"\n"
