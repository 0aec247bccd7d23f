"""Change a worker's status, and decide on the qualification grants, revocations and blocks that follow from it.

The change and these decisions are committed together, without calls to the marketplace. The caller then runs
 ``settle_worker_calls``; a periodic task repeats outstanding calls.
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

# The pools that a de-qualified worker loses.
_REVOKED_POOLS = (Pool.QUALIFIED, Pool.TRAINED, Pool.WORK_REVIEWERS)
# The pools that a reinstated worker gets back, if they held them before.
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
    """Save a worker's new status and the decisions that follow from it; the worker reads the reason.

    Repeating the same change (status and reason) returns the first one and writes nothing.

    Raises:
        Refused: the reason is empty, the status is a derived one, or somebody who is not an admin blocks the worker.
        Conflict: the worker has this status already, for another reason.
    """
    reason = _validate_reason(status, reason)
    # Locks the worker, so that a second decision sees the first.
    Worker.objects.select_for_update().get(pk=worker.pk)
    latest = StatusChange.objects.filter(project=project, worker=worker).order_by("-pk").first()
    if latest is not None and latest.status == status:
        if latest.reason == reason:
            return latest
        raise Conflict(f"{worker} is {status.value} already: {latest.reason}")
    before = WorkerStatus(latest.status) if latest is not None else WorkerStatus.NONE
    if WorkerStatus.BLOCKED in {status, before} and (by is None or not has_role(by, project, Role.ADMIN)):
        raise Refused("Only an admin of the project can block a worker or lift a block.")
    for action, pool in _plan_steps(worker, project, before, status):
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
        _dismiss_superseded_proposals(change)
    audit.record(project=project, actor=by, action=f"standing.{status.value}", subject=worker.pk)
    return change


def settle_worker_calls(*, project: Project, worker: Worker, marketplace: Marketplace) -> list[str]:
    """Make the outstanding calls about the worker; return a message for each that stays outstanding.

    It can be repeated; a periodic task repeats it too.
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
                outstanding.append("an earlier call about this worker is still outstanding")
    return outstanding


def _dismiss_superseded_proposals(change: StatusChange) -> None:
    """Dismiss the open proposals that this change makes unnecessary."""
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
        raise Refused(f"status: {status.value!r} follows from submissions and cannot be set")
    if not reason:
        raise Refused("reason: enter a reason; the worker reads it")
    if len(reason) > MAX_REASON:
        raise Refused(f"reason: has {len(reason)} characters; use {MAX_REASON} or fewer")
    return reason


def _plan_steps(worker: Worker, project: Project, before: WorkerStatus, after: WorkerStatus) -> Steps:
    """Return the decisions that follow from the change, in order."""
    if after is WorkerStatus.BLOCKED:
        return [(WorkerAction.BLOCK, None)]
    held, revoked = _held_and_revoked_pools(worker, project)
    steps: Steps = [(WorkerAction.UNBLOCK, None)] if before is WorkerStatus.BLOCKED else []
    if after in EXCLUDED_STATUSES:
        # Granted again even if held, so that the worker reads the new reason.
        steps.append((WorkerAction.GRANT, Pool.EXCLUDED))
        if after is WorkerStatus.DEQUALIFIED:
            steps += [(WorkerAction.REVOKE, pool) for pool in _REVOKED_POOLS if pool in held]
    else:
        if Pool.EXCLUDED in held:
            steps.append((WorkerAction.REVOKE, Pool.EXCLUDED))
        if before in EXCLUDED_STATUSES:
            steps += [
                (WorkerAction.GRANT, pool) for pool in _RESTORED_POOLS.get(after, ()) if pool in revoked
            ]
    return steps


def _held_and_revoked_pools(worker: Worker, project: Project) -> tuple[set[Pool], set[Pool]]:
    """Return the pools whose qualification the worker holds, and those whose qualification was revoked."""
    rows = WorkerDecision.objects.filter(project=project, worker=worker).exclude(qualification=None)
    # Oldest first, so that the newest decision about each pool remains.
    newest = dict(rows.order_by("pk").values_list("qualification__slug", "action"))
    held = {Pool(slug) for slug, action in newest.items() if action == WorkerAction.GRANT}
    return held, {Pool(slug) for slug in newest} - held
