"""The cost table of a plan, as every confirmation page shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostRow:
    """One row in integer cents. ``is_sum`` marks the sum of the rows above, ``is_total`` the final sum."""

    label: str
    cents: int
    count: int | None = None
    each_cents: int | None = None
    is_sum: bool = False
    is_total: bool = False


CostTable = tuple[CostRow, ...]  # in reading order


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost in cents before launch: the amount held at launch, and the maximum of bonuses."""

    hits: int
    assignments: int
    reward_cents: int
    fee_cents: int
    bonus_cents: int
    bonus_fee_cents: int

    @property
    def held_cents(self) -> int:
        """The amount on hold when all HITs are created."""
        return self.reward_cents + self.fee_cents

    @property
    def max_cents(self) -> int:
        """The maximum cost of the batch."""
        return self.held_cents + self.bonus_cents + self.bonus_fee_cents


def cost_table(estimate: Estimate, *, first_label: str, reward_cents: int, bonus_cents: int = 0) -> CostTable:
    """Return an estimate's table; ``first_label`` labels its first row, the two amounts are per reward and bonus."""
    rows = [
        CostRow(first_label, estimate.reward_cents, estimate.assignments, reward_cents),
        CostRow("Fees on rewards", estimate.fee_cents),
    ]
    if not estimate.bonus_cents:
        rows.append(CostRow("Maximum cost, put on hold", estimate.max_cents, is_total=True))
        return tuple(rows)
    count = estimate.bonus_cents // bonus_cents if bonus_cents else None
    rows += [
        CostRow("Put on hold", estimate.held_cents, is_sum=True),
        CostRow("Bonuses, if all are earned", estimate.bonus_cents, count, bonus_cents or None),
        CostRow("Fees on bonuses", estimate.bonus_fee_cents),
        CostRow("Maximum cost", estimate.max_cents, is_total=True),
    ]
    return tuple(rows)
