"""Look at everything that is open on the marketplace, again and again: one pass may take many turns."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from hits.domain.jobs.turns import TurnOver
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.batches import open_batches
from hits.services.batches import compensation, lifecycle
from hits.services.collecting import collect
from hits.services.errors import Refused
from hits.services.outbox import outbox
from hits.services.reviewing import review
from hits.services.workers import qualifications

logger = logging.getLogger(__name__)

Place = Mapping[str, Any]


def look_at_open(*, marketplace: Marketplace, place: Place | None = None) -> None:
    """Settle what an earlier process left behind, copy open batches' assignments, approve compensations.

    Raises:
        TurnOver: in a worker; its place is where the next turn goes on.
    """
    before = place or {}
    first = before.get("step", 0)
    for number, step in enumerate(_STEPS):
        if number < first:
            continue
        try:
            step(marketplace, before.get("at", {}) if number == first else {})
        except TurnOver as over:
            raise TurnOver({"step": number, "at": over.place}) from over


def _settle_calls(marketplace: Marketplace, place: Place) -> None:
    left = outbox.left_behind(marketplace.environment.name)
    outbox.settle_outstanding(marketplace=marketplace, calls=left, after=place.get(outbox.AFTER, 0))


def _settle_decisions(marketplace: Marketplace, place: Place) -> None:
    qualifications.settle_outstanding(marketplace=marketplace, after=place.get(qualifications.AFTER, 0))


def _copy_batches(marketplace: Marketplace, place: Place) -> None:
    first = place.get("batch", 0)
    here = [row for row in open_batches() if row.environment == marketplace.environment.name]
    for batch in sorted(here, key=lambda row: row.pk):
        if batch.pk < first:
            continue
        own = place.get("at", {}) if batch.pk == first else {}
        try:
            if "disposed" not in own:
                collect.sync_batch(batch=batch, marketplace=marketplace, place=own)
                review.promise_bonuses(batch=batch)
            lifecycle.finish_closing(batch=batch, marketplace=marketplace, after=own.get("disposed", 0))
        except TurnOver as over:
            raise TurnOver({"batch": batch.pk, "at": over.place}) from over
        except (Refused, MarketplaceError) as error:
            logger.warning("batch %s cannot be looked at: %s", batch.pk, error)


def _approve_compensations(marketplace: Marketplace, place: Place) -> None:
    compensation.approve_handed_in(marketplace=marketplace)


# What people wait for comes first.
_STEPS: tuple[Callable[[Marketplace, Place], None], ...] = (
    _settle_calls,
    _settle_decisions,
    _copy_batches,
    _approve_compensations,
)
