"""Counts, majorities, shares and means of judgments, without a model of the judges.

Source: Hessel et al. 2022, doi:10.1007/978-3-031-20059-5_32. §3 reports the share of acceptable pairs, of accurate
boxes and of interesting inferences over 17K pairs with three judges each (supplement A.3); supplement E has two
ratings of each candidate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

HALF = 0.5


@dataclass(frozen=True, slots=True)
class Tally:
    """Votes on one item. ``counts`` holds every label of the scale; ``majority`` is ``None`` on a tie."""

    counts: Mapping[str, int]
    votes: int
    majority: str | None

    @property
    def majority_share(self) -> float | None:
        """Share of votes for the majority, 0 to 1; ``None`` without a majority."""
        return None if self.majority is None else self.counts[self.majority] / self.votes


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


@dataclass(frozen=True, slots=True)
class RatingSummary:
    """Ratings of one candidate: the count of each value, and their mean (``None`` without ratings)."""

    counts: Mapping[int, int]
    ratings: int
    mean: float | None


def tally(labels: Iterable[str], scale: Sequence[str]) -> Tally:
    """Count labels of one scale; the majority is the label with strictly the most votes.

    Raises:
        ValueError: a label is not on the scale.
    """
    counted = Counter(str(label) for label in labels)
    scale_labels = [str(label) for label in scale]
    foreign = sorted(set(counted) - set(scale_labels))
    if foreign:
        raise ValueError(f"label {foreign[0]!r} is not on the scale {', '.join(scale_labels)}")
    counts = {label: counted[label] for label in scale_labels}
    votes = sum(counts.values())
    best = max(counts.values(), default=0)
    leaders = [label for label, count in counts.items() if count == best]
    return Tally(counts, votes, leaders[0] if votes and len(leaders) == 1 else None)


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


def summarise_ratings(ratings: Iterable[int], scale: Sequence[int]) -> RatingSummary:
    """Count Likert ratings and take their mean.

    Raises:
        ValueError: a rating is not on the scale.
    """
    values = list(ratings)
    foreign = sorted(set(values) - {int(value) for value in scale})
    if foreign:
        raise ValueError(f"rating {foreign[0]} is not on the scale {', '.join(str(int(v)) for v in scale)}")
    counts = {int(value): values.count(value) for value in scale}
    return RatingSummary(counts, len(values), sum(values) / len(values) if values else None)
