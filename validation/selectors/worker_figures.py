"""One worker's rates in a project with their denominators: approval, time, pay, hints, verdicts of judges."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from hits import registry
from hits.charts.chart import Chart
from hits.charts.pay import PayPoint, pay_chart
from hits.domain.money.pay import mean_cents, median_cents
from hits.domain.states import AssignmentStatus, Purpose, SubmissionMatch
from hits.models import Assignment, Project, Record, Submission, Worker
from hits.selectors.hints import count_hints
from hits.selectors.money import pay
from validation.domain.agreement.votes import Share, verdict_share
from validation.domain.qualification.worker_status import Measure
from validation.selectors.judging import pair_judgments, review_spec

RECENT_COUNT = 50  # submissions in the chart, and verdicts


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """Rates with their denominators; pay in cents per hour, times in seconds, ``None`` without data."""

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
    def hints_per_submission(self) -> float | None:
        """The mean number of hints shown per submission."""
        return self.hints_shown / self.submissions if self.submissions else None


def compute_worker_figures(worker: Worker, project: Project) -> WorkerFigures:
    """Return the worker's rates; a fixed number of queries."""
    rows = Assignment.objects.filter(
        worker=worker, hit__unit__batch__project=project, match=SubmissionMatch.MATCHED
    )
    # Compensation tasks are always approved, so they say nothing about a worker's quality.
    rows = rows.exclude(hit__unit__batch__kind__in=registry.kinds_with_purpose(Purpose.COMPENSATING))
    states = list(rows.values_list("status", flat=True))
    approved = states.count(AssignmentStatus.APPROVED)
    work = pay.measured_work(project, workers=[worker.pk])
    rates = pay.hourly_rates(work)
    submissions = Submission.objects.filter(assignment__in=rows).only("hints")
    counts = [count_hints(row) for row in submissions]
    verdicts = _verdicts_by_measure(worker, project)
    return WorkerFigures(
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
        reasonable=verdict_share(verdicts[Measure.ACCEPTABLE_SHARE]),
        boxes=verdict_share(verdicts[Measure.BOXES_SHARE]),
        chart=_hourly_pay_chart(work[-RECENT_COUNT:], project),
        verdicts=verdicts[Measure.ACCEPTABLE_SHARE][-RECENT_COUNT:],
    )


def _verdicts_by_measure(worker: Worker, project: Project) -> dict[str, list[bool | None]]:
    """Return by measure the majority verdicts on the worker's pairs, in the order of their first judgment."""
    own_records = Record.objects.filter(project=project, submission__attempt__worker=worker)
    keys = list(own_records.values_list("instance_id", flat=True))
    pairs = pair_judgments(project=project, pairs=keys).values()
    return {
        dimension.measure: [pair.verdicts[dimension.name] for pair in pairs]
        for dimension in review_spec().deciding_dimensions
        if dimension.measure
    }


def _hourly_pay_chart(work: Sequence[pay.MeasuredWork], project: Project) -> Chart | None:
    points = [
        PayPoint(f"{row.at.day} {row.at:%b}", row.rate_cents) for row in work if row.rate_cents is not None
    ]
    return pay_chart(points, target=project.target_cents_per_hour, x_unit="submission")
