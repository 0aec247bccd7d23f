"""Read judgments of a kind as plain rows: collected ones that the marketplace confirms, and imported ones.

Reports, decisions, evidence and exports all read them here, so that they count the same judgments. Rejected work
never counts. If a worker judged an item twice (a pair that was launched in two rounds), the first judgment counts.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTextTransform

from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment, Batch, Project, Unit
from hits.selectors.records import NOT_REJECTED
from validation.domain.judging.quality_check_types import CheckRole
from validation.domain.judging.ratings import JudgmentRow
from validation.models import ImportedJudgment
from validation.registry import spec_of

CHUNK_SIZE = 2_000


def counted_assignment_filter(prefix: str = "", statuses: Iterable[AssignmentStatus] = NOT_REJECTED) -> Q:
    """Return the condition that an assignment is confirmed and has one of ``statuses``, by default not rejected."""
    values = [status.value for status in statuses]
    return Q(**{f"{prefix}match": SubmissionMatch.MATCHED, f"{prefix}status__in": values})


def counted_judgments(batches: Collection[Batch | int]) -> "QuerySet[Assignment]":
    """Return the judgments of these batches, without rejected ones and quality checks."""
    rows = Assignment.objects.filter(counted_assignment_filter(), hit__unit__batch__in=batches)
    return rows.filter(hit__unit__quality_check=None)


def read_judgments(
    *,
    project: Project,
    kind: str,
    batches: Collection[int] | None = None,
    workers: Collection[int] | None = None,
    items: Collection[str] | None = None,
    roles: Collection[CheckRole] | None = (),
    statuses: Iterable[AssignmentStatus] = NOT_REJECTED,
) -> Iterator[JudgmentRow]:
    """Yield one row per judgment in the order of submission; imported ones come first.

    Args:
        batches, workers: primary keys, which limit the result to their judgments; imported ones are then left out.
        items: limit the result to these items. roles: the default leaves quality checks out; roles select only those
            checks, and ``None`` selects judgments and all checks. statuses: the assignment statuses that count.
    """
    if batches is None and workers is None and (roles is None or not roles):
        yield from _read_imported_judgments(project, kind, items)
    seen: set[tuple[str, int]] = set()
    for row in _read_collected_judgments(project, kind, batches, workers, items, roles, statuses):
        if row.role is None and row.worker is not None:
            if (row.item, row.worker) in seen:
                continue
            seen.add((row.item, row.worker))
        yield row


def _read_collected_judgments(  # noqa: PLR0917 - private
    project: Project,
    kind: str,
    batches: Collection[int] | None,
    workers: Collection[int] | None,
    items: Collection[str] | None,
    roles: Collection[CheckRole] | None,
    statuses: Iterable[AssignmentStatus],
) -> Iterator[JudgmentRow]:
    # Filter by keys: PostgreSQL is slow at the join with the batches.
    rewards = dict(Batch.objects.filter(project=project, kind=kind).values_list("pk", "reward_cents"))
    rows = Assignment.objects.filter(
        counted_assignment_filter(statuses=statuses), hit__unit__batch__in=list(rewards)
    )
    excludes_checks = roles is not None and not roles
    rows = _filter_rows(rows, kind, batches, workers, None if excludes_checks else items)
    if excludes_checks and items is not None:
        # The key of an item's unit is the item, so no payload has to be read.
        rows = rows.filter(hit__unit__in=_unit_ids(list(rewards), items))
    if roles is not None:
        names = [role.value for role in roles]
        rows = (
            rows.filter(hit__unit__quality_check__role__in=names)
            if names
            else rows.filter(hit__unit__quality_check=None)
        )
    fields = rows.order_by("submitted_at", "pk").values_list(
        KeyTextTransform(spec_of(kind).item_field, "hit__unit__payload"),
        "worker_id",
        "submission__answer",
        "hit__unit_id",
        "hit__unit__batch_id",
        "pk",
        "submission__active_seconds",
        "submitted_at",
        "hit__unit__quality_check__role",
        "submission__simulated",
    )
    for item, worker, answer, unit, batch, pk, seconds, at, role, simulated in fields.iterator(CHUNK_SIZE):
        yield JudgmentRow(
            kind=kind,
            item=str(item),
            rater=f"w{worker}",
            answer=answer,
            worker=worker,
            unit=unit,
            batch=batch,
            assignment=pk,
            seconds=seconds,
            cents=rewards[batch],
            at=at,
            role=CheckRole(role) if role else None,
            simulated=simulated,
        )


def _unit_ids(batches: Collection[int], items: Collection[str]) -> "QuerySet[Unit, Any]":
    return Unit.objects.filter(batch__in=batches, key__in=list(items), quality_check=None).values("pk")


def _filter_rows(
    rows: "QuerySet[Assignment]",
    kind: str,
    batches: Collection[int] | None,
    workers: Collection[int] | None,
    items: Collection[str] | None,
) -> "QuerySet[Assignment]":
    if batches is not None:
        rows = rows.filter(hit__unit__batch__in=list(batches))
    if workers is not None:
        rows = rows.filter(worker__in=list(workers))
    if items is not None:
        rows = rows.filter(**{f"hit__unit__payload__{spec_of(kind).item_field}__in": list(items)})
    return rows


def _read_imported_judgments(
    project: Project, kind: str, items: Collection[str] | None
) -> Iterator[JudgmentRow]:
    rows = ImportedJudgment.objects.filter(source__project=project, source__kind=kind)
    if items is not None:
        rows = rows.filter(item__in=list(items))
    fields = rows.order_by("pk").values_list(
        "item", "rater", "answer", "active_seconds", "source__imported_at"
    )
    for item, rater, answer, seconds, at in fields.iterator(CHUNK_SIZE):
        yield JudgmentRow(kind=kind, item=item, rater=f"i{rater}", answer=answer, seconds=seconds, at=at)
