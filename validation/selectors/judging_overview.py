"""The judging page's data: rounds with their progress, pairs that wait, and judged pairs page by page.

Each function makes a fixed number of queries.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Max

from hits import registry
from hits.domain.states import BatchState, Purpose
from hits.models import Batch, Project, Record, Unit
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.selectors.console import BatchProgress, progress_by_batch, publishing_batch_ids
from validation.domain.judging.sampling import Selection, SelectionMethod
from validation.models import ImportedJudgment, JudgingRound
from validation.registry import spec_of
from validation.selectors.judging import pairs_not_sent_to_judges, review_spec
from validation.selectors.ratings import counted_judgments


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round in the list: ``received`` of ``required`` judgments, quality checks excluded."""

    batch: Batch
    title: str
    state: str
    received: int
    required: int
    items: int
    selection: str
    quality_checks: int
    material: str

    @property
    def percent(self) -> str:
        """Percent of judgments received, as a bar's width."""
        return f"{100 * min(self.received, self.required) / self.required:.2f}" if self.required else "0"

    @property
    def is_open(self) -> bool:
        """Whether more judgments can arrive."""
        return self.batch.state in {BatchState.LAUNCHING, BatchState.LIVE} and self.received < self.required


@dataclass(frozen=True, slots=True)
class PairProgress:
    """Progress of the accepted pairs: ``unsent`` ones went to no judge, ``pending`` judgments can still arrive."""

    accepted: int
    unsent: int
    received: int
    required: int
    pending: int


def round_rows(project: Project) -> list[RoundRow]:
    """Return the project's judging rounds of all kinds, newest first."""
    kinds = registry.kinds_with_purpose(Purpose.JUDGING)
    batches = list(Batch.objects.filter(project=project, kind__in=kinds).select_related("judging_round"))
    open_now = [batch for batch in batches if batch.state != BatchState.CLOSED]
    progress, publishing = progress_by_batch(open_now), publishing_batch_ids(open_now)
    items, quality_checks = _count_units_and_checks(batches)
    received = _count_judgments(batches)
    return [
        RoundRow(
            batch=batch,
            title=spec_of(batch.kind).title,
            state=progress.get(batch.pk, BatchProgress()).state_label(
                batch, publishing=batch.pk in publishing
            ),
            received=received.get(batch.pk, 0),
            required=items.get(batch.pk, 0) * batch.redundancy,
            items=items.get(batch.pk, 0),
            selection=_describe_selection(batch),
            quality_checks=quality_checks.get(batch.pk, 0),
            material=spec_of(batch.kind).material.value,
        )
        for batch in batches
    ]


def pair_progress(project: Project, rows: Iterable[RoundRow]) -> PairProgress:
    """Return the progress of the project's accepted pairs; two queries."""
    reviews = [row for row in rows if row.batch.kind == review_spec().name]
    return PairProgress(
        accepted=collected.approved_records(project, OBSERVATION).count(),
        unsent=pairs_not_sent_to_judges(project).count(),
        received=sum(row.received for row in reviews),
        required=sum(row.required for row in reviews),
        pending=sum(row.required - row.received for row in reviews if row.is_open),
    )


def judged_pair_ids(project: Project) -> list[str]:
    """Return the ids of all judged pairs, newest judgment first, imported ones last; three queries."""
    # Filter by keys: PostgreSQL is slow at the join with the batches.
    launched = Batch.objects.filter(project=project, kind=review_spec().name).values_list("pk", flat=True)
    rows = counted_judgments(list(launched))
    latest = rows.order_by().values_list("hit__unit__key").annotate(at=Max("submitted_at")).order_by("-at")
    # Imported judgments of pairs that are not in this project have nothing to show.
    own_records = Record.objects.filter(project=project).order_by().values("instance_id")
    imported = ImportedJudgment.objects.filter(
        source__project=project, source__kind=review_spec().name, item__in=own_records
    )
    keys = [key for key, _ in latest]
    return list(dict.fromkeys([*keys, *imported.order_by("pk").values_list("item", flat=True)]))


def _count_units_and_checks(batches: Iterable[Batch]) -> tuple[dict[int, int], dict[int, int]]:
    rows = (
        Unit.objects.filter(batch__in=list(batches))
        .order_by()
        .values_list("batch")
        .annotate(n=Count("pk"), quality_checks=Count("quality_check"))
    )
    found = list(rows)
    return {pk: count - check_count for pk, count, check_count in found}, {
        pk: check_count for pk, _, check_count in found
    }


def _count_judgments(batches: Iterable[Batch]) -> dict[int, int]:
    rows = counted_judgments(list(batches)).order_by()
    return dict(rows.values_list("hit__unit__batch").annotate(n=Count("pk")))


def _describe_selection(batch: Batch) -> str:
    """Return how the round's items were selected; empty if it contains all of them."""
    try:
        selection = Selection.from_row(batch.judging_round.selection)
    except JudgingRound.DoesNotExist:
        return ""
    return "" if selection.method is SelectionMethod.ALL else selection.description
