"""Corpora of pairs that are small enough to reason about, and a sentence encoder to go with them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from curation.models import Pair
from hits.domain.hashing import instance_id
from hits.models import Image
from tests.support.judging.work import Work
from tests.support.pairs import pair_row

KITCHEN = ("plate", "soup", "oven", "spoon", "cook", "bread")
STREET = ("traffic", "bus", "road", "driver", "signal", "lane")
DINNER = ("meal", "hungry", "dinner", "family", "lunch", "guests")
TRAVEL = ("commute", "late", "passengers", "journey", "station", "ticket")
Words = tuple[str, str]


def write(
    work: Work, pairs: Sequence[Words], *, image: Image | None = None, worker: str = "W1"
) -> list[Pair]:
    """Store approved pairs about one photo, beyond what one form takes, and return them."""
    first = work.observed(image or work.image(), worker=worker)[0]
    Pair.objects.bulk_create(
        pair_row(
            instance_id=instance_id(str(first.submission_id), index),
            submission=first.submission,
            image=first.image,
            index=index,
            clue=clue,
            inference=inference,
            confidence=2,
            boxes=first.boxes,
        )
        for index, (clue, inference) in enumerate(pairs, start=10)
    )
    return list(Pair.objects.filter(submission=first.submission, index__gte=10).order_by("index"))


def two_worlds(count: int, seed: int = 0) -> list[Words]:
    """Return pairs of a kitchen with dinner, and of a street with travel, in turn; words never mix."""
    draw = np.random.default_rng(seed)
    worlds = ((KITCHEN, DINNER), (STREET, TRAVEL))
    return [
        (" ".join(draw.choice(clues, 4)), " ".join(draw.choice(inferences, 4)))
        for clues, inferences in (worlds[n % 2] for n in range(count))
    ]


class Words:
    """Texts by their words: equal words, equal direction."""

    name = "words"
    revision = "1"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        self.texts += texts
        return np.stack([self._of(text) for text in texts])

    def _of(self, text: str) -> NDArray[np.floating]:
        vector = np.full(64, 0.001)
        for word in text.lower().replace(".", "").split():
            vector[sum(map(ord, word)) % 64] += 1
        return vector
