"""Arms: orders or variants of a task's page that are balanced over a unit's workers instead of drawn.

Each worker gets the arm that fewest live attempts at the unit have. Which arm comes first differs from unit to unit,
so that units with one worker are balanced over the batch, too.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable


def start_arm(unit_key: str, arms: int) -> int:
    """Return the arm that a unit begins with: the last byte of its key's sha256, modulo ``arms``."""
    return hashlib.sha256(unit_key.encode()).digest()[-1] % arms


def next_arm(live: Iterable[int], unit_key: str, arms: int) -> int:
    """Return the arm with fewest ``live`` attempts; among equals the first from the start arm on, in a circle."""
    counts = Counter(live)
    start = start_arm(unit_key, arms)
    return min(((start + step) % arms for step in range(arms)), key=lambda arm: counts[arm])
