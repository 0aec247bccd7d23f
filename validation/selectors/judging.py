"""Read judgments. Only confirmed work counts (ruling 11); rejected work and answers to controls never do."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, QuerySet

from hits import registry
from hits.domain.states import AssignmentStatus
from hits.models import Batch, Project, Record, Unit
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from validation.domain.agreement.votes import (
    RatingSummary,
    Share,
    Tally,
    share_of,
    speaks_for,
    summarise_ratings,
    tally,
)
from validation.domain.judging.ratings import Judged
from validation.domain.judging.sampling import Candidate, Selection, choose, grouped, source_of
from validation.domain.judging.spec import JudgingSpec, Material
from validation.models import QualificationRound
from validation.registry import judges_of, made_of, record_types_of
from validation.selectors.ratings import judged


@dataclass(frozen=True, slots=True)
class PairReview:
    """What judges said of one pair: a tally and a verdict (or ``None``) per dimension."""

    instance_id: str
    tallies: Mapping[str, Tally]
    verdicts: Mapping[str, bool | None]
    judges: int


@dataclass(frozen=True, slots=True)
class ReviewTallies:
    """All reviewed pairs in the order of their first judgment, and the share per dimension.

    A share's whole is the pairs with at least one judgment; a pair counts when more than half of its
    judges are on the positive side of the scale.
    """

    pairs: Mapping[str, PairReview]
    shares: Mapping[str, Share]
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


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote pairs: the worker's row key, their accepted pairs, and those that no judge got yet."""

    worker: int
    accepted: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a selection finds, of ``of`` pairs. ``strata`` are rows of name, chosen, and how many there are."""

    pairs: Sequence[Candidate]
    of: int
    authors: int
    strata: Sequence[tuple[str, int, int]]


def review() -> JudgingSpec:
    """Return the spec of the kind that judges pairs one by one."""
    return judges_of(OBSERVATION)


def comparison() -> JudgingSpec:
    """Return the spec of the kind that rates the candidates of comparison sets."""
    return made_of(Material.CANDIDATE_SETS)


def has_pairs(project: Project) -> bool:
    """Tell whether a project's records are what review rounds judge, or may become so; one query.

    They are where it has such a record, or a batch of a kind that gives some. A project that has collected nothing
    of any other type may still collect them.
    """
    wanted = str(review().record_type)
    types = {name: record_types_of(name) for name in registry.names()}
    batches, records = Batch.objects.filter(project=project), Record.objects.filter(project=project)
    of_pairs = batches.filter(kind__in=[name for name, given in types.items() if wanted in given])
    of_any = batches.filter(kind__in=[name for name, given in types.items() if given])
    asked = [Exists(rows) for rows in (of_pairs, records.filter(type=wanted), of_any, records)]
    gives_pairs, has_pair, gives_any, has_any = (
        Project.objects.filter(pk=project.pk).values_list(*asked).get()
    )
    return gives_pairs or has_pair or not (gives_any or has_any)


def review_tallies(
    *, project: Project | None = None, batch: Batch | None = None, pairs: Collection[str] | None = None
) -> ReviewTallies:
    """Return the tallies of review rounds, over a project or one batch; ``pairs`` (their ids) narrows it to some.

    Counts confirmed answers whose assignment is submitted or approved, imported ones too, and none to controls.
    """
    by_pair: dict[str, list[Judged]] = defaultdict(list)
    total = 0
    within = project or (batch.project if batch else None)
    if within is None:
        raise ValueError("review_tallies: give a project or a batch")
    spec = review()
    for row in judged(project=within, kind=spec.name, batches=[batch.pk] if batch else None, items=pairs):
        by_pair[row.item].append(row)
        total += 1
    tallied = {key: _pair_review(spec, key, found) for key, found in by_pair.items()}
    shares = {
        one.name: share_of(pair.verdicts[one.name] for pair in tallied.values()) for one in spec.decided
    }
    return ReviewTallies(pairs=tallied, shares=shares, judgments=total)


def _pair_review(spec: JudgingSpec, instance_id: str, found: list[Judged]) -> PairReview:
    tallies = {
        one.name: tally((row.answer[one.name] for row in found), [str(label) for label in one.best_first])
        for one in spec.decided
    }
    verdicts = {
        one.name: speaks_for(tallies[one.name].counts, [str(label) for label in one.favourable])
        for one in spec.decided
    }
    return PairReview(instance_id, tallies, verdicts, judges=len(found))


def likert_judgments(
    *,
    batch: Batch,
    statuses: Iterable[AssignmentStatus] = collected.NOT_REJECTED,
    sets: Collection[str] | None = None,
) -> dict[str, SetJudgments]:
    """Return the ratings of a comparison batch by set id; sets without any rating are left out.

    Counts confirmed answers whose assignment has one of ``statuses`` (submitted or approved by default), and none to
    controls. ``sets`` narrows it to some.
    """
    by_set: dict[str, list[Judged]] = defaultdict(list)
    rows = judged(
        project=batch.project, kind=comparison().name, batches=[batch.pk], items=sets, statuses=list(statuses)
    )
    for row in rows:
        by_set[row.item].append(row)
    units = own_units(batch) if sets is None else own_units(batch).filter(key__in=sets)
    payloads = {unit.payload["set"]: unit.payload for unit in units}
    spec = comparison()
    return {set_id: _set_judgments(spec, payloads[set_id], found) for set_id, found in by_set.items()}


def _set_judgments(spec: JudgingSpec, payload: Mapping[str, Any], found: list[Judged]) -> SetJudgments:
    given = [{row.part: row.label for row in spec.labels(judgment.answer)} for judgment in found]
    scale = [int(value) for value in spec.dimensions[0].values]
    candidates = []
    for candidate in payload["candidates"]:
        ratings = tuple(answer[candidate["id"]] for answer in given)
        candidates.append(CandidateRatings(candidate["id"], ratings, summarise_ratings(ratings, scale)))
    workers = tuple(judgment.worker for judgment in found if judgment.worker is not None)
    return SetJudgments(payload["set"], tuple(candidates), workers)


def judged_completely(*, batch: Batch, statuses: Iterable[AssignmentStatus] = collected.NOT_REJECTED) -> bool:
    """Tell whether every set of a comparison batch has all the judgments that it was launched for."""
    found = likert_judgments(batch=batch, statuses=statuses)
    needed = batch.opinions
    return all(
        unit.payload["set"] in found and found[unit.payload["set"]].judges >= needed
        for unit in own_units(batch)
    )


def own_units(batch: Batch) -> "QuerySet[Unit]":
    """Return a judging batch's units without its controls, in their order."""
    return batch.units.filter(control=None)


