"""Choose which pairs of a version train a scorer, and which select its checkpoint."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from curation.scorer.config import TrainingConfig
from curation.selectors.scorers import SplitCount
from curation.versions.splits import Split
from hits.domain.hashing import content_sha256
from hits.services.errors import Refused

VAL_SHARE = 0.1
_MIN_PAIRS = 2  # a single pair has no negatives
_MIN_IMAGES = 2  # one to train on, one to validate with


@dataclass(frozen=True, slots=True)
class TrainingSplits:
    """The splits that a scorer is trained on, and validated on to select its best checkpoint.

    ``share`` is above 0 when both are the same split: that share of its photos, with all their pairs, is held out
    for validation. ``seed`` chooses them.
    """

    train: str
    val: str
    share: float = 0.0
    seed: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the splits as stored in ``Scorer.splits``."""
        return {"train": self.train, "val": self.val, "val_share": self.share, "seed": self.seed}


def choose_splits(
    counts: Mapping[str, SplitCount], train: str | None, val: str | None, *, share: float, seed: int
) -> TrainingSplits:
    """Return the training and validation splits; see ``request_training``. Test photos are used only on request.

    Raises:
        Refused: a split has no pairs, the choice is ambiguous, the share is out of range, or there is too little to
            share.
    """
    train_split = _resolve_split(counts, train, Split.TRAIN, "train_split")
    if val is None:
        val = Split.VAL.value if Split.VAL in counts and train_split != Split.VAL else train_split
    val_split = _resolve_split(counts, val, val, "val_split")
    if counts[train_split].pairs < _MIN_PAIRS:
        raise Refused(
            f"train_split: {_split_label(train_split)} has one pair; training needs at least {_MIN_PAIRS}"
        )
    if val_split != train_split:
        return TrainingSplits(train_split, val_split, 0.0, seed)
    if not 0 < share < 1:
        raise Refused(f"val_share: {share:g} is not between 0 and 1; use for instance {VAL_SHARE:g}")
    if counts[train_split].images < _MIN_IMAGES:
        raise Refused(
            f"train_split: the pairs of {_split_label(train_split)} have only one photo; validation needs another"
        )
    return TrainingSplits(train_split, train_split, share, seed)


def _resolve_split(counts: Mapping[str, SplitCount], split: str | None, default: str, field: str) -> str:
    if not counts:
        raise Refused(f"{field}: this version has no pair; seal one with approved pairs")
    if split is None:
        split = default if default in counts or len(counts) > 1 else next(iter(counts))
    if split not in counts:
        known = ", ".join(_split_label(name) for name in counts)
        raise Refused(f"{field}: this version has no pair in {_split_label(split)}; it has {known}")
    return split


def _split_label(split: str) -> str:
    return split or "no split"


def check_batch_size(config: TrainingConfig, pairs: int) -> None:
    """Check that the training split is at least one batch.

    Raises:
        Refused: the batch is larger than the training split.
    """
    if config.batch_size > pairs:
        largest = pairs - pairs % config.processes
        advice = f"use {largest} or fewer" if largest > 1 else "choose a split with more pairs"
        raise Refused(f"batch_size: {config.batch_size} is more than the {pairs} pairs to train on; {advice}")


def validation_image_hashes(hashes: Iterable[str], share: float, seed: int) -> set[str]:
    """Return the sha256 of the photos held out for validation: that share of them, at least one and never all.

    Photos are ordered by a hash of seed and photo, so the choice is the same on every machine and changes little
    when a photo is removed.
    """
    ordered = sorted(set(hashes), key=lambda sha256: content_sha256([seed, sha256]))
    count = min(max(1, round(share * len(ordered))), len(ordered) - 1)
    return set(ordered[:count])
