"""Turns: what would take long does some of it, says where it is, and goes to the back of the queue.

A worker's process opens a turn around light work (``turn``). Between two steps that each stand for themselves the
work asks ``rest``, which ends the turn once its time is over. Where no turn is open, such as on a command line or a
page, nothing ends.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LONGEST_PAUSE = 1.0  # seconds that a turn may spend asleep at once; longer ones are waited for in the queue


class _Turn:
    """One turn: how long it is, when it ends by the process's clock, and where an earlier one of the work ended."""

    def __init__(self, seconds: float, place: dict[str, Any]) -> None:
        self.seconds = seconds
        self.place = place
        self.ends = time.monotonic() + seconds


_turn: ContextVar[_Turn | None] = ContextVar("turn", default=None)


class TurnOver(Exception):
    """The turn's time is over. ``place`` says where to go on, ``wait`` how many seconds not to come again before."""

    def __init__(self, place: dict[str, Any], wait: float = 0.0) -> None:
        super().__init__("to be gone on with")
        self.place = place
        self.wait = wait


@contextmanager
def turn(seconds: float, place: dict[str, Any] | None = None) -> Iterator[None]:
    """Let the block's work rest after so many seconds; ``place`` is where an earlier turn of it ended."""
    token = _turn.set(_Turn(seconds, place or {}))
    try:
        yield
    finally:
        _turn.reset(token)


def place() -> dict[str, Any]:
    """Return where the earlier turn of what the clock sends ended; nothing when this is the first."""
    turn = _turn.get()
    return turn.place if turn is not None else {}


def start_over() -> None:
    """Let the turn's time begin now: what was done until here every turn has to do anew, and it must get on."""
    turn = _turn.get()
    if turn is not None:
        turn.ends = time.monotonic() + turn.seconds


def rest(**place: Any) -> None:
    """Go on, or end the turn when its time is over; ``place`` is plain data that a later turn begins with.

    Raises:
        TurnOver: it is over.
    """
    turn = _turn.get()
    if turn is not None and time.monotonic() >= turn.ends:
        raise TurnOver(place)


def pause_outside(seconds: float, **place: Any) -> None:
    """Before a long pause: let it be spent in the queue, where that is possible, instead of in a worker's slot.

    Raises:
        TurnOver: come again after ``seconds``.
    """
    if _turn.get() is not None and seconds > LONGEST_PAUSE:
        raise TurnOver(place, wait=seconds)
