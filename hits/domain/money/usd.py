"""US dollars as integer cents; the dollar strings of the MTurk API are parsed and written here only.

Amounts inside the platform are ``int`` cents; ``Decimal`` is used only to parse and to format them.
"""

import re
from decimal import Decimal

CENTS_PER_DOLLAR = 100
_GROUPED_AMOUNT_PATTERN = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]{0,2})?")
_AMOUNT_PATTERN = re.compile(r"[0-9]{1,9}(\.[0-9]{0,2})?")


def parse_usd(text: str) -> int:
    """Return the cents of a dollar string such as ``"1.10"``, ``"1"`` or ``"0.5"``.

    The pattern is that of the API's CurrencyAmount (at most two decimals, no sign, no symbol), and at most
    nine digits before the point. Raises ValueError which names the text and shows a good one.
    """
    if not isinstance(text, str) or not _AMOUNT_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not an amount in US dollars. Write whole cents, such as 0.46.")
    return int(Decimal(text) * CENTS_PER_DOLLAR)


def parse_typed_usd(text: str) -> int:
    """Return the cents of an amount as people type it: ``"$1,234.50"``, ``" 12.5 "``. A comma separates thousands.

    Raises ValueError as ``parse_usd`` does, also for ``"12,50"``, which could mean 12.50 or 1250.
    """
    typed = text.strip().removeprefix("$").strip()
    return parse_usd(typed.replace(",", "") if _GROUPED_AMOUNT_PATTERN.fullmatch(typed) else typed)


def format_bare_usd(cents: int) -> str:
    """Return cents as a bare dollar string: ``110 -> "1.10"``, ``-5 -> "-0.05"``."""
    sign = "-" if cents < 0 else ""
    dollars, rest = divmod(abs(cents), CENTS_PER_DOLLAR)
    return f"{sign}{dollars}.{rest:02d}"


def format_dollars(cents: int) -> str:
    """Return cents as people read them: ``110 -> "$1.10"``, ``123456 -> "$1,234.56"``, ``-5 -> "−$0.05"``."""
    sign = "\N{MINUS SIGN}" if cents < 0 else ""
    dollars, rest = divmod(abs(cents), CENTS_PER_DOLLAR)
    return f"{sign}${dollars:,}.{rest:02d}"
