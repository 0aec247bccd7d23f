"""Arms: orders or variants of a task's page, balanced over a unit's workers instead of random.

Each worker gets the arm with the fewest live attempts at the unit. The first arm differs between units, so that units
with one worker are balanced over the batch, too.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable


def first_arm(unit_key: str, arm_count: int) -> int:
    """Return the first arm of a unit: the last byte of its key's sha256, modulo ``arm_count``."""
    return hashlib.sha256(unit_key.encode()).digest()[-1] % arm_count


def least_used_arm(live_arms: Iterable[int], unit_key: str, arm_count: int) -> int:
    """Return the arm with the fewest attempts among ``live_arms``; ties go to the next from the first arm on."""
    counts = Counter(live_arms)
    start = first_arm(unit_key, arm_count)
    return min(((start + step) % arm_count for step in range(arm_count)), key=lambda arm: counts[arm])
