"""What the console's frame and lists show. Each function makes a fixed number of queries."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from hits import registry
from hits.domain.states import (
    AssignmentStatus,
    BatchState,
    HitState,
    JobState,
    Purpose,
    SubmissionMatch,
)
from hits.models import Assignment, Attempt, AuditEvent, Batch, Decision, Heartbeat, Hit, Image, Job, Project
from hits.selectors.jobs import find_open_jobs

HEARTBEAT_TIMEOUT = timedelta(seconds=60)
# Graded, answered by a trainer, or paid on submission.
_REVIEWED_SEPARATELY = (Purpose.QUALIFYING, Purpose.TRAINING, Purpose.COMPENSATING)
_AWAITS_DECISION = Q(status=AssignmentStatus.SUBMITTED, match=SubmissionMatch.MATCHED)


def waiting_assignments() -> "QuerySet[Assignment]":
    """Return what a reviewer may decide now: confirmed, undecided, and without a review queue of its own."""
    return Assignment.objects.filter(_AWAITS_DECISION, decisions__isnull=True).exclude(
        hit__unit__batch__kind__in=registry.kinds_with_purpose(*_REVIEWED_SEPARATELY)
    )


def count_waiting_assignments(project: Project) -> int:
    """Return how many submissions of a project await a decision."""
    return waiting_assignments().filter(hit__unit__batch__project=project).count()


def count_unserved_jobs() -> int:
    """Return how many jobs are queued while no worker process has sent a heartbeat for a minute; else 0."""
    queued = Job.objects.filter(state=JobState.QUEUED).count()
    if not queued:
        return 0
    alive = Heartbeat.objects.filter(at__gte=timezone.now() - HEARTBEAT_TIMEOUT).exists()
    return 0 if alive else queued


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Counts of a batch's assignments; ``hits`` and ``live_hits`` count HITs.

    ``offered``: assignments of live HITs. ``settling``: decided but not carried out. ``in_progress``: accepted and
    not submitted.
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
    in_progress: int = 0

    @property
    def submitted(self) -> int:
        """All submitted assignments."""
        return self.approved + self.waiting + self.settling + self.unmatched + self.rejected

    @property
    def open(self) -> int:
        """Assignments of live HITs that no worker has accepted."""
        return max(0, self.offered - self.submitted - self.in_progress)

    @property
    def bar_segments(self) -> list[tuple[str, str]]:
        """Return (CSS class, width in percent) of three segments: approved, not yet decided or paid, in progress."""
        pending = self.waiting + self.settling + self.unmatched
        parts = (("", self.approved), ("p2", pending), ("p3", self.in_progress))
        return [(name, f"{100 * count / self.total:.2f}" if self.total else "0") for name, count in parts]

    @property
    def unpublished_hit_count(self) -> int:
        """HITs that are not published yet."""
        return self.hits - self.live_hits

    def state_label(self, batch: Batch, *, publishing: bool) -> str:
        """Return the batch's state, more detailed than its row's; ``publishing``: a job publishes it now."""
        if batch.state in {BatchState.LAUNCHING, BatchState.LIVE} and (
            self.unpublished_hit_count or not self.live_hits
        ):
            return "publishing" if publishing else "stopped"
        if batch.state == BatchState.LAUNCHING:
            return "publishing"
        if batch.state != BatchState.LIVE:
            return str(batch.state)
        if self.open or self.in_progress:
            return "collecting"
        return "reviewing" if self.waiting or self.unmatched else "done"


def progress_by_batch(batches: Iterable[Batch]) -> dict[int, BatchProgress]:
    """Return the progress of several batches by id; three queries."""
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
    _add_assignment_counts(rows, counts)
    for pk, number in _count_in_progress(rows).items():
        counts[pk]["in_progress"] = number
    return {pk: BatchProgress(**values) for pk, values in counts.items()}


def _add_assignment_counts(rows: list[Batch], counts: dict[int, dict[str, int]]) -> None:
    assignments = Assignment.objects.filter(hit__unit__batch__in=rows)
    decided = Exists(Decision.objects.filter(assignment=OuterRef("pk")))
    grouped = (
        assignments.order_by()
        .annotate(decided=decided)
        .values_list("hit__unit__batch", "status", "match", "decided")
        .annotate(n=Count("id"))
    )
    for pk, status, match, decided, number in grouped:
        if status == AssignmentStatus.APPROVED:
            status_name = "approved"
        elif status == AssignmentStatus.REJECTED:
            status_name = "rejected"
        elif decided:
            status_name = "settling"
        else:
            status_name = "waiting" if match == SubmissionMatch.MATCHED else "unmatched"
        counts[pk][status_name] += number


def publishing_batch_ids(batches: Iterable[Batch]) -> set[int]:
    """Return the ids of the batches that an open job or a process with a lease is publishing."""
    keys = {f"publish:{batch.pk}": batch.pk for batch in batches}
    found = find_open_jobs(*keys)
    leased = Batch.objects.filter(pk__in=keys.values(), lease_until__gt=timezone.now())
    by_job = {keys[key] for key in found.values_list("exclusive_key", flat=True)}
    return by_job | set(leased.values_list("pk", flat=True))


def _count_in_progress(rows: list[Batch]) -> dict[int, int]:
    """Count assignments that a worker opened and may still finish, by our clock; the marketplace's clock decides."""
    if not rows:
        return {}
    now = timezone.now()
    longest_seconds = max(batch.duration_seconds for batch in rows)
    submitted = Assignment.objects.filter(hit=OuterRef("hit"), assignment_id=OuterRef("assignment_id"))
    opened = (
        Attempt.objects.filter(
            hit__unit__batch__in=rows, opened_at__gt=now - timedelta(seconds=longest_seconds)
        )
        .exclude(Exists(submitted))
        .values_list("hit__unit__batch", "hit", "assignment_id", "opened_at")
    )
    durations = {batch.pk: timedelta(seconds=batch.duration_seconds) for batch in rows}
    open_slots = {(pk, hit, slot) for pk, hit, slot, at in opened if at > now - durations[pk]}
    in_progress: dict[int, int] = defaultdict(int)
    for pk, _, _ in open_slots:
        in_progress[pk] += 1
    return in_progress


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A row of the project list."""

    project: Project
    image_count: int
    batch_count: int
    waiting_count: int


def project_rows(projects: "QuerySet[Project]") -> list[ProjectRow]:
    """Return projects with the counts of their contents; four queries."""
    rows = list(projects.order_by("name"))

    def count_by_project(found: "QuerySet[Any]", path: str) -> dict[int, int]:
        grouped = found.filter(**{f"{path}__in": rows}).order_by().values_list(path)
        return dict(grouped.annotate(Count("id")))

    images = count_by_project(Image.objects.all(), "project")
    batches = count_by_project(Batch.objects.all(), "project")
    waiting = count_by_project(waiting_assignments(), "hit__unit__batch__project")
    return [
        ProjectRow(row, images.get(row.pk, 0), batches.get(row.pk, 0), waiting.get(row.pk, 0)) for row in rows
    ]


def project_events(project: Project) -> "QuerySet[AuditEvent]":
    """Return a project's audit events, newest first."""
    return AuditEvent.objects.filter(project=project).select_related("actor")
