"""Retrieval of inferences for images and of images for inferences, as on the Sherlock leaderboard.

Source: Hessel et al. 2022, section 5, doi:10.1007/978-3-031-20059-5_32; ties get average ranks, as published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import Scores, describe_ids, order_scores
from curation.evaluation.key_tables import PairTable
from curation.records import InvalidInput

PAIR_LENGTH = 2


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """The measures of retrieval; all three are None without instances.

    im2txt, txt2im: mean rank of the true partner (1 is best). p_at_1: percent of images whose inference has rank 1.
    """

    im2txt: float | None
    txt2im: float | None
    p_at_1: float | None
    instances: int


@dataclass(frozen=True, slots=True)
class RetrievalKey:
    """The answer key of retrieval. ids: the n instances, sorted. test_ids: the n² ids that need a score.

    rows, columns: the positions of each test id's image and inference among the instances, (n²,).
    """

    ids: tuple[str, ...]
    test_ids: Sequence[str]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class TrueRanks:
    """The rank of each instance's true partner: (n,) each, 1 is best, ties share their average rank."""

    im2txt: NDArray[np.float64]
    txt2im: NDArray[np.float64]

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Whether an image's own inference is ranked exactly first; a tie at the top is not a hit: (n,)."""
        return np.equal(self.im2txt, 1.0)


def parse_retrieval_key(raw: Mapping[str, Any]) -> RetrievalKey:
    """Read {test_id: [image instance, inference instance]}, which must have every pair exactly once.

    Raises InvalidInput that names a malformed, unknown or repeated entry, or a missing pair.
    """
    key = (_key_from_table(raw) if isinstance(raw, PairTable) else None) or _key_from_entries(raw)
    _check_square(key)
    return key


def _key_from_table(table: PairTable) -> RetrievalKey | None:
    positions = table.instance_positions()
    return RetrievalKey(positions[0], table.test_ids, positions[1], positions[2]) if positions else None


def _key_from_entries(raw: Mapping[str, Any]) -> RetrievalKey:
    images, inferences = _split_pairs(raw)
    test_ids = tuple(raw)
    ids = tuple(sorted(set(images)))
    position = {instance: index for index, instance in enumerate(ids)}
    if not position.keys() >= set(inferences):
        foreign = [test_id for test_id, other in zip(raw, inferences, strict=True) if other not in position]
        foreign_ids = describe_ids(foreign)
        raise InvalidInput(f"answer key: the inference of {foreign_ids} belongs to no image of the key")
    return RetrievalKey(ids, test_ids, _positions(images, position), _positions(inferences, position))


def rank_true_pairs(similarity: NDArray[np.floating]) -> TrueRanks:
    """Rank the diagonal of a similarity matrix (n, n), image by inference, within its row and within its column.

    Higher is better. The rank of a score is one plus the number of higher scores, plus half the number of other equal
    scores: the average of the ranks that the equal scores share.
    """
    true = similarity.diagonal()
    return TrueRanks(
        im2txt=_average_ranks(similarity, true[:, None], axis=1),
        txt2im=_average_ranks(similarity, true[None, :], axis=0),
    )


def rank_instances(scores: Scores, key: RetrievalKey) -> TrueRanks:
    """Return the ranks of each instance's true partner.

    Raises InvalidInput for missing, unknown or non-finite scores.
    """
    similarity = np.empty((len(key.ids), len(key.ids)), dtype=np.float64)
    similarity[key.rows, key.columns] = order_scores(scores, key.test_ids)
    return rank_true_pairs(similarity)


def retrieval_chance_figures(chunk_sizes: Sequence[float]) -> dict[str, float]:
    """Return the expected figures of random scores on chunks of these sizes, a mean over chunks as published.

    Mean ranks and percent, by the names of measures. Needs at least one chunk, none empty.
    """
    rank = float(np.mean([(size + 1) / 2 for size in chunk_sizes]))
    return {"p_at_1": float(np.mean([100 / size for size in chunk_sizes])), "im2txt": rank, "txt2im": rank}


def score_retrieval(scores: Scores, key: RetrievalKey) -> RetrievalScores:
    """Return the measures of a model's scores.

    A tie at the top is not a hit: P@1 needs a rank of exactly 1. Raises InvalidInput for missing, unknown or
    non-finite scores.
    """
    ranks = rank_instances(scores, key)
    if not key.ids:
        return RetrievalScores(im2txt=None, txt2im=None, p_at_1=None, instances=0)
    return RetrievalScores(
        im2txt=float(ranks.im2txt.mean()),
        txt2im=float(ranks.txt2im.mean()),
        p_at_1=float(100 * ranks.hits.mean()),
        instances=len(key.ids),
    )


def _average_ranks(
    similarity: NDArray[np.floating], true: NDArray[np.floating], *, axis: int
) -> NDArray[np.float64]:
    above = np.count_nonzero(similarity > true, axis=axis)
    equal = np.count_nonzero(similarity == true, axis=axis)  # including itself
    return above + (equal + 1) / 2


def _split_pairs(raw: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    pairs = list(raw.values())
    if set(map(type, pairs)) <= {list, tuple} and set(map(len, pairs)) <= {PAIR_LENGTH}:
        images, inferences = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if set(map(type, images)) | set(map(type, inferences)) <= {str}:
            return images, inferences
    wrong = next(test_id for test_id, pair in raw.items() if not _is_pair(pair))
    raise InvalidInput(f"answer key: {wrong!r} must be [image instance, inference instance]")


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == PAIR_LENGTH
        and all(isinstance(item, str) for item in value)
    )


def _positions(names: Sequence[str], position: Mapping[str, int]) -> NDArray[np.intp]:
    return np.fromiter(map(position.__getitem__, names), dtype=np.intp, count=len(names))


def _check_square(key: RetrievalKey) -> None:
    n = len(key.ids)
    cells = key.rows * n + key.columns
    order = np.argsort(cells, kind="stable")
    filled = cells[order]
    repeats = np.flatnonzero(filled[1:] == filled[:-1])
    if repeats.size:
        second = order[repeats + 1].min()
        first = np.flatnonzero(cells == cells[second])[0]
        raise InvalidInput(
            f"answer key: {key.test_ids[first]!r} and {key.test_ids[second]!r} are the same pair; keep one"
        )
    if len(filled) == n * n:
        return
    gaps = np.flatnonzero(filled != np.arange(len(filled)))
    row, column = divmod(int(gaps[0]) if gaps.size else len(filled), n)
    raise InvalidInput(
        f"answer key: no entry for image {key.ids[row]!r} with inference {key.ids[column]!r}; "
        f"{n} instances need {n * n} entries"
    )
