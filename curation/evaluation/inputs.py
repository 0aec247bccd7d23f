"""Read predictions and answer keys; reject invalid files with a message that names the ids.

Predictions are either a JSON object {id: score} or the leaderboard's one-dimensional .npy of float32 or float64 with
a separate list of ids. Without that list the scores follow the sorted ids of the answer key.

A chunk of retrieval has a million pairs, so this code works on whole columns; single ids are inspected only to name
them in an error.
"""

import gc
import json
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from curation.evaluation.key_tables import IdColumn, parse_pair_table
from curation.records import InvalidInput

MAX_NAMED_IDS = 3
SCORE_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
NPY_ERRORS = (
    ValueError,
    KeyError,
    EOFError,
    SyntaxError,
    TypeError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)
"""What numpy raises for invalid headers; it uses tokenize for headers of old Python versions."""
Scores = Mapping[str, float] | NDArray[np.floating]
"""Scores by id, or an array in the order of the key's ``test_ids``."""


def describe_ids(ids: Iterable[object]) -> str:
    """List the first few ids and the number of further ones."""
    ids = list(ids)
    listed = ", ".join(repr(item) for item in ids[:MAX_NAMED_IDS])
    more = len(ids) - MAX_NAMED_IDS
    return f"{listed} and {more} more" if more > 0 else listed


def read_json(path: Path) -> Any:
    """Read a JSON file; repeated keys are an error, since the last value would silently win.

    Raises InvalidInput if the file cannot be read, is not JSON, or repeats a key.
    """
    return parse_json(_read_bytes(path), str(path))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check the path") from error


def parse_json(data: bytes, name: str) -> Any:
    """Parse a file's bytes as JSON; ``name`` names the file in messages.

    The fast parser silently keeps the last of equal keys. Each key is followed by a colon, so if there are no more
    colons than keys, no key was dropped; otherwise the standard library parses the file again.

    Raises InvalidInput if the file is not JSON, or repeats a key.
    """
    with _pause_garbage_collection():
        try:
            value = from_json(data)
        except (
            ValueError
        ):  # the standard library has a better message, or accepts what the fast parser does not
            return _parse_checking_keys(data, name)
        return value if _has_every_key(value, data.count(b":")) else _parse_checking_keys(data, name)


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Turn Python's garbage collector off: it would repeatedly traverse millions of new objects."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _has_every_key(value: Any, colons: int) -> bool:
    """Whether all objects within a value have together as many keys as the file has colons."""
    level, keys = [value], 0
    while level:
        keys += sum(len(item) for item in level if isinstance(item, dict))
        if keys == colons:
            return True
        inner = [item.values() if isinstance(item, dict) else item for item in level]
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
    return False


def _parse_checking_keys(data: bytes, name: str) -> Any:
    def reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
            raise InvalidInput(f"{name}: repeated: {describe_ids(repeated)}; keep one entry for each")
        return found

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=reject_repeated_keys)
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name}: not valid JSON ({error}); write it again as UTF-8 JSON") from error


def read_npy(path: Path, *, memory_map: bool = False) -> np.ndarray:
    """Read one array from a .npy file; pickled objects are never loaded.

    With memory_map the data stay on disk. Raises InvalidInput if the file is missing or not a plain .npy.
    """
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r" if memory_map else None)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
    except NPY_ERRORS as error:  # MemoryError: a header may state any size
        raise InvalidInput(
            f"{path}: not a plain .npy array, or larger than memory; write it again with numpy.save"
        ) from error
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"{path}: contains several arrays; save one array with numpy.save")
    return array


def read_answer_key(path: Path) -> Mapping[str, Any]:
    """Read an answer key, a JSON object. A retrieval key is returned as a ``PairTable`` if its layout allows it.

    Raises InvalidInput if the file is not a JSON object.
    """
    data = _read_bytes(path)
    table = parse_pair_table(data)
    if table is not None:
        return table
    key = parse_json(data, str(path))
    if not isinstance(key, dict):
        raise InvalidInput(f"{path}: the answer key must be a JSON object, not {_json_type(key)}")
    return key


def read_predictions(path: Path, *, ids_path: Path | None, key_ids: Sequence[str]) -> Scores:
    """Read the scores of a model: by id, or an array in the order of key_ids.

    ids_path: JSON list of the ids in the order of an .npy's scores; by default the sorted key_ids.
    Raises InvalidInput for an unreadable file, a dtype other than float32 or float64, a shape that is not
    one-dimensional, a length that does not match, repeated ids, and values that are not numbers.
    """
    if path.suffix == ".npy":
        return _order_array_scores(path, read_npy(path), ids_path, key_ids)
    if path.suffix != ".json":
        raise InvalidInput(f"{path}: predictions must be a .npy or a .json file")
    if ids_path is not None:
        raise InvalidInput(f"{ids_path}: ids are for .npy predictions; {path} has its own, so omit them")
    return parse_scores_by_id(read_json(path), str(path))


