"""Decide who may work, and carry it to the marketplace.

A decision and its call are committed together; then the call is made; then its result is committed. Granting and
revoking set a state, so repeating them is harmless; only their order matters, and ``settle`` keeps it.

The worker is told of a decision whose reason the marketplace would not show (``hits.domain.workers.notices``)
between its call and its result. A message that fails changes nothing of the decision: it is noted, not retried.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from hits.domain.crashpoints import crash_point
from hits.domain.jobs import turns
from hits.domain.states import OPEN_CALL_STATES, CallState, WorkerAction
from hits.domain.workers.notices import notice_of
from hits.domain.workers.qualification_pools import DESCRIPTIONS, Pool, qualification_name
from hits.models import Job, Project, Qualification, Worker, WorkerCall, WorkerDecision
from hits.mturk.port import Failure, Marketplace, MarketplaceError
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress

logger = logging.getLogger(__name__)

SETTLE_TASK = "hits.settle_decisions"
MAX_REASON = 1000
ONE_CALL = timedelta(minutes=5)  # longer than a call lasts with all its repetitions: older ones are dead
AFTER = "after"  # in a turn's place: the decision that it came to last
OVERTAKEN = "a later decision came first"
NOT_TOLD = "not told"


def pool_qualification(*, project: Project, environment: str, pool: Pool) -> Qualification:
    """Return the project's row for ``pool``, made at the first call. The marketplace may not know it yet."""
    fields = {"name": qualification_name(project.slug, pool), "description": DESCRIPTIONS[pool]}
    try:
        with transaction.atomic():
            found, _ = Qualification.objects.get_or_create(
                project=project, environment=environment, slug=pool.value, defaults=fields
            )
    except IntegrityError:  # another process made it a moment ago
        found = Qualification.objects.get(project=project, environment=environment, slug=pool.value)
    return found


def ensure_type(*, qualification: Qualification, marketplace: Marketplace) -> str:
    """Return the qualification type's id on the marketplace, making it there if need be; repeatable.

    Raises:
        Refused: the marketplace refused it, or it belongs to another marketplace.
    """
    if qualification.type_id:
        return qualification.type_id
    _refuse_other(qualification.environment, marketplace)
    try:
        type_id = marketplace.create_qualification_type(qualification.name, qualification.description)
    except MarketplaceError as error:
        raise Refused(f"the marketplace refused the qualification {qualification.name!r}: {error}") from error
    Qualification.objects.filter(pk=qualification.pk).update(type_id=type_id)
    qualification.type_id = type_id
    return type_id


