"""The redundancy of a unit (its number of workers), and the HITs that it needs."""

MAX_ASSIGNMENTS = 9  # ten and more assignments in one HIT cost double fees on Amazon's marketplace


def slice_sizes(redundancy: int) -> list[int]:
    """Return the assignments of a unit's HITs, full ones first: ``12 -> [9, 3]``.

    Raises ValueError below one. A HIT that is created with fewer than ten assignments can never be extended to ten.
    """
    if redundancy < 1:
        raise ValueError(f"A unit needs at least one worker, got {redundancy}.")
    full, rest = divmod(redundancy, MAX_ASSIGNMENTS)
    return [MAX_ASSIGNMENTS] * full + ([rest] if rest else [])
