"""How topics of clues and of inferences are related.

A topic model gives each text a share of each topic, and each topic a weight of each word. These are measures computed
from a fitted model. Source: Hessel et al. 2022, section 3.2 and figure 2,
doi:10.1007/978-3-031-20059-5_32.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

NO_TOPIC = -1


def likeliest_topics(shares: NDArray[np.floating], has_words: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return each text's most likely topic, the lowest number in a tie; ``NO_TOPIC`` without a known word.

    shares: (n, k) share of each topic in each text. has_words: (n,), False if no word of the text is known.
    """
    return np.where(has_words, shares.argmax(axis=1), NO_TOPIC).astype(np.int64)


def topics_by_size(topics: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Return the topics by number of texts, largest first; ties are ordered by number.

    topics: (n,) topic of each text, or ``NO_TOPIC``. count: the number of topics.
    """
    sizes = np.bincount(topics[topics != NO_TOPIC], minlength=count)
    return np.argsort(-sizes, kind="stable").astype(np.int64)


def topic_flow(
    clues: NDArray[np.integer], inferences: NDArray[np.integer], clue_topics: int, inference_topics: int
) -> NDArray[np.int64]:
    """Count pairs by the topic of their clue (rows) and of their inference (columns).

    clues, inferences: (n,) topics of n pairs. Pairs with ``NO_TOPIC`` on either side are ignored. Returns
    (clue_topics, inference_topics). Raises InvalidInput if the lengths differ.
    """
    if len(clues) != len(inferences):
        raise InvalidInput(f"topics: {len(clues)} clues and {len(inferences)} inferences; give pairs")
    both = (clues != NO_TOPIC) & (inferences != NO_TOPIC)
    cells = clues[both] * inference_topics + inferences[both]
    counted = np.bincount(cells, minlength=clue_topics * inference_topics)
    return counted.reshape(clue_topics, inference_topics).astype(np.int64)


def lift_over_chance(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return each cell's lift: its count relative to that expected if both topics were independent.

    counts: (a, b) pairs. Cells of an empty row or column are 0.
    """
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / max(1, counts.sum())
    return np.divide(counts, expected, out=np.zeros(counts.shape), where=expected > 0)


def top_columns(weights: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """Return the columns of each topic's ``count`` words of greatest weight, best first; ties by column.

    weights: (k, v). Returns (k, min(count, v)).
    """
    return np.argsort(-weights, axis=1, kind="stable")[:, :count].astype(np.int64)


def coherence(columns: Sequence[int], together: NDArray[np.integer], text_count: int) -> float | None:
    """Return the mean normalised pointwise mutual information of a topic's words, -1 to 1.

    1: the words always occur together; 0: as by chance; -1: never in the same text. ``None`` with fewer than two
    words.
    columns: the topic's words. together: (v, v), the number of texts in which both words occur; the diagonal
    counts single words. Source: Lau et al. 2014, doi:10.3115/v1/E14-1056.
    """
    pairs = [(a, b) for index, a in enumerate(columns) for b in columns[index + 1 :]]
    if not pairs:
        return None
    return float(
        np.mean([_npmi(together[a, a], together[b, b], together[a, b], text_count) for a, b in pairs])
    )


def _npmi(first: int, second: int, both: int, text_count: int) -> float:
    if both == 0:
        return -1.0
    if both == text_count:
        return 1.0
    return float(np.log(both * text_count / (first * second)) / -np.log(both / text_count))


def clearest_pairs(
    clue_shares: NDArray[np.floating],
    inference_shares: NDArray[np.floating],
    cell: tuple[int, int],
    count: int,
) -> list[int]:
    """Return the most representative pairs of a clue topic and an inference topic, best first.

    Pairs with a greater product of both shares come first; equal products keep the pairs' order. Arrays are (n, k).
    """
    clear = clue_shares[:, cell[0]] * inference_shares[:, cell[1]]
    count = min(count, len(clear))
    nearest = np.argpartition(-clear, count - 1)[:count] if count else np.zeros(0, dtype=np.int64)
    # Pairs that tie with the last one are included before sorting, since argpartition orders ties arbitrarily.
    pool = np.flatnonzero(clear >= clear[nearest].min()) if count else nearest
    return [int(row) for row in pool[np.argsort(-clear[pool], kind="stable")][:count]]
