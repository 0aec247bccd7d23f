"""What a family provides so that its versions can have leaderboards.

``BoardTexts`` is plain and belongs to pages. ``BoardScoring`` writes a board's files, reads submissions and scores
them; it may load numerical libraries, so a family returns it from ``load_board`` only when a job runs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from curation.evaluation.answer_keys import AnswerKeyFolder, Subset, make_subsets
from curation.models import DatasetVersion

PUBLIC, HELD = (
    "public",
    "held",
)  # subfolders of a board: what teams can download, and what never leaves the server
ProgressReport = Callable[[int, int], None]


class BrokenKey(Exception):
    """An answer key is missing or damaged. The message is one line without a remedy; ``__cause__`` has the reason."""


@dataclass(frozen=True, slots=True)
class BoardTexts:
    """A board's texts and what its pages offer.

    part: the part of the version whose rows are scored. measures_source, measures_doi: where the measures were
    published. layout_template: how to submit. data_note: what an instance is. interval_note: what intervals are drawn
    over. references: what the rows of people and
    of chance mean, by name. has_proposals: whether boxes of a detector can be scored too. details_template: further
    figures of an entry (context ``entry``), or none.
    """

    part: str
    measures_source: str
    measures_doi: str
    layout_template: str
    data_note: str
    interval_note: str
    references: Mapping[str, str]
    has_proposals: bool = False
    details_template: str = ""


@dataclass(frozen=True, slots=True)
class WrittenBoard:
    """A board's written files.

    expected: number of scores of each file of a submission, by name without suffix. left_out: numbers of excluded
    rows, by reason. sha256: of the manifest. image_names: the name of each image in the public files, by its address
    in the version; teams can download these images.
    """

    expected: Mapping[str, int]
    left_out: Mapping[str, int]
    sha256: str
    image_names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ScoredSubmission:
    """A submission's figures on the public rows, and on the private ones if there are any; notes for the team."""

    figures: dict[str, Any]
    private_figures: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


class BoardScoring(ABC):
    """Writes and scores the boards of a family. ``folder`` is always the board's folder."""

    texts: ClassVar[BoardTexts]

    @abstractmethod
    def write(
        self,
        version: DatasetVersion,
        *,
        split: str,
        folder: Path,
        options: Mapping[str, Any],
        report_progress: ProgressReport,
    ) -> WrittenBoard:
        """Write public files and answer keys into a new folder.

        Args:
            split: empty for all rows. options: those of the leaderboard, such as ``private_share`` in percent.

        Raises:
            InvalidInput: the version has no usable rows there.
        """

    @abstractmethod
    def key_facts(self, folder: Path, written: WrittenBoard, private_name: str) -> dict[str, Any]:
        """Return what follows from the keys, to be stored with the board.

        ``references``: figures of people and of chance; ``counts``: sample sizes by measure; ``without``: measures
        that cannot be measured; ``largest``: bytes of the largest submission; under ``private_name`` references and
        counts of the private rows, if there are any.
        """

    @abstractmethod
    def score(
        self,
        path: Path,
        *,
        file_name: str,
        folder: Path,
        expected: Mapping[str, int],
        has_private: bool,
        rng: np.random.Generator,
        report_read: Callable[[], None],
    ) -> ScoredSubmission:
        """Read a submission and return its figures; call ``report_read`` between both.

        Args:
            path: the stored zip. file_name: its name as it was uploaded. has_private: whether the board has private
                rows. rng: draws the intervals.

        Raises:
            InvalidInput: the submission cannot be scored; the message may name paths on this server.
            BrokenKey: an answer key is missing or damaged.
        """


def public_and_private_subsets(folder: Path, has_private: bool) -> list[Subset]:
    """Return the subset of a board's public rows, and the subset of its private ones, if there are any.

    Raises:
        BrokenKey: the list of private photos is missing or damaged.
    """
    try:
        kept = AnswerKeyFolder(folder / HELD).held_out_names()
    except (ValueError, LookupError, TypeError, OSError) as error:
        raise BrokenKey("the list of private photos is damaged") from error
    if bool(kept) != has_private:
        raise BrokenKey("the list of private photos is missing")
    return make_subsets(kept)


def interval_generator(sha256: str) -> np.random.Generator:
    """Return the generator for a board's intervals, with a fixed seed so that equal scores have equal intervals."""
    return np.random.default_rng(int(sha256[:15], 16))
