"""Notification settings, and delivery from the outbox.

A notification is sent at least once: if a process dies after sending and before recording it, it is sent again with
the same EventDocId. Receivers store the EventDocIds that they have seen.
"""

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from celery import current_app
from django.db import transaction
from django.db.models import F

from hits.domain.crashpoints import crash_point
from hits.marketplace import delivery
from hits.marketplace.errors import validation_error
from hits.marketplace.models import (
    HITType,
    Notification,
    NotificationSetting,
    NotificationState,
    Requester,
    Transport,
)

from . import events
from .events import EventType

logger = logging.getLogger(__name__)

# Longer than a POST takes, so that no other process sends the same notification meanwhile.
MIN_RETRY_DELAY = timedelta(minutes=1)
MAX_RETRY_DELAY = timedelta(hours=1)
MAX_QUEUED_TIME = timedelta(days=1)
PASS_SECONDS = 4.0
RETENTION = timedelta(days=30)
DELIVERY_TASK = "marketplace.deliver_notifications"


@dataclass(frozen=True)
class NotificationSpecification:
    """The API's NotificationSpecification, checked: destination, transport and events."""

    destination: str
    transport: Transport
    events: tuple[EventType, ...]


@transaction.atomic
def update_notification_setting(
    *, hit_type: HITType, specification: NotificationSpecification | None, active: bool | None, now: datetime
) -> NotificationSetting:
    """Set or replace a HIT type's setting, or only switch it on or off. Raises ApiError if there is none to switch.

    HITs that expired before send no notification.
    """
    # PostgreSQL: if two first calls run concurrently, the later one finds the setting of the earlier one.
    HITType.objects.select_for_update(no_key=True).get(pk=hit_type.pk)
    events.record_expiries(now=now, hit_type_pk=hit_type.pk)  # by the setting before this change
    setting = NotificationSetting.objects.filter(hit_type=hit_type).first()
    if setting is None and specification is None:
        raise validation_error(
            f"HITType {hit_type.hit_type_id} has no notification specification yet. Give one with Notification."
        )
    setting = setting or NotificationSetting(hit_type=hit_type)
    if specification is not None:
        setting.destination = specification.destination
        setting.transport = specification.transport
        setting.events = [kind.value for kind in specification.events]
    if active is not None:
        setting.is_active = active
    setting.save()
    events.skip_past_expiries(hit_type_pk=hit_type.pk, now=now)
    return setting


@transaction.atomic
def send_test_notification(
    *, requester: Requester, specification: NotificationSpecification, kind: EventType, now: datetime
) -> Notification:
    """Queue a message about an event that did not happen, and start the delivery."""
    notification = events.queue_notification(
        document=events.build_test_document(requester, kind, now),
        destination=specification.destination,
        transport=specification.transport,
        hit_type_pk=None,
    )
    transaction.on_commit(_start_delivery)
    return notification


def deliver_due_notifications(*, now: datetime, pass_seconds: float = PASS_SECONDS) -> int:
    """Send due notifications for at most ``pass_seconds``; return how many arrived. Safe to run concurrently."""
    ends_at = time.monotonic() + pass_seconds
    sent_count = 0
    while time.monotonic() < ends_at:
        row = _find_next_due(now)
        if row is None:
            break
        if not _claim_if_unchanged(row, now):
            continue  # another process claimed it
        crash_point("marketplace.deliver.after_claim")
        error = _send_and_return_error(row)
        crash_point("marketplace.deliver.after_send")
        if error:
            _postpone_destination(row, error, now)
        else:
            Notification.objects.filter(pk=row.pk).update(state=NotificationState.SENT, sent_at=now, error="")
            sent_count += 1
    return sent_count


@transaction.atomic
def delete_old_notifications(*, now: datetime) -> int:
    """Delete notifications queued at least 30 days ago and sent or failed since; return how many."""
    finished = Notification.objects.exclude(state=NotificationState.QUEUED)
    return finished.filter(created_at__lte=now - RETENTION).delete()[0]


def _find_next_due(now: datetime) -> Notification | None:
    waiting = Notification.objects.filter(state=NotificationState.QUEUED, next_attempt_at__lte=now)
    return waiting.order_by("next_attempt_at", "pk").first()


def _claim_if_unchanged(row: Notification, now: datetime) -> int:
    """Claim a row by postponing its next attempt before sending; return 0 if another process was faster."""
    unchanged = Notification.objects.filter(
        pk=row.pk, state=NotificationState.QUEUED, attempts=row.attempts, next_attempt_at=row.next_attempt_at
    )
    return unchanged.update(attempts=F("attempts") + 1, next_attempt_at=now + _retry_delay(row.attempts))


def _retry_delay(attempts: int) -> timedelta:
    """Return the delay after this number of attempts: 1, 2, 4 … minutes, an hour at most."""
    return min(MIN_RETRY_DELAY * 2 ** min(attempts, 10), MAX_RETRY_DELAY)


def _send_and_return_error(row: Notification) -> str:
    """Send one row; return the error, or an empty string."""
    with transaction.atomic(durable=True):
        pass  # raises inside an open transaction, whose rollback could not undo a sent message
    request = delivery.build_request(
        destination=row.destination,
        transport=Transport(row.transport),
        document=row.document,
        doc_id=str(row.doc_id),
        at=row.created_at,
    )
    try:
        delivery.send_request(request)
    except (delivery.DeliveryError, delivery.DestinationError) as error:
        return str(error)[:200]
    return ""


def _postpone_destination(row: Notification, error: str, now: datetime) -> None:
    """Store the error, mark notifications queued over a day ago as failed, and pause the destination for a minute.

    Other notifications for the same URL would fail too and delay those for other destinations.
    """
    logger.warning("notification %s did not arrive: %s", row.doc_id, error)
    same_destination = Notification.objects.filter(
        destination=row.destination, state=NotificationState.QUEUED
    )
    too_old = same_destination.filter(created_at__lte=now - MAX_QUEUED_TIME)
    too_old.update(state=NotificationState.FAILED, error=error)
    Notification.objects.filter(pk=row.pk).update(error=error)
    same_destination.filter(next_attempt_at__lte=now).update(next_attempt_at=now + MIN_RETRY_DELAY)


def _start_delivery() -> None:
    try:
        current_app.send_task(DELIVERY_TASK, ignore_result=True)
    except Exception:
        logger.exception("the broker cannot be reached: the next delivery sends the test notification")
