"""The VCR family: a version has triplets, the object lists of their images, and multiple-choice questions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from curation.families.vcr.board_texts import BOARD_TEXTS
from curation.families.vcr.export import vcr_files
from curation.families.vcr.read import check_export
from curation.families.vcr.rows import (
    LEFT_OUT_BEFORE,
    LOST_A_CHOICE,
    NO_CHOICES,
    OBJECT_LIST,
    QUESTION,
    TRIPLET,
    plan_rows,
)
from curation.families.vcr.stats import VcrAccumulator
from curation.models import DatasetVersion
from curation.selectors.interest import INTEREST_RECORD
from curation.versions.board import HELD, PUBLIC, BoardScoring, BoardTexts
from curation.versions.family import Accumulator, Family, Files, Part
from curation.versions.photos import NO_PHOTOS
from curation.versions.plan import Plan
from curation.versions.selection import ExclusionReason


class VcrFamily(Family):
    """Triplets and questions (Zellers et al. 2019), in the published format."""

    name: ClassVar[str] = "vcr"
    title: ClassVar[str] = "VCR"
    parts: ClassVar[tuple[Part, ...]] = (
        Part(TRIPLET, ("triplet", "triplets"), record_type=TRIPLET),
        Part(QUESTION, ("question", "questions"), authors=()),
        Part(OBJECT_LIST, ("object list", "object lists"), authors=()),
    )
    folded_types: ClassVar[frozenset[str]] = frozenset({INTEREST_RECORD})  # as interesting_scores
    exclusion_labels: ClassVar[Mapping[str, str]] = {
        ExclusionReason.SIMULATED: "simulated answers",
        ExclusionReason.IMAGE_TAKEN_DOWN: "triplets on photos that were taken down",
        LOST_A_CHOICE: "questions that lost one of their choices",
        NO_CHOICES: "triplets without four choices in both stages",
        LEFT_OUT_BEFORE: "held questions that an earlier version left out",
    }
    file_labels: ClassVar[Mapping[str, str]] = {
        "public/manifest.json": "Manifest of the published files",
        "public/folds.json": "Films and questions of each fold",
        "public/photos.jsonl": "Credit and licence of each photo",
        "public/test.jsonl": "Questions without answers",
        "held/answer_key.jsonl": "Answer key, never published",
        "held/secrets.json": "Secrets of the question sets, never published",
        "": "Rows, one per line",
    }
    has_photos: ClassVar[bool] = True
    public_folder: ClassVar[str] = PUBLIC
    private_folder: ClassVar[str] = HELD
    board: ClassVar[BoardTexts | None] = BOARD_TEXTS

    def load_board(self) -> BoardScoring:
        """Return what writes and scores leaderboards."""
        from curation.families.vcr.board import BOARD  # noqa: PLC0415 - loads numerical libraries

        return BOARD

    def plan(self, version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
        """Add triplets, object lists and questions."""
        plan_rows(version, plan, report_progress)

    def image_urls(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the address of the row's photo."""
        return (row["image"]["url"],) if "image" in row else ()

    def statistics(self) -> Accumulator:
        """Return a new accumulator of the statistics that Zellers et al. 2019 report."""
        return VcrAccumulator()

    def counts(self, statistics: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the numbers of triplets and questions."""
        found = {TRIPLET: "triplets", QUESTION: "questions", OBJECT_LIST: "object_lists"}
        return {part: statistics.get(name, 0) for part, name in found.items()}

    def files(self, version: DatasetVersion, *, regions: bool = False, photos: str = NO_PHOTOS) -> Files:
        """Yield the published layout, and the files that are held."""
        return vcr_files(version, self.parts, photos=photos)

    def check(self, folder: Path, *, images: Path | None = None) -> int:
        """Verify an exported folder and return its number of triplets."""
        return check_export(folder, images=images)


FAMILY = VcrFamily()
