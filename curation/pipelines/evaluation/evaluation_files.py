"""Save an evaluation: its scores as a submission, the figures of this zip, and the provenance.

Scores are written in the leaderboard's layout, and the zip is then scored like any submission. So the figures equal
those on a leaderboard of that version and split.
"""

import io
import json
import shutil
import zipfile
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.answer_keys import COMPARISON, sort_file_names
from curation.evaluation.submission import read_submission, score_submission
from curation.evaluation.submission_zip import FOLDER, ZIP_NAME
from curation.families.sherlock.evaluation_plan import SplitEvaluationSets
from curation.families.sherlock.evaluation_sets import proposals_json
from curation.files import file_sha256, partial_folder, rename_folder_durably
from curation.models import Evaluation
from curation.records import InvalidInput
from curation.selectors import evaluations
from curation.services.evaluations import store_evaluation_result_if_missing
from hits.domain.hashing import content_sha256

FORMAT = "deerstalker-evaluation/1"
MANIFEST = "manifest.json"
INTERVAL_SEED = 0  # fixed, so that equal scores have equal intervals
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip, so that equal scores give equal bytes
Scores = dict[str, NDArray[np.floating]]
"""By file of a submission, in the order of the sorted test ids."""


def save_evaluation(
    evaluation: Evaluation,
    sets: SplitEvaluationSets,
    scores: Scores | None,
    figures: dict[str, Any],
    facts: dict[str, Any],
) -> None:
    """Write an evaluation's folder atomically, score its zip, and complete the row."""
    folder = evaluations.evaluation_folder(evaluation)
    try:
        with partial_folder(folder) as partial:
            partial.mkdir(parents=True)
            if scores is not None:
                _write_zip(partial / evaluations.PREDICTIONS, scores)
                zip_figures = _score_zip(partial / evaluations.PREDICTIONS, sets, scores)
                figures = {task: found | figures.get(task, {}) for task, found in zip_figures.items()}
            if scores is not None and COMPARISON in scores:
                (partial / evaluations.COMPARISON_KEY).write_text(
                    json.dumps(sets.raw_key(COMPARISON)), "utf-8"
                )
            manifest = _manifest(evaluation, sets, partial, figures, facts)
            (partial / MANIFEST).write_bytes(manifest)
            shutil.rmtree(
                folder, ignore_errors=True
            )  # left by a run that was killed before its row was written
            rename_folder_durably(partial, folder)
    except OSError as error:
        raise InvalidInput(
            f"{folder}: cannot be written ({error.strerror}); check the media folder"
        ) from error
    store_evaluation_result_if_missing(
        evaluation=evaluation,
        figures=figures,
        provenance=_provenance(evaluation, sets, facts),
        path=evaluations.evaluation_path(evaluation),
        sha256=sha256(manifest).hexdigest(),
    )


def _score_zip(path: Path, sets: SplitEvaluationSets, scores: Scores) -> dict[str, Any]:
    """Return the figures of a submission; only files with scores are expected."""
    expected = {name: count for name, count in sets.expected_counts.items() if name in scores}
    submission = read_submission(path, file_name=ZIP_NAME, expected=expected, keys=sets)
    return score_submission(submission, sets, rng=make_interval_generator())


def make_interval_generator() -> np.random.Generator:
    """Return the random generator for confidence intervals."""
    return np.random.default_rng(INTERVAL_SEED)


def _write_zip(path: Path, scores: Scores) -> None:
    with zipfile.ZipFile(path, "x") as archive:
        for name in sort_file_names(scores):
            data = io.BytesIO()
            np.save(data, scores[name], allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{FOLDER}/{name}.npy", _EPOCH), data.getbuffer())


def _manifest(
    evaluation: Evaluation,
    sets: SplitEvaluationSets,
    folder: Path,
    figures: dict[str, Any],
    facts: dict[str, Any],
) -> bytes:
    files = {path.name: file_sha256(path) for path in sorted(folder.iterdir())}
    manifest = {
        "format": FORMAT,
        "label": evaluation.label,
        "source": evaluation.source,
        "figures": figures,
        "files": files,
        **_provenance(evaluation, sets, facts),
    }
    return json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


def _provenance(evaluation: Evaluation, sets: SplitEvaluationSets, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": evaluation.version.name,
        "seal": evaluation.version.manifest_sha256,
        "split": sets.split_name,
        "sets": asdict(sets.options),
        "chunks": [len(chunk) for chunk in sets.chunks],
        "expected": sets.expected_counts,
        "pairs_sha256": content_sha256([[pair.instance_id for pair in chunk] for chunk in sets.chunks]),
        "proposals": proposals_json(sets.proposal_run),
        "left_out": dict(sets.left_out),
        **facts,
    }
