"""Standing rules: keep them, let them propose, and let people accept or dismiss what they propose."""

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
from validation.domain.qualification.worker_rules import Rule
from validation.domain.qualification.worker_status import SHUT, ProposalState, Standing
from validation.models import StandingChange, StandingProposal, StandingRule
from validation.selectors.worker_rules import outlook, plain, state_of
from validation.selectors.worker_status import standing_of
from validation.services.worker_status import change_standing

REMEMBERED = 24 * 3600  # seconds
PROPOSABLE = (Standing.PAUSED, Standing.DEQUALIFIED)


@transaction.atomic
def save_rule(
    *,
    project: Project,
    name: str,
    rule: Rule,
    proposes: Standing,
    by: AbstractBaseUser | None,
    instead_of: StandingRule | None = None,
) -> StandingRule:
    """Write a rule down, or change one; what it proposed before keeps the figures that it saw then.

    Raises:
        Refused: the window is shorter than what the rule needs, or it proposes what no rule may.
    """
    if not 1 <= rule.at_least <= rule.window:
        raise Refused(f"at least: use a number from 1 to {rule.window}, the length of the window")
    if proposes not in PROPOSABLE:
        raise Refused("proposes: a rule proposes to pause or to de-qualify, nothing else")
    row = instead_of or StandingRule(project=project)
    row.name, row.measure, row.proposes = name.strip(), rule.measure.value, proposes.value
    row.below, row.window, row.at_least = rule.below, rule.window, rule.at_least
    row.save()
    audit.record(project=project, actor=by, action="rule.save", subject=row.pk)
    return row


@transaction.atomic
def switch_rule(*, rule: StandingRule, on: bool, by: AbstractBaseUser | None) -> None:
    """Let a rule look again, or no more; what it proposed stays to be decided."""
    if StandingRule.objects.filter(pk=rule.pk, is_active=not on).update(is_active=on):
        audit.record(project=rule.project, actor=by, action=f"rule.{'on' if on else 'off'}", subject=rule.pk)


def evaluate_all(*, project: Project | None = None) -> int:
    """Let every active rule look, in one project or in all; return how many proposals are new.

    In all projects it is a task that comes again every few minutes: where nothing changed since it looked last, it
    leaves the answers alone.
    """
    rules = StandingRule.objects.filter(is_active=True).select_related("project").order_by("project_id", "pk")
    if project is not None:
        return sum(propose(rule=rule) for rule in rules.filter(project=project))
    new = 0
    for _, mine in groupby(rules, key=lambda rule: rule.project_id):
        new += _looked(list(mine))
        turns.rest()  # what was looked at is known the next time
    return new


def _looked(rules: Sequence[StandingRule]) -> int:
    key = f"rules-looked:{rules[0].project_id}"
    state = state_of(rules[0].project)
    if cache.get(key) == state:
        return 0
    new = sum(propose(rule=rule) for rule in rules)
    cache.set(key, state, REMEMBERED)  # as it was before: what came in meanwhile is looked at the next time
    return new


def propose(*, rule: StandingRule) -> int:
    """Write down what a rule proposes now; return how many proposals are new. Repeatable, and safe beside itself."""
    found = outlook(plain(rule), rule.project, proposes=Standing(rule.proposes), saved=rule)
    waiting = set(rule.proposals.filter(state=ProposalState.OPEN).values_list("worker", flat=True))
    rows = [
        StandingProposal(rule=rule, worker_id=finding.worker, figures=finding.figures)
        for finding in found.proposed
        if finding.worker not in waiting
    ]
    # Another process that looks at the same moment may have written one: the database keeps one open.
    StandingProposal.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


@transaction.atomic
def accept(*, proposal: StandingProposal, reason: str, by: AbstractBaseUser) -> StandingChange:
    """Do what a rule proposed, with the reason that a person stands by.

    Repeating the same acceptance returns the first change.

    Raises:
        Refused: no reason. Conflict: somebody decided about it, or the worker gets no tasks already.
    """
    earlier = StandingChange.objects.filter(
        proposal=proposal, decided_by=by.pk, reason=reason.strip()
    ).first()
    if earlier is not None:
        return earlier
    _take(proposal, ProposalState.ACCEPTED, reason, by)
    wanted = Standing(proposal.rule.proposes)
    now = standing_of(proposal.worker, proposal.rule.project)
    if now.standing in SHUT - {Standing.PAUSED} or now.standing is wanted:
        raise Conflict(f"{proposal.worker} is {now.standing.value} already; dismiss this proposal instead")
    return change_standing(
        project=proposal.rule.project,
        worker=proposal.worker,
        standing=wanted,
        reason=reason,
        by=by,
        proposal=proposal,
    )


@transaction.atomic
def dismiss(*, proposal: StandingProposal, reason: str, by: AbstractBaseUser) -> None:
    """Leave the worker where they stand; the rule stays quiet about them until newer items came in.

    Raises:
        Refused: no reason. Conflict: somebody else decided about it.
    """
    if StandingProposal.objects.filter(
        pk=proposal.pk, state=ProposalState.DISMISSED, decided_by=by.pk, reason=reason.strip()
    ).exists():
        return
    _take(proposal, ProposalState.DISMISSED, reason, by)


def _take(proposal: StandingProposal, state: ProposalState, reason: str, by: AbstractBaseUser) -> None:
    reason = reason.strip()
    if not reason:
        raise Refused("reason: say why")
    if len(reason) > MAX_REASON:
        raise Refused(f"reason: has {len(reason)} characters; use {MAX_REASON} or fewer")
    taken = StandingProposal.objects.filter(pk=proposal.pk, state=ProposalState.OPEN).update(
        state=state, decided_by=by.pk, decided_at=timezone.now(), reason=reason
    )
    if not taken:
        now = StandingProposal.objects.select_related("decided_by").get(pk=proposal.pk)
        raise Conflict(f"{now.decided_by or 'Somebody'} {now.state} this proposal just now.")
    audit.record(
        project=proposal.rule.project, actor=by, action=f"proposal.{state.value}", subject=proposal.pk
    )
