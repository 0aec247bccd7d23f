"""Follow-up rounds: one more judge for undecided items, within a maximum redundancy, a budget and the project's cap.

A round with ``max_redundancy`` and ``ask_budget_cents`` gets follow-up batches once all requested judgments are in.
Each batch asks one more worker about each undecided item. Quality checks are not items and get no follow-up.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.hashing import content_sha256
from hits.domain.jobs import turns
from hits.domain.money.cost_table import Estimate
from hits.domain.states import UnitScope
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator, GuardedActions
from hits.models import Batch, Project, Worker
from hits.mturk.environments import current_environment
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.money.budget import committed_cents
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.launching import launch, launch_estimate
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import MAX_REDUNDANCY, Eligibility, LaunchTerms, PlannedRequirement
from hits.services.money import budget
from hits.services.money.budget import RequiredConfirmation
from validation.models import JudgingRound
from validation.selectors import follow_ups as selectors
from validation.selectors.decisions import current_rules
from validation.selectors.follow_ups import UndecidedItem

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FollowUpPlan:
    """A possible follow-up: ``undecided`` are all candidates, ``items`` those that fit budget and cap.

    ``budget_left_cents`` is the rest of the round's budget, ``available_cents`` the same within the project's cap.
    """

    round: JudgingRound
    undecided: Sequence[UndecidedItem]
    items: Sequence[UndecidedItem]
    budget_left_cents: int
    available_cents: int
    cost: Estimate | None
    confirmation: RequiredConfirmation | None

    @property
    def idempotency_key(self) -> str:
        """The key of this plan: the same items with the same numbers of judges are launched once."""
        judge_counts = sorted((row.item, row.judge_count) for row in self.items)
        return f"ask:{self.round.pk}:{content_sha256(judge_counts)[:32]}"


def plan_follow_up(judging_round: JudgingRound) -> FollowUpPlan:
    """Return the items of the next follow-up, one more judge each, and its cost.

    Raises:
        Refused: the round has no follow-ups, or belongs to another marketplace.
        Conflict: requested judgments are still missing.
    """
    _check_round_allows_follow_up(judging_round)
    if not selectors.is_round_complete(judging_round):
        raise Conflict("follow-up: judgments of this round are still missing; wait until they are in")
    undecided = selectors.undecided_items_below_maximum(judging_round)
    budget_left, available = _remaining_budget(judging_round)
    kind = registry.get_kind(judging_round.batch.kind)
    terms = _build_follow_up_terms(judging_round.batch)
    item_cents = launch_estimate.estimate_cost(kind=kind, terms=terms, units=1).max_cents
    items = undecided[: available // item_cents]
    if not items:
        return FollowUpPlan(judging_round, undecided, [], budget_left, available, None, None)
    cost = launch_estimate.estimate_cost(kind=kind, terms=terms, units=len(items))
    confirmation = budget.required_confirmation(
        project=judging_round.batch.project, environment=current_environment(), max_cents=cost.max_cents
    )
    return FollowUpPlan(judging_round, undecided, items, budget_left, available, cost, confirmation)


def launch_follow_up(
    *,
    plan: FollowUpPlan,
    by: AbstractBaseUser | None,
    confirmed_cents: int | None = None,
    available_cents: int | None = None,
) -> Batch:
    """Launch the follow-up batch, one more judge for each item; the same plan again returns the first batch.

    ``available_cents`` is the account's balance, read outside a transaction.

    Raises:
        Refused: no items, over the round's budget or a cap, an item that is no longer accepted, insufficient funds,
            or the amount was not typed.
    """
    if not plan.items or plan.cost is None:
        raise Refused("follow-up: no undecided item fits the maximum of judges, the budget and the cap")
    judging_round = plan.round
    project = judging_round.batch.project
    units = _follow_up_units(plan)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        existing = launch.find_launched_batch(project=project, idempotency_key=plan.idempotency_key)
        if existing is not None:
            return existing
        if not selectors.is_round_complete(judging_round):
            raise Conflict("follow-up: another follow-up was just launched; wait until its judgments are in")
        budget_left = _remaining_budget(judging_round)[0]
        if plan.cost.max_cents > budget_left:
            raise Refused("follow-up: the cost exceeds the rest of the round’s budget; reload the page")
        batch, _ = launch_batch(
            project=project,
            kind_name=judging_round.batch.kind,
            name=_follow_up_batch_name(judging_round),
            units=units,
            by=by,
            terms=replace(
                _build_follow_up_terms(judging_round.batch),
                confirmed_cents=confirmed_cents,
                available_cents=available_cents,
            ),
            provenance={"asks_again": judging_round.batch_id, "items": len(units)},
            idempotency_key=plan.idempotency_key,
        )
        JudgingRound.objects.create(
            batch=batch, follows=judging_round, rules=judging_round.rules, selection=judging_round.selection
        )
    return batch


def launch_due_follow_ups(*, marketplace: Marketplace) -> int:
    """Launch the follow-ups that need no confirmation by a person; return the number of batches.

    Never call this inside a transaction: it reads the account's balance. Repeating it launches nothing twice.
    """
    launched = 0
    for judging_round in selectors.rounds_allowing_follow_ups(marketplace.environment.name):
        try:
            launched += _launch_if_due(judging_round, marketplace)
        except Conflict:
            continue  # the round changed meanwhile; the next run checks it
        except MarketplaceError as error:
            logger.warning("round %s: no follow-up launched: %s", judging_round.pk, error)
        turns.end_turn_if_over()  # the next turn skips checked rounds, whose state is cached
    return launched


def set_follow_up_limits(
    *, judging_round: JudgingRound, max_redundancy: int, ask_budget_cents: int, by: AbstractBaseUser | None
) -> None:
    """Set the maximum number of judges per item and the budget of a round's follow-ups; 0 means no follow-ups.

    The round takes over the rules of the newest decision run, so that its undecided items are those of that run.

    Raises:
        Refused: the round is a follow-up, or a number is out of range.
    """
    if judging_round.follows_id is not None:
        raise Refused("follow-up: this batch is a follow-up of another round; change that round")
    redundancy = judging_round.batch.redundancy
    if max_redundancy and not redundancy < max_redundancy <= MAX_REDUNDANCY:
        raise Refused(
            f"workers per item: use {redundancy + 1} to {MAX_REDUNDANCY}, above the redundancy of {redundancy}, or 0"
        )
    if not 0 <= ask_budget_cents <= budget.MAX_CAP_CENTS:
        raise Refused("budget: use an amount from 0")
    newest_rules = current_rules(judging_round.batch.project, judging_round.batch.kind)
    rules = {name: rule.as_row() for name, rule in newest_rules.items()}
    with transaction.atomic():
        row = JudgingRound.objects.select_for_update().get(pk=judging_round.pk)
        if (row.max_redundancy, row.ask_budget_cents, row.rules) == (max_redundancy, ask_budget_cents, rules):
            return
        JudgingRound.objects.filter(pk=row.pk).update(
            max_redundancy=max_redundancy, ask_budget_cents=ask_budget_cents, rules=rules
        )
        audit.record(
            project=judging_round.batch.project,
            actor=by,
            action="judging.ask_limits",
            subject=row.pk,
            most_judges=max_redundancy,
            ask_budget_cents=ask_budget_cents,
        )
    selectors.clear_checked_state(judging_round)


def _launch_if_due(judging_round: JudgingRound, marketplace: Marketplace) -> int:
    """Launch a follow-up if the round needs one; cache the checked state, so that an unchanged round costs little."""
    state = selectors.round_fingerprint(judging_round)
    if selectors.is_round_unchanged(judging_round, state, read_funds=lambda: _available_funds(marketplace)):
        return 0
    if not selectors.is_round_complete(judging_round):
        return 0
    launched, refused_at_cents = 0, None
    try:
        launched = _launch_automatic_follow_up(judging_round, marketplace)
    except Conflict:
        raise
    except Refused as error:
        logger.warning("round %s: no follow-up launched: %s", judging_round.pk, error)
        refused_at_cents = _available_funds(marketplace)
    selectors.save_checked_state(judging_round, state, refused_at_cents=refused_at_cents)
    return launched


def _available_funds(marketplace: Marketplace) -> int:
    return marketplace.get_balance().available_cents


def _launch_automatic_follow_up(judging_round: JudgingRound, marketplace: Marketplace) -> int:
    plan = plan_follow_up(judging_round)
    if not plan.items or plan.confirmation is not None:
        return 0
    if (
        launch.find_launched_batch(project=judging_round.batch.project, idempotency_key=plan.idempotency_key)
        is not None
    ):
        return 0
    launch_follow_up(plan=plan, by=None, available_cents=_available_funds(marketplace))
    return 1


def _check_round_allows_follow_up(judging_round: JudgingRound) -> None:
    if judging_round.follows_id is not None:
        raise Refused("follow-up: this batch is a follow-up of another round; open that round")
    if not judging_round.max_redundancy or not judging_round.ask_budget_cents:
        raise Refused(
            "follow-up: this round has no follow-ups; set the maximum workers per item and a budget first"
        )
    if judging_round.batch.environment != current_environment().name:
        raise Refused(
            f"follow-up: this round is on {judging_round.batch.environment}, "
            f"but this site uses {current_environment().name}"
        )


def _remaining_budget(judging_round: JudgingRound) -> tuple[int, int]:
    """Return in cents the rest of the round's follow-up budget, and the same within the project's cap."""
    project = Project.objects.get(pk=judging_round.batch.project_id)
    spent = sum(
        committed_cents(project=project, batch=row.batch)
        for row in judging_round.followers.select_related("batch")
    )
    budget_left = max(0, judging_round.ask_budget_cents - spent)
    if project.budget_cap_cents is None:
        return budget_left, budget_left
    return budget_left, max(0, min(budget_left, project.budget_cap_cents - committed_cents(project=project)))


def _build_follow_up_terms(batch: Batch) -> LaunchTerms:
    """Return the terms of the round's batch with one judge per item."""
    requirements = tuple(
        PlannedRequirement(
            Pool(row.qualification.slug) if row.qualification else None,
            Comparator(row.comparator),
            tuple(row.values),
            GuardedActions(row.guards),
        )
        for row in batch.requirements.select_related("qualification")
        if row.qualification is None or row.qualification.slug != Pool.EXCLUDED
    )
    return LaunchTerms(
        reward_cents=batch.reward_cents,
        bonus_cents=batch.bonus_cents,
        redundancy=1,
        eligibility=Eligibility(requirements, batch.worker_limit, batch.instructions),
        masters_only=batch.masters_only,
        unit_scope=UnitScope.PROJECT,
        duration_seconds=batch.duration_seconds,
    )


def _follow_up_units(plan: FollowUpPlan) -> list[PlannedUnit]:
    """Return the units of the items, excluding their authors and all workers who judged them."""
    ids = {worker for row in plan.items for worker in row.workers}
    workers = Worker.objects.in_bulk(sorted(ids))
    units = selectors.units_by_item(plan.round, [row.item for row in plan.items])
    return [
        PlannedUnit(
            key=units[row.item].key,
            payload=units[row.item].payload,
            excluded_workers=[
                *units[row.item].excluded_workers.all(),
                *(workers[pk] for pk in sorted(row.workers)),
            ],
        )
        for row in plan.items
    ]


def _follow_up_batch_name(judging_round: JudgingRound) -> str:
    number = judging_round.followers.count() + 1
    return f"{judging_round.batch.name[: launch.MAX_NAME - 20]}, follow-up {number}"
