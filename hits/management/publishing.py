"""Publish from the command line, and say how the batch stands afterwards."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Sum

from hits.domain.states import HitState
from hits.management.base import bad_input, emit_json
from hits.models import Batch, Hit
from hits.mturk.boto import marketplace
from hits.services.errors import Conflict, Refused
from hits.services.publishing.publish import publish_batch
from hits.services.publishing.publisher_lease import is_held

SECONDS = 0.5  # between two looks at somebody else's publication


def publish_launched(batch: Batch) -> Batch:
    """Publish a batch that was launched just now, and return it as it is then.

    A background worker may have been faster: it is waited for, and what it left is published here.
    """
    while is_held(batch):
        time.sleep(SECONDS)
    try:
        publish_batch(batch=batch, marketplace=marketplace())
    except Conflict:
        return publish_launched(batch)  # it took the batch this very moment
    except Refused as error:
        raise _stopped(batch, error) from error
    return Batch.objects.get(pk=batch.pk)


def publish_now(batch: Batch) -> Batch:
    """Publish what is not live yet, and return the batch as it is then."""
    try:
        publish_batch(batch=batch, marketplace=marketplace())
    except Conflict:
        raise  # who has it, and since when, is all there is to say
    except Refused as error:
        raise _stopped(batch, error) from error
    return Batch.objects.get(pk=batch.pk)


def _stopped(batch: Batch, error: Refused) -> CommandError:
    return bad_input(
        f"batch {batch.pk} stopped: {error}; mend the cause, then: manage.py resume_batch {batch.pk}"
    )


def account_cents() -> int:
    """Return what the account holds free, in cents, asked this moment; a launch compares it with what it will hold.

    Raises:
        MarketplaceError: it cannot be asked.
    """
    return marketplace().balance().available_cents


def emit_published(command: BaseCommand, options: dict[str, Any], batch: Batch, **more: Any) -> None:
    """Print how many HITs of the batch are live, whoever published them; ``more`` joins the JSON object."""
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
    if options["json"]:
        emit_json(command, result)
    else:
        command.stdout.write(f"batch {batch.pk}: {live} HITs are live")
