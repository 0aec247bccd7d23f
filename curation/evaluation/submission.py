"""A submission to the leaderboard: a zip in the published layout, read in memory and never unpacked.

    test_set_predictions.zip
        test_set_predictions/comparison.npy        required, if the leaderboard has comparison
        test_set_predictions/localization.npy      optional
        test_set_predictions/retrieval_0.npy, …    all chunks or none

Each .npy has one float32 or float64 per test id, in the order of the sorted ids. The published README calls the zip
and its folder ``test_set_submission``, the published validator requires ``test_set_predictions``: both names are
accepted. A .json file {test id: score}, as the published scorers read it, may replace a .npy file.
"""

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
from curation.evaluation.submission_zip import FOLDER, HEADER_BYTES, OpenZip, ZipLayout, open_submission
from curation.records import InvalidInput

NPY_BYTES, JSON_BYTES = 8, 100  # of a score: a float64; 32 hex digits and a long number
_SUFFIXES = (".npy", ".json")


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
    layout = ZipLayout(
        names=sort_file_names(expected),
        suffixes=_SUFFIXES,
        save_hint="save it with numpy.save, or as .json {test id: score}",
        max_bytes=max_submission_bytes(expected),
        example="comparison.npy",
    )
    with open_submission(path, file_name=file_name, layout=layout) as opened:
        _check_complete(opened.files, expected)
        names = sort_file_names(opened.files)
        scores = {name: _read_scores(opened, name, expected[name], keys) for name in names}
    return Submission(scores, opened.notes)


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


def _check_complete(files: Mapping[str, Any], expected: Mapping[str, int]) -> None:
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


def _read_scores(opened: OpenZip, stem: str, count: int, keys: Path | AnswerKeys) -> NDArray[np.float64]:
    name = opened.files[stem].filename
    if PurePosixPath(name).suffix == ".npy":
        return read_npy_scores(opened.read(stem, NPY_BYTES * count), name, count)
    scores = parse_scores_by_id(parse_json(opened.read(stem, JSON_BYTES * count), name), name)
    ids = _sorted_ids(keys, stem)
    try:
        return order_scores(scores, ids)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {str(error).removeprefix('predictions: ')}") from error


def _sorted_ids(keys: Path | AnswerKeys, stem: str) -> Sequence[str]:
    raw = _as_answer_keys(keys).raw_key(stem)
    return sorted(raw["test_id_map"] if stem == COMPARISON else raw)
