"""Make the marketplace calls of the outbox, each exactly once.

The transaction of a decision also writes the rows of its calls (``plan_call``). Each call then takes three steps:
claim it under a lease and commit the intent, call, commit the result with the ledger's postings; no call happens
inside a transaction. A process that dies between them leaves an ``intent`` and a lease. After the lease, a successor
checks the marketplace before it repeats a call that must not happen twice, since a token expires after a day.
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
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress
from hits.services.outbox import outbox_operations

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=5)  # longer than a call with all its retries
AFTER_KEY = "after"  # in a resume point: the last call of the turn
_SELECT_RELATED = ("batch", "decision", "hit", "assignment__worker", "assignment__hit__unit__batch")


@dataclass(frozen=True, slots=True)
class SettleCounts:
    """The calls of one round. A later round repeats ``outstanding`` calls, but not ``refused`` ones."""

    done: int = 0
    refused: int = 0
    outstanding: int = 0


def plan_call(  # noqa: PLR0913 - the columns of one row, by keyword
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
    """Write the row of one call inside the caller's transaction; a later step makes the call.

    ``key`` identifies the call across installations on one account, so it contains the marketplace's assignment or
    HIT id. Amounts are cents.

    Raises:
        IntegrityError: the call is planned already; the caller's transaction stays usable.
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
    """Make one call unless it is done; return whether it is done now. Repeatable.

    False: another process has it, it was refused earlier, or an earlier call about the same assignment is open.

    Raises:
        Refused: the marketplace refused it for good (state refused) or did not answer (a later round repeats it), or
            the batch belongs to another marketplace.
    """
    refuse_other_environment_or_fees(call.batch, marketplace)
    if waits_for_earlier_call(call):
        return False
    crash_point("settle.before_intent")
    claimed, is_retry = _claim_call(call)
    if claimed is None:
        return OutgoingCall.objects.filter(pk=call.pk, state=CallState.DONE).exists()
    crash_point("settle.after_intent")
    try:
        if not (
            is_retry and claimed.operation in outbox_operations.CHECK_BEFORE_RETRY
        ) or not outbox_operations.has_taken_effect(claimed, marketplace):
            outbox_operations.execute_call(claimed, marketplace)
    except MarketplaceError as error:
        _raise_unless_done(claimed, error, marketplace)
    crash_point("settle.after_call")
    with transaction.atomic():
        if _finish_call(claimed, CallState.DONE, ""):
            outbox_operations.record_success(claimed)
    crash_point("settle.after_result")
    return True


def settle_outstanding_calls(
    *,
    marketplace: Marketplace,
    batch: Batch | None = None,
    calls: "QuerySet[OutgoingCall] | None" = None,
    progress: Progress | None = None,
    before_each: Callable[[int], None] | None = None,
    after_pk: int = 0,
) -> SettleCounts:
    """Settle the outstanding calls of this marketplace, oldest first.

    ``batch`` or ``calls`` narrow them, and ``after_pk`` skips the calls of earlier turns, whose counts are added. A
    refused call does not delay the others; its page shows it. ``before_each`` gets the call's number from 1, and an
    exception of it ends the round.

    Raises:
        Cancelled: somebody cancelled the job; done calls stay done.
        TurnOver: in a worker process; its resume point names the last call.
    """
    if progress is not None:
        after_pk = progress.resume_point.get(AFTER_KEY, 0)
    rows = outstanding_calls(marketplace.environment.name, batch=batch, calls=calls).filter(pk__gt=after_pk)
    ids = list(rows.values_list("pk", flat=True))
    counts = progress.counts if progress is not None else {}
    for outcome in ("done", "refused", "outstanding"):
        counts.setdefault(outcome, 0)
    for number, pk in enumerate(ids, start=1):
        if before_each is not None:
            before_each(number)
        call = OutgoingCall.objects.select_related(*_SELECT_RELATED).get(pk=pk)
        try:
            done = settle_call(call=call, marketplace=marketplace)
        except Refused as error:
            logger.warning("call %s of batch %s is not settled: %s", pk, call.batch_id, error)
            done = False
        counts["done" if done else _unsettled_state(pk)] += 1
        if progress is not None:
            progress.advance_in_turn(number, len(ids))
        if number < len(ids):
            turns.end_turn_if_over(**{AFTER_KEY: pk})
    return SettleCounts(**counts)


