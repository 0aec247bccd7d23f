"""Take a photo down, and put it back. Nobody sees a photo that is taken down, and no new work uses it.

Submitted work stays and is paid. The outbox expires its open HITs, so that no worker starts one. Sealed versions do
not change.
"""

import logging
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hits.domain.states import CallState, HitState
from hits.models import Hit, Image, OutgoingCall, Worker
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.take_down import workers_with_open_task
from hits.services import audit
from hits.services.errors import Conflict
from hits.services.outbox import outbox
from hits.services.typed_values import require_reason

logger = logging.getLogger(__name__)

MAX_REASON_LENGTH = 400
SUBJECT = "A photo of your open task was taken down"
TEXT = (
    "A photo of a task that you accepted was taken down, so the task cannot be finished. Please return it: that does "
    "not count against you. What you submitted before stays submitted and is paid as agreed."
)


@transaction.atomic
def take_down_image(
    *, image: Image, reason: str, by: AbstractBaseUser | None, at: datetime | None = None
) -> int:
    """Take a photo down and plan the expiry of its open HITs; return their number.

    The next sweep (``sync_live_batches``) makes the calls within seconds. ``at`` is the stored time, by default now:
    photos that are taken down together have the same one.

    Raises:
        Refused: the reason is empty or too long.
        Conflict: it is taken down already.
    """
    reason_text = clean_reason(reason)
    now = at or timezone.now()
    if not Image.objects.filter(pk=image.pk, taken_down_at=None).update(taken_down_at=now):
        raise Conflict(f"photo {image.pk}: is taken down already")
    image.refresh_from_db()
    planned_hits = Hit.objects.filter(unit__in=image.units.all(), state=HitState.PLANNED)
    cancelled = planned_hits.update(state=HitState.CANCELLED)
    planned = _plan_expiries(image)
    _record_event(image, by, "image.take_down", reason_text, expired=planned, cancelled=cancelled)
    return planned


@transaction.atomic
def put_back_image(*, image: Image, reason: str, by: AbstractBaseUser | None) -> None:
    """Make a photo usable again. Expired HITs stay expired; an extension of the batch offers them.

    Raises:
        Refused: the reason is empty or too long.
        Conflict: it is not taken down.
    """
    reason_text = clean_reason(reason)
    if not Image.objects.filter(pk=image.pk, taken_down_at__isnull=False).update(taken_down_at=None):
        raise Conflict(f"photo {image.pk}: is not taken down")
    image.refresh_from_db()
    _record_event(image, by, "image.put_back", reason_text)


def notify_workers(*, image: Image, marketplace: Marketplace) -> int:
    """Notify the workers with open tasks about the photo; return their number. The task page shows the same text."""
    ids = [
        worker.worker_id
        for worker in Worker.objects.filter(
            pk__in=workers_with_open_task(image), environment=marketplace.environment.name
        )
    ]
    try:
        missed = marketplace.notify(ids, SUBJECT, TEXT) if ids else {}
    except MarketplaceError as error:
        logger.warning("photo %s: %s workers were not notified: %s", image.pk, len(ids), error)
        return 0
    return len(ids) - len(missed)


@transaction.atomic
def plan_expiries_of_taken_down_images() -> int:
    """Plan the expiry of HITs that became live after their photo was taken down; return their number."""
    photos = Image.objects.filter(taken_down_at__isnull=False, units__hits__in=_hits_to_expire()).distinct()
    return sum(_plan_expiries(image) for image in photos)


def _hits_to_expire() -> "QuerySet[Hit]":
    """Return the offered HITs without a planned expiry."""
    ended = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.EXPIRE)
    open_calls = ended.filter(state__in=[CallState.PLANNED, CallState.INTENT, CallState.REFUSED])
    live = Hit.objects.filter(state=HitState.LIVE, expires_at__gt=timezone.now())
    return live.exclude(pk__in=open_calls.values("hit"))


def _plan_expiries(image: Image) -> int:
    offered = _hits_to_expire().filter(unit__in=image.units.all()).select_related("unit__batch")
    for hit in offered:
        number = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.EXPIRE, hit=hit).count()
        # A HIT may be prolonged and expired again, so the key has a number too.
        outbox.plan_call(
            operation=OutgoingCall.Operation.EXPIRE,
            batch=hit.unit.batch,
            key=(hit.hit_id, "expire", "photo", image.pk, number),
            hit=hit,
        )
    return len(offered)


def clean_reason(reason: str) -> str:
    """Return the reason of a take-down in one line.

    Raises:
        Refused: it is empty or too long.
    """
    text = " ".join(reason.split())
    return require_reason("reason", text, MAX_REASON_LENGTH, "; the project’s history shows it")


def _record_event(image: Image, by: AbstractBaseUser | None, action: str, reason: str, **counts: int) -> None:
    audit.record(
        project=image.project,
        actor=by,
        action=action,
        subject=image.pk,
        name=image.name,
        reason=reason,
        **counts,
    )
