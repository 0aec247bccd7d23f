"""Publish a batch from the command line, and print its state."""

import time
from typing import Any

from django.db.models import Sum

from hits.domain.states import HitState
from hits.management.base import DeerstalkerCommand, input_error
from hits.models import Batch, Hit
from hits.mturk.boto import marketplace
from hits.services.errors import Conflict, Refused
from hits.services.publishing.publish import publish_batch
from hits.services.publishing.publisher_lease import is_being_published

POLL_SECONDS = 0.5  # between two checks of another process's publication


def publish_launched_batch(batch: Batch) -> Batch:
    """Publish a batch after its launch, and return its fresh row.

    If a background worker is publishing it, this waits, then publishes the rest.
    """
    while is_being_published(batch):
        time.sleep(POLL_SECONDS)
    try:
        return publish_remaining_hits(batch)
    except Conflict:
        return publish_launched_batch(batch)  # a worker has just claimed the batch


def publish_remaining_hits(batch: Batch) -> Batch:
    """Publish all HITs that are not live, and return the batch's fresh row."""
    try:
        publish_batch(batch=batch, marketplace=marketplace())
    except Conflict:
        raise  # the message says which process publishes it
    except Refused as error:
        raise input_error(
            f"batch {batch.pk} stopped: {error}; fix the cause, then: manage.py resume_batch {batch.pk}"
        ) from error
    return Batch.objects.get(pk=batch.pk)


def available_balance_cents() -> int:
    """Return the account's current available balance in cents; a launch compares it with its hold.

    Raises:
        MarketplaceError: the marketplace does not answer.
    """
    return marketplace().get_balance().available_cents


def print_live_hit_count(
    command: DeerstalkerCommand, options: dict[str, Any], batch: Batch, **more: Any
) -> None:
    """Print how many HITs of the batch are live; ``more`` extends the JSON object."""
    hits = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE)
    live = hits.count()
    result = {
        "batch": batch.pk,
        "kind": batch.kind,
        "hits": live,
        "assignments": hits.aggregate(sum=Sum("max_assignments", default=0))["sum"],
        "estimate_cents": batch.estimate_cents,
        "state": batch.state,
        **more,
    }
    command.report(options, result, f"batch {batch.pk}: {live} HITs are live")
