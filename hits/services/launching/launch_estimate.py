"""The cost of a batch before its launch."""

from hits.domain.money.cost_table import Estimate
from hits.domain.units.redundancy import slice_sizes
from hits.kind import HitKind
from hits.mturk.environments import Environment, current_environment
from hits.services.launching.terms import LaunchTerms, resolve_pay_and_redundancy


def estimate_cost(
    *, kind: HitKind, terms: LaunchTerms, units: int, environment: Environment | None = None
) -> Estimate:
    """Return what a batch of ``units`` units costs on the configured marketplace."""
    fees = (environment or current_environment()).fees
    if terms.masters_only:
        fees = fees.for_masters()
    reward, bonus, redundancy = resolve_pay_and_redundancy(kind, terms)
    sizes = slice_sizes(redundancy)
    assignments = units * redundancy
    max_bonus = bonus * kind.max_bonus_items  # one payment for each assignment, with one fee
    return Estimate(
        hits=units * len(sizes),
        assignments=assignments,
        reward_cents=reward * assignments,
        fee_cents=units * sum(fees.fee_cents(reward, slots) * slots for slots in sizes),
        bonus_cents=max_bonus * assignments,
        bonus_fee_cents=fees.bonus_fee_cents(max_bonus) * assignments if max_bonus else 0,
    )
