"""Which pairs of a version train a scorer, and which choose its checkpoint."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from curation.scorer.config import TrainingConfig
from curation.selectors.scorers import SplitCount
from curation.versions.splits import Split
from hits.domain.hashing import content_sha256
from hits.services.errors import Refused

VAL_SHARE = 0.1
_LEAST_PAIRS = 2  # a pair alone has no negative
_LEAST_IMAGES = 2  # one to train on, one to validate with


@dataclass(frozen=True, slots=True)
class Splits:
    """On which pairs of a version a scorer is trained, and by which its best checkpoint is chosen.

    ``share`` is above 0 where both are one split: so many of its photos, with all their pairs, validate. ``seed``
    draws them.
    """

    train: str
    val: str
    share: float = 0.0
    seed: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return what stands in a scorer's row."""
        return {"train": self.train, "val": self.val, "val_share": self.share, "seed": self.seed}


def chosen_splits(
    counts: Mapping[str, SplitCount], train: str | None, val: str | None, *, share: float, seed: int
) -> Splits:
    """Return which splits train and validate; see ``request_training``. Test photos never validate unasked.

    Raises:
        Refused: a split without a pair, no telling which, a share that cannot be, or too little to share.
    """
    trained = _split(counts, train, Split.TRAIN, "train_split")
    if val is None:
        val = Split.VAL.value if Split.VAL in counts and trained != Split.VAL else trained
    validated = _split(counts, val, val, "val_split")
    if counts[trained].pairs < _LEAST_PAIRS:
        raise Refused(f"train_split: {_called(trained)} has one pair; training needs at least {_LEAST_PAIRS}")
    if validated != trained:
        return Splits(trained, validated, 0.0, seed)
    if not 0 < share < 1:
        raise Refused(f"val_share: {share:g} is not within 0 to 1; use for instance {VAL_SHARE:g}")
    if counts[trained].images < _LEAST_IMAGES:
        raise Refused(f"train_split: {_called(trained)} has one photo; validation needs another")
    return Splits(trained, trained, share, seed)


def _split(counts: Mapping[str, SplitCount], wanted: str | None, usual: str, field: str) -> str:
    if not counts:
        raise Refused(f"{field}: this version has no pair; seal one with approved pairs")
    if wanted is None:
        wanted = usual if usual in counts or len(counts) > 1 else next(iter(counts))
    if wanted not in counts:
        known = ", ".join(_called(name) for name in counts)
        raise Refused(f"{field}: this version has no pair in {_called(wanted)}; it has {known}")
    return wanted


def _called(split: str) -> str:
    return split or "no split"


def check_batch(config: TrainingConfig, pairs: int) -> None:
    """See that there are pairs for a batch.

    Raises:
        Refused: a batch would hold more than all of them.
    """
    if config.batch_size > pairs:
        largest = pairs - pairs % config.processes
        mend = f"use {largest} or fewer" if largest > 1 else "choose a split with more pairs"
        raise Refused(f"batch_size: {config.batch_size} is more than the {pairs} pairs to train on; {mend}")


def held_images(hashes: Iterable[str], share: float, seed: int) -> set[str]:
    """Return the sha256 of the photos that validate: that share of them, at least one and never all.

    The order is that of a hash of seed and photo, so that it is the same on any machine and for any library, and a
    photo that goes moves few others.
    """
    ordered = sorted(set(hashes), key=lambda sha256: content_sha256([seed, sha256]))
    count = min(max(1, round(share * len(ordered))), len(ordered) - 1)
    return set(ordered[:count])
