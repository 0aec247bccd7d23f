"""What a batch's page shows of its publication besides how far it is."""

from datetime import datetime

from hits.domain.states import CallState
from hits.models import AuditEvent, Batch, OutgoingCall

SURPLUS = "batch.surplus"  # the audit trail's word for a HIT that stood twice
STOPPED = "batch.close"  # and for the end of a batch's offer


def refused_extensions(batch: Batch) -> list[OutgoingCall]:
    """Return the calls of extensions that the marketplace refused; one query."""
    rows = OutgoingCall.objects.filter(batch=batch, extension__isnull=False, state=CallState.REFUSED)
    return list(rows.order_by("pk"))


def surplus(batch: Batch) -> list[AuditEvent]:
    """Return the HITs that were found to stand twice, newest first; one query."""
    rows = AuditEvent.objects.filter(project=batch.project_id, action=SURPLUS, subject=str(batch.pk))
    return list(rows.order_by("-pk"))


def stopped_before(batch: Batch, moment: datetime) -> bool:
    """Tell whether the batch's offer was ended at that moment or earlier; one query."""
    stops = AuditEvent.objects.filter(project=batch.project_id, action=STOPPED, subject=str(batch.pk))
    return not stops.filter(at__gt=moment).exists()
