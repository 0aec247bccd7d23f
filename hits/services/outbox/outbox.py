"""Make the marketplace calls that stand in the outbox, each exactly once.

A call is a row before it is made, written in the transaction of the decision that needs it (``plan``). Then three
steps (ruling 1): take it under a lease and commit the intent; call; commit the result with the ledger's entries.
A process that dies between them leaves an ``intent`` and a lease. When the lease has run out, a successor looks at
the marketplace before it repeats what may not happen twice, since a token is forgotten after a day.
"""

import logging
import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from hits.domain.crashpoints import crash_point
from hits.domain.hashing import request_token
from hits.domain.jobs import turns
from hits.domain.states import OPEN_CALL_STATES, CallState
from hits.models import Assignment, Batch, Decision, Extension, Hit, OutgoingCall, TopUp
from hits.mturk.port import Marketplace, MarketplaceError
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress
from hits.services.outbox import outbox_operations

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=5)  # longer than a call lasts with all its repetitions
AFTER = "after"  # in a turn's place: the call that it came to last
_ROWS = ("batch", "decision", "hit", "assignment__worker", "assignment__hit__unit__batch")


@dataclass(frozen=True, slots=True)
class Settled:
    """What one round came to, in calls. ``outstanding`` are repeated by a later round, ``refused`` are not."""

    done: int = 0
    refused: int = 0
    outstanding: int = 0


def plan(  # noqa: PLR0913 - the columns of one row, by keyword
    *,
    operation: OutgoingCall.Operation,
    batch: Batch,
    key: tuple[object, ...],
    decision: Decision | None = None,
    top_up: TopUp | None = None,
    extension: Extension | None = None,
    assignment: Assignment | None = None,
    hit: Hit | None = None,
    args: dict[str, Any] | None = None,
    amount_cents: int = 0,
    fee_cents: int = 0,
) -> OutgoingCall:
    """Write one call down, inside the caller's transaction; nothing leaves yet.

    ``key`` names the call for good: unique across installations on one account, so it holds the marketplace's own
    assignment or HIT id. Amounts are cents.

    Raises:
        IntegrityError: this very call is planned already; the caller's transaction stays usable.
    """
    with transaction.atomic():
        return OutgoingCall.objects.create(
            operation=operation,
            batch=batch,
            decision=decision,
            top_up=top_up,
            extension=extension,
            assignment=assignment,
            hit=hit,
            args=args or {},
            amount_cents=amount_cents,
            fee_cents=fee_cents,
            token=request_token(batch.environment, *key),
        )


def settle_call(*, call: OutgoingCall, marketplace: Marketplace) -> bool:
    """Make one call unless it is made; return whether it stands done. Repeatable.

    False: a rival has it in hand, it was refused earlier, or an earlier call about the same assignment is not done.

    Raises:
        Refused: the marketplace refused it for good (state refused), or did not answer (it is repeated later); or
            the batch belongs to another marketplace.
    """
    refuse_other_marketplace(call.batch, marketplace)
    if waits_for_another(call):
        return False
    crash_point("settle.before_intent")
    taken, repeated = _take(call)
    if taken is None:
        return OutgoingCall.objects.filter(pk=call.pk, state=CallState.DONE).exists()
    crash_point("settle.after_intent")
    try:
        if not (repeated and taken.operation in outbox_operations.LOOK_FIRST) or not outbox_operations.stands(
            taken, marketplace
        ):
            outbox_operations.make(taken, marketplace)
    except MarketplaceError as error:
        _check_refusal(taken, error, marketplace)
    crash_point("settle.after_call")
    with transaction.atomic():
        if _finish(taken, CallState.DONE, ""):
            outbox_operations.record(taken)
    crash_point("settle.after_result")
    return True


def settle_outstanding(
    *,
    marketplace: Marketplace,
    batch: Batch | None = None,
    calls: "QuerySet[OutgoingCall] | None" = None,
    progress: Progress | None = None,
    before_each: Callable[[int], None] | None = None,
    after: int = 0,
) -> Settled:
    """Settle what stands in the outbox for this marketplace, oldest first.

    ``batch`` or ``calls`` narrow it, ``after`` leaves out what an earlier turn came past; what a job's earlier turns
    did is counted in. One refused call does not keep the others waiting; it is shown on its page.
    ``before_each`` is asked with the call's number, from 1; what it raises ends the round.

    Raises:
        Cancelled: somebody asked the job to stop; what is done stays done.
        TurnOver: in a worker; its place says after which call to go on.
    """
    if progress is not None:
        after = progress.place.get(AFTER, 0)
    rows = outstanding(marketplace.environment.name, batch=batch, calls=calls).filter(pk__gt=after)
    ids = list(rows.values_list("pk", flat=True))
    counts = progress.tally if progress is not None else {}
    for how in ("done", "refused", "outstanding"):
        counts.setdefault(how, 0)
    for number, pk in enumerate(ids, start=1):
        if before_each is not None:
            before_each(number)
        call = OutgoingCall.objects.select_related(*_ROWS).get(pk=pk)
        try:
            done = settle_call(call=call, marketplace=marketplace)
        except Refused as error:
            logger.warning("call %s of batch %s is not settled: %s", pk, call.batch_id, error)
            done = False
        counts["done" if done else _how_it_stands(pk)] += 1
        if progress is not None:
            progress.step(number, len(ids))
        if number < len(ids):
            turns.rest(**{AFTER: pk})
    return Settled(**counts)


