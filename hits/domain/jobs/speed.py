"""Describe the speed of a long job and its remaining time."""

MIN_SECONDS = 3.0  # earlier figures fluctuate too much
_MINUTE, _HOUR = 60, 3_600


def describe_speed(*, done: int, done_before: int, total: int, seconds: float) -> str:
    """Return ``3.1 a second, 4 min left``; empty until the figures are stable.

    ``done_before`` is how much was done when this run started, ``seconds`` how long it has run.
    """
    made = done - done_before
    if made < 1 or seconds < MIN_SECONDS or done >= total:
        return ""
    rate = made / seconds
    left = (total - done) / rate
    if rate >= 1:
        return f"{rate:.1f} a second, {_describe_remaining(left)} left"
    return f"{rate * _MINUTE:.1f} a minute, {_describe_remaining(left)} left"


def _describe_remaining(seconds: float) -> str:
    if seconds < _MINUTE:
        return "less than a minute"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{round(seconds / _HOUR, 1):g} h"
