"""Choose the responses of a whole fold together, which the rules of a leaderboard forbid.

In a fold, each response is right for one question only. So the best assignment of responses to questions gains
without any image, and the gain shows how much a model that infers across questions could win (Zellers et al. 2019 §4:
each response is wrong exactly three times).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from curation.evaluation.choice_items import CHOICES
from curation.evaluation.choices import (
    ChoiceKey,
    ChoicePredictions,
    StageKey,
    correct_positions,
    joint_lift,
    stage_scores,
)
from curation.matching.assign import Assignment, Infeasible, assign_sparse, row_starts
from curation.records import InvalidInput


def joint_figures(key: ChoiceKey, predictions: ChoicePredictions) -> dict[str, Any]:
    """Return ``joint_lift`` of each stage, with ``questions`` and ``folds``; questions without sources are left out.

    Raises:
        InvalidInput: no question has a match fold and sources, or a fold cannot be assigned.
    """
    found = {}
    for stage, scores in stage_scores(predictions, key).items():
        known = key.stages[stage]
        rows_of_folds = _rows_by_fold(key, known)
        if not rows_of_folds:
            raise InvalidInput(
                f"joint: no {stage} has a match fold and sources; give a key with match_fold and {stage}_sources"
            )
        rows = np.concatenate(list(rows_of_folds.values()))
        hits = correct_positions(scores, known.labels)
        together = np.zeros(len(key.ids))
        for fold, members in rows_of_folds.items():
            chosen = choose_jointly(scores[members], known.sources[members], f"joint: fold {fold}")
            together[members] = np.equal(chosen, known.labels[members])
        lift = joint_lift(hits[rows], together[rows])
        found[stage.value] = {**lift, "questions": len(rows), "folds": len(rows_of_folds)}
    return found


def _rows_by_fold(key: ChoiceKey, known: StageKey) -> dict[str, NDArray[np.int64]]:
    rows: dict[str, list[int]] = {}
    has_sources = np.all(known.sources >= 0, axis=1).tolist()
    for row, fold in enumerate(key.folds):
        if fold and has_sources[row]:
            rows.setdefault(fold, []).append(row)
    return {fold: np.array(members, dtype=np.int64) for fold, members in sorted(rows.items())}


def choose_jointly(
    scores: NDArray[np.floating], sources: NDArray[np.integer], where: str = "joint"
) -> NDArray[np.int64]:
    """Return the position that each question gets if every response is chosen at most once: (n,).

    The sum of the log probabilities is greatest.

    Args:
        scores: (n, 4) logits. sources: (n, 4) the response behind each choice, distinct within a row.

    Raises:
        InvalidInput: the responses do not suffice.
    """
    n = len(scores)
    responses, columns = np.unique(sources, return_inverse=True)
    columns, m = columns.reshape(n, CHOICES), len(responses)
    if m < n:
        raise InvalidInput(f"{where}: {n} questions share {m} responses; give a complete fold")
    rows = np.repeat(np.arange(n), CHOICES)
    pairs = [(rows, columns.ravel(), log_softmax(scores, axis=1).ravel())]
    if m > n:
        # A response may stay unused, such as that of a question that was left out: it is then paired with a row of
        # its own. The row of a used response takes a column of the question that uses it.
        zeros = np.zeros(max(m, n * CHOICES))
        pairs += [
            (n + np.arange(m), np.arange(m), zeros[:m]),
            (n + columns.ravel(), m + rows, zeros[: n * CHOICES]),
        ]
    found = _assign_pairs(pairs, n if m == n else n + m)
    if isinstance(found, Infeasible):
        raise InvalidInput(f"{where}: some questions share too few responses; give a complete fold")
    position = (columns == found.columns[:n, None]).argmax(axis=1)
    return position.astype(np.int64)


def _assign_pairs(
    pairs: Sequence[tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.floating]]], size: int
) -> Assignment | Infeasible:
    """Assign each of ``size`` rows to a column, among pairs given as arrays of rows, columns and weights."""
    rows, columns, values = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    order = np.lexsort((columns, rows))
    return assign_sparse(row_starts(rows, size), columns[order], values[order], size)
