"""What the console's frame and lists show. Each function asks a fixed number of questions."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from hits import registry
from hits.domain.states import (
    AssignmentStatus,
    BatchState,
    HitState,
    JobState,
    Match,
    Purpose,
)
from hits.models import Assignment, Attempt, AuditEvent, Batch, Decision, Heartbeat, Hit, Image, Job, Project
from hits.selectors.jobs import open_under

SILENT_AFTER = timedelta(seconds=60)
# Graded, answered by a trainer, or paid as soon as it comes in.
_ANSWERED_ELSEWHERE = (Purpose.QUALIFYING, Purpose.TRAINING, Purpose.COMPENSATING)
_WAITING = Q(status=AssignmentStatus.SUBMITTED, match=Match.MATCHED)


def waiting_assignments() -> "QuerySet[Assignment]":
    """Return what a reviewer may decide now: confirmed, undecided, and not answered at a desk of its own."""
    return Assignment.objects.filter(_WAITING, decisions__isnull=True).exclude(
        hit__unit__batch__kind__in=registry.with_purpose(*_ANSWERED_ELSEWHERE)
    )


def waiting_in(project: Project) -> int:
    """Return how many submissions of a project wait for a decision."""
    return waiting_assignments().filter(hit__unit__batch__project=project).count()


def idle_queue() -> int:
    """Return how many jobs wait although no worker has been heard of for a minute; else 0."""
    queued = Job.objects.filter(state=JobState.QUEUED).count()
    if not queued:
        return 0
    alive = Heartbeat.objects.filter(at__gte=timezone.now() - SILENT_AFTER).exists()
    return 0 if alive else queued


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is, in assignments; hits in HITs.

    ``offered``: of HITs that are on the marketplace now. ``settling``: decided, not carried out yet.
    """

    hits: int = 0
    live_hits: int = 0
    total: int = 0
    offered: int = 0
    approved: int = 0
    waiting: int = 0
    settling: int = 0
    unmatched: int = 0
    rejected: int = 0
    out: int = 0

    @property
    def submitted(self) -> int:
        """Everything that came in."""
        return self.approved + self.waiting + self.settling + self.unmatched + self.rejected

    @property
    def open(self) -> int:
        """Assignments that nobody holds, of HITs that are on the marketplace."""
        return max(0, self.offered - self.submitted - self.out)

    def share(self, count: int) -> str:
        """Return a part as a percentage of the whole, for a bar's width."""
        return f"{100 * count / self.total:.2f}" if self.total else "0"

    @property
    def bar(self) -> list[tuple[str, str]]:
        """Return the bar's parts as (class, width in percent): approved, in hand here, out."""
        here = self.waiting + self.settling + self.unmatched
        parts = (("", self.approved), ("p2", here), ("p3", self.out))
        return [(name, self.share(count)) for name, count in parts]

    @property
    def missing(self) -> int:
        """HITs that are not on the marketplace yet."""
        return self.hits - self.live_hits

    def state(self, batch: Batch, *, publishing: bool) -> str:
        """Return the word for the batch's state, finer than its row's; ``publishing``: a job is at it."""
        if batch.state in {BatchState.LAUNCHING, BatchState.LIVE} and (self.missing or not self.live_hits):
            return "publishing" if publishing else "stopped"
        if batch.state == BatchState.LAUNCHING:
            return "publishing"
        if batch.state != BatchState.LIVE:
            return str(batch.state)
        if self.open or self.out:
            return "collecting"
        return "reviewing" if self.waiting or self.unmatched else "done"


