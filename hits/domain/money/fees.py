"""What marketplaces charge on top of a reward or bonus: fee schedules, their text form and the built-in ones."""

import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

BASIS_POINTS = 10_000


@dataclass(frozen=True)
class FeeSchedule:
    """The fees of a marketplace on rewards and bonuses. Rates are basis points (1/100 of a percent).

    ``masters_only``: all its HITs are for Masters, whose rewards have a higher fee. ``fees.toml`` has the rates of
    marketplaces and their sources.
    """

    name: str
    base_bp: int
    many_bp: int = 0
    many_from: int = 10
    masters_bp: int = 0
    minimum_cents: int = 0
    masters_only: bool = False

    def fee_cents(self, amount_cents: int, max_assignments: int = 1, *, masters: bool = False) -> int:
        """Return the fee in cents on one reward of ``amount_cents``.

        ``max_assignments`` is the HIT's number of assignments at creation. Raises ValueError for a negative amount.
        """
        rate = self.base_bp
        rate += self.many_bp if max_assignments >= self.many_from else 0
        rate += self.masters_bp if masters or self.masters_only else 0
        return self._fee(amount_cents, rate)

    def bonus_fee_cents(self, amount_cents: int) -> int:
        """Return the fee in cents on one bonus: the base rate, for any number of assignments.

        (Amazon's pricing page adds the 20 % for ten assignments and the 5 % for Masters to rewards only.)
        """
        return self._fee(amount_cents, self.base_bp)

    def for_masters(self) -> "FeeSchedule":
        """Return the same rates for HITs of Masters only."""
        return replace(self, masters_only=True)

    @property
    def rates_text(self) -> str:
        """The rates as ``fee_schedule`` reads them: ``base=20% many=20% many_from=10 masters=5% minimum=1``."""
        fields = [f"base={_format_percent(self.base_bp)}"]
        if self.many_bp:
            fields += [f"many={_format_percent(self.many_bp)}", f"many_from={self.many_from}"]
        if self.masters_bp:
            fields.append(f"masters={_format_percent(self.masters_bp)}")
        if self.minimum_cents:
            fields.append(f"minimum={self.minimum_cents}")
        return " ".join(fields)

    @property
    def name_and_rates(self) -> str:
        """Name and rates in at most 80 characters, for rows that outlive a change of ``fees.toml``."""
        return f"{self.name} {self.rates_text}"

    def _fee(self, amount_cents: int, rate: int) -> int:
        if amount_cents < 0:
            raise ValueError(f"An amount cannot be negative, got {amount_cents} cents.")
        half_up = (amount_cents * rate + BASIS_POINTS // 2) // BASIS_POINTS
        return max(self.minimum_cents, half_up)


OWN_FEES = "own"  # the name of a schedule that is spelled out without one
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,11}")
_PERCENT_PATTERN = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,2}))?%")
_WHOLE_NUMBER_PATTERN = re.compile(r"[0-9]{1,4}")
_RATES = {"base": "base_bp", "many": "many_bp", "masters": "masters_bp"}
_WHOLE_NUMBERS = {"many_from": "many_from", "minimum": "minimum_cents"}


@lru_cache(maxsize=64)
def fee_schedule(text: str) -> FeeSchedule:
    """Return the schedule of that name, or a spelled-out one, such as ``base=10% minimum=1``.

    Raises:
        LookupError: no schedule has that name; the message lists the known ones.
        ValueError: a field is unknown, missing or malformed; the message names it and shows a valid one.
    """
    first, *rest = text.split() or [""]
    if "=" in first:
        return _parse_schedule(OWN_FEES, [first, *rest])
    if rest:
        return _parse_schedule(first, rest)
    try:
        return FEE_SCHEDULES[first]
    except KeyError:
        known = ", ".join(sorted(FEE_SCHEDULES))
        raise LookupError(
            f"There is no fee schedule {first!r}. Known: {known}. Or spell it out: base=10% minimum=1."
        ) from None


def _parse_schedule(name: str, items: list[str]) -> FeeSchedule:
    if not _NAME_PATTERN.fullmatch(name):
        raise ValueError(
            f"fee schedule {name!r}: a name is 1 to 12 lower-case letters, digits and -, a letter first"
        )
    fields: dict[str, Any] = {}  # whole numbers by the schedule's attribute
    for item in items:
        key, _, value = item.partition("=")
        if key not in _RATES and key not in _WHOLE_NUMBERS:
            raise ValueError(
                f"fee schedule {name}: {item!r} is not a field; use {', '.join(_RATES | _WHOLE_NUMBERS)}"
            )
        column = (_RATES | _WHOLE_NUMBERS)[key]
        if column in fields:
            raise ValueError(f"fee schedule {name}: {key} occurs twice; keep one")
        fields[column] = (
            _parse_rate(name, key, value) if key in _RATES else _parse_whole_number(name, key, value)
        )
    if "base_bp" not in fields:
        raise ValueError(f"fee schedule {name}: base is missing; write for instance base=10%")
    return FeeSchedule(name=name, **fields)


def _parse_rate(name: str, key: str, value: str) -> int:
    found = _PERCENT_PATTERN.fullmatch(value)
    points = int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else BASIS_POINTS + 1
    if points > BASIS_POINTS:
        raise ValueError(
            f"fee schedule {name}: {key} is {value!r}; write a share from 0% to 100%, such as {key}=7.5%"
        )
    return points


def _parse_whole_number(name: str, key: str, value: str) -> int:
    minimum = 1 if key == "many_from" else 0
    if not _WHOLE_NUMBER_PATTERN.fullmatch(value) or int(value) < minimum:
        raise ValueError(
            f"fee schedule {name}: {key} is {value!r}; write a whole number from {minimum} to 9999, such as {key}=10"
        )
    return int(value)


def _format_percent(points: int) -> str:
    whole, part = divmod(points, 100)
    return f"{whole}.{part:02d}".rstrip("0") + "%" if part else f"{whole}%"


def _load_schedules() -> dict[str, FeeSchedule]:
    tables = tomllib.loads(Path(__file__).with_name("fees.toml").read_text("utf-8"))
    return {
        name: _parse_schedule(name, [f"{key}={value}" for key, value in table.items()])
        for name, table in tables.items()
    }


FEE_SCHEDULES = _load_schedules()
LOCAL_FEES = FEE_SCHEDULES["local"]
AMAZON_FEES = FEE_SCHEDULES["amazon"]
