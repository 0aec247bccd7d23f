"""What a worker was told, and whom a requester may tell something."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q, QuerySet

from hits.marketplace.models import Assignment, Message, Qualification, Requester, SlotState, Worker


def list_messages(worker: Worker) -> QuerySet[Message]:
    """Return what was written to this worker, newest first."""
    return Message.objects.filter(worker=worker).select_related("requester").order_by("-pk")


def list_unread(worker: Worker, limit: int) -> list[Message]:
    """Return the newest messages that the worker has not opened yet, at most ``most``."""
    return list(list_messages(worker).filter(read_at=None)[:limit])


def count_unread(worker: Worker) -> int:
    """Return how many of the worker's messages they have not opened yet."""
    return Message.objects.filter(worker=worker, read_at=None).count()


def find_known_workers(requester: Requester, workers: Collection[Worker], now: datetime) -> set[int]:
    """Return the pks of those of the workers who have worked for the requester.

    Worked has who had a submission approved or rejected by this requester (what is due for approval counts as
    approved), or holds, or held and lost, a qualification of theirs: that too follows from work looked at.
    """
    decided = Q(state__in=[SlotState.APPROVED, SlotState.REJECTED]) | Q(
        state=SlotState.SUBMITTED, auto_approval_at__lte=now
    )
    worked = Assignment.objects.filter(decided, worker__in=workers, hit__requester=requester)
    qualified = Qualification.objects.filter(worker__in=workers, qualification_type__requester=requester)
    return {
        pk
        for rows in (worked, qualified)
        for pk in rows.values_list("worker__pk", flat=True)
        if pk is not None
    }
