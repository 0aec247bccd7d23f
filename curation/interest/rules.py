"""Hard rules for images that questions are written about: enough objects, enough of them people.

Source: Zellers et al. 2019 §3 (three objects or more), §B.1 (detector scores from 0.7) and §B.2 (two people or more).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from curation.records import InvalidInput
from hits.domain.images.detections import is_person

MIN_OBJECTS, MIN_PEOPLE, MIN_SCORE = 3, 2, 0.7


@dataclass(frozen=True, slots=True)
class ObjectCounts:
    """The numbers of people and of other objects in an image."""

    people: int
    others: int

    @property
    def total(self) -> int:
        """The number of all objects."""
        return self.people + self.others


@dataclass(frozen=True, slots=True)
class HardRules:
    """An image is kept if it has ``min_objects`` objects, ``min_people`` of them people.

    ``min_score``: objects with a lower detector score, in [0, 1], do not count.

    Raises:
        InvalidInput: a number is negative, or the score is outside [0, 1].
    """

    min_objects: int = MIN_OBJECTS
    min_people: int = MIN_PEOPLE
    min_score: float = MIN_SCORE

    def __post_init__(self) -> None:
        for name, count in (("min objects", self.min_objects), ("min people", self.min_people)):
            if count < 0:
                raise InvalidInput(f"{name}: {count} is negative; use 0 or more")
        if not 0 <= self.min_score <= 1:
            raise InvalidInput(f"min score: {self.min_score:g} is not within 0 to 1; use for instance 0.7")

    def is_met_by(self, counts: ObjectCounts) -> bool:
        """Return whether an image with these objects is kept."""
        return counts.total >= self.min_objects and counts.people >= self.min_people


def count_objects(objects: Iterable[tuple[str, float]], min_score: float = MIN_SCORE) -> ObjectCounts:
    """Return the numbers of people and other objects among (class, score) pairs with a score from ``min_score``."""
    names = [name for name, score in objects if score >= min_score]
    people = sum(map(is_person, names))
    return ObjectCounts(people, len(names) - people)
