"""Decide who may work, and send the decisions to the marketplace.

One transaction commits a decision and its call; then the call is made; then its result is committed. Grants and
revocations set a state, so repeating them is harmless; ``settle_decision`` keeps their order.

If the marketplace does not show a decision's reason (``hits.domain.workers.notices``), the worker gets a message
between the call and its result. A failed message is recorded and not repeated; the decision stays valid.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from hits.domain.crashpoints import crash_point
from hits.domain.jobs import turns
from hits.domain.states import OPEN_CALL_STATES, CallState, WorkerAction
from hits.domain.workers.notices import worker_decision_notice
from hits.domain.workers.qualification_pools import DESCRIPTIONS, Pool, qualification_name
from hits.models import Job, Project, Qualification, Worker, WorkerCall, WorkerDecision
from hits.mturk.port import Failure, Marketplace, MarketplaceError
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.typed_values import require_reason

logger = logging.getLogger(__name__)

SETTLE_TASK = "hits.settle_decisions"
MAX_REASON = 1000
CALL_TIMEOUT = timedelta(minutes=5)  # longer than a call with all its retries: older ones are orphaned
AFTER_KEY = "after"  # in a resume point: the last decision of the turn
SUPERSEDED = "superseded by a later decision"
NOT_NOTIFIED = "not notified"


def get_or_create_pool_qualification(*, project: Project, environment: str, pool: Pool) -> Qualification:
    """Return the project's qualification of ``pool``; the first call creates it. The marketplace may lack it."""
    fields = {"name": qualification_name(project.slug, pool), "description": DESCRIPTIONS[pool]}
    found, _ = Qualification.objects.get_or_create(
        project=project, environment=environment, slug=pool.value, defaults=fields
    )
    return found


def ensure_qualification_type(*, qualification: Qualification, marketplace: Marketplace) -> str:
    """Return the qualification type's id on the marketplace, and create it there if necessary. Repeatable.

    Raises:
        Refused: the marketplace refused it, or it belongs to another marketplace.
    """
    if qualification.type_id:
        return qualification.type_id
    _check_environment(qualification.environment, marketplace)
    try:
        type_id = marketplace.get_or_create_qualification_type(qualification.name, qualification.description)
    except MarketplaceError as error:
        raise Refused(f"the marketplace refused the qualification {qualification.name!r}: {error}") from error
    Qualification.objects.filter(pk=qualification.pk).update(type_id=type_id)
    qualification.type_id = type_id
    return type_id


@transaction.atomic
def decide_on_worker(
    *,
    project: Project,
    worker: Worker,
    action: WorkerAction,
    reason: str,
    by: AbstractBaseUser | None,
    pool: Pool | None = None,
    value: int | None = None,
) -> WorkerDecision:
    """Write a decision about a worker and its call; ``settle_decision`` makes the call.

    ``value`` is the value of a granted qualification, for example a score. The default is the last granted value,
    so that a worker who gets a qualification back gets the score back too, or else 1.

    Raises:
        Refused: no reason, or a grant or revocation without a qualification.
    """
    reason = require_reason("reason", reason.strip(), MAX_REASON, "; the worker reads it")
    qualification = None
    if action in {WorkerAction.GRANT, WorkerAction.REVOKE}:
        if pool is None:
            raise Refused("qualification: choose the one to grant or revoke")
        qualification = get_or_create_pool_qualification(
            project=project, environment=worker.environment, pool=pool
        )
    decision = WorkerDecision.objects.create(
        project=project,
        worker=worker,
        action=action.value,
        qualification=qualification,
        value=_last_granted_value(qualification, worker) if value is None else value,
        reason=reason,
        decided_by_id=by.pk if by else None,
    )
    WorkerCall.objects.create(decision=decision)
    audit.record(
        project=project,
        actor=by,
        action=f"worker.{action.value}",
        subject=worker.pk,
        **({"qualification": qualification.slug} if qualification else {}),
    )
    return decision


def _last_granted_value(qualification: Qualification | None, worker: Worker) -> int:
    if qualification is None:
        return 1
    granted = WorkerDecision.objects.filter(
        qualification=qualification, worker=worker, action=WorkerAction.GRANT.value
    )
    latest = granted.order_by("-pk").values_list("value", flat=True).first()
    return 1 if latest is None else latest


