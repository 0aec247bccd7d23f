"""Automatic checks of an answer. They advise the reviewer and never decide."""

import re
from dataclasses import dataclass

MIN_SIMILARITY = 0.8
FAST_SHARE = 1 / 3
_WORD_PATTERN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ReviewCheck:
    """The result of one check. ``short`` is its text in a table cell, shown only when it is not ``ok``."""

    ok: bool
    text: str
    short: str = ""


def check_pace(active_seconds: float, expected_seconds: int) -> ReviewCheck:
    """Check that the work took at least a third of the expected active time."""
    if active_seconds < expected_seconds * FAST_SHARE:
        minutes, seconds = divmod(round(active_seconds), 60)
        duration = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
        return ReviewCheck(False, f"Fast: {duration} of active time", "fast")
    return ReviewCheck(True, "Not unusually fast")


def word_similarity(a: str, b: str) -> float:
    """Return the share of words that two texts have in common, 0 to 1 (Jaccard index)."""
    first, second = set(split_words(a)), set(split_words(b))
    return len(first & second) / len(first | second) if first | second else 1.0


def split_words(text: str) -> list[str]:
    """Return the words of a text, case folded."""
    return _WORD_PATTERN.findall(text.casefold())