def progress_of(batches: Iterable[Batch]) -> dict[int, Progress]:
    """Return the progress of several batches by id; three queries in all."""
    rows = list(batches)
    counts: dict[int, dict[str, int]] = {batch.pk: defaultdict(int) for batch in rows}
    hits = Hit.objects.filter(unit__batch__in=rows).order_by().values_list("unit__batch")
    is_live = Q(state=HitState.LIVE)
    sums = hits.annotate(
        n=Count("id"),
        live=Count("id", filter=is_live),
        slots=Sum("max_assignments"),
        offered=Sum("max_assignments", filter=is_live),
    )
    for pk, number, alive, slots, offered in sums:
        counts[pk] |= {"hits": number, "live_hits": alive, "total": slots or 0, "offered": offered or 0}
    _count_assignments(rows, counts)
    for pk, number in _out_now(rows).items():
        counts[pk]["out"] = number
    return {pk: Progress(**values) for pk, values in counts.items()}


def _count_assignments(rows: list[Batch], counts: dict[int, dict[str, int]]) -> None:
    found = Assignment.objects.filter(hit__unit__batch__in=rows)
    decided = Exists(Decision.objects.filter(assignment=OuterRef("pk")))
    grouped = (
        found.order_by()
        .annotate(decided=decided)
        .values_list("hit__unit__batch", "status", "match", "decided")
        .annotate(n=Count("id"))
    )
    for pk, status, match, decided, number in grouped:
        if status == AssignmentStatus.APPROVED:
            part = "approved"
        elif status == AssignmentStatus.REJECTED:
            part = "rejected"
        elif decided:
            part = "settling"
        else:
            part = "waiting" if match == Match.MATCHED else "unmatched"
        counts[pk][part] += number


def being_published(batches: Iterable[Batch]) -> set[int]:
    """Return the ids of the batches that an open job, or a process with a lease, publishes."""
    keys = {f"publish:{batch.pk}": batch.pk for batch in batches}
    found = open_under(*keys)
    leased = Batch.objects.filter(pk__in=keys.values(), lease_until__gt=timezone.now())
    by_job = {keys[key] for key in found.values_list("exclusive_key", flat=True)}
    return by_job | set(leased.values_list("pk", flat=True))


def _out_now(rows: list[Batch]) -> dict[int, int]:
    """Count assignments that somebody opened and may still finish; the marketplace's own clock rules."""
    if not rows:
        return {}
    now = timezone.now()
    longest = max(batch.duration_seconds for batch in rows)
    came_in = Assignment.objects.filter(hit=OuterRef("hit"), assignment_id=OuterRef("assignment_id"))
    opened = (
        Attempt.objects.filter(hit__unit__batch__in=rows, opened_at__gt=now - timedelta(seconds=longest))
        .exclude(Exists(came_in))
        .values_list("hit__unit__batch", "hit", "assignment_id", "opened_at")
    )
    durations = {batch.pk: timedelta(seconds=batch.duration_seconds) for batch in rows}
    held = {(pk, hit, slot) for pk, hit, slot, at in opened if at > now - durations[pk]}
    out: dict[int, int] = defaultdict(int)
    for pk, _, _ in held:
        out[pk] += 1
    return out


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project in the list of projects."""

    project: Project
    images: int
    batches: int
    waiting: int


def project_lines(projects: "QuerySet[Project]") -> list[ProjectLine]:
    """Return projects with what is in them; four queries."""
    rows = list(projects.order_by("name"))
    images = dict(
        Image.objects.filter(project__in=rows).order_by().values_list("project").annotate(Count("id"))
    )
    batches = dict(
        Batch.objects.filter(project__in=rows).order_by().values_list("project").annotate(Count("id"))
    )
    waiting = dict(
        waiting_assignments()
        .filter(hit__unit__batch__project__in=rows)
        .order_by()
        .values_list("hit__unit__batch__project")
        .annotate(Count("id"))
    )
    return [
        ProjectLine(row, images.get(row.pk, 0), batches.get(row.pk, 0), waiting.get(row.pk, 0))
        for row in rows
    ]


def events(project: Project) -> "QuerySet[AuditEvent]":
    """Return what was done in a project, newest first."""
    return AuditEvent.objects.filter(project=project).select_related("actor")