def settle_decision(*, decision: WorkerDecision, marketplace: Marketplace) -> bool:
    """Make the decision's call; return whether the marketplace has the decided state. Repeatable.

    It waits for a related call that may be in flight, its own too; a later sweep repeats it. The worker gets a
    message after the call. A process that dies between the call and its result leaves both to be repeated: the call
    sets a state, and a second message does no harm.

    Raises:
        Refused: the marketplace refused for good, or the worker belongs to another one.
    """
    _check_environment(decision.worker.environment, marketplace)
    may_be_in_flight = Q(call__state=CallState.INTENT, call__attempt_at__gt=timezone.now() - CALL_TIMEOUT)
    if _related_decisions(decision).filter(may_be_in_flight).exists():
        return False  # it must not arrive after this call
    if _close_if_superseded(decision):
        return True
    qualification = decision.qualification
    type_id = ""
    if qualification is not None:
        type_id = ensure_qualification_type(qualification=qualification, marketplace=marketplace)
    if not _claim_call(decision):
        return WorkerCall.objects.filter(decision=decision, state=CallState.DONE).exists()
    crash_point("qualify.after_intent")
    # Check again, since the intent is visible now: later decisions wait for this call.
    if _close_if_superseded(decision):
        return True
    try:
        _execute_call(decision, type_id, marketplace)
    except MarketplaceError as error:
        message = _mask_worker_id(str(error), decision.worker)
        if error.failure is Failure.THROTTLED:  # the call was not executed
            WorkerCall.objects.filter(decision=decision).update(state=CallState.PLANNED)
        elif not error.is_retryable:
            _mark_refused(decision, message)
        raise Refused(f"the marketplace refused to {decision.action}: {message}") from error
    crash_point("qualify.after_call")
    note = _notify_worker(decision, marketplace)
    crash_point("qualify.after_notice")
    _mark_done(decision, note)
    return True


def decide_on_workers(
    *,
    project: Project,
    workers: Sequence[Worker],
    action: WorkerAction,
    pool: Pool,
    reason: str,
    by: AbstractBaseUser | None,
    values: Mapping[int, int] | None = None,
) -> tuple[list[WorkerDecision], Job | None]:
    """Grant or revoke for several workers, and queue the calls; no worker means no job.

    ``values`` are by worker's pk; the default is that of ``decide_on_worker``.

    Raises:
        Refused: as ``decide_on_worker``; nothing is written then.
    """
    with transaction.atomic():
        decisions = [
            decide_on_worker(
                project=project,
                worker=worker,
                action=action,
                pool=pool,
                reason=reason,
                by=by,
                value=(values or {}).get(worker.pk),
            )
            for worker in workers
        ]
        if not decisions:
            return [], None
        job = jobs.enqueue(
            task=SETTLE_TASK,
            title=f"{action.value.capitalize()} {pool.value!r}: {len(decisions)} workers",
            project=project,
            by=by,
            decisions=[decision.pk for decision in decisions],
        )
    return decisions, job


def settle_outstanding_decisions(
    *,
    marketplace: Marketplace,
    ids: Collection[int] | None = None,
    progress: Progress | None = None,
    after_pk: int = 0,
) -> int:
    """Settle outstanding decisions, oldest first (``ids``: only these); return the number of settled ones.

    ``after_pk`` skips the decisions of earlier turns, whose counts are added.

    Raises:
        TurnOver: in a worker process; its resume point names the last decision.
    """
    if progress is not None:
        after_pk = progress.resume_point.get(AFTER_KEY, 0)
    waiting = WorkerDecision.objects.filter(
        call__state__in=OPEN_CALL_STATES, worker__environment=marketplace.environment.name
    ).select_related("worker", "qualification", "project")
    if ids is not None:
        waiting = waiting.filter(pk__in=ids)
    counts = progress.counts if progress is not None else {}
    counts.setdefault("settled", 0)
    rows = list(waiting.filter(pk__gt=after_pk).order_by("pk"))
    for number, decision in enumerate(rows, start=1):
        try:
            counts["settled"] += settle_decision(decision=decision, marketplace=marketplace)
        except Refused as error:
            # A refused call must not delay the others; the worker's page shows it.
            logger.warning(
                "decision %s about worker %s is not settled: %s", decision.pk, decision.worker, error
            )
        if progress is not None:
            progress.advance_in_turn(number, len(rows))
        if number < len(rows):
            turns.end_turn_if_over(**{AFTER_KEY: decision.pk})
    return counts["settled"]


