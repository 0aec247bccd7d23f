"""Spread the places of a round over HITs."""

from dataclasses import dataclass

MOST_EACH = 9  # ten and more assignments cost double fees on Amazon


@dataclass(frozen=True, slots=True)
class Spread:
    """``hits`` HITs with ``each`` places. Never fewer places than were asked for, and as few more as may be."""

    hits: int
    each: int

    @property
    def places(self) -> int:
        """How many workers find a place."""
        return self.hits * self.each


def spread(places: int, *, over: int = 1) -> Spread:
    """Return HITs of one size for ``places`` workers, at least one HIT for each of ``over`` things to show.

    All HITs of a batch are of one size, so the size is chosen that leaves the fewest places over, then the larger.

    Raises:
        ValueError: nobody, nothing to show, or more things to show than workers.
    """
    if places < 1 or over < 1:
        raise ValueError("there has to be at least one place, and something to show")
    if over > places:
        raise ValueError(f"{over} to show and {places} places: each is shown to one worker at least")
    largest = min(MOST_EACH, places // over)
    sizes = range(largest, max(1, largest // 2) - 1, -1)
    return min((Spread(-(-places // each), each) for each in sizes), key=lambda found: found.places)
