"""Base class of dataset families. Each folder in ``curation/families`` defines a subclass in ``family.py``.

A family defines the types of records its versions contain, how they become published rows, and how rows are written
as files. Sealing, verifying and comparing versions is generic: it loops over the family's parts.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from curation.models import DatasetVersion, VersionRow
from curation.versions.board import BoardScoring, BoardTexts
from curation.versions.photos import NO_PHOTOS
from curation.versions.plan import Plan, PlannedRow
from curation.versions.selection import REASON_LABELS
from hits.domain.hashing import canonical_json
from hits.domain.renamed import RefusesOldNames

CHUNK_SIZE = 1000
Files = Iterator[tuple[str, Iterable[bytes]]]


@dataclass(frozen=True, slots=True)
class Part:
    """A table of a version: its name in checksum lists, the nouns for its rows, and the authors of rows.

    ``record_type``: the records it is made of, one per row; ``None`` if rows are combined from several. ``authors``:
    keys for the workers of a row in the annotators file, in alphabetical order, which canonical JSON keeps.
    """

    name: str
    nouns: tuple[str, str]
    record_type: str | None = None
    authors: tuple[str, ...] = ("worker",)

    def __post_init__(self) -> None:
        if list(self.authors) != sorted(self.authors):
            raise ValueError(f"{self.name}: name its authors {self.authors} in alphabetical order")

    def describe_count(self, rows: int) -> str:
        """Return a number of rows with its noun: ``1 pair``, ``12 pairs``."""
        return f"{rows} {self.nouns[0] if rows == 1 else self.nouns[1]}"


@dataclass(frozen=True, slots=True)
class SealWarnings:
    """What a family says on a version's page before and after sealing; it blocks nothing.

    title: of the section. texts: one warning each. note: if there are none. page: the URL name of the project's page
    that explains them.
    """

    title: str
    texts: Sequence[str]
    note: str
    page: str


class Accumulator(ABC):
    """Accumulates statistics one row at a time, so that a version need not be in memory."""

    @abstractmethod
    def add(self, row: PlannedRow) -> None:
        """Count one row."""

    @abstractmethod
    def result(self) -> dict[str, Any]:
        """Return the statistics of all rows so far as plain JSON."""


class RowCounter(Accumulator):
    """Counts rows by part and split, images and annotators, for any family."""

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


class Family(RefusesOldNames, ABC):
    """A dataset family.

    Class attributes:
        name: the folder's name. title: the name on pages. parts: its tables, the main one first; versions are
        compared by the rows of all parts made of records. folded_types: types of records without rows of their own,
        because rows made of other records hold their content. exclusion_labels: labels of the family's own exclusion
        reasons.
        has_regions: whether exports can include pictures of regions. has_photos: whether exports can include the
        photos themselves. can_evaluate: whether its versions can train and evaluate scorers. board: what pages say
        about leaderboards of its versions, which ``load_board`` writes and scores; None without leaderboards.
        public_folder, private_folder: the folders of an export with the files that are published, and with those
        that never are, if versions hold answers that a leaderboard keeps. The manifest and the checksums are private
        then: from the hash of a row, anybody could find out its answer by trying all of them. A family in which only
        some versions hold answers overrides ``folders``. has_columns: whether exports have a table whose columns a
        file can rename. selects_records: whether decisions and audits choose what a version has. everything: what
        a version has without such a choice.
    """

    RENAMED = {
        "evaluates": "can_evaluate",
        "exclusion_words": "exclusion_labels",
        "file_words": "file_labels",
        "rows_in_words": "describe_rows",
        "candidates": "count_candidates",
    }
    name: ClassVar[str]
    title: ClassVar[str]
    parts: ClassVar[tuple[Part, ...]]
    folded_types: ClassVar[frozenset[str]] = frozenset()
    selects_records: ClassVar[bool] = True
    everything: ClassVar[str] = "All approved records"
    exclusion_labels: ClassVar[Mapping[str, str]] = {}
    file_labels: ClassVar[Mapping[str, str]] = {}
    has_regions: ClassVar[bool] = False
    has_photos: ClassVar[bool] = False
    public_folder: ClassVar[str] = ""
    private_folder: ClassVar[str] = ""
    has_columns: ClassVar[bool] = False
    can_evaluate: ClassVar[bool] = False
    board: ClassVar[BoardTexts | None] = None

    @property
    def main_part(self) -> Part:
        """The first part, used where only one is shown."""
        return self.parts[0]

    @property
    def compared_parts(self) -> tuple[Part, ...]:
        """The parts by which versions are compared: those made of records, or else the main one."""
        return tuple(part for part in self.parts if part.record_type) or (self.main_part,)

    @property
    def row_nouns(self) -> tuple[str, str]:
        """The singular and plural nouns for compared rows of any part."""
        return self.main_part.nouns if self.compared_parts == (self.main_part,) else ("record", "records")

    def describe_rows(self, counts: Mapping[str, int]) -> str:
        """Return the number of rows of each compared part: ``12 objects, 8 moods``."""
        return ", ".join(part.describe_count(counts.get(part.name, 0)) for part in self.compared_parts)

    @property
    def record_types(self) -> tuple[str, ...]:
        """The types of records that are rows of versions."""
        return tuple(dict.fromkeys(part.record_type for part in self.parts if part.record_type))

    @property
    def used_types(self) -> tuple[str, ...]:
        """The types of records that versions contain: as rows, or within rows."""
        return (*self.record_types, *sorted(self.folded_types))

    @abstractmethod
    def plan(self, version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
        """Add all rows of the version to ``plan``, and all excluded rows with their reason.

        ``report_progress`` is called with the number of records read.

        Raises:
            UnknownSplit: an image's split is unknown.
            InvalidInput: the selection names something the project does not have.
        """

    def load_board(self) -> BoardScoring:
        """Return what writes and scores leaderboards of this family's versions.

        Raises:
            NotImplementedError: the family has no leaderboards.
        """
        raise NotImplementedError(f"family {self.name} has no leaderboards")

    def count_candidates(self, version: DatasetVersion) -> int:
        """Return the number of approved records that a version can select from."""
        from hits.selectors.records import approved_records  # noqa: PLC0415 - rows are read when somebody asks

        found = (approved_records(version.project, record_type) for record_type in self.record_types)
        return sum(records.order_by().count() for records in found)

    def image_urls(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the urls of a row's images."""
        return ()

    @property
    def row_templates(self) -> list[str]:
        """Templates of a changed row (context ``row`` and ``part``): the family's, or else a generic one."""
        return [f"{self.name}/row.html", "curation/versions/version_row.html"]

    def statistics(self) -> Accumulator:
        """Return an accumulator of a version's statistics."""
        return RowCounter(self.image_urls)

    @property
    def statistics_templates(self) -> list[str]:
        """Templates of a version's statistics, as list entries: the family's own, or else plain counts."""
        return [f"{self.name}/statistics.html", "curation/versions/version_statistics.html"]

    def counts(self, statistics: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the number of rows of each part of a sealed version, from its statistics."""
        found: Mapping[str, int] = statistics.get("rows", {})
        return found

    def folders(self, version: DatasetVersion) -> tuple[str, str]:
        """Return the public and the private folder of a version's export; both are empty if it holds no answers."""
        return self.public_folder, self.private_folder

    def private_name(self, version: DatasetVersion, name: str) -> str:
        """Return the path, within an export, of a file that is common to all families and never published."""
        private = self.folders(version)[1]
        return f"{private}/{name}" if private else name

    def warnings(self, version: DatasetVersion) -> SealWarnings | None:
        """Return what somebody should know before they seal or use a version; ``None`` if there is nothing to say."""
        return None

    def files(self, version: DatasetVersion, *, regions: bool = False, photos: str = NO_PHOTOS) -> Files:
        """Yield the name and content of each file of a sealed version, without those common to all families.

        By default, one file of canonical JSON lines per part and split. With ``regions``, also pictures of regions if
        the family has them; with ``photos`` (of ``curation.versions.photos.PHOTO_CHOICES``), also the photos.
        """
        yield from row_files(version, self.parts)

    def files_with_columns(self, version: DatasetVersion, columns: Path) -> Files:
        """Yield the same files, with the columns of the table renamed by a file; for families with ``has_columns``.

        Raises:
            InvalidInput: the file cannot be used.
        """
        raise NotImplementedError(f"family {self.name} has no table")

    def regions_left_out(self, version: DatasetVersion, written: Collection[str]) -> list[str]:
        """Return the rows whose region picture is not among the ``written`` files, if the family has pictures."""
        return []

    def check(self, folder: Path, *, images: Path | None = None) -> int:
        """Verify an exported folder against its checksums and return the number of rows of the main part.

        Raises:
            InvalidInput: a file or row is missing, unexpected or changed.
        """
        from curation.versions.proof import check_export_rows  # noqa: PLC0415 - only for families without a reader

        names = [self.main_part.name, *(part.name for part in self.parts)]
        return check_export_rows(folder, names, images=images, private_folder=self.private_folder)

    def all_exclusion_labels(self) -> dict[str, str]:
        """Return the labels of all exclusion reasons."""
        return {**REASON_LABELS, **self.exclusion_labels}


def row_files(version: DatasetVersion, parts: Iterable[Part]) -> Files:
    """Yield the files of canonical JSON lines of some parts: ``riddle_train.jsonl``, or ``riddle.jsonl`` unsplit."""
    for part in parts:
        rows = VersionRow.objects.filter(version=version, part=part.name)
        for split in list(rows.order_by("split").values_list("split", flat=True).distinct()):
            name = f"{part.name}_{split}.jsonl" if split else f"{part.name}.jsonl"
            yield name, row_lines(rows.filter(split=split))


def row_lines(rows: Any) -> Iterator[bytes]:
    """Yield rows as canonical JSON lines, in sealed order."""
    return (canonical_json(row) + b"\n" for row in row_contents(rows))


def row_contents(rows: Any) -> Iterator[dict[str, Any]]:
    """Yield the content of rows, in sealed order."""
    yield from rows.order_by("pk").values_list("row", flat=True).iterator(chunk_size=CHUNK_SIZE)
