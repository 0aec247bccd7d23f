"""Relevance and similarity from sentence vectors and words alone: fast, and stand-ins for the models of the paper."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.logistic import fit_logistic
from curation.records import InvalidInput
from curation.relevance import names, pair_features
from curation.relevance.interfaces import Indices, Probabilities, Texts
from hits.domain.hashing import content_sha256

RANDOM_RESPONSES = 3  # wrong responses per query: a quarter of the pairs is true (Zellers et al. 2019 §C)
MIN_QUERIES = 10
RIDGE = (
    1e-5  # per pair, on all weights but the intercept: the fit exists even if a feature separates the classes
)
COEFFICIENT_DIGITS = 6  # rounding removes the last bits, in which machines differ
SIMILARITY_SLOPE, SIMILARITY_MIDDLE = 16.0, 0.75
_SHORT_HASH = 12


@dataclass(frozen=True, slots=True)
class VectorRelevance:
    """A logistic regression on cosine, overlap of words and difference of lengths.

    ``coefficients``: the weight of each feature in ``pair_features.NAMES``, then the intercept.
    """

    coefficients: tuple[float, ...]
    name: str = names.VECTORS
    needs_pairs: bool = False
    stand_in: str = names.VECTOR_RELEVANCE_STAND_IN

    @property
    def revision(self) -> str:
        """A short hash of the coefficients."""
        return content_sha256(self.coefficients)[:_SHORT_HASH]

    def block(self, queries: Texts, responses: Texts) -> Probabilities:
        """Return (a, b) probabilities."""
        *weights, intercept = (np.float32(value) for value in self.coefficients)
        logits = np.full((len(queries), len(responses)), intercept, dtype=np.float32)
        for weight, feature in zip(weights, pair_features.feature_block(queries, responses), strict=True):
            logits += np.multiply(feature, weight, out=feature)
        return _sigmoid_in_place(logits)

    def pairs(self, queries: Texts, responses: Texts, rows: Indices, columns: Indices) -> Probabilities:
        """Return (m,) probabilities."""
        features = pair_features.feature_rows(queries, responses, rows, columns)
        weights = np.array(self.coefficients)
        return _sigmoid_in_place((features @ weights[:-1] + weights[-1]).astype(np.float32))


@dataclass(frozen=True, slots=True)
class VectorSimilarity:
    """A fixed logistic function of the cosine: 0.5 at 0.75, and 0.98 at 1."""

    name: str = names.VECTORS
    revision: str = f"sigmoid({SIMILARITY_SLOPE:g} * (cosine - {SIMILARITY_MIDDLE:g}))"
    needs_pairs: bool = False
    stand_in: str = names.VECTOR_SIMILARITY_STAND_IN

    def block(self, responses: Texts, others: Texts) -> Probabilities:
        """Return (a, b) probabilities; equal texts have 1."""
        assert responses.vectors is not None
        assert others.vectors is not None
        cosines = responses.vectors @ others.vectors.T
        cosines -= np.float32(SIMILARITY_MIDDLE)
        cosines *= np.float32(SIMILARITY_SLOPE)
        found = _sigmoid_in_place(cosines)
        columns_by_text: dict[str, list[int]] = {}
        for column, text in enumerate(others.texts):
            columns_by_text.setdefault(text, []).append(column)
        for row, text in enumerate(responses.texts):
            found[row, columns_by_text.get(text, [])] = 1.0
        return found

    def pairs(self, responses: Texts, others: Texts, rows: Indices, columns: Indices) -> Probabilities:
        """Return (m,) probabilities; equal texts have 1."""
        assert responses.vectors is not None
        assert others.vectors is not None
        cosines = np.einsum("nd,nd->n", responses.vectors[rows], others.vectors[columns])
        found = _sigmoid_in_place(
            (np.float32(SIMILARITY_SLOPE) * (cosines - np.float32(SIMILARITY_MIDDLE))).astype(np.float32)
        )
        equal = [responses.texts[a] == others.texts[b] for a, b in zip(rows, columns, strict=True)]
        found[np.array(equal, dtype=bool)] = 1.0
        return found


def fit_vector_relevance(queries: Texts, responses: Texts, seed: int) -> VectorRelevance:
    """Fit P_rel on true pairs and three random responses for each query.

    Args:
        queries, responses: n texts each, of folds other than those that are to be matched; equal indices belong
            together.
        seed: of the random responses.

    Raises:
        InvalidInput: there are too few queries.
    """
    rows, columns, targets = draw_training_pairs(len(queries), seed)
    features = pair_features.feature_rows(queries, responses, rows, columns)
    weights = fit_logistic(features, targets, ridge=RIDGE * len(features))
    return VectorRelevance(tuple(round(float(weight), COEFFICIENT_DIGITS) for weight in weights))


def draw_training_pairs(count: int, seed: int) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Return rows, columns and whether each pair is true: one true and three random responses for each query.

    Raises:
        InvalidInput: there are too few queries for that.
    """
    if count < MIN_QUERIES:
        raise InvalidInput(
            f"relevance: the other folds have {count} triplets; at least {MIN_QUERIES} are needed to fit it"
        )
    generator = np.random.default_rng(seed)
    rows = np.repeat(np.arange(count), 1 + RANDOM_RESPONSES)
    shifts = generator.integers(1, count, size=(count, 1 + RANDOM_RESPONSES))  # never the own response
    shifts[:, 0] = 0
    columns = (rows + shifts.ravel()) % count
    return rows, columns, shifts.ravel() == 0


def _sigmoid_in_place(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    np.negative(logits, out=logits)
    np.clip(logits, -80, 80, out=logits)
    np.exp(logits, out=logits)
    logits += np.float32(1)
    np.reciprocal(logits, out=logits)
    return logits
