"""How fast a long piece of work goes, and how long it still takes, in words."""

LEAST_SECONDS = 3.0  # before that, a figure would jump about
_MINUTE, _HOUR = 60, 3_600


def speed_words(*, done: int, since: int, total: int, seconds: float) -> str:
    """Return ``3.1 a second, 4 min left``; nothing before there is something to say.

    ``since`` is how much was done when this run began, ``seconds`` how long it has run.
    """
    made = done - since
    if made < 1 or seconds < LEAST_SECONDS or done >= total:
        return ""
    rate = made / seconds
    left = (total - done) / rate
    if rate >= 1:
        return f"{rate:.1f} a second, {_left(left)} left"
    return f"{rate * _MINUTE:.1f} a minute, {_left(left)} left"


def _left(seconds: float) -> str:
    if seconds < _MINUTE:
        return "less than a minute"
    if seconds < _HOUR:
        return f"{round(seconds / _MINUTE)} min"
    return f"{round(seconds / _HOUR, 1):g} h"
