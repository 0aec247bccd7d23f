"""Settings for notifications, and sending what stands in the outbox.

A notification is sent at least once: a process that dies between sending and writing that down sends it again,
with the same EventDocId. Receivers keep the EventDocIds that they have seen.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from celery import current_app
from django.db import transaction
from django.db.models import F

from hits.domain.crashpoints import crash_point
from hits.marketplace import delivery
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

FIRST_PAUSE = timedelta(minutes=1)  # longer than a POST may take, so that no other process sends it meanwhile
LONGEST_PAUSE = timedelta(hours=1)
GIVE_UP_AFTER = timedelta(days=1)
PASS_SECONDS = 4.0
KEPT_FOR = timedelta(days=30)
TASK = "marketplace.deliver_notifications"


class NoSetting(Exception):
    """The HIT type has no notification setting that could be switched on or off."""


@dataclass(frozen=True)
class Specification:
    """Where to, how, and of what: the API's NotificationSpecification, checked."""

    destination: str
    transport: Transport
    events: tuple[EventType, ...]


@transaction.atomic
def update_setting(
    *, hit_type: HITType, specification: Specification | None, active: bool | None, now: datetime
) -> NotificationSetting:
    """Set, replace, or only switch a HIT type's notifications. Raises NoSetting.

    What expired before is never told afterwards.
    """
    # PostgreSQL: of two first calls at once the later one finds the earlier one's setting.
    HITType.objects.select_for_update(no_key=True).get(pk=hit_type.pk)
    events.tell_expired(now=now, hit_type_pk=hit_type.pk)  # as the setting stood until now
    setting = NotificationSetting.objects.filter(hit_type=hit_type).first()
    if setting is None and specification is None:
        raise NoSetting
    setting = setting or NotificationSetting(hit_type=hit_type)
    if specification is not None:
        setting.destination = specification.destination
        setting.transport = specification.transport
        setting.events = [kind.value for kind in specification.events]
    if active is not None:
        setting.is_active = active
    setting.save()
    events.forget_expired(hit_type_pk=hit_type.pk, now=now)
    return setting


@transaction.atomic
def send_test(
    *, requester: Requester, specification: Specification, kind: EventType, now: datetime
) -> Notification:
    """Queue a message about an event that did not happen, and wake the sender."""
    sent = events.queue(
        document=events.made_up_document(requester, kind, now),
        destination=specification.destination,
        transport=specification.transport,
        hit_type_pk=None,
    )
    transaction.on_commit(_wake)
    return sent


def deliver_due(*, now: datetime, pass_seconds: float = PASS_SECONDS) -> int:
    """Send what is due, for some seconds at most; return how many arrived. Safe beside itself."""
    ends = time.monotonic() + pass_seconds
    arrived = 0
    while time.monotonic() < ends:
        row = _due(now)
        if row is None:
            break
        if not _claim(row, now):
            continue  # another process has it
        crash_point("marketplace.deliver.after_claim")
        error = _send(row)
        crash_point("marketplace.deliver.after_send")
        if error:
            _put_off(row, error, now)
        else:
            Notification.objects.filter(pk=row.pk).update(state=NotificationState.SENT, sent_at=now, error="")
            arrived += 1
    return arrived


@transaction.atomic
def forget_old(*, now: datetime) -> int:
    """Delete what was sent or given up a month ago; return how many. What waits stays."""
    over = Notification.objects.exclude(state=NotificationState.QUEUED)
    return over.filter(created_at__lte=now - KEPT_FOR).delete()[0]


def _due(now: datetime) -> Notification | None:
    waiting = Notification.objects.filter(state=NotificationState.QUEUED, next_attempt_at__lte=now)
    return waiting.order_by("next_attempt_at", "pk").first()


def _claim(row: Notification, now: datetime) -> int:
    """Take a row by moving its next attempt on, before anything is sent; 0 when somebody was faster."""
    same = Notification.objects.filter(
        pk=row.pk, state=NotificationState.QUEUED, attempts=row.attempts, next_attempt_at=row.next_attempt_at
    )
    return same.update(attempts=F("attempts") + 1, next_attempt_at=now + _pause(row.attempts))


def _pause(attempts: int) -> timedelta:
    """Return how long to wait after so many earlier attempts: 1, 2, 4 … minutes, an hour at most."""
    return min(FIRST_PAUSE * 2 ** min(attempts, 10), LONGEST_PAUSE)


def _send(row: Notification) -> str:
    """Send one row; return what went wrong, or nothing."""
    with transaction.atomic(durable=True):
        pass  # raises inside an open transaction: nothing is sent that could still be undone
    parcel = delivery.pack(
        destination=row.destination,
        transport=Transport(row.transport),
        document=row.document,
        doc_id=str(row.doc_id),
        at=row.created_at,
    )
    try:
        delivery.post(parcel)
    except (delivery.DeliveryError, delivery.DestinationError) as error:
        return str(error)[:200]
    return ""


def _put_off(row: Notification, error: str, now: datetime) -> None:
    """Keep the reason, give up what was queued a day ago, and spare the destination for a minute.

    All that waits for the same address would meet the same fate, and keep what others wait for from leaving.
    """
    logger.warning("notification %s did not arrive: %s", row.doc_id, error)
    same = Notification.objects.filter(destination=row.destination, state=NotificationState.QUEUED)
    too_old = same.filter(created_at__lte=now - GIVE_UP_AFTER)
    too_old.update(state=NotificationState.FAILED, error=error)
    Notification.objects.filter(pk=row.pk).update(error=error)
    same.filter(next_attempt_at__lte=now).update(next_attempt_at=now + FIRST_PAUSE)


def _wake() -> None:
    try:
        current_app.send_task(TASK, ignore_result=True)
    except Exception:
        logger.exception("the broker cannot be reached: the test notification leaves with the next pass")
