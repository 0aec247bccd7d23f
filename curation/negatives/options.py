"""Every rule of comparison sets as a named choice; the defaults are the paper's, or the reading taken of them.

Light: no numerical library is imported, so that pages and services may name the choices.
Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from curation.records import InvalidInput

Choice = TypeVar("Choice", bound=StrEnum)


class KeepRule(StrEnum):
    """Which inference stands for its soft cluster. The paper samples one."""

    FIRST = "first"
    RANDOM = "random"
    MEDOID = "medoid"


class Strictness(StrEnum):
    """When an inference counts as more plausible than the gold one.

    The paper disqualifies what scores lower and says that this discards the gold as well: strictly above. Either
    way the gold is never its own candidate; at_least keeps other inferences that tie with it, its copies included.
    """

    ABOVE = "above"
    AT_LEAST = "at_least"


class SameImage(StrEnum):
    """Whether inferences of other regions of the same image are candidates. The paper excludes none."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


class FloorWhen(StrEnum):
    """When the candidates of an instance are counted: at its turn, or before anything is sampled."""

    TURN = "turn"
    START = "start"


class Diversity(StrEnum):
    """How similar a candidate is to what has been picked: on average, or to the nearest pick."""

    MEAN = "mean"
    MAX = "max"


class Order(StrEnum):
    """In which order instances take their turn.

    The paper does not say. Since sampled inferences are gone for later instances, the order decides who gets a
    set. Instances with equally many candidates keep the given order.
    """

    GIVEN = "given"
    RANDOM = "random"
    MOST_CANDIDATES = "most_candidates"
    FEWEST_CANDIDATES = "fewest_candidates"


class Disqualification(StrEnum):
    """For whom a sampled inference is gone.

    "we globally disqualify the sampled inferences such that no inference is sampled more than once for each image"
    is read as everywhere; per_image takes "for each image" as the scope.
    """

    GLOBAL = "global"
    PER_IMAGE = "per_image"


class VerbatimCap(StrEnum):
    """When copies of one exact text are limited.

    before_floor: only the first few (lowest index) are candidates at all. at_sampling: all are, until that many of
    them have been sampled over all sets.
    """

    BEFORE_FLOOR = "before_floor"
    AT_SAMPLING = "at_sampling"


class LengthPreference(StrEnum):
    """Which mean length of a set's inferences is more promising. The paper gives no direction."""

    LONGER = "longer"
    SHORTER = "shorter"


class Shortcut(StrEnum):
    """Work that may be left out. No shortcut changes a set.

    drop_used: used-up inferences are no longer scored; how many candidates an instance had at the start is then not
    known, so that all that miss the floor have the one reason too_few_candidates. stop_early: once fewer inferences
    are left than a set needs, later instances are not scored; their reason is pool_exhausted, without a count.
    """

    NONE = "none"
    DROP_USED = "drop_used"
    STOP_EARLY = "stop_early"


@dataclass(frozen=True, slots=True)
class ComparisonSetOptions:
    """The paper's settings.

    size: inferences in a set. min_candidates: the floor below which an instance is skipped. max_verbatim: copies of
    one exact text that may be sampled over all sets. weight: of plausibility against similarity in the greedy pick.
    promise_weight: of plausibility's rank in the final ranking. The rest is told at each choice.
    """

    size: int = 10
    min_candidates: int = 20
    max_verbatim: int = 3
    diversity: Diversity = Diversity.MEAN
    weight: float = 5.0
    promise_weight: float = 5.0
    strictness: Strictness = Strictness.ABOVE
    same_image: SameImage = SameImage.ALLOWED
    floor_when: FloorWhen = FloorWhen.TURN
    order: Order = Order.GIVEN
    disqualification: Disqualification = Disqualification.GLOBAL
    verbatim_cap: VerbatimCap = VerbatimCap.BEFORE_FLOOR
    promise_length: LengthPreference = LengthPreference.LONGER
    shortcut: Shortcut = Shortcut.NONE

    def __post_init__(self) -> None:
        for name in ("size", "min_candidates", "max_verbatim"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: {getattr(self, name)} is too few; give at least 1")
        for name in ("weight", "promise_weight"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise InvalidInput(f"{name}: {value} is no weight; give a finite number of at least 0")
        if self.floor_when is FloorWhen.START and self.shortcut is Shortcut.DROP_USED:
            raise InvalidInput(
                "shortcut: drop_used cannot count candidates at the start; use none or stop_early"
            )

    @property
    def needs_images(self) -> bool:
        """Whether the image of every inference has to be known."""
        return self.same_image is SameImage.FORBIDDEN or self.disqualification is Disqualification.PER_IMAGE


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """How the work is done and who is told; nothing here changes a result.

    memory_mib: the most that the buffers of scores take, at least one row of each. threads: that multiply
    and count, a block each; the BLAS library has one thread meanwhile. progress: told after each block how many
    scored instances of how many are done; what it raises ends the work.
    """

    memory_mib: int = 128
    threads: int = 2
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        for name in ("memory_mib", "threads"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: {getattr(self, name)} is too few; give at least 1")


def parse_choice(kind: type[Choice], value: str, name: str) -> Choice:
    """The choice of that value. Raises InvalidInput naming the option and what it may be."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(f"{name}: {value!r}; use {' or '.join(kind)}") from None
