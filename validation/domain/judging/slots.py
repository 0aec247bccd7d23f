"""Spread the assignment slots of a round over HITs of one size."""

from dataclasses import dataclass

MAX_PER_HIT = 9  # MTurk doubles its fee from ten assignments per HIT


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """``hits`` HITs with ``redundancy`` slots each: at least the requested slots, with the fewest unused ones."""

    hits: int
    redundancy: int

    @property
    def slots(self) -> int:
        """The total number of slots."""
        return self.hits * self.redundancy


def plan_slots(slots: int, *, variants: int = 1) -> SlotPlan:
    """Return HITs of one size for ``slots`` workers, at least one HIT for each of ``variants`` (image sets).

    All HITs of a batch have one size: the size with the fewest unused slots; of equal ones, the largest.

    Raises:
        ValueError: fewer than one slot or variant, or more variants than slots.
    """
    if slots < 1 or variants < 1:
        raise ValueError(f"{slots} slots, {variants} variants: use at least one of each")
    if variants > slots:
        raise ValueError(f"{variants} variants and {slots} slots: each variant needs at least one slot")
    largest = min(MAX_PER_HIT, slots // variants)
    sizes = range(largest, max(1, largest // 2) - 1, -1)
    return min(
        (SlotPlan(-(-slots // redundancy), redundancy) for redundancy in sizes),
        key=lambda slot_plan: slot_plan.slots,
    )
