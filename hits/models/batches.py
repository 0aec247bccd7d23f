"""Batches, their units, and the HITs that offer the units on a marketplace."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from hits.domain.money.fees import LOCAL_FEES, FeeSchedule, fee_schedule
from hits.domain.money.pay import ApprovalCost, approval_cost
from hits.domain.states import BatchState, HitState, UnitScope
from hits.models.base import AppendOnly, one_of_constraint, unique_idempotency_key_per_batch
from hits.models.images import Image
from hits.models.instructions import Instructions
from hits.models.people import Worker
from hits.models.projects import Project


class Batch(models.Model):
    """One launch of one kind over many units. ``kind`` is the name of the kind's folder."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="batches")
    kind = models.CharField(max_length=60)
    kind_version = models.PositiveIntegerField()
    name = models.CharField(max_length=120)
    environment = models.CharField(max_length=40)
    # The marketplace fixes a HIT's fees at creation, so the batch stores the schedule's name.
    fee_schedule = models.CharField(max_length=80, default=LOCAL_FEES.name)
    masters_only = models.BooleanField(default=False)
    state = models.CharField(max_length=12, default=BatchState.LAUNCHING)
    reward_cents = models.PositiveIntegerField()
    bonus_cents = models.PositiveIntegerField(default=0)
    # Different workers per unit. A HIT with ten or more assignments costs double fees, so a unit with more workers
    # has several HITs (``Hit.slice``); ``max_assignments`` is that of the largest one.
    redundancy = models.PositiveIntegerField(db_column="opinions")
    max_assignments = models.PositiveIntegerField(db_column="assignments_per_hit")
    unit_scope = models.CharField(max_length=8, default=UnitScope.BATCH)
    duration_seconds = models.PositiveIntegerField()
    lifetime_seconds = models.PositiveIntegerField()
    auto_approval_seconds = models.PositiveIntegerField()
    estimate_cents = models.PositiveIntegerField(default=0)
    # The maximum cost with extensions and top-ups; none means that only the project's cap applies.
    budget_cap_cents = models.PositiveBigIntegerField(null=True)
    hit_type_id = models.CharField(max_length=64, blank=True)
    # The version that task pages show; none means the built-in text of the kind.
    instructions = models.ForeignKey(
        Instructions, on_delete=models.PROTECT, null=True, related_name="batches"
    )
    # The maximum number of submissions per worker; none means one for each HIT.
    worker_limit = models.PositiveIntegerField(null=True)
    provenance = models.JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    launched_at = models.DateTimeField(null=True)
    synced_at = models.DateTimeField(null=True)
    # One publisher at a time: a conditional UPDATE claims the lease, and the publisher renews it.
    lease_owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            one_of_constraint("state", BatchState, name="batch_state_known"),
            one_of_constraint("unit_scope", UnitScope, name="batch_unit_scope_known"),
            models.CheckConstraint(
                condition=Q(reward_cents__gt=0, max_assignments__gt=0), name="batch_pays_somebody"
            ),
            models.CheckConstraint(
                condition=Q(redundancy__gte=models.F("max_assignments")), name="batch_opinions_fill_a_hit"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def fees(self) -> FeeSchedule:
        """The marketplace's fees on this batch's rewards and bonuses."""
        fees = fee_schedule(self.fee_schedule)
        return fees.for_masters() if self.masters_only else fees

    def approval_cost(self, max_assignments: int, bonus_items: int) -> ApprovalCost:
        """Return the cost of approving one assignment whose answer has ``bonus_items`` items that earn a bonus."""
        return approval_cost(
            reward_cents=self.reward_cents,
            bonus_each_cents=self.bonus_cents,
            bonus_items=bonus_items,
            max_assignments=max_assignments,
            fees=self.fees,
        )

    def slot_cents(self, max_assignments: int) -> int:
        """Return the cents held for one assignment of a HIT: the reward and its fee."""
        return self.reward_cents + self.fees.fee_cents(self.reward_cents, max_assignments)


class Extension(AppendOnly):
    """More workers per unit of a batch, or more time, after its launch. Its calls execute it."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="extensions")
    more_redundancy = models.PositiveIntegerField(default=0, db_column="more_opinions")
    more_seconds = models.PositiveIntegerField(default=0)
    estimate_cents = models.PositiveIntegerField(default=0)
    # A second press of the same button has the same key and extends nothing.
    idempotency_key = models.CharField(max_length=64, blank=True, db_column="once")
    extended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    extended_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        ordering = ["id"]
        constraints = [
            unique_idempotency_key_per_batch("extension_once_per_wish"),
            models.CheckConstraint(
                condition=Q(more_redundancy__gt=0) | Q(more_seconds__gt=0), name="extension_extends"
            ),
        ]


class Unit(models.Model):
    """One item to work on: a payload that the kind's schema accepts, and its images."""

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="units")
    key = models.CharField(max_length=80)
    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    payload = models.JSONField()
    images = models.ManyToManyField(Image, related_name="units")
    # Workers who may not judge this unit, for example the author of the record that it shows.
    excluded_workers = models.ManyToManyField(Worker, related_name="excluded_from")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["batch", "key"], name="unit_key_once_per_batch")]


class Hit(models.Model):
    """One HIT for one unit. The row and its token exist before the HIT on the marketplace."""

    unit = models.ForeignKey(Unit, on_delete=models.PROTECT, related_name="hits")
    environment = models.CharField(max_length=40)
    # ``slice`` numbers the HITs of one unit (more than nine workers need several). ``generation`` grows when the
    # token expires and no HIT exists.
    slice = models.PositiveIntegerField(default=1, db_column="part")
    generation = models.PositiveIntegerField(default=1)
    token = models.CharField(max_length=64, unique=True)
    annotation = models.CharField(max_length=255)
    state = models.CharField(max_length=12, default=HitState.PLANNED)
    attempt_at = models.DateTimeField(null=True)
    hit_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 - null until the marketplace names it
    max_assignments = models.PositiveIntegerField()
    expires_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["unit", "slice"], name="hit_part_once"),
            models.UniqueConstraint(fields=["environment", "hit_id"], name="hit_id_once_per_environment"),
            one_of_constraint("state", HitState, name="hit_state_known"),
            models.CheckConstraint(
                condition=~Q(state=HitState.LIVE) | Q(hit_id__isnull=False), name="live_hit_has_an_id"
            ),
        ]
