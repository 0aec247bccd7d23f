"""Qualifications that requesters grant and revoke, and requesters' blocks of workers."""

from django.db import models
from django.db.models import Q

from hits.marketplace.ids import new_entity_id

from .accounts import Requester, Worker
from .append_only import AppendOnly


class TypeStatus(models.TextChoices):
    """Whether new HITs may require a qualification type. The values are the API's."""

    ACTIVE = "Active", "Active"
    INACTIVE = "Inactive", "Inactive"


class QualificationType(models.Model):
    """A qualification that a requester grants to workers. The description explains how to get it."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="qualification_types")
    type_id = models.CharField(max_length=64, unique=True, default=new_entity_id)
    name = models.CharField(max_length=200)
    description = models.CharField(max_length=2000)
    keywords = models.CharField(max_length=1000, blank=True)
    status = models.CharField(max_length=8, choices=TypeStatus, default=TypeStatus.ACTIVE)
    is_requestable = models.BooleanField(default=False)
    test = models.TextField(blank=True)  # a QuestionForm; blank: no test
    answer_key = models.TextField(blank=True)  # blank: the requester scores the test
    test_seconds = models.PositiveIntegerField(null=True)
    retry_delay_seconds = models.PositiveIntegerField(null=True)  # null: it can be requested once
    is_auto_granted = models.BooleanField(default=False)
    auto_granted_value = models.IntegerField(default=1)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "name"],
                condition=Q(deleted_at__isnull=True),
                name="marketplace_qualification_name_once",
            ),
            models.CheckConstraint(
                condition=Q(test="") | Q(is_auto_granted=False, test_seconds__isnull=False),
                name="marketplace_test_has_its_time",
            ),
            models.CheckConstraint(
                condition=Q(answer_key="") | ~Q(test=""), name="marketplace_key_belongs_to_a_test"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GrantStatus(models.TextChoices):
    """State of a worker's qualification. The values are the API's."""

    GRANTED = "Granted", "Held"
    REVOKED = "Revoked", "Taken away"


class Qualification(models.Model):
    """A worker's qualification of one type, granted or revoked. ``reason`` explains the last change."""

    qualification_type = models.ForeignKey(
        QualificationType, on_delete=models.PROTECT, related_name="qualifications"
    )
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="qualifications")
    value = models.IntegerField()
    status = models.CharField(max_length=8, choices=GrantStatus, default=GrantStatus.GRANTED)
    granted_at = models.DateTimeField()
    reason = models.TextField(blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["qualification_type", "worker"], name="marketplace_qualification_once"
            ),
        ]


class QualificationChange(AppendOnly):
    """One grant, new value or revocation: the history of ``Qualification``."""

    qualification = models.ForeignKey(Qualification, on_delete=models.PROTECT, related_name="changes")
    status = models.CharField(max_length=8, choices=GrantStatus)
    value = models.IntegerField()
    reason = models.TextField(blank=True)
    at = models.DateTimeField()


class RequestState(models.TextChoices):
    """State of a worker's request for a qualification."""

    TAKING = "taking", "Taking the test"
    PENDING = "pending", "Waiting"
    GRANTED = "granted", "Granted"
    REJECTED = "rejected", "Rejected"
    EXPIRED = "expired", "Time ran out"


class QualificationRequest(models.Model):
    """A worker's request for a qualification, with their answers if the type has a test."""

    request_id = models.CharField(max_length=64, unique=True, default=new_entity_id)
    qualification_type = models.ForeignKey(
        QualificationType, on_delete=models.PROTECT, related_name="requests"
    )
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="qualification_requests")
    state = models.CharField(max_length=8, choices=RequestState)
    test = models.TextField(blank=True)  # as it was shown; the type's test may change later
    started_at = models.DateTimeField()
    deadline = models.DateTimeField(null=True)  # of the test
    submitted_at = models.DateTimeField(null=True)
    answer = models.TextField(blank=True)
    score = models.IntegerField(null=True)  # by the answer key
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["qualification_type", "state", "id"], name="mkt_request_of_type"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["qualification_type", "worker"],
                condition=Q(state__in=["taking", "pending"]),
                name="marketplace_one_open_request",
            ),
            models.CheckConstraint(
                condition=Q(state="taking", submitted_at__isnull=True)
                | Q(state="expired", submitted_at__isnull=True)
                | Q(state__in=["pending", "granted", "rejected"], submitted_at__isnull=False),
                name="marketplace_submitted_request_has_time",
            ),
        ]


class WorkerBlock(models.Model):
    """A requester's block of a worker from new work. An ended block stays as a row."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="worker_blocks")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="blocks")
    reason = models.TextField()
    at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    end_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "worker"],
                condition=Q(ended_at__isnull=True),
                name="marketplace_one_present_block",
            ),
        ]
