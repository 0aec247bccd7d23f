"""The minimum number of candidates of a comparison set, and the reasons why an instance gets no set.

Hessel et al. 2022, appendix E: regions with fewer than 20 candidates are left out.
"""

from enum import StrEnum

from curation.records import SkipReason

MIN_CANDIDATES = 20


class FloorTiming(StrEnum):
    """When an instance's candidates are counted: at its turn, or before any sampling."""

    TURN = "turn"
    START = "start"


def find_skip_reason(
    eligible_count: int, available_count: int, min_candidates: int, floor_when: FloorTiming, set_size: int
) -> SkipReason | None:
    """Return why an instance gets no set; ``None`` if it gets one.

    Args:
        eligible_count: its candidates before anything is sampled. available_count: those that are left at its turn.
        min_candidates: the floor. floor_when: which of the two counts it applies to. set_size: inferences per set.
    """
    counted = eligible_count if floor_when is FloorTiming.START else available_count
    if counted >= min_candidates:
        return SkipReason.CANNOT_FILL_SET if available_count < set_size else None
    if eligible_count == 0:
        return SkipReason.GOLD_IS_BEST
    return SkipReason.USED_UP if eligible_count >= min_candidates else SkipReason.TOO_FEW_CANDIDATES
