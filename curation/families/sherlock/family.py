"""The Sherlock family: a version has observation pairs, and rated comparison sets of their inferences."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from curation.families.sherlock.board_texts import BOARD_TEXTS
from curation.families.sherlock.export import regions_left_out, sherlock_files
from curation.families.sherlock.read import check_export
from curation.families.sherlock.rows import SET_LOST_A_PAIR, plan_rows
from curation.families.sherlock.stats import CorpusCounter
from curation.models import DatasetVersion, Pair
from curation.models import Part as PartName
from curation.versions.board import BoardScoring, BoardTexts
from curation.versions.family import Accumulator, Family, Files, Part
from curation.versions.photos import NO_PHOTOS
from curation.versions.plan import Plan, PlannedRow
from curation.versions.selection import ExclusionReason


class CorpusAccumulator(Accumulator):
    """The statistics that Hessel et al. 2022 report, and the numbers of comparison sets and judgments."""

    def __init__(self) -> None:
        self._pairs, self._annotators = CorpusCounter(), set[str]()
        self._sets = self._judgments = 0

    def add(self, row: PlannedRow) -> None:
        """Count one row."""
        if row.part == PartName.COMPARISON:
            self._sets += 1
            self._judgments += 2 * len(row.row["candidates"])
            return
        self._pairs.add(row.row, row.split)
        self._annotators.update(row.workers)

    def result(self) -> dict[str, Any]:
        """Return the statistics."""
        return self._pairs.result().as_dict() | {
            "annotators": len(self._annotators),
            "comparison_sets": self._sets,
            "judgments": self._judgments,
        }


class SherlockFamily(Family):
    """Observation pairs (Hessel et al. 2022, §3) and comparison sets (§4.3), in the published format."""

    name: ClassVar[str] = "sherlock"
    title: ClassVar[str] = "Sherlock"
    has_regions: ClassVar[bool] = True
    can_evaluate: ClassVar[bool] = True
    board: ClassVar[BoardTexts | None] = BOARD_TEXTS
    parts: ClassVar[tuple[Part, ...]] = (
        Part(PartName.OBSERVATION, ("pair", "pairs"), record_type=Pair.TYPE),
        Part(PartName.COMPARISON, ("comparison set", "comparison sets"), authors=("annot1", "annot2")),
    )
    exclusion_labels: ClassVar[Mapping[str, str]] = {
        ExclusionReason.SIMULATED: "simulated answers",
        ExclusionReason.IMAGE_TAKEN_DOWN: "pairs on photos that were taken down",
        SET_LOST_A_PAIR: "comparison sets that lost one of their pairs",
    }
    file_labels: ClassVar[Mapping[str, str]] = {
        "comparison/instances.json": "Leaderboard instances",
        "comparison/answer_key.json": "Leaderboard answer key",
        "comparison/instance_ids.json": "Leaderboard ids, sorted",
        "": "Sherlock JSON",
    }

    def load_board(self) -> BoardScoring:
        """Return what writes and scores leaderboards."""
        from curation.families.sherlock.board import BOARD  # noqa: PLC0415 - loads numerical libraries

        return BOARD

    def plan(self, version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
        """Add pairs and comparison sets."""
        plan_rows(version, plan, report_progress)

    def image_urls(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the address of the pair's photo."""
        return (row["inputs"]["image"]["url"],)

    def statistics(self) -> Accumulator:
        """Return a new accumulator of the statistics that Hessel et al. 2022 report."""
        return CorpusAccumulator()

    def counts(self, statistics: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the numbers of pairs and of comparison sets."""
        return {
            PartName.OBSERVATION: statistics.get("pairs", 0),
            PartName.COMPARISON: statistics.get("comparison_sets", 0),
        }

    def files(self, version: DatasetVersion, *, regions: bool = False, photos: str = NO_PHOTOS) -> Files:
        """Yield the published JSON by split, and the leaderboard's files."""
        return sherlock_files(version, regions=regions)

    def regions_left_out(self, version: DatasetVersion, written: Collection[str]) -> list[str]:
        """Return the ids of the comparison sets without a region picture among the ``written`` files."""
        return regions_left_out(version, written)

    def check(self, folder: Path, *, images: Path | None = None) -> int:
        """Verify an exported folder and return its number of pairs."""
        return check_export(folder, images=images)


FAMILY = SherlockFamily()
