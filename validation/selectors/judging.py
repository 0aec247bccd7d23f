"""Read judgments. Only confirmed work counts (ruling 11); rejected work never does."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hits.domain.states import AssignmentStatus
from hits.models import Batch, Observation, Project
from hits.selectors import observations as collected
from hits.selectors.observations import Judgment
from validation.domain.scales import POSITIVE, SCALES, Dimension, Rating
from validation.domain.votes import (
    RatingSummary,
    Share,
    Tally,
    share_of,
    speaks_for,
    summarise_ratings,
    tally,
)

REVIEW = "observation_review"
COMPARISON = "likert_comparison"


@dataclass(frozen=True, slots=True)
class PairReview:
    """What judges said of one pair: a tally and a verdict (or ``None``) per dimension."""

    instance_id: str
    tallies: Mapping[Dimension, Tally]
    verdicts: Mapping[Dimension, bool | None]
    judges: int


@dataclass(frozen=True, slots=True)
class ReviewTallies:
    """All reviewed pairs in the order of their first judgment, and the share per dimension.

    A share's whole is the pairs with at least one judgment; a pair counts when more than half of its
    judges are on the positive side of the scale.
    """

    pairs: Mapping[str, PairReview]
    shares: Mapping[Dimension, Share]
    judgments: int


@dataclass(frozen=True, slots=True)
class CandidateRatings:
    """Ratings of one candidate, in the order of submission: the first is annot1, the second annot2."""

    candidate: str
    ratings: tuple[int, ...]
    summary: RatingSummary


@dataclass(frozen=True, slots=True)
class SetJudgments:
    """Ratings of one comparison set. ``workers`` are row keys in the same order as the ratings."""

    set_id: str
    candidates: tuple[CandidateRatings, ...]
    workers: tuple[int, ...]

    @property
    def judges(self) -> int:
        """How many people rated the whole set."""
        return len(self.workers)


def review_tallies(
    *, project: Project | None = None, batch: Batch | None = None, pairs: Collection[str] | None = None
) -> ReviewTallies:
    """Return the tallies of review rounds, over a project or one batch; ``pairs`` (their ids) narrows it to some.

    Counts confirmed answers whose assignment is submitted or approved.
    """
    by_pair: dict[str, list[Judgment]] = defaultdict(list)
    total = 0
    for judgment in collected.judgments(kind=REVIEW, project=project, batch=batch, keys=pairs):
        by_pair[judgment.unit["observation"]].append(judgment)
        total += 1
    tallied = {key: _pair_review(key, found) for key, found in by_pair.items()}
    shares = {d: share_of(pair.verdicts[d] for pair in tallied.values()) for d in Dimension}
    return ReviewTallies(pairs=tallied, shares=shares, judgments=total)


def _pair_review(instance_id: str, found: list[Judgment]) -> PairReview:
    tallies = {d: tally((j.answer[d.value] for j in found), SCALES[d]) for d in Dimension}
    verdicts = {d: speaks_for(tallies[d].counts, POSITIVE[d]) for d in Dimension}
    return PairReview(instance_id, tallies, verdicts, judges=len(found))


def likert_judgments(
    *, batch: Batch, statuses: Iterable[AssignmentStatus] = collected.STANDING
) -> dict[str, SetJudgments]:
    """Return the ratings of a comparison batch by set id; sets without any rating are left out.

    Counts confirmed answers whose assignment has one of ``statuses`` (submitted or approved by default).
    """
    by_set: dict[str, list[Judgment]] = defaultdict(list)
    for judgment in collected.judgments(kind=COMPARISON, batch=batch, statuses=statuses):
        by_set[judgment.unit["set"]].append(judgment)
    return {set_id: _set_judgments(set_id, found) for set_id, found in by_set.items()}


def _set_judgments(set_id: str, found: list[Judgment]) -> SetJudgments:
    given = [{row["candidate"]: row["rating"] for row in judgment.answer["ratings"]} for judgment in found]
    candidates = []
    for candidate in found[0].unit["candidates"]:
        ratings = tuple(answer[candidate["id"]] for answer in given)
        candidates.append(
            CandidateRatings(candidate["id"], ratings, summarise_ratings(ratings, tuple(Rating)))
        )
    return SetJudgments(set_id, tuple(candidates), tuple(judgment.worker for judgment in found))


def judged_completely(*, batch: Batch, statuses: Iterable[AssignmentStatus] = collected.STANDING) -> bool:
    """Tell whether every set of a comparison batch has all the judgments that it was launched for."""
    found = likert_judgments(batch=batch, statuses=statuses)
    needed = batch.opinions
    return all(
        unit.payload["set"] in found and found[unit.payload["set"]].judges >= needed
        for unit in collected.units_of(batch)
    )


def unreviewed(project: Project) -> list[Observation]:
    """Return accepted pairs that no review round was launched for, oldest first."""
    launched = collected.unit_keys(kind=REVIEW, project=project)
    return [row for row in collected.accepted(project) if row.instance_id not in launched]


def review_batches(project: Project) -> list[Batch]:
    """Return the project's review rounds, newest first."""
    return collected.batches_of_kind(kind=REVIEW, project=project)


def comparison_batches(project: Project) -> list[Batch]:
    """Return the project's rating rounds, newest first."""
    return collected.batches_of_kind(kind=COMPARISON, project=project)
