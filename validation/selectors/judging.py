"""Read judgments. Only submissions that the marketplace confirms count; rejected ones and quality checks never do."""

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
from validation.domain.agreement.votes import is_favoured, mean_rating, tally
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.sampling import (
    SelectablePair,
    Selection,
    ids_by_stratum,
    select_pairs,
    source_host,
)
from validation.domain.judging.spec import JudgingSpec, Material
from validation.registry import record_types_of_kind, spec_for_material, spec_for_record_type
from validation.selectors.ratings import read_judgments


@dataclass(frozen=True, slots=True)
class PairJudgments:
    """The judgments of one pair: the count of each label and a verdict (or ``None``) per dimension.

    The verdict is positive if more than half of the judges are on the positive side of the scale.
    """

    tallies: Mapping[str, Mapping[str, int]]
    verdicts: Mapping[str, bool | None]
    judge_count: int


@dataclass(frozen=True, slots=True)
class CandidateRatings:
    """Ratings of one candidate in the order of submission: the first is annot1, the second annot2."""

    candidate: str
    ratings: tuple[int, ...]
    mean: float | None


@dataclass(frozen=True, slots=True)
class SetJudgments:
    """Ratings of one comparison set; ``workers`` are primary keys in the order of the ratings."""

    set_id: str
    candidates: tuple[CandidateRatings, ...]
    workers: tuple[int, ...]

    @property
    def judge_count(self) -> int:
        """The number of workers who rated the set."""
        return len(self.workers)


@dataclass(frozen=True, slots=True)
class Author:
    """An author: the worker's primary key, the accepted pairs, and those not yet sent to judges."""

    worker: int
    accepted: int
    waiting: int


@dataclass(frozen=True, slots=True)
class SelectedPairs:
    """The pairs that a selection finds among ``total``; ``strata`` are (name, selected, available)."""

    pairs: Sequence[SelectablePair]
    total: int
    author_count: int
    strata: Sequence[tuple[str, int, int]]


def review_spec() -> JudgingSpec:
    """Return the spec of the kind that judges pairs one by one."""
    return spec_for_record_type(OBSERVATION)


def comparison_spec() -> JudgingSpec:
    """Return the spec of the kind that rates the candidates of comparison sets."""
    return spec_for_material(Material.CANDIDATE_SETS)


def has_or_may_collect_pairs(project: Project) -> bool:
    """Return whether a project has pairs that review rounds judge, or may still collect some; one query.

    True if it has such a record, or a batch of a kind that creates them; also if it has no records and batches of
    other types, unless its family has collecting kinds of its own that create others.
    """
    record_type = str(review_spec().record_type)
    types = {name: record_types_of_kind(name) for name in registry.kind_names()}
    batches, records = Batch.objects.filter(project=project), Record.objects.filter(project=project)
    pair_batches = batches.filter(kind__in=[name for name, given in types.items() if record_type in given])
    any_batches = batches.filter(kind__in=[name for name, given in types.items() if given])
    checks = [Exists(rows) for rows in (pair_batches, records.filter(type=record_type), any_batches, records)]
    gives_pairs, has_pair, gives_any, has_any = (
        Project.objects.filter(pk=project.pk).values_list(*checks).get()
    )
    own_kinds = registry.collecting_kinds_of(project.family)
    may_give_pairs = not own_kinds or any(record_type in types[name] for name in own_kinds)
    return gives_pairs or has_pair or (may_give_pairs and not (gives_any or has_any))


def pair_judgments(*, project: Project, pairs: Collection[str] | None = None) -> dict[str, PairJudgments]:
    """Return a project's judged pairs by id, in the order of their first judgment.

    Counts confirmed answers that are submitted or approved, and imported ones; quality checks do not count. ``pairs``
    limits the result to these ids.
    """
    spec = review_spec()
    by_pair: dict[str, list[JudgmentRow]] = defaultdict(list)
    for row in read_judgments(project=project, kind=spec.name, items=pairs):
        by_pair[row.item].append(row)
    return {key: _build_pair_judgments(spec, found) for key, found in by_pair.items()}


def _build_pair_judgments(spec: JudgingSpec, found: list[JudgmentRow]) -> PairJudgments:
    tallies = {
        dimension.name: tally(
            (row.answer[dimension.name] for row in found),
            [str(label) for label in dimension.labels_best_first],
        )
        for dimension in spec.deciding_dimensions
    }
    verdicts = {
        dimension.name: is_favoured(tallies[dimension.name], [str(label) for label in dimension.favourable])
        for dimension in spec.deciding_dimensions
    }
    return PairJudgments(tallies, verdicts, judge_count=len(found))


