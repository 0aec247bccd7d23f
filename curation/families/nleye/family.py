"""The NL-Eye family: a version has image triplets, their provenance, people's answers and explanations."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from curation.families.nleye.board_texts import BOARD_TEXTS
from curation.families.nleye.export import METADATA, PROVENANCE_FILE, holds_answers, nleye_files
from curation.families.nleye.read import check_export
from curation.families.nleye.rows import (
    AGAINST_GOLD,
    ANSWER,
    DROPPED,
    EXPLANATION,
    HIDDEN_IMAGE,
    NO_EXPLANATION,
    NOT_ALIGNED,
    PROVENANCE,
    SCENE_NOT_KEPT,
    SCENE_REASONS,
    TEST_DRAWING,
    TO_REVISE,
    TOO_FEW_ANSWERS,
    TRIPLET,
    UNKNOWN_LICENCE,
    plan_rows,
)
from curation.families.nleye.stats import NlEyeAccumulator
from curation.families.nleye.warnings import seal_warnings
from curation.models import DatasetVersion
from curation.selectors.triplets.scenes import SceneState
from curation.selectors.triplets.triplets import triplets_with_images
from curation.versions.board import HELD, PUBLIC, BoardScoring, BoardTexts
from curation.versions.family import Accumulator, Family, Files, Part, SealWarnings
from curation.versions.photos import NO_PHOTOS
from curation.versions.plan import Plan
from curation.versions.selection import ExclusionReason


class NlEyeFamily(Family):
    """Image triplets (Ventura et al. 2025), in the published format."""

    name: ClassVar[str] = "nleye"
    title: ClassVar[str] = "NL-Eye"
    parts: ClassVar[tuple[Part, ...]] = (
        Part(TRIPLET, ("triplet", "triplets"), authors=("explainer", "writer")),
        Part(PROVENANCE, ("origin of images", "origins of images"), authors=()),
        Part(ANSWER, ("answer", "answers"), authors=()),
        Part(EXPLANATION, ("explanation", "explanations"), authors=()),
    )
    # Scenes and explanations of workers become triplets, which are no records themselves.
    folded_types: ClassVar[frozenset[str]] = frozenset({"scene", "nleye_explanation"})
    selects_records: ClassVar[bool] = False
    everything: ClassVar[str] = "All triplets that nothing blocks"
    exclusion_labels: ClassVar[Mapping[str, str]] = {
        ExclusionReason.SIMULATED: "simulated scenes or explanations",
        ExclusionReason.IMAGE_TAKEN_DOWN: "triplets with an image that was taken down",
        SCENE_REASONS[SceneState.DROPPED]: "triplets of dropped scenes",
        SCENE_REASONS[SceneState.TO_REVISE]: "triplets of scenes to revise",
        SCENE_REASONS[SceneState.REPLACED]: "triplets of scenes that a revision replaced",
        SCENE_NOT_KEPT: "triplets of scenes whose readers have not agreed to keep them",
        DROPPED: "dropped triplets",
        TO_REVISE: "triplets to revise",
        AGAINST_GOLD: "triplets whose majority is against gold, and that nobody decided about",
        HIDDEN_IMAGE: "triplets with an image that a safety checker flagged",
        TEST_DRAWING: "triplets with test drawings",
        UNKNOWN_LICENCE: "triplets with images of unknown licence",
        NO_EXPLANATION: "triplets without a gold explanation",
        NOT_ALIGNED: "triplets whose images do not show their texts",
        TOO_FEW_ANSWERS: "triplets with fewer than three answers of people",
    }
    file_labels: ClassVar[Mapping[str, str]] = {
        "README.md": "Card of the dataset",
        "test_set.csv": "Table of the triplets",
        METADATA: "Names and facets of the images",
        PROVENANCE_FILE: "Origin of each image",
        "nleye_answer.jsonl": "People’s answers",
        "nleye_explanation.jsonl": "Explanations with their votes",
        "": "Rows, one per line",
    }
    has_columns: ClassVar[bool] = True
    board: ClassVar[BoardTexts | None] = BOARD_TEXTS

    def load_board(self) -> BoardScoring:
        """Return what writes and scores leaderboards."""
        from curation.families.nleye.board import BOARD  # noqa: PLC0415 - loads numerical libraries

        return BOARD

    def folders(self, version: DatasetVersion) -> tuple[str, str]:
        """Return the folders of a version that holds its answers back; others have none."""
        return (PUBLIC, HELD) if holds_answers(version) else ("", "")

    def plan(self, version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
        """Add triplets with their provenance, answers and explanations."""
        plan_rows(version, plan, report_progress)

    def count_candidates(self, version: DatasetVersion) -> int:
        """Return the number of triplets whose images are all available."""
        return triplets_with_images(version.project).order_by().count()

    def statistics(self) -> Accumulator:
        """Return a new accumulator of the statistics that Ventura et al. 2025 report."""
        return NlEyeAccumulator()

    def counts(self, statistics: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the numbers of triplets, answers and explanations."""
        found = {TRIPLET: "triplets", ANSWER: "answers", EXPLANATION: "explanations"}
        return {part: statistics.get(name, 0) for part, name in found.items()}

    def image_urls(self, row: Mapping[str, Any]) -> Sequence[str]:
        """Return the addresses of the images in a row of provenance."""
        return tuple(
            value["file"] for value in row.values() if isinstance(value, Mapping) and "file" in value
        )

    def warnings(self, version: DatasetVersion) -> SealWarnings:
        """Return the flags of the newest audit: that of a draft's project, or the one that was sealed along."""
        return seal_warnings(version)

    def files(self, version: DatasetVersion, *, regions: bool = False, photos: str = NO_PHOTOS) -> Files:
        """Yield the published layout, with provenance, answers and explanations beside it."""
        return nleye_files(version)

    def files_with_columns(self, version: DatasetVersion, columns: Path) -> Files:
        """Yield the same files with the columns of the table renamed."""
        return nleye_files(version, columns=columns)

    def check(self, folder: Path, *, images: Path | None = None) -> int:
        """Verify an exported folder: checksums, rows, table and pictures."""
        return check_export(folder, images=images)


FAMILY = NlEyeFamily()
