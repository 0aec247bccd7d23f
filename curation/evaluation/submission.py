"""A submission to the leaderboard: a zip in the published layout, read in memory and never unpacked.

    test_set_predictions.zip
        test_set_predictions/comparison.npy        required, if the leaderboard has comparison
        test_set_predictions/localization.npy      optional
        test_set_predictions/retrieval_0.npy, …    all chunks or none

Each .npy has one float32 or float64 per test id, in the order of the sorted ids. The published README calls the zip
and its folder ``test_set_submission``, the published validator requires ``test_set_predictions``: both names are
accepted. A .json file {test id: score}, as the published scorers read it, may replace a .npy file.
"""

import difflib
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.answer_keys import (
    COMPARISON,
    RETRIEVAL,
    AnswerKeyFolder,
    AnswerKeys,
    Subset,
    compute_figures,
    compute_subset_figures,
    sort_file_names,
    task_of_file,
)
from curation.evaluation.inputs import describe_ids, order_scores, parse_json, parse_scores_by_id
from curation.evaluation.npy_scores import read_npy_scores
from curation.records import InvalidInput

FOLDER, README_FOLDER = "test_set_predictions", "test_set_submission"
ZIP_NAME = f"{FOLDER}.zip"
# Browsers number repeated downloads: "test_set_predictions (1).zip" is accepted too.
_ZIP_NAME_PATTERN = re.compile(rf"({FOLDER}|{README_FOLDER})( ?\(\d+\))?\.zip")
_IGNORED_FILE_PATTERN = re.compile(r"__MACOSX/.*|(.*/)?(\.DS_Store|Thumbs\.db|desktop\.ini|\._[^/]*)")
MAX_ENTRIES = 500
NPY_BYTES, JSON_BYTES = 8, 100  # of a score: a float64; 32 hex digits and a long number
HEADER_BYTES = 16_384  # of a file
_SUFFIXES = (".npy", ".json")
_ENCRYPTED = 0x1
# Python's zip reader raises these errors for damaged files. InvalidInput is a ValueError too, and is handled before.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)
_PATH_DEPTH = 2


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission's content.

    scores: by file (``comparison``, ``retrieval_0``, …), (n,) float64 each, in the order of the sorted test ids.
    notes: messages to the submitter about accepted deviations from the layout.
    """

    scores: Mapping[str, NDArray[np.float64]]
    notes: tuple[str, ...] = ()


def max_submission_bytes(expected: Mapping[str, int]) -> int:
    """Return the maximum bytes of a submission, packed or unpacked; pages reject larger uploads at once."""
    return sum(JSON_BYTES * count + HEADER_BYTES for count in expected.values())


def is_zip_name(name: str) -> bool:
    """Whether a submission may have this file name: the published one, the README's, or a browser's numbered copy."""
    return bool(_ZIP_NAME_PATTERN.fullmatch(name))


def read_submission(
    path: Path, *, file_name: str, expected: Mapping[str, int], keys: Path | AnswerKeys
) -> Submission:
    """Read and check a submission.

    Args:
        path: the stored zip. file_name: the zip's name as it was uploaded.
        expected: number of scores of each file, by name without suffix.
        keys: the answer keys or their folder. They are read for .json files only, whose ids must match.

    Raises:
        InvalidInput: the zip cannot be scored. The message names the file, what was found and what was expected.
    """
    name = PurePosixPath(file_name.replace("\\", "/")).name
    if not is_zip_name(name):
        raise InvalidInput(f"{name or 'the file'}: is not called {ZIP_NAME}; rename it and send it again")
    if path.stat().st_size > max_submission_bytes(expected):
        raise InvalidInput(
            f"{name}: has {path.stat().st_size} bytes, more than all scores need; "
            "include only the predictions"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            files, notes = _list_files(archive, name, expected)
            _check_complete(files, expected)
            names = sort_file_names(files)
            scores = {stem: _read_scores(archive, files[stem], expected[stem], keys) for stem in names}
    except InvalidInput:
        raise
    except _ZIP_ERRORS as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{name}: is not a complete zip file ({reason}); zip the folder again") from error
    return Submission(scores, tuple(notes))


def score_submission(
    submission: Submission, keys: Path | AnswerKeys, *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the figures of a submission, as ``curation.evaluation.figures`` describes them.

    ``keys``: the answer keys or their folder. ``rng`` draws the intervals; equal input gives equal figures.

    Raises:
        InvalidInput: a key is missing or broken.
    """
    return compute_figures(submission.scores, _as_answer_keys(keys), rng=rng)


def score_subsets(
    submission: Submission, keys: Path | AnswerKeys, *, rng: np.random.Generator, subsets: Sequence[Subset]
) -> list[dict[str, Any]]:
    """Return the figures of each subset of the instances, as ``score_submission`` does for all instances.

    Raises:
        InvalidInput: a key is missing or broken.
    """
    return compute_subset_figures(submission.scores, _as_answer_keys(keys), rng=rng, subsets=subsets)


def _as_answer_keys(keys: Path | AnswerKeys) -> AnswerKeys:
    return AnswerKeyFolder(keys) if isinstance(keys, Path) else keys


