"""HIT types, HITs, their assignment slots, and the attempts at each slot.

A HIT's status is not stored: it is computed from its slots and the clock (``selectors.lifecycle``).
"""

from django.db import models
from django.db.models import F, Q

from hits.domain.workers.requirements import Requirement
from hits.marketplace.ids import new_entity_id
from hits.marketplace.requirements import parse_requirement

from .accounts import Requester, Worker


class HITType(models.Model):
    """The values that HITs of one group share. Equal values give the same type (``params_hash``)."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="hit_types")
    hit_type_id = models.CharField(max_length=64, unique=True, default=new_entity_id)
    params_hash = models.CharField(max_length=64)
    title = models.CharField(max_length=128)
    description = models.CharField(max_length=2000)
    keywords = models.CharField(max_length=1000, blank=True)
    reward_cents = models.PositiveIntegerField()
    assignment_seconds = models.PositiveIntegerField()
    auto_approval_seconds = models.PositiveIntegerField()
    qualification_requirements = models.JSONField(default=list)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["requester", "params_hash"], name="marketplace_hit_type_once"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The parsed qualification requirements of this type."""
        return tuple(parse_requirement(row) for row in self.qualification_requirements)


class HITLayout(models.Model):
    """A page with ``${variables}`` from which HITs are created (HITLayoutId, HITLayoutParameters)."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="hit_layouts")
    layout_id = models.CharField(max_length=64, unique=True, default=new_entity_id)
    name = models.CharField(max_length=120)
    html = models.TextField()
    frame_height = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["requester", "name"], name="marketplace_layout_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class QuestionKind(models.TextChoices):
    """Who shows a HIT's page. The values are the root elements of the question's XML."""

    EXTERNAL = "ExternalQuestion", "A page of the requester's"
    HTML = "HTMLQuestion", "HTML that the marketplace shows"
    FORM = "QuestionForm", "A form that the marketplace builds"


class HIT(models.Model):
    """One unit of work. The price of a slot is fixed at creation, so that holds and payments always agree."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="hits")
    hit_type = models.ForeignKey(HITType, on_delete=models.PROTECT, related_name="hits")
    hit_id = models.CharField(max_length=64, unique=True, default=new_entity_id)
    question = models.TextField()
    question_kind = models.CharField(max_length=16, choices=QuestionKind, default=QuestionKind.EXTERNAL)
    question_url = models.TextField(blank=True)  # of an ExternalQuestion
    layout = models.ForeignKey(HITLayout, on_delete=models.PROTECT, null=True, related_name="hits")
    frame_height = models.PositiveIntegerField(default=0)
    annotation = models.CharField(max_length=255, null=True)  # noqa: DJ001  absent and empty differ in the API
    max_assignments = models.PositiveIntegerField()
    reward_cents = models.PositiveIntegerField()
    fee_cents = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    disposed_at = models.DateTimeField(null=True)
    is_reviewing = models.BooleanField(default=False)
    # Whether the expiry and reviewable events are recorded; an extension resets both.
    expired_recorded = models.BooleanField(default=False, db_column="told_expired")
    reviewable_recorded = models.BooleanField(default=False, db_column="told_reviewable")

    class Meta:
        indexes = [
            models.Index(fields=["requester", "id"], name="mkt_hit_of_requester"),  # ListHITs, newest first
            models.Index(fields=["hit_type", "expires_at"], name="mkt_hit_of_type"),  # the work list
            # services.hits.dispose_stale_hits
            models.Index(fields=["created_at"], name="mkt_hit_stale", condition=Q(disposed_at__isnull=True)),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(max_assignments__gte=1), name="marketplace_hit_has_slots"),
            models.CheckConstraint(
                condition=Q(question_kind="ExternalQuestion") | Q(question_url=""),
                name="marketplace_only_external_questions_have_a_url",
            ),
        ]

    @property
    def slot_cents(self) -> int:
        """What one approved assignment costs the requester: reward and fee, in cents."""
        return self.reward_cents + self.fee_cents


class SlotState(models.TextChoices):
    """State of an assignment slot."""

    OPEN = "open", "Open"
    PENDING = "pending", "Being worked on"
    SUBMITTED = "submitted", "In review"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"


class Assignment(models.Model):
    """A slot of a HIT. After a return the same id is offered again, so an id alone does not identify a worker."""

    hit = models.ForeignKey(HIT, on_delete=models.PROTECT, related_name="assignments")
    assignment_id = models.CharField(max_length=64, unique=True, default=new_entity_id)
    state = models.CharField(max_length=10, choices=SlotState, default=SlotState.OPEN)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="assignments")
    accepted_at = models.DateTimeField(null=True)
    deadline = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    auto_approval_at = models.DateTimeField(null=True)
    approved_at = models.DateTimeField(null=True)
    rejected_at = models.DateTimeField(null=True)
    answer = models.TextField(blank=True)
    feedback = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["hit", "state"], name="mkt_slot_of_hit"),  # counts by state
            models.Index(fields=["hit", "id"], name="mkt_slot_free", condition=Q(state="open")),  # accepting
            models.Index(fields=["hit", "submitted_at", "id"], name="mkt_slot_submitted"),  # ListAssignments
            # services.lifecycle.apply_all_due_changes
            models.Index(fields=["deadline"], name="mkt_slot_abandon", condition=Q(state="pending")),
            models.Index(
                fields=["auto_approval_at"], name="mkt_slot_autoapprove", condition=Q(state="submitted")
            ),  # services.lifecycle.apply_all_due_changes
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["hit", "worker"],
                condition=Q(worker__isnull=False),
                name="marketplace_one_slot_per_worker_and_hit",
            ),
            models.CheckConstraint(
                condition=Q(state="open", worker__isnull=True)
                | (~Q(state="open") & Q(worker__isnull=False, accepted_at__isnull=False)),
                name="marketplace_open_slot_has_no_worker",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "pending"], submitted_at__isnull=True)
                | Q(state__in=["submitted", "approved", "rejected"], submitted_at__isnull=False),
                name="marketplace_submitted_slot_has_time",
            ),
        ]


class Outcome(models.TextChoices):
    """How an attempt at a slot ended; WORKING if it has not."""

    WORKING = "working", "Working"
    SUBMITTED = "submitted", "Submitted"
    RETURNED = "returned", "Returned"
    ABANDONED = "abandoned", "Time ran out"


class Attempt(models.Model):
    """One accept of a slot by one worker, never deleted. Its secret is derived from ``nonce`` and not stored."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="attempts")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="attempts")
    nonce = models.CharField(max_length=64, unique=True)
    secret_hash = models.CharField(max_length=64, unique=True)
    accepted_at = models.DateTimeField()
    deadline = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.WORKING)

    class Meta:
        indexes = [models.Index(fields=["worker", "outcome"], name="mkt_attempt_of_worker")]
        constraints = [
            models.UniqueConstraint(
                fields=["assignment"],
                condition=Q(outcome="working"),
                name="marketplace_one_present_attempt",
            ),
            models.CheckConstraint(
                condition=Q(outcome="working", ended_at__isnull=True)
                | (~Q(outcome="working") & Q(ended_at__isnull=False)),
                name="marketplace_ended_attempt_has_time",
            ),
            models.CheckConstraint(
                condition=Q(deadline__gt=F("accepted_at")), name="marketplace_deadline_after_accept"
            ),
        ]
