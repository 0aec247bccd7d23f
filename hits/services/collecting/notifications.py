"""Notifications from the marketplace about submitted and returned work.

A notification is a hint: anybody who knows the address can forge one, and it may be late, repeated or missing.
It triggers a sync before the next poll, and releases returned work from the limits. Decisions and payments use the
marketplace's list alone (see ``assignment_sync``).
"""

import hashlib
import hmac
import logging
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from hits.domain.jobs import turns
from hits.domain.mturk_formats.notification_events import EventDocument, MarketEvent, parse_event
from hits.domain.states import HitState
from hits.models import Attempt, Batch, Hit, MarketplaceEvent
from hits.mturk.port import Environment, Marketplace, MarketplaceError
from hits.services.collecting import assignment_sync

logger = logging.getLogger(__name__)

RELEASE_EVENTS = frozenset({"AssignmentReturned", "AssignmentAbandoned"})
SUBSCRIBED_EVENTS = ("AssignmentSubmitted", *sorted(RELEASE_EVENTS))
MAX_PER_RUN = 500
CHUNK_SIZE = 25
STALE_AFTER = timedelta(days=1)
RETENTION = timedelta(days=30)  # a repeated notification comes within two days


def notification_key(environment: str) -> str:
    """Return the secret part of the URL for this marketplace's notifications."""
    message = f"notifications:{environment}".encode()
    return hmac.new(settings.MTURK_KEYS_SECRET.encode(), message, hashlib.sha256).hexdigest()


def notification_url(environment: Environment) -> str:
    """Return the URL for this marketplace's notifications."""
    return f"{settings.PUBLIC_URL}/notifications/{notification_key(environment.name)}"


def subscribe_batch(*, batch: Batch, marketplace: Marketplace) -> bool:
    """Subscribe to notifications about a batch's HITs; return whether they will come. Repeatable, never fails.

    Amazon's service sends only to Amazon's own topics and queues, so its batches are polled.
    """
    if not batch.hit_type_id or marketplace.environment.name.startswith("aws-"):
        return False
    try:
        marketplace.set_notifications(
            batch.hit_type_id, notification_url(marketplace.environment), SUBSCRIBED_EVENTS
        )
    except MarketplaceError as error:
        # Polling finds the same submissions, so nothing is lost.
        logger.warning("no notifications for batch %s, which is polled instead: %s", batch.pk, error)
        return False
    return True


@transaction.atomic
def store_notification(*, environment: str, document: EventDocument) -> bool:
    """Store a notification for later processing; return whether it is new. Its id identifies a repetition.

    Returned work is released immediately, since its worker may already request the next task.
    """
    _, new = MarketplaceEvent.objects.get_or_create(
        doc_id=document.doc_id, defaults={"environment": environment, "payload": document.payload()}
    )
    if new:
        for event in document.events:
            if event.kind in RELEASE_EVENTS:
                _release_attempts(environment, event)
    return new


def process_notifications(*, marketplace: Marketplace) -> int:
    """Sync the HITs that waiting notifications name; return the number of processed notifications.

    Repeatable, safe in parallel. If the marketplace does not answer, notifications wait for up to a day.
    """
    name = marketplace.environment.name
    waiting = MarketplaceEvent.objects.filter(environment=name, processed_at=None)
    done = 0
    for _ in range(0, MAX_PER_RUN, CHUNK_SIZE):
        rows = list(waiting.order_by("pk")[:CHUNK_SIZE])
        if not rows:
            break
        done += len(rows)
        if not _process_chunk(marketplace, rows):
            break
        turns.end_turn_if_over()
    return done


def _process_chunk(marketplace: Marketplace, rows: Sequence[MarketplaceEvent]) -> bool:
    """Sync the HITs that some notifications name; return False if the marketplace does not answer."""
    events = [event for row in rows for event in map(parse_event, row.payload) if event is not None]
    is_synced = _sync_hits(
        marketplace, {event.hit_id for event in events if event.kind not in RELEASE_EVENTS}
    )
    now = timezone.now()
    processed = MarketplaceEvent.objects.filter(pk__in=[row.pk for row in rows])
    if not is_synced:
        processed = processed.filter(received_at__lte=now - STALE_AFTER)
    processed.update(processed_at=now)
    return is_synced


@transaction.atomic
def delete_old_notifications() -> int:
    """Delete notifications that were processed at least ``RETENTION`` ago; return their number."""
    return MarketplaceEvent.objects.filter(processed_at__lte=timezone.now() - RETENTION).delete()[0]


def _release_attempts(environment: str, event: MarketEvent) -> None:
    """Release the attempts at an assignment that were open at the event's time, so that limits stop counting them."""
    slot = Attempt.objects.filter(
        hit__environment=environment, hit__hit_id=event.hit_id, assignment_id=event.assignment_id
    )
    # The event's time is in whole seconds.
    attempts = slot.filter(opened_at__lte=event.at + timedelta(seconds=1), released_at=None)
    # An attempt that another worker opened within that second continues.
    reopened = slot.filter(released_at__gte=event.at).order_by("released_at").first()
    if reopened is not None and reopened.released_at is not None:
        attempts = attempts.filter(opened_at__lt=reopened.released_at)
    attempts.exclude(submissions__isnull=False).update(released_at=event.at)


def _sync_hits(marketplace: Marketplace, hit_ids: set[str]) -> bool:
    """Sync each HIT as a poll does; return False if the marketplace does not answer."""
    hits = Hit.objects.filter(
        environment=marketplace.environment.name, hit_id__in=hit_ids, state=HitState.LIVE
    ).select_related("unit__batch__project")
    for hit in hits:
        try:
            assignment_sync.sync_hit(hit=hit, marketplace=marketplace)
        except MarketplaceError as error:
            logger.warning("HIT %s cannot be read: %s", hit.hit_id, error)
            if error.is_retryable:
                return False
    return True
