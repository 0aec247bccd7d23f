"""How many workers a unit is shown to, and the HITs that takes."""

MOST_PER_HIT = 9  # ten and more assignments in one HIT cost double fees on Amazon's marketplace


def parts(opinions: int) -> list[int]:
    """Return the assignments of a unit's HITs, full ones first: ``12 -> [9, 3]``.

    Raises ValueError for less than one. Source: the nine-assignment rule of requesters, since a HIT made with fewer
    than ten can never be extended to ten either.
    """
    if opinions < 1:
        raise ValueError(f"A unit is shown to at least one worker, got {opinions}.")
    full, rest = divmod(opinions, MOST_PER_HIT)
    return [MOST_PER_HIT] * full + ([rest] if rest else [])
