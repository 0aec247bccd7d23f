"""Let the marketplace tell us when there is something to look at.

What comes in is a hint: it may be forged by whoever learns the address, late, doubled, out of order, or never
come. It makes us look earlier than the next poll would, and it ends the counting of returned work. Whatever is
decided or paid rests on the marketplace's list alone (see ``collect``).
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
from hits.domain.mturk_formats.notification_events import EventDocument, MarketEvent, read_event
from hits.domain.states import HitState
from hits.models import Attempt, Batch, Hit, MarketplaceEvent
from hits.mturk.port import Environment, Marketplace, MarketplaceError
from hits.services.collecting import collect

logger = logging.getLogger(__name__)

RELEASED = frozenset({"AssignmentReturned", "AssignmentAbandoned"})
WANTED = ("AssignmentSubmitted", *sorted(RELEASED))
AT_ONCE = 500
TOGETHER = 25
STALE_AFTER = timedelta(days=1)
KEPT_FOR = timedelta(days=30)  # a double comes within a day or two


def key_of(environment: str) -> str:
    """Return the secret part of the address that this marketplace's notifications go to."""
    message = f"notifications:{environment}".encode()
    return hmac.new(settings.MTURK_KEYS_SECRET.encode(), message, hashlib.sha256).hexdigest()


def destination(environment: Environment) -> str:
    """Return the address that this marketplace's notifications go to."""
    return f"{settings.PUBLIC_URL}/notifications/{key_of(environment.name)}"


def subscribe(*, batch: Batch, marketplace: Marketplace) -> bool:
    """Ask for notifications about a batch's HITs; return whether they will come. Repeatable, and never fails.

    Amazon's service sends to Amazon's own topics and queues only, so it is not asked.
    """
    if not batch.hit_type_id or marketplace.environment.name.startswith("aws-"):
        return False
    try:
        marketplace.set_notifications(batch.hit_type_id, destination(marketplace.environment), WANTED)
    except MarketplaceError as error:
        # Also another service that may not send to us: nothing is lost, since polling goes on.
        logger.warning("no notifications for batch %s, which is polled instead: %s", batch.pk, error)
        return False
    return True


@transaction.atomic
def receive(*, environment: str, document: EventDocument) -> bool:
    """Keep a notification for the next look; return whether it is new. A double is told by its id.

    Returned work is noted at once: its worker may be asking for the next task already.
    """
    _, new = MarketplaceEvent.objects.get_or_create(
        doc_id=document.doc_id, defaults={"environment": environment, "payload": document.payload()}
    )
    if new:
        for event in document.events:
            if event.kind in RELEASED:
                _release(environment, event)
    return new


def process_waiting(*, marketplace: Marketplace) -> int:
    """Look at the HITs about which something came in; return how many notifications were read.

    Repeatable, and safe beside itself. While the marketplace does not answer, what came in waits for a day.
    """
    name = marketplace.environment.name
    waiting = MarketplaceEvent.objects.filter(environment=name, processed_at=None)
    done = 0
    for _ in range(0, AT_ONCE, TOGETHER):
        rows = list(waiting.order_by("pk")[:TOGETHER])
        if not rows:
            break
        done += len(rows)
        if not _process(marketplace, rows):
            break
        turns.rest()
    return done


def _process(marketplace: Marketplace, rows: Sequence[MarketplaceEvent]) -> bool:
    """Look at the HITs that some notifications name; return False when the marketplace does not answer."""
    events = [event for row in rows for event in map(read_event, row.payload) if event is not None]
    looked = _look(marketplace, {event.hit_id for event in events if event.kind not in RELEASED})
    now = timezone.now()
    read = MarketplaceEvent.objects.filter(pk__in=[row.pk for row in rows])
    if not looked:
        read = read.filter(received_at__lte=now - STALE_AFTER)
    read.update(processed_at=now)
    return looked


@transaction.atomic
def forget_old() -> int:
    """Delete what was acted on a month ago; return how many."""
    return MarketplaceEvent.objects.filter(processed_at__lte=timezone.now() - KEPT_FOR).delete()[0]


def _release(environment: str, event: MarketEvent) -> None:
    """Note that tries at an assignment which were open at that time are over, so that limits stop counting them."""
    slot = Attempt.objects.filter(
        hit__environment=environment, hit__hit_id=event.hit_id, assignment_id=event.assignment_id
    )
    # The event's time is in whole seconds.
    tries = slot.filter(opened_at__lte=event.at + timedelta(seconds=1), released_at=None)
    # Somebody opened the slot within that second, which told us before the notice did: theirs goes on.
    told = slot.filter(released_at__gte=event.at).order_by("released_at").first()
    if told is not None and told.released_at is not None:
        tries = tries.filter(opened_at__lt=told.released_at)
    tries.exclude(submissions__isnull=False).update(released_at=event.at)


def _look(marketplace: Marketplace, hit_ids: set[str]) -> bool:
    """Look at each HIT as the next poll would; return False when the marketplace does not answer."""
    hits = Hit.objects.filter(
        environment=marketplace.environment.name, hit_id__in=hit_ids, state=HitState.LIVE
    ).select_related("unit__batch__project")
    for hit in hits:
        try:
            collect.sync_hit(hit=hit, marketplace=marketplace)
        except MarketplaceError as error:
            logger.warning("HIT %s cannot be looked at: %s", hit.hit_id, error)
            if error.retry:
                return False
    return True