@transaction.atomic
def decide_about(
    *,
    project: Project,
    worker: Worker,
    action: WorkerAction,
    reason: str,
    by: AbstractBaseUser | None,
    pool: Pool | None = None,
    value: int | None = None,
) -> WorkerDecision:
    """Write down a decision about a worker and the call that it needs. Nothing leaves yet: see ``settle``.

    ``value`` is what a granted qualification is worth (a score, for example); without one it is what was granted
    last, and 1 at first, so that who gets a qualification back gets their score back, too.

    Raises:
        Refused: no reason, or a grant or revocation without a qualification.
    """
    reason = reason.strip()
    if not reason:
        raise Refused("reason: say why; the worker reads it")
    if len(reason) > MAX_REASON:
        raise Refused(f"reason: has {len(reason)} characters; use {MAX_REASON} or fewer")
    qualification = None
    if action in {WorkerAction.GRANT, WorkerAction.REVOKE}:
        if pool is None:
            raise Refused("qualification: say which one to grant or to take away")
        qualification = pool_qualification(project=project, environment=worker.environment, pool=pool)
    decision = WorkerDecision.objects.create(
        project=project,
        worker=worker,
        action=action.value,
        qualification=qualification,
        value=_granted_last(qualification, worker) if value is None else value,
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


def _granted_last(qualification: Qualification | None, worker: Worker) -> int:
    if qualification is None:
        return 1
    granted = WorkerDecision.objects.filter(
        qualification=qualification, worker=worker, action=WorkerAction.GRANT.value
    )
    latest = granted.order_by("-pk").values_list("value", flat=True).first()
    return 1 if latest is None else latest


def settle(*, decision: WorkerDecision, marketplace: Marketplace) -> bool:
    """Make the decision's call; return whether the marketplace stands as decided. Repeatable.

    A call about the same that may still be on its way is waited for, this decision's own too: the beat comes back.
    The worker is told once the call is made. A process killed between the call and its result leaves both to be
    repeated: the call sets a state, and a second message with the same words does no harm.

    Raises:
        Refused: the marketplace refused for good, or the worker belongs to another one.
    """
    _refuse_other(decision.worker.environment, marketplace)
    on_its_way = Q(call__state=CallState.INTENT, call__attempt_at__gt=timezone.now() - ONE_CALL)
    if _about_the_same(decision).filter(on_its_way).exists():
        return False  # it must not arrive after this one, nor be given up while it may arrive
    if _overtaken(decision):
        return True
    qualification = decision.qualification
    type_id = (
        ensure_type(qualification=qualification, marketplace=marketplace) if qualification is not None else ""
    )
    if not _intend(decision):
        return WorkerCall.objects.filter(decision=decision, state=CallState.DONE).exists()
    crash_point("qualify.after_intent")
    # Asked again now that everybody sees the intent: a decision from here on waits for this call.
    if _overtaken(decision):
        return True
    try:
        _make(decision, type_id, marketplace)
    except MarketplaceError as error:
        told = _without_id(str(error), decision.worker)
        if error.failure is Failure.THROTTLED:  # it was not done, so nothing is on its way
            WorkerCall.objects.filter(decision=decision).update(state=CallState.PLANNED)
        elif not error.retry:
            _refused(decision, told)
        raise Refused(f"the marketplace refused to {decision.action}: {told}") from error
    crash_point("qualify.after_call")
    note = _tell(decision, marketplace)
    crash_point("qualify.after_notice")
    _close(decision, note)
    return True


def decide_about_many(
    *,
    project: Project,
    workers: Sequence[Worker],
    action: WorkerAction,
    pool: Pool,
    reason: str,
    by: AbstractBaseUser | None,
    values: Mapping[int, int] | None = None,
) -> tuple[list[WorkerDecision], Job | None]:
    """Grant or revoke for many at once, and queue the calls; nobody at all queues nothing.

    ``values`` are by worker's pk; who is not in it gets the value of ``decide_about``.

    Raises:
        Refused: as ``decide_about``; then nothing at all is written.
    """
    with transaction.atomic():
        decisions = [
            decide_about(
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


def settle_outstanding(
    *,
    marketplace: Marketplace,
    ids: Collection[int] | None = None,
    progress: Progress | None = None,
    after: int = 0,
) -> int:
    """Settle what waits, oldest first (``ids``: only these decisions); return how many are settled.

    ``after`` leaves out what an earlier turn came past; what a job's earlier turns settled is counted in.

    Raises:
        TurnOver: in a worker; its place says after which decision to go on.
    """
    if progress is not None:
        after = progress.place.get(AFTER, 0)
    waiting = WorkerDecision.objects.filter(
        call__state__in=OPEN_CALL_STATES, worker__environment=marketplace.environment.name
    ).select_related("worker", "qualification", "project")
    if ids is not None:
        waiting = waiting.filter(pk__in=ids)
    counts = progress.tally if progress is not None else {}
    counts.setdefault("settled", 0)
    rows = list(waiting.filter(pk__gt=after).order_by("pk"))
    for number, decision in enumerate(rows, start=1):
        try:
            counts["settled"] += settle(decision=decision, marketplace=marketplace)
        except Refused as error:
            # One refused call must not keep the others waiting; it is shown on the worker's page.
            logger.warning(
                "decision %s about worker %s is not settled: %s", decision.pk, decision.worker, error
            )
        if progress is not None:
            progress.step(number, len(rows))
        if number < len(rows):
            turns.rest(**{AFTER: decision.pk})
    return counts["settled"]


def _overtaken(decision: WorkerDecision) -> bool:
    if not _about_the_same(decision).filter(pk__gt=decision.pk).exists():
        return False
    _close(decision, OVERTAKEN)
    return True


def _intend(decision: WorkerDecision) -> bool:
    """Take the call for this process; another one's is left alone until it must be dead."""
    now = timezone.now()
    free = Q(state=CallState.PLANNED) | Q(state=CallState.INTENT, attempt_at__lte=now - ONE_CALL)
    claimed = WorkerCall.objects.filter(free, decision=decision)
    return bool(claimed.update(state=CallState.INTENT, attempt_at=now))


def _tell(decision: WorkerDecision, marketplace: Marketplace) -> str:
    """Send the worker what there is to say of the decision; return a note of why it failed, or nothing."""
    pool = Pool(decision.qualification.slug) if decision.qualification is not None else None
    notice = notice_of(WorkerAction(decision.action), pool, decision.project.name, decision.reason)
    if notice is None or not _extend(decision):
        return ""
    worker_id = decision.worker.worker_id
    try:
        why = marketplace.notify([worker_id], notice.subject, notice.text).get(worker_id)
    except MarketplaceError as error:
        why = str(error)
    if why is None:
        return ""
    note = f"{NOT_TOLD}: {_without_id(why, decision.worker)}"
    logger.warning("decision %s about worker %s is carried out, but %s", decision.pk, decision.worker, note)
    return note[:400]


def _extend(decision: WorkerDecision) -> bool:
    """Give the message a full time of its own; False when a later decision has ended this one meanwhile.

    So a message never arrives after that of a later decision, which waits for this one as long as it is alive.
    """
    going_on = WorkerCall.objects.filter(decision=decision, state=CallState.INTENT)
    return bool(going_on.update(attempt_at=timezone.now()))


def _without_id(words: str, worker: Worker) -> str:
    """Return the marketplace's words as pages and logs may have them."""
    return words.replace(worker.worker_id, str(worker))


def _about_the_same(decision: WorkerDecision) -> "QuerySet[WorkerDecision]":
    same = WorkerDecision.objects.filter(worker=decision.worker)
    if decision.qualification_id is not None:
        return same.filter(qualification=decision.qualification_id)
    return same.filter(qualification=None)


def _make(decision: WorkerDecision, type_id: str, marketplace: Marketplace) -> None:
    worker_id, action = decision.worker.worker_id, WorkerAction(decision.action)
    if action is WorkerAction.GRANT:
        marketplace.grant(type_id, worker_id, decision.value)
    elif action is WorkerAction.REVOKE:
        marketplace.revoke(type_id, worker_id, decision.reason)
    elif action is WorkerAction.BLOCK:
        marketplace.block(worker_id, decision.reason)
    else:
        marketplace.unblock(worker_id, decision.reason)


def _close(decision: WorkerDecision, note: str) -> None:
    WorkerCall.objects.filter(decision=decision).exclude(state=CallState.DONE).update(
        state=CallState.DONE, done_at=timezone.now(), error=note
    )


def _refused(decision: WorkerDecision, message: str) -> None:
    WorkerCall.objects.filter(decision=decision, state=CallState.INTENT).update(
        state=CallState.REFUSED, error=message[:400]
    )


def _refuse_other(environment: str, marketplace: Marketplace) -> None:
    if marketplace.environment.name != environment:
        raise Refused(
            f"this worker belongs to the marketplace {environment}, and MTURK_ENDPOINT now means "
            f"{marketplace.environment.name}: set it back to decide about them"
        )
