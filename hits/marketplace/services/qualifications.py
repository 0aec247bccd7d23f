"""Qualification types; giving qualifications and taking them away. Each change leaves a row in the trail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from hits.marketplace.models import (
    GrantStatus,
    Qualification,
    QualificationChange,
    QualificationRequest,
    QualificationType,
    Requester,
    RequestState,
    TypeStatus,
    Worker,
)

TYPE_DELETED = "The requester deleted this qualification."


class NameTaken(Exception):
    """The requester has a qualification type of this name already."""


class NotHeld(Exception):
    """There is nothing to take away; ``present`` is the revoked row, or None for what was never held."""

    def __init__(self, present: Qualification | None) -> None:
        super().__init__()
        self.present = present


@dataclass(frozen=True)
class Terms:
    """How workers get a qualification by asking. Seconds; the XML was read before and is good.

    ``is_decided_by_hand``: the requester reads requests that nothing else decides.
    """

    test: str = ""
    answer_key: str = ""
    test_seconds: int | None = None
    retry_delay_seconds: int | None = None
    is_auto_granted: bool = False
    auto_granted_value: int = 1
    is_decided_by_hand: bool = False


@transaction.atomic
def create_type(
    *,
    requester: Requester,
    name: str,
    description: str,
    keywords: str,
    status: TypeStatus,
    now: datetime,
    terms: Terms | None = None,
) -> QualificationType:
    """Return a new qualification type. Raises NameTaken; the unique constraint decides between two calls."""
    terms = terms or Terms()
    kind = QualificationType(
        requester=requester,
        name=name,
        description=description,
        keywords=keywords,
        status=status,
        created_at=now,
    )
    _set(kind, terms)
    try:
        with transaction.atomic():
            kind.save()
    except IntegrityError:
        raise NameTaken from None
    return kind


@transaction.atomic
def update_type(
    *,
    kind: QualificationType,
    description: str | None,
    status: TypeStatus | None,
    terms: Terms | None = None,
) -> QualificationType:
    """Change what is given; what workers hold and the test that somebody is taking stay as they are."""
    kind.description = kind.description if description is None else description
    kind.status = kind.status if status is None else status
    if terms is not None:
        _set(kind, terms)
    kind.save()
    return kind


@transaction.atomic
def delete_type(*, kind: QualificationType, now: datetime) -> None:
    """Take a type out of use: its name is free, nobody can ask for it, and requests that wait are rejected.

    What workers hold stays a row, since HITs that are open may still require it; no new HIT can.
    """
    QualificationType.objects.filter(pk=kind.pk).update(
        deleted_at=now, status=TypeStatus.INACTIVE, is_requestable=False
    )
    requests = QualificationRequest.objects.filter(qualification_type=kind)
    requests.filter(state=RequestState.PENDING).update(
        state=RequestState.REJECTED, decided_at=now, reason=TYPE_DELETED
    )
    requests.filter(state=RequestState.TAKING).update(state=RequestState.EXPIRED, decided_at=now)


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


def _set(kind: QualificationType, terms: Terms) -> None:
    kind.test, kind.answer_key, kind.test_seconds = terms.test, terms.answer_key, terms.test_seconds
    kind.retry_delay_seconds = terms.retry_delay_seconds
    kind.is_auto_granted, kind.auto_granted_value = terms.is_auto_granted, terms.auto_granted_value
    kind.is_requestable = bool(terms.test) or terms.is_auto_granted or terms.is_decided_by_hand


def _lock(worker: Worker) -> None:
    # The row that an accept locks, too: on PostgreSQL a task is taken wholly before a change or wholly after.
    Worker.objects.select_for_update().get(pk=worker.pk)


def _record(held: Qualification) -> None:
    QualificationChange.objects.create(
        qualification=held, status=held.status, value=held.value, reason=held.reason, at=held.changed_at
    )
