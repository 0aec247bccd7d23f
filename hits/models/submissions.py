"""Attempts and submissions of workers, the marketplace's assignments, and our decisions."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.domain.states import AssignmentStatus, ReviewVerdict, SubmissionMatch, TrainingOutcome
from hits.models.base import AppendOnly, DecidedModel, one_of_constraint
from hits.models.batches import Hit
from hits.models.instructions import Instructions
from hits.models.people import Worker


class Attempt(models.Model):
    """One worker's attempt at an assignment. The marketplace may give the same id to another worker later."""

    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="attempts")
    assignment_id = models.CharField(max_length=64)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="attempts")
    opened_at = models.DateTimeField(auto_now_add=True)
    # The time of a return or an expiry by the marketplace's notification, which may be missing, or the time when
    # another worker opened the assignment.
    released_at = models.DateTimeField(null=True)
    # The order or variant that the page shows; none for kinds without arms and for attempts before arms existed.
    arm = models.PositiveSmallIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["hit", "assignment_id", "worker"], name="attempt_once_per_worker")
        ]


class Draft(models.Model):
    """Unfinished work. Only its own assignment and worker see it."""

    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="draft")
    content = models.JSONField()
    revision = models.PositiveIntegerField(default=0)
    saved_at = models.DateTimeField()


class Submission(AppendOnly):
    """A received answer. It counts after the marketplace lists its id and hash (see Assignment)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="submissions")
    client_uuid = models.UUIDField(unique=True)
    kind = models.CharField(max_length=60)
    kind_version = models.PositiveIntegerField()
    answer = models.JSONField()
    sha256 = models.CharField(max_length=64)
    # Hashes and sizes of the shown images, since boxes refer to their pixels.
    images = models.JSONField(default=list)
    active_seconds = models.FloatField()
    simulated = models.BooleanField(default=False)
    # The instructions that the worker saw; none means the built-in text of ``kind_version``.
    instructions = models.ForeignKey(
        Instructions, on_delete=models.PROTECT, null=True, related_name="submissions"
    )
    # The shown live hints and the worker's reactions (see hits/hints).
    hints = models.JSONField(default=list)
    # Differences of this worker's page, for example the order of statements; none means no difference.
    shown = models.JSONField(null=True)
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["received_at"]
        constraints = [
            models.CheckConstraint(condition=Q(active_seconds__gte=0), name="active_time_not_negative")
        ]

    @property
    def schema_version(self) -> str:
        """Name and version of the kind that accepted the answer."""
        return f"{self.kind}/{self.kind_version}"


class Assignment(models.Model):
    """One submitted assignment as the marketplace lists it, which decides who is paid."""

    hit = models.ForeignKey(Hit, on_delete=models.PROTECT, related_name="assignments")
    assignment_id = models.CharField(max_length=64)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="assignments")
    status = models.CharField(max_length=12)
    match = models.CharField(max_length=20)
    submission = models.OneToOneField(
        Submission, on_delete=models.PROTECT, null=True, related_name="assignment"
    )
    answer_xml = models.TextField()
    accepted_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField()
    auto_approves_at = models.DateTimeField(null=True)
    synced_at = models.DateTimeField()
    # Why the confirmed answer gave no records; none if it gave some or the kind collects nothing.
    record_error = models.CharField(max_length=400, null=True)  # noqa: DJ001 - a default would remake the table

    class Meta:
        ordering = ["submitted_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["hit", "assignment_id"], name="assignment_once"),
            one_of_constraint("status", AssignmentStatus, name="assignment_status_known"),
            models.CheckConstraint(
                condition=~Q(match=SubmissionMatch.MATCHED) | Q(submission__isnull=False),
                name="matched_has_submission",
            ),
        ]
        indexes = [models.Index(fields=["status", "match"], name="assignment_review_queue")]

    @property
    def latest_decision(self) -> "Decision | None":
        """The current decision; an override follows the rejection that it overrides. Reads all decisions."""
        return max(self.decisions.all(), key=lambda decision: decision.pk, default=None)

    @property
    def is_rejection_superseded(self) -> bool:
        """Whether auto-approval or a script approved it on the marketplace before our rejection arrived."""
        latest = self.latest_decision
        return (
            self.status == AssignmentStatus.APPROVED
            and latest is not None
            and latest.verdict == ReviewVerdict.REJECT
        )


class Decision(DecidedModel):
    """A person's verdict on an assignment, with the feedback for the worker."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=10)
    feedback = models.CharField(max_length=1000, blank=True)
    # One approval may override a rejection; it names the rejection.
    overrides = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, related_name="overridden_by"
    )

    class Meta(DecidedModel.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["assignment"], condition=Q(overrides=None), name="one_decision_per_assignment"
            ),
            models.CheckConstraint(
                condition=Q(overrides=None) | Q(verdict=ReviewVerdict.APPROVE), name="only_approval_overrides"
            ),
            one_of_constraint("verdict", ReviewVerdict, name="verdict_known"),
        ]


class Feedback(AppendOnly):
    """A trainer's feedback on a submission; the worker sees it at the next attempt.

    ``remarks`` are rows of ``{"observation": 1…5 or null, "part": "clue|boxes|inference|confidence" or null,
    "box": number from 1 or null, "text": …}``.
    """

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="feedback")
    outcome = models.CharField(max_length=10)
    summary = models.CharField(max_length=2000, blank=True)
    remarks = models.JSONField(default=list)
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    written_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [one_of_constraint("outcome", TrainingOutcome, name="training_outcome_known")]
