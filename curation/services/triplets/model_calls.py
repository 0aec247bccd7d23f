"""Reserve the price of a call before it is sent, and settle it by the reply, so that no price exceeds a run's cap.

Reserved and spent micro-dollars of a run are one number, raised by a conditional UPDATE: two processes never reserve
the same rest. It is the true sum, also if a server states more than a call's bound. A call whose process died in
flight counts at its full price. A call with a stored reply is never sent again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from curation.models import CallState, ModelCall, ModelRun, RunPurpose
from curation.selectors.triplets.model_calls import worked_on_jobs
from hits.domain.answers.text import shorten_text
from hits.domain.storable import storable_json, storable_text
from hits.models import Project
from hits.services import audit
from hits.services.errors import Conflict, Refused

MICRO_DOLLARS = 1_000_000  # per dollar
MAX_CAP_USD = 1_000_000
MAX_SUBJECT, MAX_ERROR = 120, 1000
MAX_COST_MICRO = 10**15
"""A billion dollars: a server may state any number of tokens, and the sum of a run has to fit into an integer."""
REFUSED_FINISH, BAD_REPLY_FINISH = "content_filter", "bad_reply"
_HOW_TO_GO_ON = "start again with a higher cap to go on; what is stored is not sent again"


class CapReached(Refused):
    """The next call would exceed the run's cap; what is stored stays."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run calls, and how much it may cost. ``cap_micro`` in micro-dollars, ``cap_calls`` in calls."""

    purpose: RunPurpose
    generator: str
    cap_micro: int
    cap_calls: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call before it is sent: the hash of all that its reply depends on, and the most that it may cost."""

    key: str
    subject: str
    micro: int
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallReply:
    """What came back.

    cost_micro: what the usage says; ``None`` if it says nothing, and the reserved price counts. sent: what the server
    really got, such as parameters that it takes and the sizes of scaled images; it is stored with the request.
    """

    text: str = ""
    finish: str = ""
    model: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    raw: Any = None
    sent: Mapping[str, Any] = field(default_factory=dict)
    cost_micro: int | None = None
    seconds: float | None = None
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave no usable reply. may_cost: it then counts at its full price. finish: what it is counted as."""

    error: str
    may_cost: bool
    finish: str = ""
    raw: Any = None
    tries: int = 1

    @property
    def state(self) -> CallState:
        """The state of its call."""
        return CallState.REFUSED if self.finish == REFUSED_FINISH else CallState.FAILED


_LOST = Failure("its process ended before the reply", may_cost=True)


def cap_in_micro(usd: float) -> int:
    """Return a cap in micro-dollars.

    Raises:
        Refused: it is no amount from 0 to a million dollars.
    """
    if not 0 <= usd <= MAX_CAP_USD:  # NaN is refused too
        raise Refused(f"cap: {usd:g} dollars; use 0 to {MAX_CAP_USD:,}")
    return round(usd * MICRO_DOLLARS)


def create_run(*, project: Project, plan: RunPlan, by: AbstractBaseUser | None) -> ModelRun:
    """Store a run before its first call."""
    return ModelRun.objects.create(
        project=project,
        purpose=plan.purpose.value,
        generator=plan.generator,
        cap_micro=plan.cap_micro,
        cap_calls=plan.cap_calls,
        parameters=dict(plan.parameters),
        created_by_id=by.pk if by else None,
    )


@transaction.atomic
def raise_cap(*, run: ModelRun, cap_micro: int, by: AbstractBaseUser | None) -> None:
    """Give a run a higher cap, so that it can be resumed.

    Raises:
        Refused: the cap is lower than what is committed already.
    """
    changed = ModelRun.objects.filter(pk=run.pk, committed_micro__lte=cap_micro).update(cap_micro=cap_micro)
    if not changed:
        run.refresh_from_db()
        raise Refused(
            f"cap: ${run.committed_micro / MICRO_DOLLARS:.6f} are spent or reserved already; use a higher cap than "
            f"${cap_micro / MICRO_DOLLARS:.2f}"
        )
    audit.record(project=run.project, actor=by, action="run.cap", subject=run.pk, cap_micro=cap_micro)
    run.refresh_from_db()


def find_settled_call(project: Project, key: str) -> ModelCall | None:
    """Return the call with a stored reply for this key, if there is one."""
    return ModelCall.objects.filter(project=project, key=key, state=CallState.SETTLED.value).first()


def find_refused_call(project: Project, key: str) -> ModelCall | None:
    """Return a call with this key whose content the provider refused: its reply is stored, too."""
    return ModelCall.objects.filter(project=project, key=key, state=CallState.REFUSED.value).first()


