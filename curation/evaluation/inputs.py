"""Read predictions and answer keys, and refuse what cannot be scored, naming the ids at fault.

Predictions come either as a JSON object {id: score} or as the leaderboard's one-dimensional .npy of float32 or
float64 with a separate list of ids. Without that list the scores follow the sorted ids of the answer key.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from curation.records import InvalidInput

NAMED_AT_MOST = 3
SCORE_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def name_some(ids: Iterable[object]) -> str:
    """Name the first few ids and say how many more there are."""
    ids = list(ids)
    named = ", ".join(repr(item) for item in ids[:NAMED_AT_MOST])
    rest = len(ids) - NAMED_AT_MOST
    return f"{named} and {rest} more" if rest > 0 else named


def read_json(path: Path) -> Any:
    """Read a JSON file; an object that repeats a key is refused, since the last value would silently win.

    Raises InvalidInput when the file cannot be read, is not JSON, or repeats a key.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
            raise InvalidInput(f"{path}: given more than once: {name_some(twice)}; keep one entry for each")
        return found

    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}: not valid JSON ({error}); write it again as UTF-8 JSON") from error


def read_npy(path: Path, *, memory_map: bool = False) -> np.ndarray:
    """Read one array from a .npy file; pickled objects are never loaded.

    With memory_map the data stay on disk. Raises InvalidInput when the file is missing or is not a plain .npy.
    """
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r" if memory_map else None)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
    except (ValueError, EOFError) as error:
        raise InvalidInput(f"{path}: not a plain .npy array; write it again with numpy.save") from error
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"{path}: holds several arrays; save one array with numpy.save")
    return array


def read_answer_key(path: Path) -> dict[str, Any]:
    """Read an answer key, a JSON object. Raises InvalidInput when it is anything else."""
    key = read_json(path)
    if not isinstance(key, dict):
        raise InvalidInput(f"{path}: the answer key must be a JSON object, not {_json_type(key)}")
    return key


def read_predictions(path: Path, *, instance_ids: Path | None, key_ids: Iterable[str]) -> dict[str, float]:
    """Read the scores of a model as {id: score}.

    instance_ids: JSON list of the ids in the order of an .npy's scores; sorted key_ids when absent.
    Raises InvalidInput for a file that cannot be read, another dtype than float32 or float64, another shape than
    one-dimensional, a length that does not match, repeated ids, and anything that is not a number.
    """
    if path.suffix == ".npy":
        ids = _read_ids(instance_ids) if instance_ids is not None else sorted(key_ids)
        return _pair_scores(path, read_npy(path), ids, instance_ids)
    if path.suffix != ".json":
        raise InvalidInput(f"{path}: predictions must be a .npy or a .json file")
    if instance_ids is not None:
        raise InvalidInput(
            f"{instance_ids}: ids go with .npy predictions; {path} names its own, so leave them out"
        )
    return _json_scores(path, read_json(path))


def check_scores(scores: Mapping[str, float], ids: Iterable[str]) -> None:
    """Demand one finite score for each id and no other.

    Raises InvalidInput naming the missing, unknown or non-finite ids.
    """
    wanted = dict.fromkeys(ids)
    missing = [item for item in wanted if item not in scores]
    if missing:
        raise InvalidInput(
            f"predictions: no score for {name_some(missing)}; give one for every id of the key"
        )
    unknown = [item for item in scores if item not in wanted]
    if unknown:
        raise InvalidInput(
            f"predictions: {name_some(unknown)} not in the answer key; remove what it does not ask for"
        )
    broken = [item for item, score in scores.items() if not math.isfinite(score)]
    if broken:
        raise InvalidInput(f"predictions: NaN or infinite score for {name_some(broken)}; give finite numbers")


def _read_ids(path: Path) -> list[str]:
    ids = read_json(path)
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise InvalidInput(f"{path}: must be a JSON list of ids (strings), in the order of the scores")
    twice = [item for item, count in Counter(ids).items() if count > 1]
    if twice:
        raise InvalidInput(f"{path}: listed more than once: {name_some(twice)}; list every id once")
    return ids


def _pair_scores(path: Path, scores: np.ndarray, ids: list[str], ids_path: Path | None) -> dict[str, float]:
    if scores.dtype not in SCORE_DTYPES:
        raise InvalidInput(f"{path}: scores are {scores.dtype}; save them as float32 or float64")
    if scores.ndim != 1:
        raise InvalidInput(f"{path}: scores have shape {scores.shape}; save a one-dimensional array")
    if len(scores) != len(ids):
        source = ids_path if ids_path is not None else "the answer key"
        raise InvalidInput(
            f"{path}: {len(scores)} scores for the {len(ids)} ids of {source}; they must match"
        )
    return dict(zip(ids, scores.tolist(), strict=True))


def _json_scores(path: Path, scores: Any) -> dict[str, float]:
    if not isinstance(scores, dict):
        raise InvalidInput(
            f"{path}: predictions must be a JSON object {{id: score}}, not {_json_type(scores)}"
        )
    wrong = [
        item
        for item, score in scores.items()
        if isinstance(score, bool) or not isinstance(score, int | float)
    ]
    if wrong:
        raise InvalidInput(f"{path}: the score of {name_some(wrong)} is not a number; write numbers only")
    try:
        return {item: float(score) for item, score in scores.items()}
    except OverflowError as error:
        raise InvalidInput(
            f"{path}: a score is too large for a 64-bit number; scale the scores down"
        ) from error


def _json_type(value: object) -> str:
    return {list: "a list", str: "a string", type(None): "null", bool: "a truth value"}.get(
        type(value), "a number"
    )
