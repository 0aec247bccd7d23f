"""Arms: orders or variants of a task's page, balanced over a unit's workers instead of random.

Each worker gets the arm with the fewest live attempts at the unit. The first arm differs between units, so that units
with one worker are balanced over the batch, too.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable


def start_arm(unit_key: str, arms: int) -> int:
    """Return the first arm of a unit: the last byte of its key's sha256, modulo ``arms``."""
    return hashlib.sha256(unit_key.encode()).digest()[-1] % arms


def next_arm(live: Iterable[int], unit_key: str, arms: int) -> int:
    """Return the arm with the fewest ``live`` attempts; ties go to the first from the start arm on, cyclically."""
    counts = Counter(live)
    start = start_arm(unit_key, arms)
    return min(((start + step) % arms for step in range(arms)), key=lambda arm: counts[arm])
