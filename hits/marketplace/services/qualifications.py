"""Giving qualifications and taking them away. Each change leaves a row in the trail."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction

from hits.marketplace.models import (
    GrantStatus,
    Qualification,
    QualificationChange,
    QualificationType,
    Requester,
    TypeStatus,
    Worker,
)


class NameTaken(Exception):
    """The requester has a qualification type of this name already."""


class NotHeld(Exception):
    """There is nothing to take away; ``present`` is the revoked row, or None for what was never held."""

    def __init__(self, present: Qualification | None) -> None:
        super().__init__()
        self.present = present


@transaction.atomic
def create_type(
    *, requester: Requester, name: str, description: str, keywords: str, status: TypeStatus, now: datetime
) -> QualificationType:
    """Return a new qualification type. Raises NameTaken; the unique constraint decides between two calls."""
    try:
        with transaction.atomic():
            return QualificationType.objects.create(
                requester=requester,
                name=name,
                description=description,
                keywords=keywords,
                status=status,
                created_at=now,
            )
    except IntegrityError:
        raise NameTaken from None


@transaction.atomic
def update_type(
    *, kind: QualificationType, description: str | None, status: TypeStatus | None
) -> QualificationType:
    """Change what is given of description and status; what workers hold stays theirs."""
    kind.description = kind.description if description is None else description
    kind.status = kind.status if status is None else status
    kind.save(update_fields=["description", "status"])
    return kind


@transaction.atomic
def grant(*, kind: QualificationType, worker: Worker, value: int, now: datetime) -> Qualification:
    """Give a worker a qualification, or another value of it. Repeating the same changes nothing."""
    _lock(worker)
    held = Qualification.objects.filter(qualification_type=kind, worker=worker).first()
    if held is None:
        held = Qualification(qualification_type=kind, worker=worker, granted_at=now)
    elif held.status == GrantStatus.GRANTED and held.value == value:
        return held
    elif held.status == GrantStatus.REVOKED:
        held.granted_at = now
    held.value, held.status, held.reason, held.changed_at = value, GrantStatus.GRANTED, "", now
    held.save()
    _record(held)
    return held


@transaction.atomic
def revoke(*, kind: QualificationType, worker: Worker, reason: str, now: datetime) -> None:
    """Take a qualification away with the reason that the worker reads. Raises NotHeld."""
    _lock(worker)
    held = Qualification.objects.filter(qualification_type=kind, worker=worker).first()
    if held is None or held.status == GrantStatus.REVOKED:
        raise NotHeld(held)
    held.status, held.reason, held.changed_at = GrantStatus.REVOKED, reason, now
    held.save()
    _record(held)


def _lock(worker: Worker) -> None:
    # The row that an accept locks, too: on PostgreSQL a task is taken wholly before a change or wholly after.
    Worker.objects.select_for_update().get(pk=worker.pk)


def _record(held: Qualification) -> None:
    QualificationChange.objects.create(
        qualification=held, status=held.status, value=held.value, reason=held.reason, at=held.changed_at
    )
