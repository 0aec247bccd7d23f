"""Publish from the command line, and say how the batch stands afterwards."""

from typing import Any

from django.core.management.base import BaseCommand

from hits.domain.states import HitState
from hits.management.base import bad_input, emit_json
from hits.models import Batch, Hit
from hits.mturk.boto import marketplace
from hits.services.errors import Refused
from hits.services.publish import publish_batch


def publish_now(batch: Batch) -> Batch:
    """Publish what is not live yet, and return the batch as it is then.

    A background worker may be at it as well: each HIT is published by one of the two.
    """
    try:
        publish_batch(batch=batch, marketplace=marketplace())
    except Refused as error:
        raise bad_input(
            f"batch {batch.pk} stopped: {error}; mend the cause, then: manage.py resume_batch {batch.pk}"
        ) from error
    return Batch.objects.get(pk=batch.pk)


def emit_published(command: BaseCommand, options: dict[str, Any], batch: Batch) -> None:
    """Print how many HITs of the batch are live, whoever published them."""
    live = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE).count()
    result = {
        "batch": batch.pk,
        "kind": batch.kind,
        "hits": live,
        "assignments": live * batch.opinions,
        "estimate_cents": batch.estimate_cents,
        "state": batch.state,
    }
    if options["json"]:
        emit_json(command, result)
    else:
        command.stdout.write(f"batch {batch.pk}: {live} HITs are live")