def unreviewed(project: Project) -> "QuerySet[Record]":
    """Return accepted pairs that no review round was launched for, oldest first."""
    return collected.accepted(project, OBSERVATION).exclude(instance_id__in=_sent(project))


def _sent(project: Project) -> "QuerySet[Unit, str]":
    rows = Unit.objects.filter(batch__project=project, batch__kind=review().name, control=None)
    return rows.order_by().values_list("key", flat=True)


def candidates(project: Project, *, again: bool = False) -> list[Candidate]:
    """Return the accepted pairs that may be sent to judges, oldest first; one query.

    ``again`` also returns those that were sent before.
    """
    rows = collected.accepted(project, OBSERVATION) if again else unreviewed(project)
    fields = rows.values_list(
        "instance_id",
        "submission__attempt__worker_id",
        "image__split",
        "fields__confidence",
        "image__source_url",
    )
    return [
        Candidate(key, worker, split, confidence, source_of(url))
        for key, worker, split, confidence, url in fields
    ]


def found_by(project: Project, selection: Selection) -> Found:
    """Return the pairs that a selection finds now, and of what; one query."""
    there = candidates(project, again=selection.again)
    pairs = choose(there, selection)
    strata: list[tuple[str, int, int]] = []
    if selection.strata is not None:
        taken = grouped(pairs, selection.strata)
        whole = grouped(there, selection.strata)
        strata = [(name, len(taken.get(name, ())), len(ids)) for name, ids in whole.items()]
    return Found(pairs, len(there), len({pair.worker for pair in pairs}), strata)


def authors(project: Project) -> list[Author]:
    """Return who wrote accepted pairs, those with most first; two queries."""
    whole = _by_author(collected.accepted(project, OBSERVATION))
    waiting = _by_author(unreviewed(project))
    rows = [Author(worker, count, waiting.get(worker, 0)) for worker, count in whole.items()]
    return sorted(rows, key=lambda row: (-row.accepted, row.worker))


def _by_author(rows: "QuerySet[Record]") -> dict[int, int]:
    by = "submission__attempt__worker_id"
    return dict(rows.order_by().values_list(by).annotate(n=Count("pk")))


def has_qualification(project: Project) -> bool:
    """Tell whether the project ever asked workers to qualify."""
    return QualificationRound.objects.filter(batch__project=project).exists()
