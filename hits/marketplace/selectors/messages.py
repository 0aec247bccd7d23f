"""A worker's messages, and the workers whom a requester may write to."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q, QuerySet

from hits.marketplace.models import Assignment, Message, Qualification, Requester, SlotState, Worker


def list_messages(worker: Worker) -> QuerySet[Message]:
    """Return this worker's messages, newest first."""
    return Message.objects.filter(worker=worker).select_related("requester").order_by("-pk")


def list_unread(worker: Worker, limit: int) -> list[Message]:
    """Return the newest unread messages of the worker, at most ``limit``."""
    return list(list_messages(worker).filter(read_at=None)[:limit])


def count_unread(worker: Worker) -> int:
    """Return how many messages the worker has not read."""
    return Message.objects.filter(worker=worker, read_at=None).count()


def find_past_worker_pks(requester: Requester, workers: Collection[Worker], now: datetime) -> set[int]:
    """Return the pks of those workers who have worked for the requester.

    A worker has worked for a requester who decided a submission of theirs (due auto-approvals count), or who ever
    granted them a qualification.
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
