"""Every rule of Adversarial Matching as a named choice; the defaults are those of Zellers et al. 2019, where stated.

This module imports no numerical library, so that pages and services can use it.
Source: Zellers et al. 2019 §4 and appendix C, doi:10.1109/CVPR.2019.00688.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from curation.negatives.options import SameImageRule
from curation.records import InvalidInput

# Zellers et al. 2019, appendix C: the weight of the similarity term, for each stage, and the number of matchings.
ANSWER_LAMBDA, RATIONALE_LAMBDA, ROUNDS = 0.1, 0.01, 3
DEFAULT_BUCKET_SIZE = 3000
MAX_LAMBDA = 1e6  # with greater weights, rounding errors exceed the tolerance of the certificates
# Weights of a project are multiples of this; they are exact in float32, and machines differ in the last bits only.
PROJECT_WEIGHT_STEP = 2.0**-16


class MissingClassRule(StrEnum):
    """What happens if a response tags a class of object that another image does not have.

    Zellers et al. 2019 do not state it. forbid: the response is no wrong choice there. words: "the car" stands
    instead of the tag.
    """

    FORBIDDEN = "forbid"
    WORDS = "words"


class ShortlistBy(StrEnum):
    """Which pairs are shortlisted: each query's best responses, or also each response's best queries.

    Shortlists by rows alone seldom have a complete matching: attractive responses are on most of them.
    """

    ROWS = "rows"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class ShortlistOptions:
    """k: pairs of each row, and of each column. widen: double k where no complete matching exists."""

    k: int
    by: ShortlistBy = ShortlistBy.BOTH
    widen: bool = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InvalidInput(f"shortlist: {self.k} is too small; give at least 1")


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The settings of the matchings of one stage.

    similarity_weight: λ, of ln(1 - P_sim) against ln P_rel. rounds: matchings, and so wrong choices of a question.
    shortlist: which pairs are considered; all by default. weight_step: weights are rounded to multiples of it.
    """

    similarity_weight: float = ANSWER_LAMBDA
    rounds: int = ROUNDS
    same_image: SameImageRule = SameImageRule.ALLOWED
    shortlist: ShortlistOptions | None = None
    weight_step: float | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.similarity_weight) or self.similarity_weight < 0:
            raise InvalidInput(
                f"lambda: {self.similarity_weight} is no weight; give a finite number of at least 0"
            )
        if self.similarity_weight > MAX_LAMBDA:
            raise InvalidInput(
                f"lambda: {self.similarity_weight:g} is too large; give at most {MAX_LAMBDA:g}"
            )
        if self.rounds < 1:
            raise InvalidInput(f"rounds: {self.rounds} is too few; give at least 1")
        if self.weight_step is not None and not 0 < self.weight_step < math.inf:
            raise InvalidInput(f"weight step: {self.weight_step} is no step; give a number above 0")
