"""What requesters are told by themselves: written with the act that it tells of, sent afterwards.

The rows are an outbox. An act and its notification stand or fall together, because both are written in the
same transaction; ``services.notifications`` sends what stands here.
"""

from __future__ import annotations

import hashlib
import hmac
import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from hits.marketplace.models import (
    HIT,
    Assignment,
    Clock,
    Notification,
    NotificationSetting,
    Requester,
    Transport,
)
from hits.marketplace.selectors.lifecycle import HITStatus, count_slots, status_of

DOCUMENT_VERSION = "2014-08-15"
BATCH = 200


class EventType(StrEnum):
    """The API's names for what may be told."""

    ASSIGNMENT_ACCEPTED = "AssignmentAccepted"
    ASSIGNMENT_ABANDONED = "AssignmentAbandoned"
    ASSIGNMENT_RETURNED = "AssignmentReturned"
    ASSIGNMENT_SUBMITTED = "AssignmentSubmitted"
    ASSIGNMENT_REJECTED = "AssignmentRejected"
    ASSIGNMENT_APPROVED = "AssignmentApproved"
    HIT_CREATED = "HITCreated"
    HIT_EXPIRED = "HITExpired"
    HIT_REVIEWABLE = "HITReviewable"
    HIT_EXTENDED = "HITExtended"
    HIT_DISPOSED = "HITDisposed"
    PING = "Ping"


# After these nobody may be at work on the HIT any more, and then it is ready for review.
_MAY_FINISH = frozenset(
    {
        EventType.ASSIGNMENT_ABANDONED,
        EventType.ASSIGNMENT_RETURNED,
        EventType.ASSIGNMENT_SUBMITTED,
        EventType.HIT_EXPIRED,
    }
)
_OF_THE_CLOCK = frozenset({EventType.HIT_EXPIRED, EventType.HIT_REVIEWABLE})


def tell(kind: EventType, *, hit: HIT, at: datetime, assignment: Assignment | None = None) -> None:
    """Write down that the HIT type's requester is to be told, if they asked for it. Needs a transaction.

    Where the act leaves the HIT ready for review, HITReviewable is told too, once.
    """
    setting = NotificationSetting.objects.filter(hit_type=hit.hit_type_id, is_active=True).first()
    if setting is None:
        return
    if kind in setting.events:
        _write(setting, kind, hit, at, assignment)
    if kind in _MAY_FINISH and EventType.HIT_REVIEWABLE in setting.events:
        _tell_reviewable(setting, hit, at)


def tell_extended(*, hit: HIT, at: datetime) -> None:
    """Tell that a HIT got more time or more slots: it may expire and become reviewable anew."""
    HIT.objects.filter(Q(told_expired=True) | Q(told_reviewable=True), pk=hit.pk).update(
        told_expired=False, told_reviewable=False
    )
    tell(EventType.HIT_EXTENDED, hit=hit, at=at)


def tell_expired(*, now: datetime, hit_type_pk: int | None = None, limit: int = 10_000) -> int:
    """Tell once of each HIT whose offer has ended since; return how many. Asks only for what is wanted."""
    told = 0
    while told < limit:
        due = list(_expired_untold(now, hit_type_pk)[:BATCH])
        if not due:
            break
        for hit in due:
            _tell_expired(hit)
        told += len(due)
    return told


def tell_expired_before(*, hit: HIT, now: datetime) -> None:
    """Tell that a HIT's offer ended, and that it became reviewable, before it is told that it is gone for good.

    Nobody may have asked about it between its end and its disposal. Needs a transaction.
    """
    if hit.expires_at <= now:
        _tell_expired(hit)


def forget_expired(*, hit_type_pk: int, now: datetime) -> None:
    """Mark what has expired as told: a new setting tells of nothing that was over before it."""
    HIT.objects.filter(hit_type=hit_type_pk, told_expired=False, expires_at__lte=now).update(
        told_expired=True
    )


def made_up_document(requester: Requester, kind: EventType, at: datetime) -> dict[str, Any]:
    """Return a document that tells of an event which did not happen, with ids that nothing has."""
    event = {
        "EventType": kind.value,
        "EventTimestamp": _wire_time(at),
        "HITTypeId": "TESTHITTYPE",
        "HITId": "TESTHIT",
    }
    if kind.value.startswith("Assignment"):
        event["AssignmentId"] = "TESTASSIGNMENT"
    return _document(requester, event)


def queue(
    *, document: dict[str, Any], destination: str, transport: Transport, hit_type_pk: int | None
) -> Notification:
    """Put a document into the outbox, due at once.

    The row bears the present time, whatever time the document tells of: after an outage the clock's events are days
    old when they are queued, and a notification is given up a day after it was.
    """
    now = Clock.now()
    return Notification.objects.create(
        doc_id=uuid.UUID(document["EventDocId"]),
        hit_type_id=hit_type_pk,
        destination=destination,
        transport=transport,
        document=document,
        next_attempt_at=now,
        created_at=now,
    )


def customer_id(requester: Requester) -> str:
    """Return the requester's id in notifications: of Amazon's form, derived, and nobody's key."""
    digest = hmac.new(
        settings.MTURK_KEYS_SECRET.encode(), f"customer:{requester.pk}".encode(), hashlib.sha256
    )
    return "A" + digest.hexdigest()[:13].upper()


def _expired_untold(now: datetime, hit_type_pk: int | None) -> Any:
    wanted = NotificationSetting.objects.filter(is_active=True)
    if hit_type_pk is not None:
        wanted = wanted.filter(hit_type=hit_type_pk)
    types = [
        type_pk
        for type_pk, names in wanted.values_list("hit_type_id", "events")
        if _OF_THE_CLOCK.intersection(names)
    ]
    return HIT.objects.filter(
        hit_type__in=types, told_expired=False, expires_at__lte=now, disposed_at=None
    ).select_related("hit_type", "requester")


@transaction.atomic
def _tell_expired(hit: HIT) -> None:
    if HIT.objects.filter(pk=hit.pk, told_expired=False).update(told_expired=True):
        tell(EventType.HIT_EXPIRED, hit=hit, at=hit.expires_at)


def _tell_reviewable(setting: NotificationSetting, hit: HIT, at: datetime) -> None:
    # Locked (PostgreSQL), so that of two workers who hand in the last two slots one sees the other's.
    present = HIT.objects.select_for_update(no_key=True).get(pk=hit.pk)
    if status_of(present, count_slots([present])[present.pk], at) is not HITStatus.REVIEWABLE:
        return
    if HIT.objects.filter(pk=hit.pk, told_reviewable=False).update(told_reviewable=True):
        _write(setting, EventType.HIT_REVIEWABLE, hit, at, None)


def _write(
    setting: NotificationSetting, kind: EventType, hit: HIT, at: datetime, assignment: Assignment | None
) -> None:
    event = {
        "EventType": kind.value,
        "EventTimestamp": _wire_time(at),
        "HITTypeId": hit.hit_type.hit_type_id,
        "HITId": hit.hit_id,
    }
    if assignment is not None:
        event["AssignmentId"] = assignment.assignment_id
    queue(
        document=_document(hit.requester, event),
        destination=setting.destination,
        transport=Transport(setting.transport),
        hit_type_pk=setting.hit_type_id,
    )


def _document(requester: Requester, event: dict[str, str]) -> dict[str, Any]:
    return {
        "EventDocVersion": DOCUMENT_VERSION,
        "EventDocId": str(uuid.uuid4()),
        "CustomerId": customer_id(requester),
        "Events": [event],
    }


def _wire_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
