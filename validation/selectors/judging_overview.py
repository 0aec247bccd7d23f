"""What the judging page lists: rounds with how far they are, the pairs that wait, judged pairs page by page.

Each function asks a fixed number of questions, however many rounds, pairs and judgments there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Max

from hits import registry
from hits.domain.states import BatchState, Match, Purpose
from hits.models import Assignment, Batch, Project, Record, Unit
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.selectors.console import Progress, being_published, progress_of
from validation.domain.judging.sampling import How, Selection
from validation.models import ImportedJudgment, JudgingRound
from validation.registry import spec_of
from validation.selectors.judging import review, unreviewed

NOT_REJECTED = [status.value for status in collected.NOT_REJECTED]


@dataclass(frozen=True, slots=True)
class RoundLine:
    """One round in the list. ``judged`` of ``wanted`` judgments are in; controls are no judgments."""

    batch: Batch
    title: str
    state: str
    judged: int
    wanted: int
    items: int
    chosen: str
    controls: int
    material: str

    @property
    def share(self) -> str:
        """How much is in, in percent, for a bar's width."""
        return f"{100 * min(self.judged, self.wanted) / self.wanted:.2f}" if self.wanted else "0"

    @property
    def is_open(self) -> bool:
        """Whether judgments may still come in."""
        return self.batch.state in {BatchState.LAUNCHING, BatchState.LIVE} and self.judged < self.wanted


@dataclass(frozen=True, slots=True)
class Stand:
    """How the accepted pairs stand: ``unsent`` went to no judge yet, ``awaited`` judgments are still to come."""

    accepted: int
    unsent: int
    judged: int
    wanted: int
    awaited: int


def round_lines(project: Project) -> list[RoundLine]:
    """Return the project's judging rounds of all kinds, newest first."""
    kinds = registry.with_purpose(Purpose.JUDGING)
    batches = list(Batch.objects.filter(project=project, kind__in=kinds).select_related("judging_round"))
    open_now = [batch for batch in batches if batch.state != BatchState.CLOSED]
    progress, publishing = progress_of(open_now), being_published(open_now)
    own, controls = _units(batches)
    judged = _judged(batches)
    return [
        RoundLine(
            batch=batch,
            title=spec_of(batch.kind).title,
            state=progress.get(batch.pk, Progress()).state(batch, publishing=batch.pk in publishing),
            judged=judged.get(batch.pk, 0),
            wanted=own.get(batch.pk, 0) * batch.opinions,
            items=own.get(batch.pk, 0),
            chosen=_chosen(batch),
            controls=controls.get(batch.pk, 0),
            material=spec_of(batch.kind).material.value,
        )
        for batch in batches
    ]


def stand(project: Project, lines: Iterable[RoundLine]) -> Stand:
    """Return how the project's accepted pairs stand; two queries."""
    reviews = [line for line in lines if line.batch.kind == review().name]
    return Stand(
        accepted=collected.accepted(project, OBSERVATION).count(),
        unsent=unreviewed(project).count(),
        judged=sum(line.judged for line in reviews),
        wanted=sum(line.wanted for line in reviews),
        awaited=sum(line.wanted - line.judged for line in reviews if line.is_open),
    )


def judged_pairs(project: Project) -> list[str]:
    """Return the ids of all pairs that have a judgment, the newest first; imported ones last; three queries."""
    # By their keys: a join with the batches takes PostgreSQL longer than all the rest.
    launched = Batch.objects.filter(project=project, kind=review().name).values_list("pk", flat=True)
    rows = Assignment.objects.filter(
        match=Match.MATCHED,
        status__in=NOT_REJECTED,
        hit__unit__batch__in=list(launched),
        hit__unit__control=None,
    )
    latest = rows.order_by().values_list("hit__unit__key").annotate(at=Max("submitted_at")).order_by("-at")
    # What was judged elsewhere about a pair that is not here either has nothing to show.
    here = Record.objects.filter(project=project).order_by().values("instance_id")
    imported = ImportedJudgment.objects.filter(
        source__project=project, source__kind=review().name, item__in=here
    )
    keys = [key for key, _ in latest]
    return list(dict.fromkeys([*keys, *imported.order_by("pk").values_list("item", flat=True)]))


def _units(batches: Iterable[Batch]) -> tuple[dict[int, int], dict[int, int]]:
    rows = (
        Unit.objects.filter(batch__in=list(batches))
        .order_by()
        .values_list("batch")
        .annotate(n=Count("pk"), controls=Count("control"))
    )
    found = list(rows)
    return {pk: n - controls for pk, n, controls in found}, {pk: controls for pk, _, controls in found}


def _judged(batches: Iterable[Batch]) -> dict[int, int]:
    rows = Assignment.objects.filter(
        hit__unit__batch__in=list(batches),
        hit__unit__control=None,
        match=Match.MATCHED,
        status__in=NOT_REJECTED,
    )
    return dict(rows.order_by().values_list("hit__unit__batch").annotate(n=Count("pk")))


def _chosen(batch: Batch) -> str:
    """Return how the round's items were chosen, where chance or somebody's hand had a part."""
    try:
        selection = Selection.from_row(batch.judging_round.selection)
    except JudgingRound.DoesNotExist:
        return ""
    return "" if selection.how is How.ALL else selection.words
