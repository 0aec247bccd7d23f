"""Limits of Amazon's API reference that the model's shapes do not contain."""

from hits.domain.money.usd import parse_usd
from hits.marketplace.errors import validation_error

MAX_REASON_LENGTH = 1024
INT32 = 2**31


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Raise ApiError for a number outside ``low`` to ``high``, both included."""
    if not low <= value <= high:
        raise validation_error(
            f"The value {value} is invalid for {name}. Valid values range from {low} to {high}."
        )


def check_length(name: str, text: str, low: int, high: int) -> None:
    """Raise ApiError for text shorter than ``low`` or longer than ``high`` characters."""
    if not low <= len(text) <= high:
        raise validation_error(
            f"The length {len(text)} is invalid for {name}. Valid lengths range from {low} to {high}."
        )


def check_int32(name: str, value: int) -> None:
    """Raise ApiError for a number outside the API's 32-bit integers."""
    check_range(name, value, -INT32, INT32 - 1)


def parse_cents(name: str, text: str, low: int, high: int) -> int:
    """Return an amount of dollars in cents, both limits included. Raises ApiError."""
    try:
        cents = parse_usd(text)
    except ValueError as error:
        raise validation_error(str(error)) from None
    check_range(f"{name} (in cents)", cents, low, high)
    return cents
