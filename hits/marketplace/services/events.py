"""Record events for requesters' notifications.

The rows are an outbox: a change and its notification are written in the same transaction.
``services.notifications`` sends the rows afterwards.
"""

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
from hits.marketplace.selectors.lifecycle import HITStatus, count_slots, hit_status

DOCUMENT_VERSION = "2014-08-15"
BATCH_SIZE = 200


class EventType(StrEnum):
    """The API's event types."""

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


# After these events, no task of the HIT may be in progress any more, so that it becomes Reviewable.
_MAY_MAKE_REVIEWABLE = frozenset(
    {
        EventType.ASSIGNMENT_ABANDONED,
        EventType.ASSIGNMENT_RETURNED,
        EventType.ASSIGNMENT_SUBMITTED,
        EventType.HIT_EXPIRED,
    }
)
_EXPIRY_EVENTS = frozenset({EventType.HIT_EXPIRED, EventType.HIT_REVIEWABLE})


def queue_event_if_subscribed(
    kind: EventType, *, hit: HIT, at: datetime, assignment: Assignment | None = None
) -> None:
    """Queue a notification if the HIT type's setting includes this event. Needs a transaction.

    If the HIT becomes Reviewable, HITReviewable is queued too, once.
    """
    setting = NotificationSetting.objects.filter(hit_type=hit.hit_type_id, is_active=True).first()
    if setting is None:
        return
    if kind in setting.events:
        _queue_event(setting, kind, hit, at, assignment)
    if kind in _MAY_MAKE_REVIEWABLE and EventType.HIT_REVIEWABLE in setting.events:
        _record_if_newly_reviewable(setting, hit, at)


def record_extension(*, hit: HIT, at: datetime) -> None:
    """Record that a HIT got more time or slots: it may expire and become Reviewable again."""
    HIT.objects.filter(Q(expired_recorded=True) | Q(reviewable_recorded=True), pk=hit.pk).update(
        expired_recorded=False, reviewable_recorded=False
    )
    queue_event_if_subscribed(EventType.HIT_EXTENDED, hit=hit, at=at)


def record_expiries(*, now: datetime, hit_type_pk: int | None = None, limit: int = 10_000) -> int:
    """Record the expiry of each HIT once, if its type's setting includes such events; return how many."""
    recorded = 0
    while recorded < limit:
        due = list(_find_unrecorded_expiries(now, hit_type_pk)[:BATCH_SIZE])
        if not due:
            break
        for hit in due:
            _record_expiry_if_unrecorded(hit)
        recorded += len(due)
    return recorded


def record_expired_before_disposal(*, hit: HIT, now: datetime) -> None:
    """Record a HIT's expiry, and that it became Reviewable, before its disposal is recorded.

    No call may have read the HIT between its expiry and its disposal. Needs a transaction.
    """
    if hit.expires_at <= now:
        _record_expiry_if_unrecorded(hit)


def skip_past_expiries(*, hit_type_pk: int, now: datetime) -> None:
    """Mark expired HITs as recorded, so that a new setting sends nothing about earlier expiries."""
    HIT.objects.filter(hit_type=hit_type_pk, expired_recorded=False, expires_at__lte=now).update(
        expired_recorded=True
    )


def build_test_document(requester: Requester, kind: EventType, at: datetime) -> dict[str, Any]:
    """Return a test document about an event that did not happen, with ids that do not exist."""
    assignment_id = "TESTASSIGNMENT" if kind.value.startswith("Assignment") else ""
    return _build_document(requester, kind, at, "TESTHITTYPE", "TESTHIT", assignment_id)


def queue_notification(
    *, document: dict[str, Any], destination: str, transport: Transport, hit_type_pk: int | None
) -> Notification:
    """Put a document into the outbox, due immediately.

    The row has the current time, not the event's time. After an outage, events may be days old when they are queued,
    and delivery of a notification stops one day after it was queued.
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


def notification_customer_id(requester: Requester) -> str:
    """Return the id that stands for the requester in notifications: it looks like Amazon's, and is no access key."""
    digest = hmac.new(
        settings.MTURK_KEYS_SECRET.encode(), f"customer:{requester.pk}".encode(), hashlib.sha256
    )
    return "A" + digest.hexdigest()[:13].upper()


def _find_unrecorded_expiries(now: datetime, hit_type_pk: int | None) -> Any:
    notification_settings = NotificationSetting.objects.filter(is_active=True)
    if hit_type_pk is not None:
        notification_settings = notification_settings.filter(hit_type=hit_type_pk)
    types = [
        type_pk
        for type_pk, names in notification_settings.values_list("hit_type_id", "events")
        if _EXPIRY_EVENTS.intersection(names)
    ]
    return HIT.objects.filter(
        hit_type__in=types, expired_recorded=False, expires_at__lte=now, disposed_at=None
    ).select_related("hit_type", "requester")


@transaction.atomic
def _record_expiry_if_unrecorded(hit: HIT) -> None:
    if HIT.objects.filter(pk=hit.pk, expired_recorded=False).update(expired_recorded=True):
        queue_event_if_subscribed(EventType.HIT_EXPIRED, hit=hit, at=hit.expires_at)


def _record_if_newly_reviewable(setting: NotificationSetting, hit: HIT, at: datetime) -> None:
    # Locked (PostgreSQL), so that two concurrent submissions of the last two slots see each other.
    locked_hit = HIT.objects.select_for_update(no_key=True).get(pk=hit.pk)
    if hit_status(locked_hit, count_slots([locked_hit])[locked_hit.pk], at) is not HITStatus.REVIEWABLE:
        return
    if HIT.objects.filter(pk=hit.pk, reviewable_recorded=False).update(reviewable_recorded=True):
        _queue_event(setting, EventType.HIT_REVIEWABLE, hit, at, None)


def _queue_event(
    setting: NotificationSetting, kind: EventType, hit: HIT, at: datetime, assignment: Assignment | None
) -> None:
    assignment_id = "" if assignment is None else assignment.assignment_id
    document = _build_document(hit.requester, kind, at, hit.hit_type.hit_type_id, hit.hit_id, assignment_id)
    queue_notification(
        document=document,
        destination=setting.destination,
        transport=Transport(setting.transport),
        hit_type_pk=setting.hit_type_id,
    )


def _build_document(
    requester: Requester, kind: EventType, at: datetime, hit_type_id: str, hit_id: str, assignment_id: str
) -> dict[str, Any]:
    event = {
        "EventType": kind.value,
        "EventTimestamp": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "HITTypeId": hit_type_id,
        "HITId": hit_id,
    }
    if assignment_id:
        event["AssignmentId"] = assignment_id
    return {
        "EventDocVersion": DOCUMENT_VERSION,
        "EventDocId": str(uuid.uuid4()),
        "CustomerId": notification_customer_id(requester),
        "Events": [event],
    }
