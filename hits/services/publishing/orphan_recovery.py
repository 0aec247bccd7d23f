"""Recover HITs whose creation has no recorded reply: find them on the marketplace, or start again.

A HIT has the annotation of its row. While the token is valid (24 h), repeating the call is safe; afterwards only the
marketplace's list shows whether the HIT exists.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from hits.domain.crashpoints import crash_point
from hits.domain.states import BatchState, HitState
from hits.models import Batch, Hit
from hits.mturk.port import Marketplace, MarketplaceError, RemoteHit
from hits.payments import ledger
from hits.payments.models import EntryType
from hits.selectors.publishing import SURPLUS_ACTION
from hits.services import audit
from hits.services.launching.request_token import build_requester_annotation, build_token

TOKEN_LIFE = timedelta(hours=23)  # an hour less than MTurk's day, since clocks differ
LISTING_LAG = timedelta(minutes=5)  # the list may not show a new HIT yet

_HIT_ID_PATTERN = re.compile(r"\b[A-Z0-9]{10,64}\b")


def mark_hit_live(batch: Batch, hit: Hit, remote: RemoteHit) -> bool:
    """Record that a HIT exists on the marketplace, and post its hold. Repeatable; return whether the row changed.

    A cancelled HIT becomes live again and its batch closes again, since a worker may have it.
    """
    attempted = Hit.objects.filter(pk=hit.pk, state__in=[HitState.INTENT, HitState.CANCELLED])
    with transaction.atomic():
        changed = attempted.update(
            state=HitState.LIVE, hit_id=remote.hit_id, expires_at=remote.expires_at, error=""
        )
        if changed:
            Batch.objects.filter(pk=batch.pk, state=BatchState.CLOSED).update(state=BatchState.CLOSING)
            hold_cents = batch.slot_cents(hit.max_assignments) * hit.max_assignments
            ledger.post_if_new(
                entry=EntryType.HOLD, amount_cents=hold_cents, key=f"hold:{hit.pk}", batch=batch
            )
    return bool(changed)


def recover_stale_hits(batch: Batch, marketplace: Marketplace) -> None:
    """Recover or restart every HIT whose token may be expired, from one listing of the marketplace's HITs.

    Raises:
        MarketplaceError: the list could not be read to its end; nothing was changed.
    """
    attempted = Hit.objects.filter(unit__batch=batch, state=HitState.INTENT)
    stale = list(attempted.filter(attempt_at__lt=timezone.now() - TOKEN_LIFE).select_related("unit"))
    if not stale:
        return
    missing = recover_hits(batch, stale, marketplace)
    crash_point("publish.after_look")
    for hit in missing:
        _restart_hit(batch, hit)
    crash_point("publish.after_generation")


def recover_hits(batch: Batch, hits: Iterable[Hit], marketplace: Marketplace) -> list[Hit]:
    """Mark the HITs live that the marketplace lists, and return the missing ones.

    If several HITs have one annotation, the oldest stays. The others are expired, and the batch's page lists them.

    Raises:
        MarketplaceError: the list could not be read to its end, or a surplus HIT could not be expired.
    """
    pending = list(hits)
    if not pending:
        return []
    listed: dict[str, list[RemoteHit]] = defaultdict(list)
    for remote in marketplace.list_hits():
        listed[remote.annotation].append(remote)
    missing = []
    for hit in pending:
        found = listed.get(hit.annotation, [])
        if not found:
            missing.append(hit)
            continue
        first, *surplus = reversed(found)  # the list is newest first
        for remote in surplus:
            _expire_surplus(batch, hit, remote, first, marketplace)
        mark_hit_live(batch, hit, first)
    return missing


def find_hit_named_in_error(error: MarketplaceError, hit: Hit, marketplace: Marketplace) -> RemoteHit | None:
    """Return the HIT that an “already processed” message names, if its annotation is this one's.

    Amazon documents that the message holds the HITId, but messages without one occur.
    """
    for hit_id in _HIT_ID_PATTERN.findall(str(error)):
        try:
            remote = marketplace.get_hit(hit_id)
        except MarketplaceError:
            continue
        if remote.annotation == hit.annotation:
            return remote
    return None


def _restart_hit(batch: Batch, hit: Hit) -> None:
    """Give a HIT that was never created a new token and annotation; the old ones are expired."""
    generation = hit.generation + 1
    Hit.objects.filter(pk=hit.pk, state=HitState.INTENT, generation=hit.generation).update(
        state=HitState.PLANNED,
        generation=generation,
        token=build_token(batch, hit.unit, hit.slice, generation),
        annotation=build_requester_annotation(batch, hit.unit, hit.slice, generation),
        attempt_at=None,
        error="",
    )


def _expire_surplus(
    batch: Batch, hit: Hit, remote: RemoteHit, retained: RemoteHit, marketplace: Marketplace
) -> None:
    marketplace.expire(remote.hit_id)
    crash_point("publish.after_surplus")
    with transaction.atomic():
        audit.record(
            project=batch.project,
            actor=None,
            action=SURPLUS_ACTION,
            subject=batch.pk,
            hit=hit.pk,
            surplus=remote.hit_id,
            kept=retained.hit_id,
        )