def outstanding(
    environment: str, *, batch: Batch | None = None, calls: "QuerySet[OutgoingCall] | None" = None
) -> "QuerySet[OutgoingCall]":
    """Return the calls that are neither done nor refused, oldest first."""
    rows = (OutgoingCall.objects.all() if calls is None else calls).filter(
        state__in=OPEN_CALL_STATES, batch__environment=environment
    )
    return (rows if batch is None else rows.filter(batch=batch)).order_by("pk")


def left_behind(environment: str) -> "QuerySet[OutgoingCall]":
    """Return the outstanding calls that no job of their own carries out.

    An extension's job looks at caps first, and somebody may stop it; what it has tried may stand already.
    """
    return outstanding(environment).exclude(extension__isnull=False, attempt_at=None)


def try_again(calls: "QuerySet[OutgoingCall]") -> int:
    """Put refused calls back into line, after their cause was mended; return how many."""
    return calls.filter(state=CallState.REFUSED).update(state=CallState.PLANNED, error="")


def waits_for_another(call: OutgoingCall) -> bool:
    """Tell whether an earlier call about the same assignment has to be done first.

    No bonus leaves while the approval is refused or outstanding, no override before its rejection, and no message
    before the payment that makes the requester known to its worker.
    """
    operations = OutgoingCall.Operation
    earlier = OutgoingCall.objects.filter(assignment=call.assignment_id, pk__lt=call.pk)
    if call.operation == operations.BONUS:
        return earlier.filter(operation=operations.APPROVE).exclude(state=CallState.DONE).exists()
    if call.operation == operations.NOTIFY:
        return earlier.filter(operation=operations.APPROVE, state__in=OPEN_CALL_STATES).exists()
    if call.operation == operations.APPROVE:
        return earlier.filter(operation=operations.REJECT, state__in=OPEN_CALL_STATES).exists()
    return False


def _take(call: OutgoingCall) -> tuple[OutgoingCall | None, bool]:
    """Commit the intent under a lease; return the call as it stands then, and whether it was tried before.

    One conditional UPDATE whose row count is checked (ruling 4): of two processes one gets the call, and a dead
    one's is taken over when its lease has run out.
    """
    now = timezone.now()
    owner = f"{socket.gethostname()[:20]}:{os.getpid()}:{uuid.uuid4().hex}"[:64]
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    with transaction.atomic():
        taken = OutgoingCall.objects.filter(free, pk=call.pk, state__in=OPEN_CALL_STATES).update(
            state=CallState.INTENT,
            attempt_at=Coalesce("attempt_at", Value(now)),  # a token lives from the first attempt on
            lease_owner=owner,
            lease_until=now + LEASE,
        )
    if not taken:
        return None, False
    fresh = OutgoingCall.objects.select_related(*_ROWS).get(pk=call.pk)
    return fresh, fresh.attempt_at != now


def _finish(call: OutgoingCall, state: CallState, error: str) -> bool:
    """Write how the call ended; False when somebody else wrote it meanwhile."""
    done_at = timezone.now() if state is CallState.DONE else None
    mine = OutgoingCall.objects.filter(pk=call.pk, state=CallState.INTENT)
    if state is not CallState.DONE:  # what went through is written down, whoever holds the lease by now
        mine = mine.filter(lease_owner=call.lease_owner)
    return bool(
        mine.update(state=state, done_at=done_at, error=error[:400], lease_owner="", lease_until=None)
    )


def _check_refusal(call: OutgoingCall, error: MarketplaceError, marketplace: Marketplace) -> None:
    """Return when the error says that the call's aim stands; otherwise write down how it failed.

    Raises:
        Refused: it does not stand.
    """
    try:
        if outbox_operations.went_through(call, error, marketplace):
            return
        why = outbox_operations.overtaken(call, error, marketplace) or str(error)
    except MarketplaceError as silence:
        _finish(call, CallState.INTENT, str(silence))  # the lease is given back; a later round looks again
        raise Refused(f"the marketplace did not say whether {call.operation} went through") from silence
    _finish(call, CallState.INTENT if error.retry else CallState.REFUSED, why)
    raise Refused(f"the marketplace refused to {call.operation}: {why}") from error


def _how_it_stands(pk: int) -> str:
    refused = OutgoingCall.objects.filter(pk=pk, state=CallState.REFUSED).exists()
    return "refused" if refused else "outstanding"
