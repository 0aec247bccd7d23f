"""What launched batches have cost and may still cost."""

from typing import Any

from django.db.models import F, Q, QuerySet, Sum

from hits.domain.states import OPEN_CALL_STATES, BatchState, CallState
from hits.models import Batch, Extension, OutgoingCall, Project

_SPENDING = Q(ledger__entry__in=["reward", "bonus", "fee"])


def committed_cents(*, project: Project, batch: Batch | None = None) -> int:
    """Return the maximum cost of a project's launched batches, or of one of them, in cents; five queries.

    An open batch counts with its whole estimate: launch, extensions and top-ups. A closed one counts with its actual
    cost and its pending bonuses.
    """
    rows = Batch.objects.filter(project=project)
    if batch is not None:
        rows = rows.filter(pk=batch.pk)
    still_open = rows.exclude(state=BatchState.CLOSED)
    closed = rows.filter(state=BatchState.CLOSED)
    bonuses = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.BONUS).annotate(
        sum=F("amount_cents") + F("fee_cents")
    )
    # A refused top-up is not retried: the next proposal includes what is still owed.
    topped_up = bonuses.filter(batch__in=still_open, top_up__isnull=False).exclude(state=CallState.REFUSED)
    pending = bonuses.filter(batch__in=closed, state__in=OPEN_CALL_STATES)
    return (
        _sum(still_open, "estimate_cents")
        + _sum(Extension.objects.filter(batch__in=still_open), "estimate_cents")
        + _sum(topped_up, "sum")
        + _sum(closed.filter(_SPENDING), "ledger__amount_cents")
        + _sum(pending, "sum")
    )


def _sum(rows: "QuerySet[Any]", column: str) -> int:
    return int(rows.order_by().aggregate(total=Sum(column, default=0))["total"])