@transaction.atomic
def reserve_call(*, run: ModelRun, planned: PlannedCall) -> ModelCall:
    """Reserve a call's full price and store the call; it may be sent after this returns.

    Raises:
        CapReached: the price does not fit under the run's caps.
        Conflict: another run is sending the same call at this moment.
    """
    _release_dead_twin(run, planned.key)
    fits = Q(cap_calls=None) | Q(calls_made__lt=F("cap_calls"))
    reserved = ModelRun.objects.filter(
        fits, pk=run.pk, committed_micro__lte=F("cap_micro") - planned.micro
    ).update(committed_micro=F("committed_micro") + planned.micro, calls_made=F("calls_made") + 1)
    if not reserved:
        raise CapReached(_cap_message(run, planned.micro))
    try:
        with transaction.atomic():
            return ModelCall.objects.create(
                project_id=run.project_id,
                run=run,
                key=planned.key,
                subject=planned.subject[:MAX_SUBJECT],
                reserved_micro=planned.micro,
                request=dict(planned.request),
            )
    except IntegrityError as error:
        raise Conflict("call: another run sends the same one at this moment; wait for it") from error


def _cap_message(run: ModelRun, micro: int) -> str:
    row = ModelRun.objects.get(pk=run.pk)
    if row.cap_calls is not None and row.calls_made >= row.cap_calls:
        return f"cap: {row.calls_made} of {row.cap_calls} calls are made; {_HOW_TO_GO_ON}"
    left = max(0, row.cap_micro - row.committed_micro) / MICRO_DOLLARS
    return (
        f"cap: the next call may cost ${micro / MICRO_DOLLARS:.6f}, and ${left:.6f} of "
        f"${row.cap_micro / MICRO_DOLLARS:.2f} are left; {_HOW_TO_GO_ON}"
    )


def _release_dead_twin(run: ModelRun, key: str) -> None:
    """Mark a sent call with this key as lost if no process works on its run: it died in flight."""
    sent = ModelCall.objects.filter(project=run.project_id, key=key, state=CallState.SENT.value)
    for call in sent.exclude(run=run).exclude(run__job__in=worked_on_jobs()):
        _end_call(call, _LOST, CallState.LOST)


@transaction.atomic
def settle_call(*, call: ModelCall, reply: CallReply) -> ModelCall:
    """Store a reply, and replace the reserved price by what the call cost. A second reply changes nothing.

    Whatever the reply holds is stored in a form that the database takes: a paid reply is never lost and paid again.
    """
    cost = call.reserved_micro if reply.cost_micro is None else min(reply.cost_micro, MAX_COST_MICRO)
    request = {**call.request, "sent": storable_json(reply.sent)} if reply.sent else call.request
    changed = ModelCall.objects.filter(pk=call.pk, state=CallState.SENT.value).update(
        state=CallState.SETTLED.value,
        request=request,
        cost_micro=cost,
        reply=storable_json(reply.raw),
        text=storable_text(reply.text),
        finish=storable_text(reply.finish)[:40],
        model=storable_text(reply.model)[:200],
        usage=storable_json(reply.usage),
        tries=reply.tries,
        seconds=reply.seconds,
        settled_at=timezone.now(),
    )
    if changed:
        _change_committed(call, cost)
    call.refresh_from_db()
    return call


@transaction.atomic
def fail_call(*, call: ModelCall, failure: Failure) -> ModelCall:
    """Store that a call gave no usable reply."""
    _end_call(call, failure)
    call.refresh_from_db()
    return call


@transaction.atomic
def lose_calls(*, run: ModelRun, subject_prefix: str = "") -> int:
    """Mark the run's sent calls as lost, after their process died; return their number. They stay listed."""
    sent = ModelCall.objects.filter(run=run, state=CallState.SENT.value, subject__startswith=subject_prefix)
    rows = list(sent)
    for call in rows:
        _end_call(call, _LOST, CallState.LOST)
    return len(rows)


def _end_call(call: ModelCall, failure: Failure, state: CallState | None = None) -> None:
    cost = call.reserved_micro if failure.may_cost else 0
    changed = ModelCall.objects.filter(pk=call.pk, state=CallState.SENT.value).update(
        state=(state or failure.state).value,
        cost_micro=cost,
        finish=failure.finish,
        error=shorten_text(storable_text(failure.error), MAX_ERROR),
        reply=storable_json(failure.raw),
        tries=failure.tries,
        settled_at=timezone.now(),
    )
    if changed:
        _change_committed(call, cost)


def _change_committed(call: ModelCall, cost: int) -> None:
    """Replace a call's reserved price by its cost. One above the bound may lift the run over its cap."""
    change = cost - call.reserved_micro
    ModelRun.objects.filter(pk=call.run_id).update(committed_micro=F("committed_micro") + change)
