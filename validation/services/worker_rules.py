"""Worker rules: save them, create their proposals, and accept or dismiss proposals."""

from collections.abc import Sequence
from itertools import groupby

from django.contrib.auth.models import AbstractBaseUser
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from hits.domain.jobs import turns
from hits.models import Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.workers.qualifications import MAX_REASON
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import EXCLUDED_STATUSES, ProposalState, WorkerStatus
from validation.models import RuleProposal, StatusChange, WorkerRule
from validation.selectors.worker_rules import preview_rule, rule_inputs_fingerprint, rule_settings
from validation.selectors.worker_status import current_status
from validation.services.worker_status import change_worker_status

CACHE_SECONDS = 24 * 3600
PROPOSABLE_STATUSES = (WorkerStatus.PAUSED, WorkerStatus.DEQUALIFIED)


@transaction.atomic
def save_rule(
    *,
    project: Project,
    name: str,
    rule: RuleSettings,
    proposes: WorkerStatus,
    by: AbstractBaseUser | None,
    existing: WorkerRule | None = None,
) -> WorkerRule:
    """Save a rule, or change one; earlier proposals keep their figures.

    Raises:
        Refused: the window is shorter than the minimum of items, or the rule proposes another status.
    """
    if not 1 <= rule.at_least <= rule.window:
        raise Refused(f"minimum items: use a number from 1 to {rule.window}, the length of the window")
    if proposes not in PROPOSABLE_STATUSES:
        raise Refused("proposes: use paused or dequalified")
    row = existing or WorkerRule(project=project)
    row.name, row.measure, row.proposes = name.strip(), rule.measure.value, proposes.value
    row.below, row.window, row.at_least = rule.below, rule.window, rule.at_least
    row.save()
    audit.record(project=project, actor=by, action="rule.save", subject=row.pk)
    return row


@transaction.atomic
def set_rule_active(*, rule: WorkerRule, is_active: bool, by: AbstractBaseUser | None) -> None:
    """Activate or deactivate a rule; its open proposals stay open."""
    if WorkerRule.objects.filter(pk=rule.pk, is_active=not is_active).update(is_active=is_active):
        audit.record(
            project=rule.project, actor=by, action=f"rule.{'on' if is_active else 'off'}", subject=rule.pk
        )


def evaluate_rules(*, project: Project | None = None) -> int:
    """Evaluate all active rules of one project or of all; return the number of new proposals.

    A periodic task evaluates all projects; it skips a project without changes since the last run.
    """
    rules = WorkerRule.objects.filter(is_active=True).select_related("project").order_by("project_id", "pk")
    if project is not None:
        return sum(create_proposals(rule=rule) for rule in rules.filter(project=project))
    new = 0
    for _, project_rules in groupby(rules, key=lambda rule: rule.project_id):
        new += _evaluate_rules_if_changed(list(project_rules))
        turns.end_turn_if_over()  # the next turn skips evaluated projects, whose state is cached
    return new


def _evaluate_rules_if_changed(rules: Sequence[WorkerRule]) -> int:
    key = f"rules-looked:{rules[0].project_id}"
    state = rule_inputs_fingerprint(rules[0].project)
    if cache.get(key) == state:
        return 0
    new = sum(create_proposals(rule=rule) for rule in rules)
    # The state was read before the evaluation, so items that arrive meanwhile trigger the next one.
    cache.set(key, state, CACHE_SECONDS)
    return new


def create_proposals(*, rule: WorkerRule) -> int:
    """Save what a rule proposes now; return the number of new proposals. Parallel runs are safe."""
    result = preview_rule(rule_settings(rule), rule.project, proposes=WorkerStatus(rule.proposes), saved=rule)
    open_workers = set(rule.proposals.filter(state=ProposalState.OPEN).values_list("worker", flat=True))
    rows = [
        RuleProposal(rule=rule, worker_id=finding.worker, figures=finding.figures)
        for finding in result.proposed
        if finding.worker not in open_workers
    ]
    # A parallel process may have saved a proposal: the database allows one open proposal per rule and worker.
    RuleProposal.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


@transaction.atomic
def accept_proposal(*, proposal: RuleProposal, reason: str, by: AbstractBaseUser) -> StatusChange:
    """Set the proposed status with the reason that a person gives.

    Repeating the same acceptance returns the first change.

    Raises:
        Refused: no reason. Conflict: the proposal is decided, or the worker gets no tasks already.
    """
    earlier = StatusChange.objects.filter(proposal=proposal, decided_by=by.pk, reason=reason.strip()).first()
    if earlier is not None:
        return earlier
    _resolve_proposal(proposal, ProposalState.ACCEPTED, reason, by)
    new_status = WorkerStatus(proposal.rule.proposes)
    current = current_status(proposal.worker, proposal.rule.project)
    if current.status in EXCLUDED_STATUSES - {WorkerStatus.PAUSED} or current.status is new_status:
        raise Conflict(f"{proposal.worker} is {current.status.value} already; dismiss this proposal instead")
    return change_worker_status(
        project=proposal.rule.project,
        worker=proposal.worker,
        status=new_status,
        reason=reason,
        by=by,
        proposal=proposal,
    )


@transaction.atomic
def dismiss_proposal(*, proposal: RuleProposal, reason: str, by: AbstractBaseUser) -> None:
    """Dismiss a proposal; the rule proposes nothing about this worker until newer items arrive.

    Raises:
        Refused: no reason. Conflict: somebody else has decided about it.
    """
    if RuleProposal.objects.filter(
        pk=proposal.pk, state=ProposalState.DISMISSED, decided_by=by.pk, reason=reason.strip()
    ).exists():
        return
    _resolve_proposal(proposal, ProposalState.DISMISSED, reason, by)


def _resolve_proposal(
    proposal: RuleProposal, state: ProposalState, reason: str, by: AbstractBaseUser
) -> None:
    reason = reason.strip()
    if not reason:
        raise Refused("reason: enter a reason")
    if len(reason) > MAX_REASON:
        raise Refused(f"reason: has {len(reason)} characters; use {MAX_REASON} or fewer")
    updated = RuleProposal.objects.filter(pk=proposal.pk, state=ProposalState.OPEN).update(
        state=state, decided_by=by.pk, decided_at=timezone.now(), reason=reason
    )
    if not updated:
        current = RuleProposal.objects.select_related("decided_by").get(pk=proposal.pk)
        raise Conflict(f"{current.decided_by or 'Somebody'} {current.state} this proposal just now.")
    audit.record(
        project=proposal.rule.project, actor=by, action=f"proposal.{state.value}", subject=proposal.pk
    )
