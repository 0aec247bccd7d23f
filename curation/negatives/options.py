"""Every rule of comparison sets as a named choice; the defaults are those of Hessel et al. 2022, as far as stated.

This module imports no numerical library, so that pages and services can use it.
Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from curation.negatives.candidate_floor import MIN_CANDIDATES, FloorTiming
from curation.records import InvalidInput

Choice = TypeVar("Choice", bound=StrEnum)


class KeepRule(StrEnum):
    """Which inference of a soft cluster is kept. Hessel et al. 2022 sample one."""

    FIRST = "first"
    RANDOM = "random"
    MEDOID = "medoid"


class GoldStrictness(StrEnum):
    """When an inference counts as more plausible than the gold one.

    Hessel et al. disqualify lower scores and state that this also discards the gold one, so the default is strictly
    above. The gold inference is never its own candidate; at_least keeps other inferences that tie with it, such as
    copies.
    """

    ABOVE = "above"
    AT_LEAST = "at_least"


class SameImageRule(StrEnum):
    """Whether inferences about other regions of the same image are candidates. Hessel et al. 2022 exclude none."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"


class DiversityMeasure(StrEnum):
    """How the similarity of a candidate to earlier picks is measured: on average, or to the nearest pick."""

    MEAN = "mean"
    MAX = "max"


class TurnOrder(StrEnum):
    """The order in which instances take their turns.

    Hessel et al. do not state it. Sampled inferences are not available to later instances, so the order determines
    which instances get a set. Instances with equally many candidates keep the given order.
    """

    GIVEN = "given"
    RANDOM = "random"
    MOST_CANDIDATES = "most_candidates"
    FEWEST_CANDIDATES = "fewest_candidates"


class DisqualificationScope(StrEnum):
    """For which instances a sampled inference is disqualified.

    Hessel et al.: "we globally disqualify the sampled inferences such that no inference is sampled more than once for
    each image". global follows the first half of that sentence, per_image the second.
    """

    GLOBAL = "global"
    PER_IMAGE = "per_image"


class VerbatimCapTiming(StrEnum):
    """When copies of one exact text are limited.

    before_floor: only the first max_verbatim copies (lowest index) are candidates. at_sampling: all copies are
    candidates until max_verbatim of them were sampled over all sets.
    """

    BEFORE_FLOOR = "before_floor"
    AT_SAMPLING = "at_sampling"


class LengthPreference(StrEnum):
    """Which mean length of a set's inferences scores better. Hessel et al. 2022 state no direction."""

    LONGER = "longer"
    SHORTER = "shorter"


class SpeedShortcut(StrEnum):
    """Which work is omitted to save time. No shortcut changes a set.

    drop_used: used inferences are not scored any more; the number of candidates at the start is then unknown, so all
    instances below the minimum get the reason too_few_candidates. stop_early: once fewer inferences remain than a set
    needs, later instances are not scored; they get the reason pool_exhausted, without a count.
    """

    NONE = "none"
    DROP_USED = "drop_used"
    STOP_EARLY = "stop_early"


# Hessel et al. 2022, appendix E: a set's size, and the copies of one text.
SET_SIZE, MAX_VERBATIM = 10, 3
DEFAULT_SOFT_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class ComparisonSetOptions:
    """The settings of comparison sets.

    size: inferences per set. min_candidates: instances with fewer are skipped. max_verbatim: maximum copies of one
    exact text over all sets. weight: of plausibility against similarity in the greedy pick. promise_weight: of
    plausibility's rank in the set score. The enums document the other settings.
    """

    size: int = SET_SIZE
    min_candidates: int = MIN_CANDIDATES
    max_verbatim: int = MAX_VERBATIM
    diversity: DiversityMeasure = DiversityMeasure.MEAN
    weight: float = 5.0
    promise_weight: float = 5.0
    strictness: GoldStrictness = GoldStrictness.ABOVE
    same_image: SameImageRule = SameImageRule.ALLOWED
    floor_when: FloorTiming = FloorTiming.TURN
    order: TurnOrder = TurnOrder.GIVEN
    disqualification: DisqualificationScope = DisqualificationScope.GLOBAL
    verbatim_cap: VerbatimCapTiming = VerbatimCapTiming.BEFORE_FLOOR
    promise_length: LengthPreference = LengthPreference.LONGER
    shortcut: SpeedShortcut = SpeedShortcut.NONE

    def __post_init__(self) -> None:
        for name in ("size", "min_candidates", "max_verbatim"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: {getattr(self, name)} is too small; give at least 1")
        for name in ("weight", "promise_weight"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise InvalidInput(f"{name}: {value} is no weight; give a finite number of at least 0")
        if self.floor_when is FloorTiming.START and self.shortcut is SpeedShortcut.DROP_USED:
            raise InvalidInput("shortcut: drop_used cannot count at the start; use none or stop_early")

    @property
    def needs_images(self) -> bool:
        """Whether the rules need the image of every inference."""
        return (
            self.same_image is SameImageRule.FORBIDDEN
            or self.disqualification is DisqualificationScope.PER_IMAGE
        )


# The choices by the names that commands, jobs and pages use.
RULES: dict[str, type[StrEnum]] = {
    "diversity": DiversityMeasure,
    "strictness": GoldStrictness,
    "same_image": SameImageRule,
    "floor_when": FloorTiming,
    "order": TurnOrder,
    "disqualification": DisqualificationScope,
    "verbatim_cap": VerbatimCapTiming,
    "promise_length": LengthPreference,
}


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """Resources and progress; these settings never change a result.

    memory_mib: maximum for the score buffers; each has at least one row. threads: number of threads, which multiply
    and count one block each, while the BLAS library uses one thread. progress: called after each block with (scored
    instances, total); an exception from it ends the work.
    """

    memory_mib: int = 128
    threads: int = 2
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        for name in ("memory_mib", "threads"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: {getattr(self, name)} is too few; give at least 1")


def parse_choice(kind: type[Choice], value: str, name: str) -> Choice:
    """Return the choice with this value. Raises InvalidInput that names the option and its choices."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(f"{name}: {value!r}; use {' or '.join(kind)}") from None
