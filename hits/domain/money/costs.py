"""What a plan costs, line by line, as every confirming page shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostLine:
    """One line in integer cents. ``is_sum`` adds up what stands above it; ``is_total`` is the sum that matters."""

    words: str
    cents: int
    count: int | None = None
    each_cents: int | None = None
    is_sum: bool = False
    is_total: bool = False


@dataclass(frozen=True, slots=True)
class CostTable:
    """The lines, in the order in which they are read."""

    lines: tuple[CostLine, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost in cents before launch: what is held at once, and the most that bonuses can add."""

    hits: int
    assignments: int
    reward_cents: int
    fee_cents: int
    bonus_cents: int
    bonus_fee_cents: int

    @property
    def held_cents(self) -> int:
        """What the marketplace holds when all HITs stand."""
        return self.reward_cents + self.fee_cents

    @property
    def most_cents(self) -> int:
        """The most that the batch can cost."""
        return self.held_cents + self.bonus_cents + self.bonus_fee_cents


def cost_table(estimate: Estimate, *, rewards: str, reward_cents: int, bonus_cents: int = 0) -> CostTable:
    """Return an estimate's table; ``rewards`` are the words of its first line, the two sums are for one each."""
    lines = [
        CostLine(rewards, estimate.reward_cents, estimate.assignments, reward_cents),
        CostLine("Fees on rewards", estimate.fee_cents),
    ]
    if not estimate.bonus_cents:
        lines.append(CostLine("Held at once, the most it can cost", estimate.most_cents, is_total=True))
        return CostTable(tuple(lines))
    count = estimate.bonus_cents // bonus_cents if bonus_cents else None
    lines += [
        CostLine("Held at once", estimate.held_cents, is_sum=True),
        CostLine("Bonuses, if everybody earns all", estimate.bonus_cents, count, bonus_cents or None),
        CostLine("Fees on bonuses", estimate.bonus_fee_cents),
        CostLine("The most it can cost", estimate.most_cents, is_total=True),
    ]
    return CostTable(tuple(lines))
