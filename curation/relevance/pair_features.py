"""Three features of a query and a response: cosine, overlap of words, and difference of lengths."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from curation.relevance.interfaces import Indices, Texts
from curation.texts.words import word_spans

NAMES = ("cosine", "word_overlap", "length_difference")
WORDS_PER_LENGTH_UNIT = 10.0  # so that the three features have similar ranges


class WordCounts:
    """Which words each text has, over a common vocabulary.

    Args:
        texts: n texts. vocabulary: words of other texts that are compared with these; it is extended.
    """

    def __init__(self, texts: Sequence[str], vocabulary: dict[str, int]) -> None:
        words = [sorted({word for word, _, _ in word_spans(text)}) for text in texts]
        for row in words:
            for word in row:
                vocabulary.setdefault(word, len(vocabulary))
        self._words = [[vocabulary[word] for word in row] for row in words]
        self.distinct = np.array([len(row) for row in words], dtype=np.float32)
        self.lengths = np.array([sum(1 for _ in word_spans(text)) for text in texts], dtype=np.float32)

    def matrix(self, vocabulary_size: int) -> sparse.csr_array:
        """Return the (n, vocabulary) matrix with 1 where a text has a word."""
        starts = np.concatenate([[0], np.cumsum([len(row) for row in self._words])]).astype(np.int64)
        columns = np.array([word for row in self._words for word in row], dtype=np.int64)
        ones = np.ones(len(columns), dtype=np.float32)
        return sparse.csr_array((ones, columns, starts), shape=(len(self._words), vocabulary_size))


def feature_block(queries: Texts, responses: Texts) -> list[NDArray[np.float32]]:
    """Return the (a, b) float32 matrix of each feature in ``NAMES``.

    The overlap is the share of the response's distinct words that the query has.
    """
    vocabulary: dict[str, int] = {}
    own, others = WordCounts(queries.texts, vocabulary), WordCounts(responses.texts, vocabulary)
    size = max(1, len(vocabulary))
    common = (own.matrix(size) @ others.matrix(size).T).toarray()
    common /= np.maximum(others.distinct, 1.0)[None, :]
    lengths = np.abs(own.lengths[:, None] - others.lengths[None, :]) / np.float32(WORDS_PER_LENGTH_UNIT)
    return [_vectors(queries) @ _vectors(responses).T, common, lengths]


def feature_rows(queries: Texts, responses: Texts, rows: Indices, columns: Indices) -> NDArray[np.float64]:
    """Return the (m, 3) features of the pairs ``queries[rows[k]]``, ``responses[columns[k]]``."""
    vocabulary: dict[str, int] = {}
    own, others = WordCounts(queries.texts, vocabulary), WordCounts(responses.texts, vocabulary)
    size = max(1, len(vocabulary))
    first, second = own.matrix(size)[rows], others.matrix(size)[columns]
    common = np.asarray(first.multiply(second).sum(axis=1)).ravel()
    return np.column_stack(
        [
            np.einsum("nd,nd->n", _vectors(queries)[rows], _vectors(responses)[columns], dtype=np.float64),
            common / np.maximum(others.distinct[columns], 1.0),
            np.abs(own.lengths[rows] - others.lengths[columns]) / WORDS_PER_LENGTH_UNIT,
        ]
    ).astype(np.float64)


def _vectors(texts: Texts) -> NDArray[np.float32]:
    if texts.vectors is None:
        raise ValueError("these texts have no sentence vectors")
    return texts.vectors
