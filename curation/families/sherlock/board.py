"""Leaderboards of Sherlock's versions: retrieval, localization and comparison (Hessel et al. 2022 §4)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from curation.evaluation import answer_keys
from curation.evaluation.figures import comparison_figures_without_model
from curation.evaluation.localization import LocalizationKey, chance_shares
from curation.evaluation.retrieval import RetrievalKey, retrieval_chance_figures
from curation.evaluation.submission import max_submission_bytes, read_submission, score_subsets
from curation.families.sherlock.board_texts import BOARD_TEXTS
from curation.families.sherlock.evaluation_sets import write_evaluation_sets
from curation.models import DatasetVersion, ProposalRun
from curation.records import InvalidInput
from curation.versions.board import (
    HELD,
    BoardScoring,
    BoardTexts,
    BrokenKey,
    ProgressReport,
    ScoredSubmission,
    WrittenBoard,
    interval_generator,
    public_and_private_subsets,
)


class HeldKeys:
    """A board's answer keys. A defect of a key raises BrokenKey; no submission is refused for it."""

    def __init__(self, folder: Path, expected: Mapping[str, int]) -> None:
        self._expected = expected
        self._held = answer_keys.AnswerKeyFolder(folder / HELD)

    def raw_key(self, name: str) -> Mapping[str, Any]:
        """Return the key of one file. Raises BrokenKey if it is missing, unreadable or incomplete."""
        try:
            raw = self._held.raw_key(name)
            ids = len(raw["test_id_map"] if name == answer_keys.COMPARISON else raw)
        except (ValueError, LookupError, TypeError, OSError) as error:  # InvalidInput is a ValueError
            raise BrokenKey(f"the answer key of {name} is missing or damaged") from error
        if ids != self._expected[name]:
            raise BrokenKey(
                f"the answer key of {name} has {ids} test ids, but {self._expected[name]} were written"
            )
        return raw


class SherlockBoard(BoardScoring):
    """The published tasks on a split of a sealed version."""

    texts: ClassVar[BoardTexts] = BOARD_TEXTS

    def write(
        self,
        version: DatasetVersion,
        *,
        split: str,
        folder: Path,
        options: Mapping[str, Any],
        report_progress: ProgressReport,
    ) -> WrittenBoard:
        """Write the evaluation sets; see ``BoardScoring.write``."""
        proposals = None
        if options.get("proposals"):
            proposals = ProposalRun.objects.filter(pk=options["proposals"]).first()
            if proposals is None:
                raise InvalidInput("proposals: the run no longer exists; create another leaderboard")
        written = write_evaluation_sets(
            version,
            split=split,
            out=folder,
            proposals=proposals,
            private_percent=options.get("private_share", 0),
            report_progress=report_progress,
        )
        return WrittenBoard(
            expected=written.expected_counts,
            left_out=written.left_out,
            sha256=written.manifest_sha256,
            image_names={url: url for url in written.photo_urls},
        )

    def key_facts(self, folder: Path, written: WrittenBoard, private_name: str) -> dict[str, Any]:
        """Return human agreement, chance levels and sample sizes; see ``BoardScoring.key_facts``."""
        key_folder = answer_keys.AnswerKeyFolder(folder / HELD)
        public, *private = answer_keys.make_subsets(key_folder.held_out_names())
        facts = _subset_facts(key_folder, written, public)
        return {
            **facts,
            **({private_name: _subset_facts(key_folder, written, private[0])} if private else {}),
            "without": [name for name, count in facts["counts"].items() if not count],
            "largest": max_submission_bytes(written.expected),
        }

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
        """Read the scores of a zip and return their figures; see ``BoardScoring.score``."""
        keys = HeldKeys(folder, expected)
        submission = read_submission(path, file_name=file_name, expected=expected, keys=keys)
        report_read()
        try:
            public, *private = score_subsets(
                submission, keys, rng=rng, subsets=public_and_private_subsets(folder, has_private)
            )
        except InvalidInput as error:  # the scores are already checked, so that a key is at fault
            raise BrokenKey("an answer key is damaged") from error
        return ScoredSubmission(public, private[0] if private else None, submission.notes)


def _subset_facts(
    key_folder: answer_keys.AnswerKeyFolder, written: WrittenBoard, subset: answer_keys.Subset
) -> dict[str, Any]:
    people: dict[str, Any] = {}
    chance: dict[str, Any] = {}
    counts: dict[str, int] = {}
    sizes: list[tuple[int, int]] = []  # of a chunk, and of its part in the subset
    for name in written.expected:
        key = answer_keys.parse_answer_key(name, key_folder.raw_key(name))
        if isinstance(key, RetrievalKey):
            sizes.append((len(key.ids), int(subset(key.ids).sum())))
        elif isinstance(key, LocalizationKey):
            given, proposed = subset(list(key.true_pairs)), subset(key.proposals.names)
            chance |= {
                "gt_accuracy": _figure_without_interval(_chance_gt_accuracy(key, given)),
                "auto_accuracy": _figure_without_interval(_chance_auto_accuracy(key, proposed)),
            }
            counts |= {"gt_accuracy": int(given.sum()), "auto_accuracy": int(proposed.sum())}
        else:
            counted = subset([instance.instance for instance in key.instances])
            instances = tuple(item for item, is_in in zip(key.instances, counted, strict=True) if is_in)
            known = comparison_figures_without_model(
                replace(key, instances=instances), rng=interval_generator(written.sha256)
            )
            people["comparison"], chance["comparison"] = known["human"], known["random"]
            counts["comparison"] = known["images"]
    if chunk_sizes := [size for size, part in sizes if part]:
        chance |= {
            name: _figure_without_interval(value)
            for name, value in retrieval_chance_figures(chunk_sizes).items()
        }
    if sizes:
        counts |= dict.fromkeys(("p_at_1", "im2txt", "txt2im"), sum(part for _, part in sizes))
    return {"references": {"human": people, "random": chance}, "counts": counts}


def _chance_gt_accuracy(key: LocalizationKey, is_counted: NDArray[np.bool_]) -> float | None:
    """Return the expected accuracy of a random assignment, in which each pair matches with probability 1/n."""
    shares = np.array([pairs.correct.mean() for pairs in key.true_pairs.values()])[is_counted]
    return float(100 * shares.mean()) if shares.size else None


def _chance_auto_accuracy(key: LocalizationKey, is_counted: NDArray[np.bool_]) -> float | None:
    """Return the expected accuracy of choosing a proposed box at random."""
    shares = chance_shares(key.proposals)[is_counted]
    return float(100 * shares.mean()) if shares.size else None


def _figure_without_interval(value: float | None) -> dict[str, float | None]:
    return {"value": value, "low": None, "high": None}


BOARD = SherlockBoard()
