"""What the audits of image triplets look at: figures of pixels, of production, and of texts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_shortcuts import NEGATIONS
from curation.evaluation.image_figures import ImageFigures

_WORD_PATTERN = re.compile(r"\w+(?:['’]\w+)?")
_CONTRACTED_NEGATIONS = ("n't", "n’t")


@dataclass(frozen=True, slots=True)
class Production:
    """How a hypothesis image was made.

    generator: its name. attempts: candidates that were drawn until it was picked. edits: how often it was edited.
    bytes: the size of its file.
    """

    generator: str
    attempts: int
    edits: int
    bytes: int


def pixel_features(images: Sequence[tuple[ImageFigures, ImageFigures]]) -> NDArray[np.float64]:
    """Return the figures of h1 and h2 of each triplet as features: (n, 2, figures)."""
    rows = [[figures.as_row() for figures in pair] for pair in images]
    return np.array(rows, dtype=np.float64).reshape(-1, 2, len(ImageFigures.names()))


def production_features(images: Sequence[tuple[Production, Production]]) -> NDArray[np.float64]:
    """Return how h1 and h2 of each triplet were made as features: (n, 2, d).

    Counts and bytes are taken as logarithms, since their ratios matter; each generator has a column.
    """
    generators = sorted({made.generator for pair in images for made in pair})
    columns = {name: column for column, name in enumerate(generators)}
    features = np.zeros((len(images), 2, 3 + len(generators)))
    for row, pair in enumerate(images):
        for side, made in enumerate(pair):
            features[row, side, :3] = np.log1p([made.attempts, made.edits, made.bytes])
            features[row, side, 3 + columns[made.generator]] = 1.0
    return features


def word_counts(texts: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Return the number of words of the texts of h1 and h2: (n, 2)."""
    return _measure_texts(texts, len)


def negation_counts(texts: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Return the number of negations in the texts of h1 and h2, such as "no" or "isn't": (n, 2)."""
    return _measure_texts(texts, lambda words: sum(map(_is_negation, words)))


def _measure_texts(
    texts: Sequence[tuple[str, str]], measure: Callable[[list[str]], int]
) -> NDArray[np.float64]:
    rows = [[measure(_WORD_PATTERN.findall(text.lower())) for text in pair] for pair in texts]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def _is_negation(word: str) -> bool:
    return word in NEGATIONS or word.endswith(_CONTRACTED_NEGATIONS)
