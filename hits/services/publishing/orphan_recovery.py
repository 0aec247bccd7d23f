"""HITs whose creation was tried and whose reply nobody recorded: find them on the marketplace, or begin anew.

A HIT carries its row's annotation. While the token lives (24 h), repeating the call is safe; afterwards only the
marketplace's own list tells whether the HIT stands.
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
from hits.payments.models import Entry
from hits.selectors.publishing import SURPLUS
from hits.services import audit
from hits.services.launching.request_token import annotation, create_token

TOKEN_LIFE = timedelta(hours=23)  # an hour less than MTurk's day, so that clocks may differ
LAG = timedelta(minutes=5)  # a HIT that was made a moment ago may not be shown everywhere yet

_HIT_ID = re.compile(r"\b[A-Z0-9]{10,64}\b")


def went_live(batch: Batch, hit: Hit, remote: RemoteHit) -> bool:
    """Write down that a HIT stands on the marketplace, and what is held for it; once.

    One that was given up meanwhile is taken up again, and its batch closes anew: somebody may be working on it.
    """
    tried = Hit.objects.filter(pk=hit.pk, state__in=[HitState.INTENT, HitState.CANCELLED])
    with transaction.atomic():
        changed = tried.update(
            state=HitState.LIVE, hit_id=remote.hit_id, expires_at=remote.expires_at, error=""
        )
        if changed:
            Batch.objects.filter(pk=batch.pk, state=BatchState.CLOSED).update(state=BatchState.CLOSING)
            held = batch.slot_cents(hit.max_assignments) * hit.max_assignments
            ledger.write(entry=Entry.HOLD, amount_cents=held, key=f"hold:{hit.pk}", batch=batch)
    return bool(changed)


def resolve_stale(batch: Batch, marketplace: Marketplace) -> None:
    """Adopt or begin anew every HIT whose token may be dead; one paging of the marketplace's list for all.

    Raises:
        MarketplaceError: the list could not be read to its end; nothing was changed.
    """
    tried = Hit.objects.filter(unit__batch=batch, state=HitState.INTENT)
    stale = list(tried.filter(attempt_at__lt=timezone.now() - TOKEN_LIFE).select_related("unit"))
    if not stale:
        return
    missing = adopt(batch, stale, marketplace)
    crash_point("publish.after_look")
    for hit in missing:
        _begin_anew(batch, hit)
    crash_point("publish.after_generation")


def adopt(batch: Batch, hits: Iterable[Hit], marketplace: Marketplace) -> list[Hit]:
    """Let those HITs go live that the marketplace shows, and return the ones that it does not show.

    Of several HITs with one annotation the first made is kept; the others are expired, and the batch's page says so.

    Raises:
        MarketplaceError: the list could not be read to its end, or a surplus HIT could not be expired.
    """
    wanted = list(hits)
    if not wanted:
        return []
    shown: dict[str, list[RemoteHit]] = defaultdict(list)
    for remote in marketplace.list_hits():
        shown[remote.annotation].append(remote)
    missing = []
    for hit in wanted:
        found = shown.get(hit.annotation, [])
        if not found:
            missing.append(hit)
            continue
        first, *surplus = reversed(found)  # the list is newest first
        for remote in surplus:
            _expire_surplus(batch, hit, remote, first, marketplace)
        went_live(batch, hit, first)
    return missing


def named_in(error: MarketplaceError, hit: Hit, marketplace: Marketplace) -> RemoteHit | None:
    """Return the HIT that an “already processed” message names, when it is really this one.

    Amazon documents that the message holds the HITId, and messages without one were seen.
    """
    for hit_id in _HIT_ID.findall(str(error)):
        try:
            remote = marketplace.get_hit(hit_id)
        except MarketplaceError:
            continue
        if remote.annotation == hit.annotation:
            return remote
    return None


def _begin_anew(batch: Batch, hit: Hit) -> None:
    """Give a HIT that never came to be a new token and annotation; its old ones are dead."""
    generation = hit.generation + 1
    Hit.objects.filter(pk=hit.pk, state=HitState.INTENT, generation=hit.generation).update(
        state=HitState.PLANNED,
        generation=generation,
        token=create_token(batch, hit.unit, hit.part, generation),
        annotation=annotation(batch, hit.unit, hit.part, generation),
        attempt_at=None,
        error="",
    )


def _expire_surplus(
    batch: Batch, hit: Hit, remote: RemoteHit, kept: RemoteHit, marketplace: Marketplace
) -> None:
    marketplace.expire(remote.hit_id)
    crash_point("publish.after_surplus")
    with transaction.atomic():
        audit.record(
            project=batch.project,
            actor=None,
            action=SURPLUS,
            subject=batch.pk,
            hit=hit.pk,
            surplus=remote.hit_id,
            kept=kept.hit_id,
        )
