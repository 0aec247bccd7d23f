"""Money as integer cents; the dollar strings of the MTurk API are parsed and written here only.

Amounts inside the platform are ``int`` cents. ``Decimal`` appears in this module alone, at the border.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

CENTS_PER_DOLLAR = 100
BASIS_POINTS = 10_000
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{0,2})?")


def parse_usd(text: str) -> int:
    """Return the cents of a dollar string such as ``"1.10"``, ``"1"`` or ``"0.5"``.

    The pattern is that of the API's CurrencyAmount (at most two decimals, no sign, no symbol), and at most
    nine digits before the point. Raises ValueError which names the text and shows a good one.
    """
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        raise ValueError(f"{text!r} is not an amount in US dollars. Write whole cents, such as 0.46.")
    return int(Decimal(text) * CENTS_PER_DOLLAR)


def format_usd(cents: int) -> str:
    """Return cents as a bare dollar string: ``110 -> "1.10"``, ``-5 -> "-0.05"``."""
    sign = "-" if cents < 0 else ""
    dollars, rest = divmod(abs(cents), CENTS_PER_DOLLAR)
    return f"{sign}{dollars}.{rest:02d}"


def format_dollars(cents: int) -> str:
    """Return cents as people read them: ``110 -> "$1.10"``, ``123456 -> "$1,234.56"``, ``-5 -> "−$0.05"``."""
    sign = "\N{MINUS SIGN}" if cents < 0 else ""
    dollars, rest = divmod(abs(cents), CENTS_PER_DOLLAR)
    return f"{sign}${dollars:,}.{rest:02d}"


@dataclass(frozen=True)
class FeeSchedule:
    """What a marketplace takes on top of a reward or bonus. Rates are basis points (1/100 of a percent).

    Amazon's rates: 20 % of the amount, 20 % more from ten assignments a HIT, 5 % more for Masters, at least
    one cent per payment, rounded half up to the cent (Amazon's announcement of 2015; the rounding of a
    single payment rather than of a sum is our reading of it).
    """

    name: str
    base_bp: int
    many_bp: int = 0
    many_from: int = 10
    masters_bp: int = 0
    minimum_cents: int = 0

    def fee_cents(self, amount_cents: int, max_assignments: int = 1, *, masters: bool = False) -> int:
        """Return the fee in cents on one payment of ``amount_cents``.

        ``max_assignments`` is the HIT's number of assignments at creation. Raises ValueError below zero.
        """
        if amount_cents < 0:
            raise ValueError(f"An amount is never negative, got {amount_cents} cents.")
        rate = self.base_bp
        rate += self.many_bp if max_assignments >= self.many_from else 0
        rate += self.masters_bp if masters else 0
        half_up = (amount_cents * rate + BASIS_POINTS // 2) // BASIS_POINTS
        return max(self.minimum_cents, half_up)

    def bonus_fee_cents(self, amount_cents: int) -> int:
        """Return the fee in cents on one bonus: the base rate, however many assignments its HIT has.

        (Amazon's pricing page adds the 20 % of ten assignments, and the 5 % of Masters, to rewards alone.)
        """
        return self.fee_cents(amount_cents)


LOCAL_FEES = FeeSchedule(name="local", base_bp=0)
AMAZON_FEES = FeeSchedule(
    name="amazon", base_bp=2_000, many_bp=2_000, many_from=10, masters_bp=500, minimum_cents=1
)
FEE_SCHEDULES: dict[str, FeeSchedule] = {plan.name: plan for plan in (LOCAL_FEES, AMAZON_FEES)}


def fee_schedule(name: str) -> FeeSchedule:
    """Return the schedule of that name. Raises LookupError which lists the known names."""
    try:
        return FEE_SCHEDULES[name]
    except KeyError:
        known = ", ".join(sorted(FEE_SCHEDULES))
        raise LookupError(f"There is no fee schedule {name!r}. Known: {known}.") from None
