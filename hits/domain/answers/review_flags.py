"""What a reviewer should look at in any answer. Advice, never a verdict."""

import re
from dataclasses import dataclass

ALIKE = 0.8
FAST_SHARE = 1 / 3
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. ``short`` is for a table cell and stands only when it is not ``ok``."""

    ok: bool
    text: str
    short: str = ""


def pace(active_seconds: float, usual_seconds: int) -> Check:
    """The work took at least a third of the usual active time."""
    if active_seconds < usual_seconds * FAST_SHARE:
        minutes, seconds = divmod(round(active_seconds), 60)
        took = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
        return Check(False, f"Fast: done in {took} of active time", "fast")
    return Check(True, "Not unusually fast")


def similarity(a: str, b: str) -> float:
    """Return the share of words that two texts have in common, 0 to 1 (Jaccard index)."""
    first, second = set(words_of(a)), set(words_of(b))
    return len(first & second) / len(first | second) if first | second else 1.0


def words_of(text: str) -> list[str]:
    """Return the words of a text, case folded."""
    return _WORD.findall(text.casefold())
