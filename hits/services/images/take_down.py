"""Take a photo down, and put it back: from then on nobody is shown it, and nothing new is made of it.

What workers submitted stays and is paid as any other work. Its open HITs are expired through the outbox, so that
nobody begins what can no longer be seen. Sealed versions stay as they are.
"""

import logging

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hits.domain.states import CallState, HitState
from hits.models import Hit, Image, OutgoingCall, Worker
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.take_down import workers_in_hand
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.outbox import outbox

logger = logging.getLogger(__name__)

LONGEST_REASON = 400
SUBJECT = "A photo that you have in hand was taken down"
TEXT = (
    "A photo of a task that you accepted was taken down, so the task cannot be finished. Please return it: that does "
    "not count against you. What you submitted before stays submitted and is paid as agreed."
)


@transaction.atomic
def take_down(*, image: Image, reason: str, by: AbstractBaseUser | None) -> int:
    """Take a photo down and plan the end of its open HITs; return how many are to be expired.

    The calls are made by the next sweep (``sync_live_batches``), within seconds.

    Raises:
        Refused: the reason is empty or too long.
        Conflict: it is taken down already.
    """
    kept = _checked(reason)
    if not Image.objects.filter(pk=image.pk, withdrawn_at=None).update(withdrawn_at=timezone.now()):
        raise Conflict(f"photo {image.pk}: is taken down already")
    image.refresh_from_db()
    cancelled = _hits(image).filter(state=HitState.PLANNED).update(state=HitState.CANCELLED)
    planned = _plan_expiries(image)
    _record(image, by, "image.take_down", kept, expired=planned, cancelled=cancelled)
    return planned


@transaction.atomic
def put_back(*, image: Image, reason: str, by: AbstractBaseUser | None) -> None:
    """Let a photo be shown and used again. HITs that were expired meanwhile stay so: extending a batch offers them.

    Raises:
        Refused: the reason is empty or too long.
        Conflict: it is not taken down.
    """
    kept = _checked(reason)
    if not Image.objects.filter(pk=image.pk, withdrawn_at__isnull=False).update(withdrawn_at=None):
        raise Conflict(f"photo {image.pk}: is not taken down")
    image.refresh_from_db()
    _record(image, by, "image.put_back", kept)


def tell_workers(*, image: Image, marketplace: Marketplace) -> int:
    """Write to those who have the photo in hand; return how many. The task’s page says the same to all of them."""
    ids = [
        worker.worker_id
        for worker in Worker.objects.filter(
            pk__in=workers_in_hand(image), environment=marketplace.environment.name
        )
    ]
    try:
        failed = marketplace.notify(ids, SUBJECT, TEXT) if ids else {}
    except MarketplaceError as error:
        logger.warning("photo %s: %s workers were not written to: %s", image.pk, len(ids), error)
        return 0
    return len(ids) - len(failed)


@transaction.atomic
def plan_late_expiries() -> int:
    """Plan the end of HITs that went live although their photo was taken down meanwhile; return how many."""
    taken = Image.objects.filter(withdrawn_at__isnull=False, units__hits__in=_offered()).distinct()
    return sum(_plan_expiries(image) for image in taken)


def _offered() -> "QuerySet[Hit]":
    """HITs that somebody may still begin, and whose end is not planned."""
    ended = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.EXPIRE)
    open_calls = ended.filter(state__in=[CallState.PLANNED, CallState.INTENT, CallState.REFUSED])
    live = Hit.objects.filter(state=HitState.LIVE, expires_at__gt=timezone.now())
    return live.exclude(pk__in=open_calls.values("hit"))


def _hits(image: Image) -> "QuerySet[Hit]":
    return Hit.objects.filter(unit__in=image.units.all())


def _plan_expiries(image: Image) -> int:
    offered = _offered().filter(unit__in=image.units.all()).select_related("unit__batch")
    for hit in offered:
        number = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.EXPIRE, hit=hit).count()
        # A HIT may be prolonged and expired again, so the call has a number too.
        outbox.plan(
            operation=OutgoingCall.Operation.EXPIRE,
            batch=hit.unit.batch,
            key=(hit.hit_id, "expire", "photo", image.pk, number),
            hit=hit,
        )
    return len(offered)


def _checked(reason: str) -> str:
    kept = " ".join(reason.split())
    if not kept:
        raise Refused("reason: say why; it is kept in the project’s history")
    if len(kept) > LONGEST_REASON:
        raise Refused(f"reason: has {len(kept)} characters; use {LONGEST_REASON} or fewer")
    return kept


def _record(image: Image, by: AbstractBaseUser | None, action: str, reason: str, **counts: int) -> None:
    audit.record(
        project=image.project,
        actor=by,
        action=action,
        subject=image.pk,
        name=image.name,
        reason=reason,
        **counts,
    )
