"""The interfaces of relevance and similarity models (Zellers et al. 2019 §4).

P_rel(q, r) is the probability that a response belongs to a query. P_sim(r, r') is the probability that one response
entails the other. Models see tags as class words, so no probability depends on which person is meant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

Probabilities = NDArray[np.float32]
Indices = NDArray[np.int64]


class ModelUnavailable(InvalidInput):
    """A model's weights are not available; the message says how to get them."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of queries or of responses, and their sentence vectors, (n, d) float32 rows of length 1.

    ``vectors`` may be ``None`` for models that read texts alone.
    """

    texts: Sequence[str]
    vectors: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Sequence[int] | Indices) -> "Texts":
        """Return the texts of some rows, in the order of ``rows``."""
        texts = [self.texts[row] for row in rows]
        return Texts(texts, None if self.vectors is None else self.vectors[np.asarray(rows, dtype=np.int64)])


class PairModel(Protocol):
    """What identifies a model of pairs of texts."""

    @property
    def name(self) -> str:
        """Its name in options and provenance."""
        ...

    @property
    def revision(self) -> str:
        """A hash of its weights."""
        ...

    @property
    def needs_pairs(self) -> bool:
        """Whether it is slow, so that it is asked for shortlisted pairs instead of blocks."""
        ...

    @property
    def stand_in(self) -> str:
        """Which model of the paper it stands in for, and how it differs; empty for a model of the paper's type."""
        ...


class Relevance(PairModel, Protocol):
    """P_rel."""

    def block(self, queries: Texts, responses: Texts) -> Probabilities:
        """Return (a, b) probabilities in [0, 1] of a queries and b responses."""
        ...

    def pairs(self, queries: Texts, responses: Texts, rows: Indices, columns: Indices) -> Probabilities:
        """Return (m,) probabilities of the pairs ``queries[rows[k]]``, ``responses[columns[k]]``."""
        ...


class Similarity(PairModel, Protocol):
    """P_sim: symmetric, and 1 for a text and itself."""

    def block(self, responses: Texts, others: Texts) -> Probabilities:
        """Return (a, b) probabilities in [0, 1] of a responses and b other responses."""
        ...

    def pairs(self, responses: Texts, others: Texts, rows: Indices, columns: Indices) -> Probabilities:
        """Return (m,) probabilities of the pairs ``responses[rows[k]]``, ``others[columns[k]]``."""
        ...


def all_pairs(count: int, other_count: int) -> tuple[Indices, Indices]:
    """Return the rows and columns of a whole block, row by row, for models that know pairs alone."""
    rows = np.repeat(np.arange(count, dtype=np.int64), other_count)
    return rows, np.tile(np.arange(other_count, dtype=np.int64), count)
