"""Answer keys by the names of a submission's files: ``comparison``, ``localization``, ``retrieval_0``, …"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.comparison import ComparisonKey, agreements_of, parse_comparison_key
from curation.evaluation.figures import comparison_figures, localization_figures, retrieval_figures
from curation.evaluation.inputs import from_sorted, read_answer_key
from curation.evaluation.localization import (
    LocalizationKey,
    LocalizationShares,
    parse_localization_key,
    shares_of,
)
from curation.evaluation.retrieval import RetrievalKey, TrueRanks, parse_retrieval_key, ranks_of
from curation.records import InvalidInput

COMPARISON, LOCALIZATION, RETRIEVAL = "comparison", "localization", "retrieval"
KEPT = "kept.json"
_CHUNK = re.compile(rf"{RETRIEVAL}_(\d+)")
Key = RetrievalKey | LocalizationKey | ComparisonKey


class Keys(Protocol):
    """Where answer keys come from: raw JSON by the name of the file that they score."""

    def raw(self, name: str) -> Mapping[str, Any]:
        """Return the key of ``comparison``, ``localization`` or ``retrieval_<chunk>``."""
        ...


class HeldKeys:
    """The keys in a folder as ``curation.families.sherlock.evaluation_sets`` writes it."""

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

    def kept(self) -> frozenset[str]:
        """Return the names of the photos and pairs that are kept for the end; none where nothing is.

        Raises:
            OSError, ValueError: the list cannot be read.
        """
        path = self._held / KEPT
        return frozenset(json.loads(path.read_bytes())["names"]) if path.exists() else frozenset()


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


Share = Callable[[Sequence[str]], NDArray[np.bool_]]
"""Which of n photos, or of n pairs on them, belong to a share, by the names that keys have: (n,) bool."""


def every(names: Sequence[str]) -> NDArray[np.bool_]:
    """Return the share that has all."""
    return np.ones(len(names), dtype=bool)


def shares_without(kept: Collection[str]) -> list[Share]:
    """Return two shares: what is shown, and what is ``kept`` for the end. Nothing kept: one share of all."""
    if not kept:
        return [every]
    wanted = frozenset(kept)

    def is_kept(names: Sequence[str]) -> NDArray[np.bool_]:
        return np.fromiter((name in wanted for name in names), dtype=bool, count=len(names))

    return [lambda names: ~is_kept(names), is_kept]


def figures_of(
    scores: Mapping[str, NDArray[np.floating]], keys: Keys, *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the figures of all instances; see ``figures_of_shares``."""
    return figures_of_shares(scores, keys, rng=rng, shares=[every])[0]


def figures_of_shares(
    scores: Mapping[str, NDArray[np.floating]],
    keys: Keys,
    *,
    rng: np.random.Generator,
    shares: Sequence[Share],
) -> list[dict[str, Any]]:
    """Return the figures, as ``curation.evaluation.figures`` describes them, of scores by file name.

    All scores are ranked against one another; a share is of the instances that are then counted, one dict each.
    One key is in memory at a time. Each task has a generator of its own, so that its intervals do not depend on which
    others there are. ``scores`` follow the sorted test ids of their keys, (n,) each, as in a submission.

    Raises:
        InvalidInput: a key is broken, or scores do not fit it.
    """
    generators = [rng.spawn(3) for _ in shares]
    found: list[dict[str, Any]] = [{} for _ in shares]
    chunks: list[list[TrueRanks]] = [[] for _ in shares]
    for name in in_file_order(scores):
        key = parse_key(name, keys.raw(name))
        measured = _measured(_in_key_order(name, scores[name], key), key)
        for place, share in enumerate(shares):
            comparing, locating, _ = generators[place]
            if isinstance(key, RetrievalKey):
                chunks[place].append(measured(share))
            elif isinstance(key, LocalizationKey):
                found[place][LOCALIZATION] = localization_figures(measured(share), rng=locating)
            else:
                found[place][COMPARISON] = comparison_figures(measured(share), rng=comparing)
    for place, ranks in enumerate(chunks):
        if filled := [chunk for chunk in ranks if len(chunk.im2txt)]:
            found[place][RETRIEVAL] = retrieval_figures(filled, rng=generators[place][2])
    return found


def _measured(scores: NDArray[np.float64], key: Key) -> Callable[[Share], Any]:
    """Score one file; return what gives a share of its instances, in the shape of the task's figures."""
    if isinstance(key, RetrievalKey):
        ranks, ids = ranks_of(scores, key), key.ids
        return lambda share: TrueRanks(ranks.im2txt[share(ids)], ranks.txt2im[share(ids)])
    if isinstance(key, LocalizationKey):
        parts, given, proposed = shares_of(scores, key), list(key.true_pairs), key.proposals.names
        return lambda share: LocalizationShares(
            parts.given[share(given)], parts.proposed[share(proposed)], parts.oracle[share(proposed)]
        )
    rows, instances = agreements_of(scores, key), [one.instance for one in key.instances]
    return lambda share: rows[share(instances)]


def _in_key_order(name: str, scores: NDArray[np.floating], key: Key) -> NDArray[np.float64]:
    if len(scores) != len(key.test_ids):
        raise InvalidInput(
            f"{name}: {len(scores)} scores, and its key has {len(key.test_ids)} test ids; they must match"
        )
    return from_sorted(scores, key.test_ids)
