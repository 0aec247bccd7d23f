"""Limits which the model's shapes do not state (from Amazon's API reference)."""

from __future__ import annotations

from hits.marketplace.errors import invalid

MAX_REASON = 1024
INT32 = 2**31


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Refuse a number outside ``low`` to ``high``, both allowed."""
    if not low <= value <= high:
        raise invalid(f"The value {value} is invalid for {name}. Valid values range from {low} to {high}.")


def check_length(name: str, text: str, low: int, high: int) -> None:
    """Refuse text shorter than ``low`` or longer than ``high`` characters."""
    if not low <= len(text) <= high:
        raise invalid(
            f"The length {len(text)} is invalid for {name}. Valid lengths range from {low} to {high}."
        )


def check_int32(name: str, value: int) -> None:
    """Refuse a number that the API's 32-bit integers cannot hold."""
    check_range(name, value, -INT32, INT32 - 1)
