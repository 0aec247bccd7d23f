"""Retrieval of inferences for images and of images for inferences, as on the Sherlock leaderboard.

Source: Hessel et al. 2022, section 5, doi:10.1007/978-3-031-20059-5_32; ties get average ranks, as published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from curation.evaluation.inputs import check_scores, name_some
from curation.records import InvalidInput

PAIR_LENGTH = 2


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """im2txt and txt2im: mean rank of the true partner (1 is best). p_at_1: percent ranked exactly 1.

    All three are None when there is no instance.
    """

    im2txt: float | None
    txt2im: float | None
    p_at_1: float | None
    instances: int


@dataclass(frozen=True, slots=True)
class RetrievalKey:
    """ids: the n instances, sorted. cells: test id -> (row of its image, column of its inference)."""

    ids: tuple[str, ...]
    cells: Mapping[str, tuple[int, int]]


def parse_retrieval_key(raw: Mapping[str, Any]) -> RetrievalKey:
    """Read {test_id: [image instance, inference instance]}, which must hold every pair exactly once.

    Raises InvalidInput naming the entry that is malformed, foreign or repeated, or a pair that is absent.
    """
    for test_id, pair in raw.items():
        if not _is_pair(pair):
            raise InvalidInput(f"answer key: {test_id!r} must be [image instance, inference instance]")
    ids = tuple(sorted({image for image, _ in raw.values()}))
    position = {instance: index for index, instance in enumerate(ids)}
    foreign = [test_id for test_id, (_, inference) in raw.items() if inference not in position]
    if foreign:
        raise InvalidInput(
            f"answer key: the inference of {name_some(foreign)} belongs to no image of the key"
        )
    cells = {test_id: (position[image], position[inference]) for test_id, (image, inference) in raw.items()}
    _check_square(cells, ids)
    return RetrievalKey(ids=ids, cells=cells)


def rank_true_pairs(similarity: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rank the diagonal of a similarity matrix among its row and among its column.

    similarity: (n, n), image by inference, higher is closer. Returns (im2txt, txt2im), each (n,) with 1 as the
    best rank; equal scores share their average rank.
    """
    im2txt = rankdata(-similarity, method="average", axis=1).diagonal()
    txt2im = rankdata(-similarity, method="average", axis=0).diagonal()
    return im2txt, txt2im


def score_retrieval(scores: Mapping[str, float], key: RetrievalKey) -> RetrievalScores:
    """Score {test id: similarity} against a key.

    A tie at the top is no hit: P@1 needs a rank of exactly 1. Raises InvalidInput for missing, unknown or
    non-finite scores.
    """
    check_scores(scores, key.cells)
    n = len(key.ids)
    if n == 0:
        return RetrievalScores(im2txt=None, txt2im=None, p_at_1=None, instances=0)
    similarity = np.empty((n, n), dtype=np.float64)
    for test_id, cell in key.cells.items():
        similarity[cell] = scores[test_id]
    im2txt, txt2im = rank_true_pairs(similarity)
    return RetrievalScores(
        im2txt=float(im2txt.mean()),
        txt2im=float(txt2im.mean()),
        p_at_1=float(100 * np.mean(im2txt == 1.0)),
        instances=n,
    )


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == PAIR_LENGTH
        and all(isinstance(v, str) for v in value)
    )


def _check_square(cells: Mapping[str, tuple[int, int]], ids: tuple[str, ...]) -> None:
    seen: dict[tuple[int, int], str] = {}
    for test_id, cell in cells.items():
        if cell in seen:
            raise InvalidInput(f"answer key: {seen[cell]!r} and {test_id!r} ask for the same pair; keep one")
        seen[cell] = test_id
    if len(seen) == len(ids) ** 2:
        return
    row, column = next((i, j) for i in range(len(ids)) for j in range(len(ids)) if (i, j) not in seen)
    raise InvalidInput(
        f"answer key: no entry for image {ids[row]!r} with inference {ids[column]!r}; "
        f"{len(ids)} instances need {len(ids) ** 2} entries"
    )
