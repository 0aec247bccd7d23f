"""Answer keys by the names of a submission's files: ``comparison``, ``localization``, ``retrieval_0``, …"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.comparison import ComparisonKey, agreements_of, parse_comparison_key
from curation.evaluation.figures import comparison_figures, localization_figures, retrieval_figures
from curation.evaluation.inputs import from_sorted, read_answer_key
from curation.evaluation.localization import LocalizationKey, parse_localization_key, shares_of
from curation.evaluation.retrieval import RetrievalKey, TrueRanks, parse_retrieval_key, ranks_of
from curation.records import InvalidInput

COMPARISON, LOCALIZATION, RETRIEVAL = "comparison", "localization", "retrieval"
_CHUNK = re.compile(rf"{RETRIEVAL}_(\d+)")
Key = RetrievalKey | LocalizationKey | ComparisonKey


class Keys(Protocol):
    """Where answer keys come from: raw JSON by the name of the file that they score."""

    def raw(self, name: str) -> Mapping[str, Any]:
        """Return the key of ``comparison``, ``localization`` or ``retrieval_<chunk>``."""
        ...


class HeldKeys:
    """The keys in a folder as ``curation.versions.evaluation_sets`` writes it."""

    def __init__(self, held: Path) -> None:
        self._held = held

    def raw(self, name: str) -> Mapping[str, Any]:
        """Return a key. Raises InvalidInput when there is not exactly one of that name, or it cannot be read."""
        task = task_of(name)
        found = sorted(self._held.glob(f"*_{task}/*_{name}_answer_key.json"))
        if len(found) != 1:
            raise InvalidInput(
                f"{self._held}: holds {len(found)} answer keys for {name}; build the sets again"
            )
        return read_answer_key(found[0])


def task_of(name: str) -> str:
    """Return the task of a submission's file, without its chunk."""
    return RETRIEVAL if _CHUNK.fullmatch(name) else name


def in_file_order(names: Iterable[str]) -> list[str]:
    """Return names of a submission's files, comparison first and chunks by number."""

    def place(name: str) -> tuple[str, int]:
        chunk = _CHUNK.fullmatch(name)
        return task_of(name), int(chunk[1]) if chunk else 0

    return sorted(names, key=place)


def parse_key(name: str, raw: Mapping[str, Any]) -> Key:
    """Read the raw key of a file as its task's. Raises InvalidInput for one that is malformed."""
    match task_of(name):
        case "retrieval":
            return parse_retrieval_key(raw)
        case "localization":
            return parse_localization_key(raw)
        case "comparison":
            return parse_comparison_key(raw)
    raise InvalidInput(f"{name}: is no task; use comparison, localization or retrieval_0, retrieval_1, …")


def figures_of(
    scores: Mapping[str, NDArray[np.floating]], keys: Keys, *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the figures, as ``curation.evaluation.figures`` describes them, of scores by file name.

    One key is in memory at a time. Each task has a generator of its own, so that its intervals do not depend on which
    others there are. ``scores`` follow the sorted test ids of their keys, (n,) each, as in a submission.

    Raises:
        InvalidInput: a key is broken, or scores do not fit it.
    """
    comparing, locating, retrieving = rng.spawn(3)
    found: dict[str, Any] = {}
    chunks: list[TrueRanks] = []
    for name in in_file_order(scores):
        key = parse_key(name, keys.raw(name))
        given = _in_key_order(name, scores[name], key)
        if isinstance(key, RetrievalKey):
            chunks.append(ranks_of(given, key))
        elif isinstance(key, LocalizationKey):
            found[LOCALIZATION] = localization_figures(shares_of(given, key), rng=locating)
        else:
            found[COMPARISON] = comparison_figures(agreements_of(given, key), rng=comparing)
    if chunks:
        found[RETRIEVAL] = retrieval_figures(chunks, rng=retrieving)
    return found


def _in_key_order(name: str, scores: NDArray[np.floating], key: Key) -> NDArray[np.float64]:
    if len(scores) != len(key.test_ids):
        raise InvalidInput(
            f"{name}: {len(scores)} scores, and its key has {len(key.test_ids)} test ids; they must match"
        )
    return from_sorted(scores, key.test_ids)
