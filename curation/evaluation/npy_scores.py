"""Read scores from the bytes of an uploaded .npy file: the header is checked before any array is created."""

import io

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import NPY_ERRORS, SCORE_DTYPES
from curation.records import InvalidInput

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_SMALL_DIFFERENCE = 10  # with at most this many scores missing or too many, it is probably the right file
Header = tuple[tuple[int, ...], bool, np.dtype]


def read_npy_scores(data: bytes, name: str, count: int) -> NDArray[np.float64]:
    """Return the ``count`` finite scores in the bytes of a .npy file: (count,) float64.

    ``name`` names the file in messages. Pickled objects are never loaded.

    Raises:
        InvalidInput: not a plain .npy, the wrong type, shape or number of scores, or NaN or infinity.
    """
    file = io.BytesIO(data)
    shape, _, dtype = _read_header(file, name)
    _check_type(dtype, name)
    if len(shape) != 1:
        problem = f"scores have shape {shape} instead of one dimension"
        raise InvalidInput(f"{name}: {problem}; save scores.reshape(-1)")
    if shape[0] != count:
        raise InvalidInput(f"{name}: {_describe_length(shape[0], count)}")
    body = data[file.tell() :]
    if len(body) != count * dtype.itemsize:
        raise InvalidInput(
            f"{name}: has {len(body)} bytes of scores, but {count} of {dtype} need {count * dtype.itemsize}; "
            "the file is truncated or damaged: save it again"
        )
    scores = np.frombuffer(body, dtype=dtype).astype(np.float64)
    _check_finite(scores, name)
    return scores


def _read_header(file: io.BytesIO, name: str) -> Header:
    try:
        version = np.lib.format.read_magic(file)
        return _HEADERS[version](file)
    except NPY_ERRORS as error:
        raise InvalidInput(f"{name}: is not a plain .npy array; write it with numpy.save") from error


def _check_type(dtype: np.dtype, name: str) -> None:
    if dtype in SCORE_DTYPES:
        return
    if dtype.hasobject:
        raise InvalidInput(
            f"{name}: contains pickled objects, which are never loaded; save numbers with .astype(numpy.float32)"
        )
    if dtype.newbyteorder("=") in SCORE_DTYPES:
        raise InvalidInput(
            f"{name}: scores are big-endian ({dtype.str}); save them with .astype(numpy.float32)"
        )
    raise InvalidInput(
        f"{name}: scores are {dtype} instead of float32 or float64; save them with .astype(numpy.float32)"
    )


def _describe_length(found: int, count: int) -> str:
    message = f"{found} scores instead of {count}"
    if found and abs(found - count) <= _SMALL_DIFFERENCE:
        problem = "missing" if found < count else "too many"
        return f"{message}: {abs(found - count)} {problem}; give one score for each of the sorted ids"
    return f"{message}; is it the file of another task or chunk?"


def _check_finite(scores: NDArray[np.float64], name: str) -> None:
    broken = np.flatnonzero(~np.isfinite(scores))
    if broken.size:
        counts = {"NaN": int(np.isnan(scores).sum()), "infinite": int(np.isinf(scores).sum())}
        counted = " and ".join(f"{number} {label}" for label, number in counts.items() if number)
        raise InvalidInput(
            f"{name}: {counted} of {len(scores)} scores, the first at position {broken[0]} (counted from 0); "
            "give finite numbers"
        )
