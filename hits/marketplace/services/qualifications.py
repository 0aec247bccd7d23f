"""Qualification types; grant and revoke qualifications. Each change is recorded in QualificationChange."""

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from hits.marketplace.errors import ApiError
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


class QualificationNotHeld(ApiError):
    """The worker does not hold the qualification; ``revoked`` is its revoked row, or None if it was never held."""

    def __init__(self, revoked: Qualification | None) -> None:
        if revoked is None:
            super().__init__(
                "QualificationDoesNotExist", "You requested a Qualification that does not exist."
            )
        else:
            super().__init__(
                "InvalidQualificationState", "This operation can be called with a status of: Granted"
            )


@dataclass(frozen=True)
class QualificationTerms:
    """How workers get a qualification by request. Times in seconds; the XML is already validated.

    ``is_decided_by_hand``: if there is no test and no auto-grant, the requester decides requests.
    """

    test: str = ""
    answer_key: str = ""
    test_seconds: int | None = None
    retry_delay_seconds: int | None = None
    is_auto_granted: bool = False
    auto_granted_value: int = 1
    is_decided_by_hand: bool = False


@transaction.atomic
def create_qualification_type(
    *,
    requester: Requester,
    name: str,
    description: str,
    keywords: str,
    status: TypeStatus,
    now: datetime,
    terms: QualificationTerms | None = None,
) -> QualificationType:
    """Return a new qualification type. Raises ApiError for a taken name, by a database constraint."""
    terms = terms or QualificationTerms()
    qualification_type = QualificationType(
        requester=requester,
        name=name,
        description=description,
        keywords=keywords,
        status=status,
        created_at=now,
    )
    _apply_terms(qualification_type, terms)
    try:
        with transaction.atomic():
            qualification_type.save()
    except IntegrityError:
        raise ApiError(
            "QualificationTypeAlreadyExists",
            "You have already created a QualificationType with this name. "
            "A QualificationType's name must be unique among all of the QualificationTypes created by the "
            "same user.",
        ) from None
    return qualification_type


@transaction.atomic
def update_qualification_type(
    *,
    qualification_type: QualificationType,
    description: str | None,
    status: TypeStatus | None,
    terms: QualificationTerms | None = None,
) -> QualificationType:
    """Change the given values. Held qualifications and running tests stay as they are."""
    qualification_type.description = qualification_type.description if description is None else description
    qualification_type.status = qualification_type.status if status is None else status
    if terms is not None:
        _apply_terms(qualification_type, terms)
    qualification_type.save()
    return qualification_type


@transaction.atomic
def delete_qualification_type(*, qualification_type: QualificationType, now: datetime) -> None:
    """Delete a type: its name becomes free, it is no longer requestable, and pending requests are rejected.

    Held qualifications stay as rows because open HITs may still require them; new HITs cannot.
    """
    QualificationType.objects.filter(pk=qualification_type.pk).update(
        deleted_at=now, status=TypeStatus.INACTIVE, is_requestable=False
    )
    requests = QualificationRequest.objects.filter(qualification_type=qualification_type)
    requests.filter(state=RequestState.PENDING).update(
        state=RequestState.REJECTED, decided_at=now, reason=TYPE_DELETED
    )
    requests.filter(state=RequestState.TAKING).update(state=RequestState.EXPIRED, decided_at=now)


@transaction.atomic
def grant_qualification(
    *, qualification_type: QualificationType, worker: Worker, value: int, now: datetime
) -> Qualification:
    """Grant a worker a qualification, or change its value. Repeating the same call changes nothing."""
    _lock_worker(worker)
    held = Qualification.objects.filter(qualification_type=qualification_type, worker=worker).first()
    if held is None:
        held = Qualification(qualification_type=qualification_type, worker=worker, granted_at=now)
    elif held.status == GrantStatus.GRANTED and held.value == value:
        return held
    elif held.status == GrantStatus.REVOKED:
        held.granted_at = now
    held.value, held.status, held.reason, held.changed_at = value, GrantStatus.GRANTED, "", now
    held.save()
    _record_change(held)
    return held


@transaction.atomic
def revoke_qualification(
    *, qualification_type: QualificationType, worker: Worker, reason: str, now: datetime
) -> None:
    """Revoke a qualification with a reason that the worker reads. Raises QualificationNotHeld."""
    _lock_worker(worker)
    held = Qualification.objects.filter(qualification_type=qualification_type, worker=worker).first()
    if held is None or held.status == GrantStatus.REVOKED:
        raise QualificationNotHeld(held)
    held.status, held.reason, held.changed_at = GrantStatus.REVOKED, reason, now
    held.save()
    _record_change(held)


def _apply_terms(row: QualificationType, terms: QualificationTerms) -> None:
    row.test, row.answer_key, row.test_seconds = terms.test, terms.answer_key, terms.test_seconds
    row.retry_delay_seconds = terms.retry_delay_seconds
    row.is_auto_granted, row.auto_granted_value = terms.is_auto_granted, terms.auto_granted_value
    row.is_requestable = bool(terms.test) or terms.is_auto_granted or terms.is_decided_by_hand


def _lock_worker(worker: Worker) -> None:
    # An accept locks the same row: on PostgreSQL it runs entirely before or after this change.
    Worker.objects.select_for_update().get(pk=worker.pk)


def _record_change(held: Qualification) -> None:
    QualificationChange.objects.create(
        qualification=held, status=held.status, value=held.value, reason=held.reason, at=held.changed_at
    )
