"""Made-up triplets with sentence vectors, of any number, as plain data.

Texts have the shape of published ones: about 1.8 tags, pronouns of one gender, of both or of none, question words,
classes of objects with a long tail, and a few generic texts that occur several times. A right response shares tags
with its query more often than a response from another image does, so that tag overlap gives the right choice away
unless tags of wrong responses are remapped to preferred ones (Zellers et al. 2019, appendix C).

Vectors: topic centres N(0, 1)^d, one for about sixty triplets; a response is unit(centre + 0.9 N), its query is
unit(response + 0.11 N).
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hits.domain.tagged_text import Segment, normalize_segments

FOLD_SIZES: Mapping[str, int] = {"train-0": 1_668, "val-0": 1_666, "test-0": 1_666}
TRIPLETS_PER_TOPIC, TRIPLETS_PER_MOVIE = 60, 30
CENTRE_NOISE, QUERY_NOISE = 0.9, 0.11
COPIED = 0.01  # share of triplets whose answer is one of the generic ones
OTHER_CLASS = 0.07  # share of tags that are not people
OTHER_CLASSES = ("chair", "bottle", "cup", "book", "car", "dog", "tie", "pottedplant", "horse", "boat")
QUESTION_STARTS = {
    "Why is": 0.38,
    "What is": 0.3,
    "Where is": 0.06,
    "Who is": 0.06,
    "How does": 0.1,
    "Is": 0.1,
}
PRONOUNS = {"": 0.5, "she": 0.2, "he": 0.25, "both": 0.05}
LIKELIHOODS = ("likely", "possible", "unlikely")
GENERIC_ANSWERS = ("Yes, they are.", "No, not at all.", "Nobody knows that yet.", "They wait for a friend.")
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class SyntheticTriplet:
    """A triplet. objects: the class of each object of the image. Texts are segments (``hits.domain.tagged_text``).

    number counts the triplets of the set from 0, and question_number those of the image.
    """

    id: str
    number: int
    fold: str
    movie: str
    image: str
    question_number: int
    objects: tuple[str, ...]
    question: list[Segment]
    answer: list[Segment]
    rationale: list[Segment]
    likelihood: str


@dataclass(frozen=True, slots=True)
class SyntheticSet:
    """n triplets in the order of their folds, and float32 unit vectors (n, d) of their texts.

    question and answer belong to the stage answer; query (question and right answer together) and rationale belong
    to the stage rationale.
    """

    triplets: tuple[SyntheticTriplet, ...]
    question: NDArray[np.float32]
    answer: NDArray[np.float32]
    query: NDArray[np.float32]
    rationale: NDArray[np.float32]

    def members(self, fold: str) -> list[int]:
        """Return the numbers of the triplets of a fold, ascending."""
        return [triplet.number for triplet in self.triplets if triplet.fold == fold]


def make_synthetic_set(
    fold_sizes: Mapping[str, int] = FOLD_SIZES, *, dimensions: int = 96, seed: int = 0
) -> SyntheticSet:
    """Return a set with the given number of triplets in each fold.

    No movie is in two folds. The same seed gives the same set.
    """
    n = sum(fold_sizes.values())
    generator = np.random.default_rng(seed)
    topics = generator.integers(max(8, n // TRIPLETS_PER_TOPIC), size=n)
    centres = generator.standard_normal((int(topics.max()) + 1, dimensions))[topics]
    vectors = {}
    for query, response in (("question", "answer"), ("query", "rationale")):
        vectors[response] = _unit(centres + CENTRE_NOISE * generator.standard_normal((n, dimensions)))
        noise = QUERY_NOISE * generator.standard_normal((n, dimensions))
        vectors[query] = _unit(vectors[response] + noise)
    triplets = _make_triplets(fold_sizes, topics.tolist(), generator)
    return SyntheticSet(triplets, **{name: rows.astype(np.float32) for name, rows in vectors.items()})


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _make_triplets(
    fold_sizes: Mapping[str, int], topics: list[int], generator: np.random.Generator
) -> tuple[SyntheticTriplet, ...]:
    triplets: list[SyntheticTriplet] = []
    for fold, size in fold_sizes.items():
        image, left, asked = "", 0, 0
        objects: tuple[str, ...] = ()
        for position in range(size):
            movie = f"movie_{fold}_{position // TRIPLETS_PER_MOVIE:04d}"
            if left == 0 or not image.startswith(movie):
                image, objects = f"{movie}@{position}", _draw_objects(generator)
                left, asked = int(generator.integers(1, 4)), 0
            number = len(triplets)
            texts = _Writer(topics[number], objects, generator).write()
            likelihood = _choose(LIKELIHOODS, (0.6, 0.3, 0.1), generator)
            name = f"{fold}/{position:06d}"
            triplets.append(
                SyntheticTriplet(name, number, fold, movie, image, asked, objects, *texts, likelihood)
            )
            left, asked = left - 1, asked + 1
    return tuple(triplets)


def _draw_objects(generator: np.random.Generator) -> tuple[str, ...]:
    people = ["person"] * int(generator.integers(2, 6))
    weights = [1.0 / (rank + 1) for rank in range(len(OTHER_CLASSES))]
    others = [_choose(OTHER_CLASSES, weights, generator) for _ in range(int(generator.integers(1, 5)))]
    return (*people, *others)


class _Writer:
    """Writes the three texts of one triplet."""

    def __init__(self, topic: int, objects: tuple[str, ...], generator: np.random.Generator) -> None:
        self.generator = generator
        self.people = [index for index, name in enumerate(objects) if name == "person"]
        self.others = [index for index, name in enumerate(objects) if name != "person"]
        self.words = [_word(topic * 7 + k) for k in range(7)]
        self.pronoun = self.choose(PRONOUNS)

    def write(self) -> tuple[list[Segment], list[Segment], list[Segment]]:
        first, second = self.tag([]), self.tag([])
        words = [self.words[int(k)] for k in self.generator.permutation(7)]
        question = [f"{self.choose(QUESTION_STARTS)} ", first, f" {words[0]}ing the {words[1]}"]
        question += [" near ", second, "?"] if self.generator.random() < 0.4 else ["?"]
        answer = self.answer([first, second], words)
        rationale = [
            self.tag([first, second], 0.55), f" has {self.own()} {words[1]}, so ", self.tag([first], 0.55),
            f" must {words[3]} {self.object()} before the {words[5]} is over.",
        ]  # fmt: skip
        return normalize_segments(question), normalize_segments(answer), normalize_segments(rationale)

    def answer(self, asked: list[Segment], words: list[str]) -> list[Segment]:
        if self.generator.random() < COPIED:
            return [GENERIC_ANSWERS[int(self.generator.integers(len(GENERIC_ANSWERS)))]]
        end = [" with ", self.tag([]), "."] if self.generator.random() < 0.3 else ["."]
        return [self.tag(asked, 0.7), f" wants {self.own()} {words[2]} to {words[4]} {self.object()}", *end]

    def tag(self, asked: list[Segment], share: float = 0.0) -> Segment:
        """Return a tag: with a probability of share one of those asked about, else one of the image."""
        if self.generator.random() < share:
            return asked[int(self.generator.integers(len(asked)))]
        pool = self.others if self.generator.random() < OTHER_CLASS else self.people
        return {"objects": [pool[int(self.generator.integers(len(pool)))]]}

    def own(self) -> str:
        return {"": "the", "she": "her", "he": "his", "both": "her"}[self.pronoun]

    def object(self) -> str:
        return {"": "them", "she": "her", "he": "him", "both": "him"}[self.pronoun]

    def choose(self, shares: Mapping[str, float]) -> str:
        return _choose(list(shares), list(shares.values()), self.generator)


def _choose(values: Sequence[str], weights: Sequence[float], generator: np.random.Generator) -> str:
    """Return a value drawn with a probability in proportion to its weight."""
    bounds = list(accumulate(weights))
    return values[bisect(bounds, float(generator.random()) * bounds[-1], hi=len(values) - 1)]


def _word(number: int) -> str:
    """Return a made-up word of three syllables or more, another one for every number."""
    letters = ""
    while number or len(letters) < 6:
        number, consonant = divmod(number, len(CONSONANTS))
        number, vowel = divmod(number, len(VOWELS))
        letters += CONSONANTS[consonant] + VOWELS[vowel]
    return letters