def _list_files(
    archive: zipfile.ZipFile, name: str, expected: Mapping[str, int]
) -> tuple[dict[str, zipfile.ZipInfo], list[str]]:
    """Return the zip's files by name without suffix, and notes about accepted deviations."""
    entries = [info for info in archive.infolist() if not info.is_dir()]
    if len(entries) > MAX_ENTRIES:
        raise InvalidInput(
            f"{name}: contains {len(entries)} files; include only the {len(expected)} prediction files"
        )
    files: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for info in entries:
        if _IGNORED_FILE_PATTERN.fullmatch(info.filename):
            continue
        folder, stem = _locate_file(info, expected)
        if stem in files:
            other = files[stem].filename
            raise InvalidInput(f"{info.filename}: {other} is included too; keep one of the two")
        files[stem] = info
        folders.add(folder)
    if len(folders) > 1:
        raise InvalidInput(f"{name}: has folders {' and '.join(sorted(folders))}; put all files in {FOLDER}")
    odd = {name.partition(".")[0].partition(" ")[0], *folders} - {FOLDER}
    notes = [f"{README_FOLDER} is the name in the README; the published validator expects {FOLDER}."]
    return files, notes if odd else []


def _locate_file(info: zipfile.ZipInfo, expected: Mapping[str, int]) -> tuple[str, str]:
    """Return the folder and the name without suffix of one file of the zip."""
    name = info.filename
    parts = PurePosixPath(name).parts
    if not name.isprintable():
        raise InvalidInput(f"{name!r}: has unprintable characters; use the names of the published layout")
    if "\\" in name or name.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", name):
        raise InvalidInput(
            f"{name!r}: is outside of the zip's folder; name the files {FOLDER}/comparison.npy and so on"
        )
    if info.flag_bits & _ENCRYPTED:
        raise InvalidInput(f"{name}: is encrypted; zip the folder without a password")
    hint = f"zip the folder {FOLDER} itself: zip -r {ZIP_NAME} {FOLDER}"
    if len(parts) < _PATH_DEPTH:
        raise InvalidInput(f"{name}: is not in a folder; {hint}")
    if len(parts) > _PATH_DEPTH:
        raise InvalidInput(f"{name}: is {len(parts) - 1} folders deep instead of one; {hint}")
    if parts[0] not in {FOLDER, README_FOLDER}:
        raise InvalidInput(f"{name}: the folder is called {parts[0]}; rename it to {FOLDER}")
    stem, kind = PurePosixPath(name).stem, PurePosixPath(name).suffix
    if stem not in expected:
        raise InvalidInput(f"{name}: {_describe_unexpected(stem, expected)}")
    if kind not in _SUFFIXES:
        remedy = "save it with numpy.save, or as .json {test id: score}"
        raise InvalidInput(f"{name}: is not a .npy file; {remedy}")
    return parts[0], stem


def _describe_unexpected(stem: str, expected: Mapping[str, int]) -> str:
    near = difflib.get_close_matches(stem, expected, n=1)
    known = describe_ids(sort_file_names(expected))
    hint = f"rename it to {near[0]}.npy" if near else f"remove it; prediction files are {known}"
    return f"is not a file of this leaderboard's submissions; {hint}"


def _check_complete(files: Mapping[str, zipfile.ZipInfo], expected: Mapping[str, int]) -> None:
    if COMPARISON in expected and COMPARISON not in files:
        raise InvalidInput(f"{FOLDER}/comparison.npy: is missing; every submission needs it")
    chunks = [stem for stem in sort_file_names(expected) if task_of_file(stem) == RETRIEVAL]
    missing = [f"{stem}.npy" for stem in chunks if stem not in files]
    if missing and len(missing) < len(chunks):
        raise InvalidInput(
            f"{FOLDER}: {describe_ids(missing)} missing of {len(chunks)} retrieval files; include all or none"
        )
    if not files:
        raise InvalidInput(
            f"{FOLDER}: contains no predictions; add {describe_ids(sort_file_names(expected))}"
        )


def _read_scores(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, count: int, keys: Path | AnswerKeys
) -> NDArray[np.float64]:
    name, path = info.filename, PurePosixPath(info.filename)
    if path.suffix == ".npy":
        return read_npy_scores(_read_member(archive, info, NPY_BYTES * count), name, count)
    scores = parse_scores_by_id(parse_json(_read_member(archive, info, JSON_BYTES * count), name), name)
    ids = _sorted_ids(keys, path.stem)
    try:
        return order_scores(scores, ids)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {str(error).removeprefix('predictions: ')}") from error


def _sorted_ids(keys: Path | AnswerKeys, stem: str) -> Sequence[str]:
    raw = _as_answer_keys(keys).raw_key(stem)
    return sorted(raw["test_id_map"] if stem == COMPARISON else raw)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, max_bytes: int) -> bytes:
    """Return a file's unpacked bytes. The zip's header may understate their number, so reading is limited too."""
    max_bytes += HEADER_BYTES
    if info.file_size > max_bytes:
        raise InvalidInput(
            f"{info.filename}: {info.file_size} bytes unpacked, but its scores need at most {max_bytes}; "
            "save one number per test id"
        )
    with archive.open(info) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise InvalidInput(f"{info.filename}: is larger than the zip's header says; zip the folder again")
    return data
