"""The human baseline of localization: how often people match an inference to its own region.

Accuracy is the share of correct matches in each image, averaged over its raters, then over images; scorers are
measured in the same way. Source: Hessel et al. 2022, §4.2 (92.3 % for one rater on 101 images),
doi:10.1007/978-3-031-20059-5_32. The interval is a percentile bootstrap over images, the sampling units: Efron &
Tibshirani 1993, §13.3, doi:10.1201/9780429246593.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from validation.domain.agreement.pairwise import can_bootstrap, mean_interval
from validation.domain.judging.spec import Label

MIN_PAIRS = 3  # Hessel et al. 2022 §4.2: with fewer, guessing is right too often
MAX_PAIRS = 10  # letters A to J; people can hardly distinguish more regions on one photo
REPLICATES = 1000


@dataclass(frozen=True, slots=True)
class Matching:
    """One rater's answer to one item: ``chosen_labels`` is part -> label, such as inference id -> region id."""

    item: str
    rater: str
    chosen_labels: Mapping[str, Label]


@dataclass(frozen=True, slots=True)
class ImageScore:
    """One image: ``correct`` of ``total`` inferences for each rater, in the order of the answers."""

    item: str
    total: int
    correct: tuple[int, ...]

    @property
    def accuracy(self) -> float:
        """Mean share of correct inferences over the raters, 0 to 1."""
        return sum(self.correct) / (self.total * len(self.correct))

    @property
    def is_perfect(self) -> bool:
        """Whether every rater matched every inference correctly."""
        return all(count == self.total for count in self.correct)


@dataclass(frozen=True, slots=True)
class HumanBaseline:
    """Human accuracy in percent; ``accuracy`` is ``None`` without images, ``low`` and ``high`` with too few.

    ``images``, ``matchings`` and ``raters`` are counts; ``chance`` is the expected accuracy of a random one-to-one
    matching on these images. ``by_image`` is in the order of each image's first answer.
    """

    accuracy: float | None
    low: float | None
    high: float | None
    images: int
    matchings: int
    raters: int
    chance: float | None
    by_image: tuple[ImageScore, ...]


def count_correct(chosen: Mapping[str, Label], truth: Mapping[str, Label]) -> int:
    """Count the parts whose chosen label is the right one, such as inferences matched to their own region."""
    return sum(chosen.get(inference) == region for inference, region in truth.items())


def score_matchings(
    answers: Iterable[Matching],
    truths: Mapping[str, Mapping[str, Label]],
    *,
    chance: Callable[[Mapping[str, Label]], float],
    rng: np.random.Generator,
    replicates: int = REPLICATES,
) -> HumanBaseline:
    """Return the accuracy of ``answers``, averaged over images, with its bootstrap interval.

    Args:
        truths: by item, inference id -> region id. Answers about other items are left out.
        chance: ``JudgingSpec.chance``, the expected share of right labels in a random answer, from an item's truth.
        rng: draws the bootstrap's images. replicates: number of draws.
    """
    correct: dict[str, list[int]] = {}
    raters = set()
    for row in answers:
        truth = truths.get(row.item)
        if not truth:
            continue
        correct.setdefault(row.item, []).append(count_correct(row.chosen_labels, truth))
        raters.add(row.rater)
    images = tuple(ImageScore(item, len(truths[item]), tuple(counts)) for item, counts in correct.items())
    shares = np.array([image.accuracy for image in images])
    low = high = None
    if can_bootstrap(shares):
        low, high = (100 * bound for bound in mean_interval(shares, rng=rng, replicates=replicates))
    return HumanBaseline(
        accuracy=float(100 * shares.mean()) if images else None,
        low=low,
        high=high,
        images=len(images),
        matchings=sum(len(image.correct) for image in images),
        raters=len(raters),
        chance=float(100 * np.mean([chance(truths[image.item]) for image in images])) if images else None,
        by_image=images,
    )
