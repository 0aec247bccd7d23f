"""Checks of job options; a refusal names the option."""

from collections.abc import Iterable

from hits.services.errors import Refused


def check_one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Check that a value is known. Raises Refused with the list of known values."""
    names = list(known)
    if value not in names:
        raise Refused(f"{name}: {value or 'nothing'!r} is not known; use {', '.join(names)}")


def check_at_least(name: str, value: int, minimum: int) -> None:
    """Check that a number reaches a minimum. Raises Refused otherwise."""
    if value < minimum:
        raise Refused(f"{name}: {value} is too few; use at least {minimum}")
