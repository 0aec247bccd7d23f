"""Checks of what the options of a job may be; what cannot be is refused by the option's name."""

from collections.abc import Iterable

from hits.services.errors import Refused


def check_one_of(name: str, value: str, known: Iterable[str]) -> None:
    """See that a value is among those that there are. Raises Refused with the list otherwise."""
    names = list(known)
    if value not in names:
        raise Refused(f"{name}: {value or 'nothing'!r} is not known; use {', '.join(names)}")


def check_at_least(name: str, value: int, minimum: int) -> None:
    """See that a number is not too small. Raises Refused otherwise."""
    if value < minimum:
        raise Refused(f"{name}: {value} is too few; use at least {minimum}")
