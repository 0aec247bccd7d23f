"""Problems and events of a batch's publication, for its page."""

from datetime import datetime

from hits.domain.states import CallState
from hits.models import AuditEvent, Batch, OutgoingCall

SURPLUS_ACTION = "batch.surplus"  # audit action: a HIT was published twice
CLOSE_ACTION = "batch.close"  # audit action: a batch stopped offering work


def refused_extension_calls(batch: Batch) -> list[OutgoingCall]:
    """Return the calls of extensions that the marketplace refused; one query."""
    rows = OutgoingCall.objects.filter(batch=batch, extension__isnull=False, state=CallState.REFUSED)
    return list(rows.order_by("pk"))


def surplus_hit_events(batch: Batch) -> list[AuditEvent]:
    """Return the events of HITs that were published twice, newest first; one query."""
    rows = AuditEvent.objects.filter(project=batch.project_id, action=SURPLUS_ACTION, subject=str(batch.pk))
    return list(rows.order_by("-pk"))


def was_closed_at(batch: Batch, moment: datetime) -> bool:
    """Return whether the batch stopped offering work at that moment or earlier; one query."""
    later_closings = AuditEvent.objects.filter(
        project=batch.project_id, action=CLOSE_ACTION, subject=str(batch.pk)
    )
    return not later_closings.filter(at__gt=moment).exists()
