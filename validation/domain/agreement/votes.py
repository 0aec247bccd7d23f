"""Counts, verdicts, shares and means of judgments, without a model of the judges.

Source: Hessel et al. 2022, doi:10.1007/978-3-031-20059-5_32. §3 reports the share of acceptable pairs, of accurate
boxes and of interesting inferences over 17K pairs with three judges each (supplement A.3); supplement E has two
ratings of each candidate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

HALF = 0.5


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``total``; ``undecided`` are part of ``total`` but not of ``count``."""

    count: int
    total: int
    undecided: int = 0

    @property
    def percent(self) -> float | None:
        """0 to 100, or ``None`` if the total is 0."""
        return None if self.total == 0 else 100 * self.count / self.total


def tally(labels: Iterable[str], scale: Sequence[str]) -> dict[str, int]:
    """Count the votes for each label of a scale, in the order of the scale.

    Raises:
        ValueError: a label is not on the scale.
    """
    counted = Counter(str(label) for label in labels)
    scale_labels = [str(label) for label in scale]
    foreign = sorted(set(counted) - set(scale_labels))
    if foreign:
        raise ValueError(f"label {foreign[0]!r} is not on the scale {', '.join(scale_labels)}")
    return {label: counted[label] for label in scale_labels}


def is_favoured(counts: Mapping[str, int], positive: Iterable[str]) -> bool | None:
    """Return whether more than half of the votes are positive; ``None`` at exactly half or without votes."""
    votes = sum(counts.values())
    if votes == 0:
        return None
    share = sum(counts.get(str(label), 0) for label in positive) / votes
    return None if share == HALF else share > HALF


def verdict_share(verdicts: Iterable[bool | None]) -> Share:
    """Return the share of positive verdicts; undecided ones stay in the total."""
    results = list(verdicts)
    return Share(
        count=sum(v is True for v in results), total=len(results), undecided=sum(v is None for v in results)
    )


def mean_rating(ratings: Iterable[int], scale: Sequence[int]) -> float | None:
    """Return the mean of Likert ratings; ``None`` without ratings.

    Raises:
        ValueError: a rating is not on the scale.
    """
    values = list(ratings)
    foreign = sorted(set(values) - {int(value) for value in scale})
    if foreign:
        raise ValueError(f"rating {foreign[0]} is not on the scale {', '.join(str(int(v)) for v in scale)}")
    return sum(values) / len(values) if values else None
