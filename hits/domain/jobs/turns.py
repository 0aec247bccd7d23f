"""Turns: a long task runs for a limited time, saves its resume point and goes to the back of the queue.

A worker process opens a turn around light work (``time_limited_turn``). Between two independent steps the work calls
``end_turn_if_over``, which ends the turn when its time is over. Without an open turn, such as in a command or a page,
nothing ends.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

MAX_PAUSE_SECONDS = 1.0  # the longest sleep within a turn; longer pauses are spent in the queue


class _Turn:
    """One turn: its length, its end by the process's clock, and the resume point of the turn before it."""

    def __init__(self, seconds: float, resume_point: dict[str, Any]) -> None:
        self.seconds = seconds
        self.resume_point = resume_point
        self.ends = time.monotonic() + seconds


_turn: ContextVar[_Turn | None] = ContextVar("turn", default=None)


class TurnOver(Exception):
    """The turn's time is over. Continue at ``resume_point``, after at least ``wait_seconds``."""

    def __init__(self, resume_point: dict[str, Any], wait_seconds: float = 0.0) -> None:
        super().__init__("to be continued")
        self.resume_point = resume_point
        self.wait_seconds = wait_seconds


@contextmanager
def time_limited_turn(seconds: float, resume_from: dict[str, Any] | None = None) -> Iterator[None]:
    """Limit the block's work to ``seconds``; ``resume_from`` is the resume point of the turn before it."""
    token = _turn.set(_Turn(seconds, resume_from or {}))
    try:
        yield
    finally:
        _turn.reset(token)


def resume_point() -> dict[str, Any]:
    """Return where the previous turn of a periodic task ended; empty in the first turn."""
    turn = _turn.get()
    return turn.resume_point if turn is not None else {}


def restart_turn_clock() -> None:
    """Start the turn's time now, after work that every turn repeats, so that each turn makes progress."""
    turn = _turn.get()
    if turn is not None:
        turn.ends = time.monotonic() + turn.seconds


def end_turn_if_over(**resume_point: Any) -> None:
    """End the turn if its time is over; ``resume_point`` is plain data for the next turn.

    Raises:
        TurnOver: the time is over.
    """
    turn = _turn.get()
    if turn is not None and time.monotonic() >= turn.ends:
        raise TurnOver(resume_point)


def end_turn_if_pause_is_long(seconds: float, **resume_point: Any) -> None:
    """End the turn before a long pause, so that the pause is spent in the queue and not in a worker's slot.

    Raises:
        TurnOver: continue after ``seconds``.
    """
    if _turn.get() is not None and seconds > MAX_PAUSE_SECONDS:
        raise TurnOver(resume_point, wait_seconds=seconds)
