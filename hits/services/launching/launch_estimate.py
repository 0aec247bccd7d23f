"""What a batch will cost, before it is launched."""

from hits.domain.money.costs import Estimate
from hits.domain.money.fees import FeeSchedule
from hits.domain.units.redundancy import parts
from hits.kind import HitKind
from hits.mturk.environments import Environment, current
from hits.services.launching.terms import Terms, checked_terms


def estimate(*, kind: HitKind, terms: Terms, units: int, environment: Environment | None = None) -> Estimate:
    """Return what a batch of ``units`` units costs on the configured marketplace."""
    fees = _fees(environment or current(), terms)
    reward, bonus, each = checked_terms(kind, terms)
    hits = parts(each)
    assignments = units * each
    most_bonus = bonus * kind.max_bonus_items  # one payment for each assignment, with one fee
    return Estimate(
        hits=units * len(hits),
        assignments=assignments,
        reward_cents=reward * assignments,
        fee_cents=units * sum(fees.fee_cents(reward, slots) * slots for slots in hits),
        bonus_cents=most_bonus * assignments,
        bonus_fee_cents=fees.bonus_fee_cents(most_bonus) * assignments if most_bonus else 0,
    )


def _fees(environment: Environment, terms: Terms) -> FeeSchedule:
    return environment.fees.for_masters() if terms.masters_only else environment.fees