def outstanding_calls(
    environment: str, *, batch: Batch | None = None, calls: "QuerySet[OutgoingCall] | None" = None
) -> "QuerySet[OutgoingCall]":
    """Return the calls that are neither done nor refused, oldest first."""
    rows = (OutgoingCall.objects.all() if calls is None else calls).filter(
        state__in=OPEN_CALL_STATES, batch__environment=environment
    )
    return (rows if batch is None else rows.filter(batch=batch)).order_by("pk")


def orphaned_calls(environment: str) -> "QuerySet[OutgoingCall]":
    """Return the outstanding calls that no job executes.

    Untried calls of an extension belong to its job, which checks caps first and can be stopped.
    """
    return outstanding_calls(environment).exclude(extension__isnull=False, attempt_at=None)


def retry_refused_calls(calls: "QuerySet[OutgoingCall]") -> int:
    """Plan refused calls again after their cause was fixed; return their number."""
    return calls.filter(state=CallState.REFUSED).update(state=CallState.PLANNED, error="")


def waits_for_earlier_call(call: OutgoingCall) -> bool:
    """Return whether an earlier call about the same assignment has to be done first.

    A bonus waits for its approval, an override for its rejection, and a message for the payment that makes the
    requester known to the worker.
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


def _claim_call(call: OutgoingCall) -> tuple[OutgoingCall | None, bool]:
    """Commit the intent under a lease; return the current row, and whether it was attempted before.

    One conditional UPDATE: its row count shows which of two processes got the call. A dead process's call is
    claimable after its lease.
    """
    now = timezone.now()
    owner = f"{socket.gethostname()[:20]}:{os.getpid()}:{uuid.uuid4().hex}"[:64]
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    with transaction.atomic():
        claimed = OutgoingCall.objects.filter(free, pk=call.pk, state__in=OPEN_CALL_STATES).update(
            state=CallState.INTENT,
            attempt_at=Coalesce("attempt_at", Value(now)),  # the token's life starts with the first attempt
            lease_owner=owner,
            lease_until=now + LEASE,
        )
    if not claimed:
        return None, False
    current = OutgoingCall.objects.select_related(*_SELECT_RELATED).get(pk=call.pk)
    return current, current.attempt_at != now


def _finish_call(call: OutgoingCall, state: CallState, error: str) -> bool:
    """Record how the call ended; return False if another process recorded it."""
    done_at = timezone.now() if state is CallState.DONE else None
    own_call = OutgoingCall.objects.filter(pk=call.pk, state=CallState.INTENT)
    if state is not CallState.DONE:  # a success is recorded without the lease too
        own_call = own_call.filter(lease_owner=call.lease_owner)
    return bool(
        own_call.update(state=state, done_at=done_at, error=error[:400], lease_owner="", lease_until=None)
    )


def _raise_unless_done(call: OutgoingCall, error: MarketplaceError, marketplace: Marketplace) -> None:
    """Return if the call took effect despite the error; otherwise record the failure and raise.

    Raises:
        Refused: the call did not take effect.
    """
    try:
        if outbox_operations.is_already_done(call, error, marketplace):
            return
        reason = outbox_operations.record_earlier_decision(call, error, marketplace) or str(error)
    except MarketplaceError as no_answer:
        # The lease is released; a later round checks again.
        _finish_call(call, CallState.INTENT, str(no_answer))
        raise Refused(f"the marketplace did not answer whether {call.operation} succeeded") from no_answer
    _finish_call(call, CallState.INTENT if error.is_retryable else CallState.REFUSED, reason)
    raise Refused(f"the marketplace refused to {call.operation}: {reason}") from error


def _unsettled_state(pk: int) -> str:
    refused = OutgoingCall.objects.filter(pk=pk, state=CallState.REFUSED).exists()
    return "refused" if refused else "outstanding"
