"""Change where a worker stands, together with what that means for the tasks they get.

A change of standing and the decisions that carry it out are committed together. Nothing leaves here: whoever
changes a standing then calls ``carry_out``, and the beat repeats what was left outstanding.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.states import OPEN_CALL_STATES, Role, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Project, Worker, WorkerDecision
from hits.mturk.port import Marketplace
from hits.selectors.roles import has_role
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.workers import qualifications
from hits.services.workers.qualifications import MAX_REASON
from validation.domain.qualification.worker_status import (
    DERIVED_STATUSES,
    EXCLUDED_STATUSES,
    ProposalState,
    WorkerStatus,
)
from validation.models import RuleProposal, StatusChange

# What a de-qualified worker gets back, as far as they held it, when they may work again.
_RESTORED_POOLS = {
    WorkerStatus.QUALIFIED: (Pool.QUALIFIED,),
    WorkerStatus.TRAINED: (Pool.QUALIFIED, Pool.TRAINED),
    WorkerStatus.ACTIVE: (Pool.QUALIFIED, Pool.TRAINED),
}
Steps = list[tuple[WorkerAction, Pool | None]]


@transaction.atomic
def change_worker_status(
    *,
    project: Project,
    worker: Worker,
    status: WorkerStatus,
    reason: str,
    by: AbstractBaseUser | None,
    proposal: RuleProposal | None = None,
) -> StatusChange:
    """Write down a worker's new standing and the decisions that it means; the worker reads the reason.

    Repeating the same change (standing and reason) returns the first one and writes nothing.

    Raises:
        Refused: no reason, a standing that is never decided, or a block by somebody who is no admin.
        Conflict: the worker stands there already, for another reason.
    """
    reason = _validate_reason(status, reason)
    # Two people decide one after the other: the second sees what the first one did.
    Worker.objects.select_for_update().get(pk=worker.pk)
    latest = StatusChange.objects.filter(project=project, worker=worker).order_by("-pk").first()
    if latest is not None and latest.status == status:
        if latest.reason == reason:
            return latest
        raise Conflict(f"{worker} is {status.value} already: {latest.reason}")
    before = WorkerStatus(latest.status) if latest is not None else WorkerStatus.NONE
    if WorkerStatus.BLOCKED in {status, before} and (by is None or not has_role(by, project, Role.ADMIN)):
        raise Refused("Only an admin of the project blocks a worker, or lifts a block.")
    for action, pool in _steps(worker, project, before, status):
        qualifications.decide_on_worker(
            project=project, worker=worker, action=action, pool=pool, reason=reason, by=by
        )
    change = StatusChange.objects.create(
        project=project,
        worker=worker,
        status=status.value,
        reason=reason,
        proposal=proposal,
        decided_by_id=by.pk if by else None,
    )
    if status in EXCLUDED_STATUSES:
        _close_proposals(change)
    audit.record(project=project, actor=by, action=f"standing.{status.value}", subject=worker.pk)
    return change


def settle_worker_calls(*, project: Project, worker: Worker, marketplace: Marketplace) -> list[str]:
    """Make the calls that decisions about the worker still need; return what stays outstanding, in words.

    Repeatable; the worker process repeats it too.
    """
    decisions = WorkerDecision.objects.filter(
        project=project, worker=worker, call__state__in=OPEN_CALL_STATES
    ).select_related("worker", "qualification", "project")
    outstanding = []
    for decision in decisions.order_by("pk"):
        try:
            done = qualifications.settle_decision(decision=decision, marketplace=marketplace)
        except Refused as error:
            outstanding.append(str(error))
        else:
            if not done:
                outstanding.append("an earlier call about this worker is still on its way")
    return outstanding


def _close_proposals(change: StatusChange) -> None:
    """What rules proposed, and this change went as far as, has been decided with it."""
    others = RuleProposal.objects.filter(
        worker=change.worker, rule__project=change.project, state=ProposalState.OPEN
    )
    if change.proposal_id is not None:
        others = others.exclude(pk=change.proposal_id)
    if change.status == WorkerStatus.PAUSED:
        others = others.filter(rule__proposes=WorkerStatus.PAUSED)
    others.update(
        state=ProposalState.DISMISSED,
        decided_by_id=change.decided_by_id,
        decided_at=change.decided_at,
        reason=f"{change.worker} is {change.status}: {change.reason}"[:MAX_REASON],
    )


def _validate_reason(status: WorkerStatus, reason: str) -> str:
    reason = reason.strip()
    if status in DERIVED_STATUSES:
        raise Refused(f"standing: {status.value!r} follows from what a worker hands in; nobody decides it")
    if not reason:
        raise Refused("reason: say why; the worker reads it")
    if len(reason) > MAX_REASON:
        raise Refused(f"reason: has {len(reason)} characters; use {MAX_REASON} or fewer")
    return reason


def _steps(worker: Worker, project: Project, before: WorkerStatus, after: WorkerStatus) -> Steps:
    """Return the decisions that the change means, in their order."""
    if after is WorkerStatus.BLOCKED:
        return [(WorkerAction.BLOCK, None)]
    held, revoked = _pools(worker, project)
    steps: Steps = [(WorkerAction.UNBLOCK, None)] if before is WorkerStatus.BLOCKED else []
    if after in EXCLUDED_STATUSES:
        # Granted anew even where it is held, so that the worker reads today's reason.
        steps.append((WorkerAction.GRANT, Pool.EXCLUDED))
        if after is WorkerStatus.DEQUALIFIED:
            steps += [(WorkerAction.REVOKE, pool) for pool in (Pool.QUALIFIED, Pool.TRAINED) if pool in held]
    else:
        if Pool.EXCLUDED in held:
            steps.append((WorkerAction.REVOKE, Pool.EXCLUDED))
        if before in EXCLUDED_STATUSES:
            steps += [
                (WorkerAction.GRANT, pool) for pool in _RESTORED_POOLS.get(after, ()) if pool in revoked
            ]
    return steps


def _pools(worker: Worker, project: Project) -> tuple[set[Pool], set[Pool]]:
    """Return what the worker holds, and what was taken from them."""
    rows = WorkerDecision.objects.filter(project=project, worker=worker).exclude(qualification=None)
    # In the order of writing, so that the newest decision about each stays.
    newest = dict(rows.order_by("pk").values_list("qualification__slug", "action"))
    held = {Pool(slug) for slug, action in newest.items() if action == WorkerAction.GRANT}
    return held, {Pool(slug) for slug in newest} - held
