"""Scores from the bytes of a .npy file that somebody sent: the header is looked at before anything is made of it."""

from __future__ import annotations

import io
import tokenize

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import SCORE_DTYPES
from curation.records import InvalidInput

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# What numpy raises over a header that is none; tokenize is how it reads one that an old Python wrote.
_HEADER_ERRORS = (
    ValueError,
    KeyError,
    EOFError,
    SyntaxError,
    TypeError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)
_SMALL_DIFFERENCE = 10  # scores too few or too many for it to be another file altogether
Header = tuple[tuple[int, ...], bool, np.dtype]


def read_npy_scores(data: bytes, name: str, count: int) -> NDArray[np.float64]:
    """Return the ``count`` finite scores in the bytes of a .npy file: (count,) float64.

    ``name`` is what messages call the file. Nothing that is pickled is ever loaded.

    Raises:
        InvalidInput: it is no plain .npy, or holds another type, shape or number of scores, or NaN or infinity.
    """
    file = io.BytesIO(data)
    shape, _, dtype = _read_header(file, name)
    _check_type(dtype, name)
    if len(shape) != 1:
        raise InvalidInput(
            f"{name}: scores have shape {shape}, and one dimension is expected; save scores.reshape(-1)"
        )
    if shape[0] != count:
        raise InvalidInput(f"{name}: {_describe_length(shape[0], count)}")
    body = data[file.tell() :]
    if len(body) != count * dtype.itemsize:
        raise InvalidInput(
            f"{name}: has {len(body)} bytes of scores, and {count} of {dtype} take up {count * dtype.itemsize}; "
            "the file is cut or damaged, so save it again"
        )
    scores = np.frombuffer(body, dtype=dtype).astype(np.float64)
    _check_finite(scores, name)
    return scores


def _read_header(file: io.BytesIO, name: str) -> Header:
    try:
        version = np.lib.format.read_magic(file)
        return _HEADERS[version](file)
    except _HEADER_ERRORS as error:
        raise InvalidInput(f"{name}: is no plain .npy array; write it with numpy.save") from error


def _check_type(dtype: np.dtype, name: str) -> None:
    if dtype in SCORE_DTYPES:
        return
    if dtype.hasobject:
        raise InvalidInput(
            f"{name}: holds pickled objects, which are never loaded; save numbers with .astype(numpy.float32)"
        )
    if dtype.newbyteorder("=") in SCORE_DTYPES:
        raise InvalidInput(
            f"{name}: scores are big-endian ({dtype.str}); save them with .astype(numpy.float32)"
        )
    raise InvalidInput(
        f"{name}: scores are {dtype}, and float32 or float64 is expected; save .astype(numpy.float32)"
    )


def _describe_length(found: int, count: int) -> str:
    message = f"{found} scores, and {count} are expected"
    if found and abs(found - count) <= _SMALL_DIFFERENCE:
        problem = "missing" if found < count else "too many"
        return f"{message}: {abs(found - count)} {problem}; give one for each id of the list of sorted ids"
    return f"{message}; is it the file of another task or chunk?"


def _check_finite(scores: NDArray[np.float64], name: str) -> None:
    broken = np.flatnonzero(~np.isfinite(scores))
    if broken.size:
        counts = {"NaN": int(np.isnan(scores).sum()), "infinite": int(np.isinf(scores).sum())}
        counted = " and ".join(f"{number} {label}" for label, number in counts.items() if number)
        raise InvalidInput(
            f"{name}: {counted} of {len(scores)} scores, the first at place {broken[0]} (counted from 0); "
            "give finite numbers"
        )
