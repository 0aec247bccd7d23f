"""Answer keys, and the figures of scores. Keys and scores are named by file: ``comparison``, ``retrieval_0``, …"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.comparison import ComparisonKey, instance_agreements, parse_comparison_key
from curation.evaluation.figures import comparison_figures, localization_figures, retrieval_figures
from curation.evaluation.inputs import read_answer_key, restore_key_order
from curation.evaluation.localization import (
    LocalizationKey,
    LocalizationShares,
    correct_shares,
    parse_localization_key,
)
from curation.evaluation.retrieval import RetrievalKey, TrueRanks, parse_retrieval_key, rank_instances
from curation.records import InvalidInput

COMPARISON, LOCALIZATION, RETRIEVAL = "comparison", "localization", "retrieval"
HELD_OUT_FILE = "kept.json"
_CHUNK_NAME_PATTERN = re.compile(rf"{RETRIEVAL}_(\d+)")
Key = RetrievalKey | LocalizationKey | ComparisonKey


class AnswerKeys(Protocol):
    """A source of answer keys, as raw JSON by the name of the submission file that each of them scores."""

    def raw_key(self, name: str) -> Mapping[str, Any]:
        """Return the key of ``comparison``, ``localization`` or ``retrieval_<chunk>``."""
        ...


class AnswerKeyFolder:
    """The answer keys in a folder that ``curation.families.sherlock.evaluation_sets`` wrote."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def raw_key(self, name: str) -> Mapping[str, Any]:
        """Return a key. Raises InvalidInput if the folder has none or several of that name, or it cannot be read."""
        task = task_of_file(name)
        paths = sorted(self._folder.glob(f"*_{task}/*_{name}_answer_key.json"))
        if len(paths) != 1:
            raise InvalidInput(f"{self._folder}: holds {len(paths)} answer keys for {name}; build them again")
        return read_answer_key(paths[0])

    def held_out_names(self) -> frozenset[str]:
        """Return the names of the photos and pairs that are held out until the leaderboard closes.

        Raises:
            OSError, ValueError: the list cannot be read.
        """
        path = self._folder / HELD_OUT_FILE
        return frozenset(json.loads(path.read_bytes())["names"]) if path.exists() else frozenset()


def task_of_file(name: str) -> str:
    """Return the task of a submission's file: ``comparison``, ``localization`` or ``retrieval``."""
    return RETRIEVAL if _CHUNK_NAME_PATTERN.fullmatch(name) else name


def sort_file_names(names: Iterable[str]) -> list[str]:
    """Sort names of a submission's files: comparison first, chunks by number."""

    def sort_key(name: str) -> tuple[str, int]:
        chunk = _CHUNK_NAME_PATTERN.fullmatch(name)
        return task_of_file(name), int(chunk[1]) if chunk else 0

    return sorted(names, key=sort_key)


def parse_answer_key(name: str, raw: Mapping[str, Any]) -> Key:
    """Parse the raw key of a file by its task. Raises InvalidInput if it is malformed."""
    match task_of_file(name):
        case "retrieval":
            return parse_retrieval_key(raw)
        case "localization":
            return parse_localization_key(raw)
        case "comparison":
            return parse_comparison_key(raw)
    raise InvalidInput(f"{name}: is not a task; use comparison, localization or retrieval_0, retrieval_1, …")


Subset = Callable[[Sequence[str]], NDArray[np.bool_]]
"""Returns which of n photos or pairs, given by their names in the keys, are in the subset: (n,) bool."""


def select_all_instances(names: Sequence[str]) -> NDArray[np.bool_]:
    """Select all photos or pairs."""
    return np.ones(len(names), dtype=bool)


def make_subsets(held_out_names: Collection[str]) -> list[Subset]:
    """Return two subsets: the public photos and pairs, and the held-out ones. If none are held out, return one."""
    if not held_out_names:
        return [select_all_instances]
    held_out = frozenset(held_out_names)

    def held_out_mask(names: Sequence[str]) -> NDArray[np.bool_]:
        return np.fromiter((name in held_out for name in names), dtype=bool, count=len(names))

    return [lambda names: ~held_out_mask(names), held_out_mask]


def compute_figures(
    scores: Mapping[str, NDArray[np.floating]], keys: AnswerKeys, *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the figures of all instances, as ``compute_subset_figures`` does for subsets."""
    return compute_subset_figures(scores, keys, rng=rng, subsets=[select_all_instances])[0]


def compute_subset_figures(
    scores: Mapping[str, NDArray[np.floating]],
    keys: AnswerKeys,
    *,
    rng: np.random.Generator,
    subsets: Sequence[Subset],
) -> list[dict[str, Any]]:
    """Return the figures of scores by file name, one dict per subset, as ``curation.evaluation.figures`` describes.

    All scores are ranked against each other; a subset only limits the instances in the means. One key is in memory at
    a time. Each task has its own generator, so that its intervals do not depend on the other tasks. ``scores`` follow
    the sorted test ids of their keys, (n,) each, as in a submission.

    Raises:
        InvalidInput: a key is broken, or scores do not match it.
    """
    generators = [rng.spawn(3) for _ in subsets]
    figures: list[dict[str, Any]] = [{} for _ in subsets]
    chunks: list[list[TrueRanks]] = [[] for _ in subsets]
    for name in sort_file_names(scores):
        key = parse_answer_key(name, keys.raw_key(name))
        measured = _make_subset_scorer(_restore_key_order(name, scores[name], key), key)
        for index, subset in enumerate(subsets):
            comparison_rng, localization_rng, _ = generators[index]
            if isinstance(key, RetrievalKey):
                chunks[index].append(measured(subset))
            elif isinstance(key, LocalizationKey):
                figures[index][LOCALIZATION] = localization_figures(measured(subset), rng=localization_rng)
            else:
                figures[index][COMPARISON] = comparison_figures(measured(subset), rng=comparison_rng)
    for index, ranks in enumerate(chunks):
        if filled := [chunk for chunk in ranks if len(chunk.im2txt)]:
            figures[index][RETRIEVAL] = retrieval_figures(filled, rng=generators[index][2])
    return figures


def _make_subset_scorer(scores: NDArray[np.float64], key: Key) -> Callable[[Subset], Any]:
    """Score one file; return a function that returns the results of a subset of its instances."""
    if isinstance(key, RetrievalKey):
        ranks, ids = rank_instances(scores, key), key.ids
        return lambda subset: TrueRanks(ranks.im2txt[subset(ids)], ranks.txt2im[subset(ids)])
    if isinstance(key, LocalizationKey):
        shares, given, proposed = correct_shares(scores, key), list(key.true_pairs), key.proposals.names
        return lambda subset: LocalizationShares(
            shares.given[subset(given)], shares.proposed[subset(proposed)], shares.oracle[subset(proposed)]
        )
    rows, instances = instance_agreements(scores, key), [rated.instance for rated in key.instances]
    return lambda subset: rows[subset(instances)]


def _restore_key_order(name: str, scores: NDArray[np.floating], key: Key) -> NDArray[np.float64]:
    if len(scores) != len(key.test_ids):
        raise InvalidInput(f"{name}: {len(scores)} scores for {len(key.test_ids)} test ids; they must match")
    return restore_key_order(scores, key.test_ids)