def sorted_order(ids: Sequence[str]) -> NDArray[np.intp]:
    """Return the positions of ids in sorted order, the order of the leaderboard's .npy files: (n,)."""
    if isinstance(ids, IdColumn):
        return ids.order
    try:
        return np.array(ids, dtype=np.bytes_).argsort(kind="stable")
    except UnicodeEncodeError:  # ids beyond ASCII
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)


def restore_key_order(scores: NDArray[np.floating], ids: Sequence[str]) -> NDArray[np.float64]:
    """Reorder scores (n,) from the order of the sorted ids to the order of ``ids``."""
    found = np.empty(len(ids), dtype=np.float64)
    found[sorted_order(ids)] = scores
    return found


def order_scores(scores: Scores, ids: Sequence[str]) -> NDArray[np.float64]:
    """Return one finite score for each of the distinct ids, in their order: (n,).

    Raises InvalidInput that names the missing, unknown or non-finite ids.
    """
    values = scores if isinstance(scores, np.ndarray) else _look_up_scores(scores, ids)
    if len(values) != len(ids):
        raise InvalidInput(f"predictions: {len(values)} scores for {len(ids)} ids of the key; give one each")
    invalid = np.flatnonzero(~np.isfinite(values)).tolist()
    if invalid:
        named = describe_ids([ids[index] for index in invalid])
        raise InvalidInput(f"predictions: NaN or infinite score for {named}; give finite numbers")
    return np.asarray(values, dtype=np.float64)


def _look_up_scores(scores: Mapping[str, float], ids: Sequence[str]) -> NDArray[np.float64]:
    try:
        values = np.fromiter(map(scores.__getitem__, ids), dtype=np.float64, count=len(ids))
    except KeyError:
        missing = [item for item in ids if item not in scores]
        raise InvalidInput(
            f"predictions: no score for {describe_ids(missing)}; give one for every id of the key"
        ) from None
    if len(scores) != len(ids):
        known = set(ids)
        unknown = [item for item in scores if item not in known]
        raise InvalidInput(f"predictions: {describe_ids(unknown)} not in the answer key; remove them")
    return values


def _read_ids(path: Path) -> list[str]:
    ids = read_json(path)
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise InvalidInput(f"{path}: must be a JSON list of ids (strings), in the order of the scores")
    if len(set(ids)) != len(ids):
        repeated = [item for item, count in Counter(ids).items() if count > 1]
        raise InvalidInput(f"{path}: repeated: {describe_ids(repeated)}; list every id once")
    return ids


def _order_array_scores(
    path: Path, scores: np.ndarray, ids_path: Path | None, key_ids: Sequence[str]
) -> Scores:
    if scores.dtype not in SCORE_DTYPES:
        raise InvalidInput(f"{path}: scores are {scores.dtype}; save them as float32 or float64")
    if scores.ndim != 1:
        raise InvalidInput(f"{path}: scores have shape {scores.shape}; save a one-dimensional array")
    ids = key_ids if ids_path is None else _read_ids(ids_path)
    if len(scores) != len(ids):
        source = ids_path if ids_path is not None else "the answer key"
        raise InvalidInput(f"{path}: {len(scores)} scores for {len(ids)} ids of {source}; they must match")
    if ids_path is None:
        return restore_key_order(scores, ids)
    return dict(zip(ids, scores.tolist(), strict=True))


def parse_scores_by_id(scores: Any, name: str) -> dict[str, float]:
    """Return parsed JSON as {id: score}; ``name`` names the file in messages.

    Raises InvalidInput if it is not an object, or a score is not a number.
    """
    if not isinstance(scores, dict):
        found = _json_type(scores)
        raise InvalidInput(f"{name}: predictions must be a JSON object {{id: score}}, not {found}")
    kinds = set(map(type, scores.values()))
    if kinds <= {float}:
        return scores
    wrong = [item for item, score in scores.items() if type(score) not in {int, float}]
    if wrong:
        raise InvalidInput(f"{name}: the score of {describe_ids(wrong)} is not a number; write numbers only")
    try:
        return {item: float(score) for item, score in scores.items()}
    except OverflowError as error:
        raise InvalidInput(
            f"{name}: a score is too large for a 64-bit float; scale the scores down"
        ) from error


def _json_type(value: object) -> str:
    names = {list: "a list", str: "a string", type(None): "null", bool: "a boolean"}
    return names.get(type(value), "a number")
