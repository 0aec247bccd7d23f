"""Ask one more judge about what is undecided: up to a number of judges, a budget and the project's cap.

A round that is launched with ``most_judges`` and ``ask_budget_cents`` is followed by batches that ask one further
worker each about its undecided items, once all judgments that were asked for so far are in. Controls are no items, so
nobody is asked about them again.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.hashing import content_sha256
from hits.domain.jobs import turns
from hits.domain.money.costs import Estimate
from hits.domain.states import UnitScope
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator, Guards
from hits.models import Batch, Project, Worker
from hits.mturk.environments import current
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.money.budget import committed_cents
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.launching import launch, launch_estimate
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import MAX_OPINIONS, Access, Condition, Terms
from hits.services.money import budget
from hits.services.money.budget import Confirmation
from validation.models import JudgingRound
from validation.selectors import ask_more as selectors
from validation.selectors.ask_more import Undecided
from validation.selectors.decisions import rules_now

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ask:
    """What would be asked now: ``undecided`` is all that could be, ``items`` what budget and cap leave room for.

    ``left_cents`` is what the round's budget for asking still has, ``room_cents`` the same within the project's cap.
    """

    round: JudgingRound
    undecided: Sequence[Undecided]
    items: Sequence[Undecided]
    left_cents: int
    room_cents: int
    cost: Estimate | None
    confirmation: Confirmation | None

    @property
    def once(self) -> str:
        """Names this very wish: the same items with as many judges as now are asked about once."""
        wish = sorted((row.item, row.judges) for row in self.items)
        return f"ask:{self.round.pk}:{content_sha256(wish)[:32]}"


def plan_ask(first: JudgingRound) -> Ask:
    """Return what one more judge each would be asked about, and what that costs.

    Raises:
        Refused: the round asks nobody again, or is of another marketplace.
        Conflict: judgments that were asked for are not in yet.
    """
    _check(first)
    if not selectors.is_complete(first):
        raise Conflict("ask one more: judgments of this round are still to come; wait until they are in")
    undecided = selectors.undecided_items(first)
    left, room = _room(first)
    kind = registry.get(first.batch.kind)
    terms = _terms(first.batch)
    one = launch_estimate.estimate(kind=kind, terms=terms, units=1).most_cents
    items = undecided[: room // one]
    if not items:
        return Ask(first, undecided, [], left, room, None, None)
    cost = launch_estimate.estimate(kind=kind, terms=terms, units=len(items))
    asked = budget.confirmation_of(
        project=first.batch.project, environment=current(), most_cents=cost.most_cents
    )
    return Ask(first, undecided, items, left, room, cost, asked)


def ask_one_more(
    *,
    asked: Ask,
    by: AbstractBaseUser | None,
    confirmed_cents: int | None = None,
    available_cents: int | None = None,
) -> Batch:
    """Launch the batch that asks one more judge about each item; the same wish again gets the first one's batch.

    ``available_cents`` is what the account had a moment ago, asked outside a transaction.

    Raises:
        Refused: nothing to ask, over the round's budget or a cap, an item that is no longer accepted, short of funds,
            or a sum that was not typed.
    """
    if not asked.items or asked.cost is None:
        raise Refused("ask one more: no undecided item that judges, budget and cap leave room for")
    first = asked.round
    project = first.batch.project
    units = _units(asked)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        known = launch.launched_before(project=project, once=asked.once)
        if known is not None:
            return known
        if not selectors.is_complete(first):
            raise Conflict("ask one more: somebody else asked meanwhile; wait until those judgments are in")
        left = _room(first)[0]
        if asked.cost.most_cents > left:
            raise Refused("ask one more: the round’s budget for it is spent; look again at what is left")
        batch, _ = launch_batch(
            project=project,
            kind_name=first.batch.kind,
            name=_name(first),
            units=units,
            by=by,
            terms=replace(
                _terms(first.batch), confirmed_cents=confirmed_cents, available_cents=available_cents
            ),
            provenance={"asks_again": first.batch_id, "items": len(units)},
            once=asked.once,
        )
        JudgingRound.objects.create(batch=batch, follows=first, rules=first.rules, selection=first.selection)
    return batch


def ask_everywhere(*, marketplace: Marketplace) -> int:
    """Ask one more judge wherever that is wished and nobody has to type a sum; return how many batches that made.

    Never inside a transaction: the account is asked what it holds. Repeating it launches nothing twice.
    """
    made = 0
    for first in selectors.rounds_that_ask(marketplace.environment.name):
        try:
            made += _look(first, marketplace)
        except Conflict:
            continue  # a judgment was taken back meanwhile: looked at again
        except MarketplaceError as error:
            logger.warning("round %s: no further judge is asked: %s", first.pk, error)
        turns.rest()  # what was looked at is known the next time
    return made


def set_limits(
    *, first: JudgingRound, most_judges: int, ask_budget_cents: int, by: AbstractBaseUser | None
) -> None:
    """Change up to how many judges and for how much a round's undecided items are asked about again; 0 means never.

    The round takes over the rules of the newest run of decisions: what is undecided there is what is meant.

    Raises:
        Refused: a follow-up, more judges than the marketplace takes, or a number that adds none.
    """
    if first.follows_id is not None:
        raise Refused("ask one more: this batch asks for another round; change that round")
    each = first.batch.opinions
    if most_judges and not each < most_judges <= MAX_OPINIONS:
        raise Refused(
            f"most judges: use {each + 1} to {MAX_OPINIONS}, since each item gets {each} anyway, or 0"
        )
    if not 0 <= ask_budget_cents <= budget.MAX_CAP_CENTS:
        raise Refused("budget: use a sum from 0")
    now = rules_now(first.batch.project, first.batch.kind)
    rules = {name: rule.as_row() for name, rule in now.items()}
    with transaction.atomic():
        row = JudgingRound.objects.select_for_update().get(pk=first.pk)
        if (row.most_judges, row.ask_budget_cents, row.rules) == (most_judges, ask_budget_cents, rules):
            return
        JudgingRound.objects.filter(pk=row.pk).update(
            most_judges=most_judges, ask_budget_cents=ask_budget_cents, rules=rules
        )
        audit.record(
            project=first.batch.project,
            actor=by,
            action="judging.ask_limits",
            subject=row.pk,
            most_judges=most_judges,
            ask_budget_cents=ask_budget_cents,
        )
    selectors.forget_looked(first)


def _look(first: JudgingRound, marketplace: Marketplace) -> int:
    """Ask where it is time to, and remember what was there, so that the same is not worked out again and again."""
    state = selectors.state_of(first)
    if selectors.is_known(first, state, funds=lambda: _funds(marketplace)):
        return 0
    if not selectors.is_complete(first):
        return 0
    made, refused_with = 0, None
    try:
        made = _ask_by_itself(first, marketplace)
    except Conflict:
        raise
    except Refused as error:
        logger.warning("round %s: no further judge is asked: %s", first.pk, error)
        refused_with = _funds(marketplace)
    selectors.note_looked(first, state, refused_with=refused_with)
    return made


def _funds(marketplace: Marketplace) -> int:
    return marketplace.balance().available_cents


def _ask_by_itself(first: JudgingRound, marketplace: Marketplace) -> int:
    asked = plan_ask(first)
    if not asked.items or asked.confirmation is not None:
        return 0
    if launch.launched_before(project=first.batch.project, once=asked.once) is not None:
        return 0
    ask_one_more(asked=asked, by=None, available_cents=marketplace.balance().available_cents)
    return 1


def _check(first: JudgingRound) -> None:
    if first.follows_id is not None:
        raise Refused("ask one more: this batch asks for another round; look at that round")
    if not first.most_judges or not first.ask_budget_cents:
        raise Refused("ask one more: this round asks nobody again; give it more judges and a budget first")
    if first.batch.environment != current().name:
        raise Refused(
            f"ask one more: this round is on {first.batch.environment}, and {current().name} is set"
        )


def _room(first: JudgingRound) -> tuple[int, int]:
    """Return in cents what the round's budget for asking leaves, and the same within the project's cap."""
    project = Project.objects.get(pk=first.batch.project_id)
    spent = sum(
        committed_cents(project=project, batch=row.batch) for row in first.followers.select_related("batch")
    )
    left = max(0, first.ask_budget_cents - spent)
    if project.budget_cap_cents is None:
        return left, left
    return left, max(0, min(left, project.budget_cap_cents - committed_cents(project=project)))


def _terms(batch: Batch) -> Terms:
    """Return the terms of the round itself, for one judge each."""
    conditions = tuple(
        Condition(
            Pool(row.qualification.slug) if row.qualification else None,
            Comparator(row.comparator),
            tuple(row.values),
            Guards(row.guards),
        )
        for row in batch.requirements.select_related("qualification")
        if row.qualification is None or row.qualification.slug != Pool.EXCLUDED
    )
    return Terms(
        reward_cents=batch.reward_cents,
        bonus_cents=batch.bonus_cents,
        opinions=1,
        access=Access(conditions, batch.worker_limit, batch.instructions),
        masters_only=batch.masters_only,
        unit_scope=UnitScope.PROJECT,
        duration_seconds=batch.duration_seconds,
    )


def _units(asked: Ask) -> list[PlannedUnit]:
    """Return the units again, kept from their authors and from all who judged them already."""
    ids = {worker for row in asked.items for worker in row.workers}
    workers = Worker.objects.in_bulk(sorted(ids))
    units = selectors.units_of(asked.round, [row.item for row in asked.items])
    return [
        PlannedUnit(
            key=units[row.item].key,
            payload=units[row.item].payload,
            excluded=[
                *units[row.item].excluded_workers.all(),
                *(workers[pk] for pk in sorted(row.workers)),
            ],
        )
        for row in asked.items
    ]


def _name(first: JudgingRound) -> str:
    turn = first.followers.count() + 1
    return f"{first.batch.name[: launch.MAX_NAME - 20]}, once more {turn}"