def likert_judgments(
    *,
    batch: Batch,
    statuses: Iterable[AssignmentStatus] = collected.NOT_REJECTED,
    sets: Collection[str] | None = None,
) -> dict[str, SetJudgments]:
    """Return the ratings of a comparison batch by set id; sets without ratings are left out.

    Counts confirmed answers whose assignment has one of ``statuses``, by default submitted or approved. Quality
    checks do not count. ``sets`` limits the result to these ids.
    """
    by_set: dict[str, list[JudgmentRow]] = defaultdict(list)
    rows = read_judgments(
        project=batch.project,
        kind=comparison_spec().name,
        batches=[batch.pk],
        items=sets,
        statuses=list(statuses),
    )
    for row in rows:
        by_set[row.item].append(row)
    units = units_without_quality_checks(batch)
    if sets is not None:
        units = units.filter(key__in=sets)
    payloads = {unit.payload["set"]: unit.payload for unit in units}
    spec = comparison_spec()
    return {set_id: _build_set_judgments(spec, payloads[set_id], found) for set_id, found in by_set.items()}


def _build_set_judgments(
    spec: JudgingSpec, payload: Mapping[str, Any], found: list[JudgmentRow]
) -> SetJudgments:
    answers = [{row.part: row.label for row in spec.labels(judgment.answer)} for judgment in found]
    scale = [int(value) for value in spec.dimensions[0].values]
    candidates = []
    for candidate in payload["candidates"]:
        ratings = tuple(answer[candidate["id"]] for answer in answers)
        candidates.append(CandidateRatings(candidate["id"], ratings, mean_rating(ratings, scale)))
    workers = tuple(judgment.worker for judgment in found if judgment.worker is not None)
    return SetJudgments(payload["set"], tuple(candidates), workers)


def is_fully_judged(*, batch: Batch, statuses: Iterable[AssignmentStatus] = collected.NOT_REJECTED) -> bool:
    """Return whether every set of a comparison batch has as many judgments as its redundancy."""
    found = likert_judgments(batch=batch, statuses=statuses)
    required = batch.redundancy
    return all(
        unit.payload["set"] in found and found[unit.payload["set"]].judge_count >= required
        for unit in units_without_quality_checks(batch)
    )


def units_without_quality_checks(batch: Batch) -> "QuerySet[Unit]":
    """Return a judging batch's units without quality checks, in order."""
    return batch.units.filter(quality_check=None)


def pairs_not_sent_to_judges(project: Project) -> "QuerySet[Record]":
    """Return the accepted pairs that no review round contains, oldest first."""
    return collected.approved_records(project, OBSERVATION).exclude(
        instance_id__in=_keys_sent_to_judges(project)
    )


def _keys_sent_to_judges(project: Project) -> "QuerySet[Unit, str]":
    rows = Unit.objects.filter(batch__project=project, batch__kind=review_spec().name, quality_check=None)
    return rows.order_by().values_list("key", flat=True)


def selectable_pairs(project: Project, *, include_sent: bool = False) -> list[SelectablePair]:
    """Return the accepted pairs that can be sent to judges, oldest first; one query.

    ``include_sent`` also returns pairs that were sent before.
    """
    rows = (
        collected.approved_records(project, OBSERVATION)
        if include_sent
        else pairs_not_sent_to_judges(project)
    )
    fields = rows.values_list(
        "instance_id",
        "submission__attempt__worker_id",
        "image__split",
        "fields__confidence",
        "image__source_url",
    )
    return [
        SelectablePair(key, worker, split, confidence, source_host(url))
        for key, worker, split, confidence, url in fields
    ]


def find_pairs(project: Project, selection: Selection) -> SelectedPairs:
    """Return the pairs that a selection finds now; one query."""
    available = selectable_pairs(project, include_sent=selection.include_judged)
    pairs = select_pairs(available, selection)
    strata: list[tuple[str, int, int]] = []
    if selection.stratify_by is not None:
        selected = ids_by_stratum(pairs, selection.stratify_by)
        strata_sizes = ids_by_stratum(available, selection.stratify_by)
        strata = [(name, len(selected.get(name, ())), len(ids)) for name, ids in strata_sizes.items()]
    return SelectedPairs(pairs, len(available), len({pair.worker for pair in pairs}), strata)


def list_authors(project: Project) -> list[Author]:
    """Return the authors of accepted pairs, most pairs first; two queries."""
    accepted = _count_by_author(collected.approved_records(project, OBSERVATION))
    waiting = _count_by_author(pairs_not_sent_to_judges(project))
    rows = [Author(worker, count, waiting.get(worker, 0)) for worker, count in accepted.items()]
    return sorted(rows, key=lambda row: (-row.accepted, row.worker))


def _count_by_author(rows: "QuerySet[Record]") -> dict[int, int]:
    author_field = "submission__attempt__worker_id"
    return dict(rows.order_by().values_list(author_field).annotate(n=Count("pk")))