def _close_if_superseded(decision: WorkerDecision) -> bool:
    if not _related_decisions(decision).filter(pk__gt=decision.pk).exists():
        return False
    _mark_done(decision, SUPERSEDED)
    return True


def _claim_call(decision: WorkerDecision) -> bool:
    """Claim the call for this process; a call of another process is claimable after its timeout."""
    now = timezone.now()
    free = Q(state=CallState.PLANNED) | Q(state=CallState.INTENT, attempt_at__lte=now - CALL_TIMEOUT)
    claimed = WorkerCall.objects.filter(free, decision=decision)
    return bool(claimed.update(state=CallState.INTENT, attempt_at=now))


def _notify_worker(decision: WorkerDecision, marketplace: Marketplace) -> str:
    """Send the worker the decision's notice, if any; return a note of a failure, or nothing."""
    pool = Pool(decision.qualification.slug) if decision.qualification is not None else None
    notice = worker_decision_notice(
        WorkerAction(decision.action), pool, decision.project.name, decision.reason
    )
    if notice is None or not _renew_claim(decision):
        return ""
    worker_id = decision.worker.worker_id
    try:
        failure = marketplace.notify([worker_id], notice.subject, notice.text).get(worker_id)
    except MarketplaceError as error:
        failure = str(error)
    if failure is None:
        return ""
    note = f"{NOT_NOTIFIED}: {_mask_worker_id(failure, decision.worker)}"
    logger.warning("decision %s about worker %s is settled, but %s", decision.pk, decision.worker, note)
    return note[:400]


def _renew_claim(decision: WorkerDecision) -> bool:
    """Restart the call's timeout for the message; return False if a later decision has ended this one.

    A later decision waits until the timeout, so its message never arrives before this one.
    """
    claimed = WorkerCall.objects.filter(decision=decision, state=CallState.INTENT)
    return bool(claimed.update(attempt_at=timezone.now()))


def _mask_worker_id(message: str, worker: Worker) -> str:
    """Return the marketplace's message without the worker's id, for pages and logs."""
    return message.replace(worker.worker_id, str(worker))


def _related_decisions(decision: WorkerDecision) -> "QuerySet[WorkerDecision]":
    related = WorkerDecision.objects.filter(worker=decision.worker)
    if decision.qualification_id is not None:
        return related.filter(qualification=decision.qualification_id)
    return related.filter(qualification=None)


def _execute_call(decision: WorkerDecision, type_id: str, marketplace: Marketplace) -> None:
    worker_id, action = decision.worker.worker_id, WorkerAction(decision.action)
    if action is WorkerAction.GRANT:
        marketplace.grant(type_id, worker_id, decision.value)
    elif action is WorkerAction.REVOKE:
        marketplace.revoke(type_id, worker_id, decision.reason)
    elif action is WorkerAction.BLOCK:
        marketplace.block(worker_id, decision.reason)
    else:
        marketplace.unblock(worker_id, decision.reason)


def _mark_done(decision: WorkerDecision, note: str) -> None:
    WorkerCall.objects.filter(decision=decision).exclude(state=CallState.DONE).update(
        state=CallState.DONE, done_at=timezone.now(), error=note
    )


def _mark_refused(decision: WorkerDecision, message: str) -> None:
    WorkerCall.objects.filter(decision=decision, state=CallState.INTENT).update(
        state=CallState.REFUSED, error=message[:400]
    )


def _check_environment(environment: str, marketplace: Marketplace) -> None:
    if marketplace.environment.name != environment:
        raise Refused(
            f"this worker belongs to the marketplace {environment}, but MTURK_ENDPOINT now names "
            f"{marketplace.environment.name}: set MTURK_ENDPOINT back to decide about this worker"
        )
