"""Plain records that all of curation shares: regions, observations, comparison sets, stages of questions.

This module imports neither Django nor a numerical library, so that exporters, measures and tests can use it.
"""

from dataclasses import dataclass
from enum import StrEnum

MIN_CONFIDENCE, MAX_CONFIDENCE = 1.0, 3.0
MAX_MOVIE_LENGTH = 120  # of a film's name; the database holds no longer one


class InvalidInput(ValueError):
    """Input that cannot be used. The message is one line: what is wrong, where, and how to fix it."""


def check_movie_length(movie: str, location: str, fix: str) -> None:
    """Check that the database can hold a film's name.

    Args:
        movie: the name.
        location: of the name, such as a file and its line.
        fix: what to do about a longer name; the limit follows it in the message.

    Raises:
        InvalidInput: it is too long.
    """
    if len(movie) > MAX_MOVIE_LENGTH:
        raise InvalidInput(
            f"{location}: film {movie[:40] + '…'!r} has {len(movie)} characters; {fix} at most {MAX_MOVIE_LENGTH}"
        )


@dataclass(frozen=True, slots=True)
class Region:
    """One box in the natural image's pixels: left and top edge, then size (all integers)."""

    left: int
    top: int
    width: int
    height: int

    def __post_init__(self) -> None:
        if self.width <= 0 or self.height <= 0:
            raise InvalidInput(f"box {self!r} has no area: give it a width and a height of at least 1 pixel")

    @property
    def right(self) -> int:
        """The first column to the right of the box."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """The first row below the box."""
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class ImageReference:
    """The address of a published image, and its natural size in pixels."""

    url: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Inference:
    """An inference's text and the id of its observation."""

    instance_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ObservationRecord:
    """One observation pair of the Sherlock corpus: a clue with its boxes, and the inference drawn from it.

    confidence runs from 1 (possible) to 3 (certain). obs_idx is the observation's number in its form.
    split_idx is the test split (absent in training files). Source: Hessel et al. 2022,
    "The Abduction of Sherlock Holmes", doi:10.1007/978-3-031-20059-5_32, and the corpus files.
    """

    instance_id: str
    image: ImageReference
    bboxes: tuple[Region, ...]
    clue: str
    inference: str
    confidence: float
    obs_idx: int
    split_idx: int | None = None

    def __post_init__(self) -> None:
        if not self.bboxes:
            raise InvalidInput(f"observation {self.instance_id} has no box: every clue needs at least one")
        if not MIN_CONFIDENCE <= self.confidence <= MAX_CONFIDENCE:
            raise InvalidInput(
                f"observation {self.instance_id}: confidence {self.confidence} is not within 1 to 3"
            )


class SkipReason(StrEnum):
    """Why an instance got no comparison set."""

    GOLD_IS_BEST = "gold_is_best"
    """No inference that passed the global filters is more plausible than the gold inference."""

    TOO_FEW_CANDIDATES = "too_few_candidates"
    """It had fewer candidates than the minimum, even before any was sampled."""

    USED_UP = "used_up"
    """It had enough candidates at the start; earlier sets used them."""

    CANNOT_FILL_SET = "cannot_fill_set"
    """It had the minimum of candidates, but too few to fill a set."""

    POOL_EXHAUSTED = "pool_exhausted"
    """Fewer inferences remained than a set needs; its candidates were not counted (early stop)."""


@dataclass(frozen=True, slots=True)
class ComparisonSet:
    """The inferences to be rated for one instance.

    chosen: ids of inferences in the order of selection. rank: 1 is the set with the best set score.
    """

    instance: int
    chosen: tuple[int, ...]
    rank: int


@dataclass(frozen=True, slots=True)
class SkippedInstance:
    """An instance without a set. available: candidates that were free at its turn; None if they were not counted."""

    instance: int
    reason: SkipReason
    available: int | None


class Stage(StrEnum):
    """What is chosen: the answer of a question, or the rationale of a question and its right answer."""

    ANSWER = "answer"
    RATIONALE = "rationale"
