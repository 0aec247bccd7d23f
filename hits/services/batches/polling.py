"""Poll all open batches on the marketplace; one pass may take many turns."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from hits.domain.jobs.turns import TurnOver
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.batches import list_open_batches
from hits.services.batches import compensation, lifecycle
from hits.services.collecting import assignment_sync
from hits.services.errors import Refused
from hits.services.outbox import outbox
from hits.services.reviewing import review
from hits.services.workers import qualifications

logger = logging.getLogger(__name__)

ResumePoint = Mapping[str, Any]


def poll_open_batches(*, marketplace: Marketplace, resume_point: ResumePoint | None = None) -> None:
    """Settle orphaned calls, sync open batches, and approve compensations.

    Raises:
        TurnOver: in a worker process; the next turn resumes at its resume point.
    """
    earlier = resume_point or {}
    first = earlier.get("step", 0)
    for number, step in enumerate(_STEPS):
        if number < first:
            continue
        try:
            step(marketplace, earlier.get("at", {}) if number == first else {})
        except TurnOver as turn_over:
            raise TurnOver({"step": number, "at": turn_over.resume_point}) from turn_over


def _settle_orphaned_calls(marketplace: Marketplace, resume_point: ResumePoint) -> None:
    orphaned = outbox.orphaned_calls(marketplace.environment.name)
    outbox.settle_outstanding_calls(
        marketplace=marketplace, calls=orphaned, after_pk=resume_point.get(outbox.AFTER_KEY, 0)
    )


def _settle_worker_decisions(marketplace: Marketplace, resume_point: ResumePoint) -> None:
    qualifications.settle_outstanding_decisions(
        marketplace=marketplace, after_pk=resume_point.get(qualifications.AFTER_KEY, 0)
    )


def _sync_batches(marketplace: Marketplace, resume_point: ResumePoint) -> None:
    first = resume_point.get("batch", 0)
    for batch in list_open_batches(marketplace.environment.name):
        if batch.pk < first:
            continue
        batch_point = resume_point.get("at", {}) if batch.pk == first else {}
        try:
            if "disposed" not in batch_point:
                assignment_sync.sync_batch(batch=batch, marketplace=marketplace, resume_point=batch_point)
                review.plan_missing_bonuses(batch=batch)
            lifecycle.dispose_hits_and_close_if_done(
                batch=batch, marketplace=marketplace, after_pk=batch_point.get("disposed", 0)
            )
        except TurnOver as turn_over:
            raise TurnOver({"batch": batch.pk, "at": turn_over.resume_point}) from turn_over
        except (Refused, MarketplaceError) as error:
            logger.warning("batch %s cannot be synced: %s", batch.pk, error)


def _approve_compensations(marketplace: Marketplace, resume_point: ResumePoint) -> None:
    compensation.approve_submitted_compensations(marketplace=marketplace)


# In the order in which people wait for it.
_STEPS: tuple[Callable[[Marketplace, ResumePoint], None], ...] = (
    _settle_orphaned_calls,
    _settle_worker_decisions,
    _sync_batches,
    _approve_compensations,
)
