"""One worker's rates in a project, each with its whole: approval, time, pay, hints, other people's judgments."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from hits import registry
from hits.domain.chart import Chart, Point, pay_chart
from hits.domain.money.pay import mean_cents, median_cents
from hits.domain.states import AssignmentStatus, Match, Purpose
from hits.models import Assignment, Project, Record, Submission, Worker
from hits.selectors.hints import count_of
from hits.selectors.money import pay
from validation.domain.agreement.votes import Share, share_of
from validation.domain.qualification.worker_status import Measure
from validation.selectors.judging import review, review_tallies

LAST = 50


@dataclass(frozen=True, slots=True)
class Figures:
    """Rates with the numbers behind them. Money in cents an hour, times in seconds, ``None`` where nothing is."""

    approved: int
    decided: int
    waiting: int
    median_seconds: float | None
    timed: int
    median_cents: int | None
    mean_cents: int | None
    hints_shown: int
    hints_ignored: int
    submissions: int
    reasonable: Share
    boxes: Share
    chart: Chart | None
    verdicts: Sequence[bool | None]

    @property
    def shown_each(self) -> float | None:
        """Hints shown per submission."""
        return self.hints_shown / self.submissions if self.submissions else None


def figures_of(worker: Worker, project: Project) -> Figures:
    """Return the worker's rates; a fixed number of queries."""
    rows = Assignment.objects.filter(worker=worker, hit__unit__batch__project=project, match=Match.MATCHED)
    # A compensation is approved whoever hands it in: it says nothing of anybody's work.
    rows = rows.exclude(hit__unit__batch__kind__in=registry.with_purpose(Purpose.COMPENSATING))
    states = list(rows.values_list("status", flat=True))
    approved = states.count(AssignmentStatus.APPROVED)
    work = pay.work_of(project, workers=[worker.pk])
    rates = pay.rates(work)
    handed_in = Submission.objects.filter(assignment__in=rows).only("hints")
    counts = [count_of(row) for row in handed_in]
    verdicts = _verdicts(worker, project)
    return Figures(
        approved=approved,
        decided=approved + states.count(AssignmentStatus.REJECTED),
        waiting=states.count(AssignmentStatus.SUBMITTED),
        median_seconds=median(row.active_seconds for row in work) if work else None,
        timed=len(work),
        median_cents=median_cents(rates),
        mean_cents=mean_cents(rates),
        hints_shown=sum(count.shown for count in counts),
        hints_ignored=sum(count.ignored for count in counts),
        submissions=len(counts),
        reasonable=share_of(verdicts[Measure.ACCEPTABLE_SHARE]),
        boxes=share_of(verdicts[Measure.BOXES_SHARE]),
        chart=_chart(work[-LAST:], project),
        verdicts=verdicts[Measure.ACCEPTABLE_SHARE][-LAST:],
    )


def _verdicts(worker: Worker, project: Project) -> dict[str, list[bool | None]]:
    """Return by measure most judges' word on the worker's pairs, in the order in which they were first judged."""
    mine = Record.objects.filter(project=project, submission__attempt__worker=worker)
    keys = list(mine.values_list("instance_id", flat=True))
    pairs = review_tallies(project=project, pairs=keys).pairs.values()
    return {
        one.measure: [pair.verdicts[one.name] for pair in pairs] for one in review().decided if one.measure
    }


def _chart(work: Sequence[pay.Work], project: Project) -> Chart | None:
    points = [
        Point(f"{row.at.day} {row.at:%b}", row.rate_cents) for row in work if row.rate_cents is not None
    ]
    return pay_chart(points, target=project.target_cents_per_hour, by="submission")
