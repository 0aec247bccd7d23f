"""Queries on evaluations: those of a project, their files, and their scores in the comparison task."""

import io
import json
import zipfile
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import QuerySet

from curation.evaluation.sets import CHUNK_SIZE, MAX_BOXES, MIN_INFERENCES
from curation.models import DatasetVersion, Evaluation, EvaluationSource, Part, Scorer, VersionRow
from curation.selectors.scorers import scorer_and_ancestors
from hits.domain.images.region_drawing import RegionMode
from hits.models import Project

PREDICTIONS = "test_set_predictions.zip"
COMPARISON_MEMBER = "test_set_predictions/comparison.npy"
COMPARISON_KEY = "comparison_answer_key.json"
SHORTCUT_OPTION = "shortcut"  # key in a baseline's options: the input that it uses instead of the image
DEFAULT_SETS = {"boxes": MAX_BOXES, "chunk": CHUNK_SIZE, "min_inferences": MIN_INFERENCES, "seed": 0}
"""The default options of evaluation sets."""


def evaluations(project: Project) -> "QuerySet[Evaluation]":
    """Return the project's evaluations, newest first, including unfinished ones."""
    rows = Evaluation.objects.filter(project=project)
    return rows.select_related("version", "scorer__version", "job", "created_by")


def finished_evaluations(project: Project, version: DatasetVersion | None = None) -> list[Evaluation]:
    """Return the finished evaluations of a project, or of one of its versions, newest first."""
    rows = evaluations(project).exclude(figures={})
    return list(rows.filter(version=version) if version is not None else rows)


def non_default_options(evaluation: Evaluation) -> dict[str, Any]:
    """Return the non-default options of an evaluation: of its sets, and of how regions were shown.

    The defaults are ``DEFAULT_SETS``, and the scorer's own region mode, or highlighting for a model not trained
    here. The run of proposed boxes does not count as an option: see ``proposal_run_number``.
    """
    sets, shown = evaluation.options.get("sets", {}), evaluation.options.get("region_mode", "")
    found = {name: sets[name] for name, default in DEFAULT_SETS.items() if sets.get(name, default) != default}
    trained = evaluation.scorer.config.get("region_mode") if evaluation.scorer else ""
    return found if shown in ("", trained or RegionMode.HIGHLIGHT) else found | {"region_mode": shown}


def has_default_options(evaluation: Evaluation) -> bool:
    """Whether an evaluation has only default options (see ``non_default_options``).

    Figures of two evaluations are comparable if their options differ from the defaults in the same way.
    """
    return not non_default_options(evaluation)


def proposal_run_number(evaluation: Evaluation) -> int | None:
    """Return the number of the run of proposed boxes that an evaluation used, if any."""
    return evaluation.options.get("proposals") or None


def find_reusable_evaluation(evaluations: Iterable[Evaluation], run_number: int | None) -> Evaluation | None:
    """Return the first finished evaluation with default options and this ``proposal_run_number``.

    If there is none, return the first whose job can be resumed, if any.
    """
    alike = [
        evaluation
        for evaluation in evaluations
        if has_default_options(evaluation) and proposal_run_number(evaluation) == run_number
    ]
    done = next((evaluation for evaluation in alike if evaluation.figures), None)
    return done or next((evaluation for evaluation in alike if evaluation.job is not None), None)


def baseline_evaluations(
    version: DatasetVersion, split: str, shortcut: str, seed: int
) -> "QuerySet[Evaluation]":
    """Return a version's evaluations of a shortcut with a random seed, newest first."""
    named = {f"options__{SHORTCUT_OPTION}": shortcut, "options__seed": seed}
    rows = evaluations(version.project).filter(version=version, split=split, texts="inference", **named)
    return rows.filter(source=EvaluationSource.BASELINE.value)


def evaluation_folder(evaluation: Evaluation) -> Path:
    """Return the folder of an evaluation's files, which may not exist yet."""
    return Path(settings.MEDIA_ROOT) / evaluation_path(evaluation)


def evaluation_path(evaluation: Evaluation) -> str:
    """Return an evaluation's folder relative to the media folder; it is never served."""
    return f"evaluations/{evaluation.pk}"


def predictions_file(evaluation: Evaluation) -> Path | None:
    """Return the zip of an evaluation's scores in the leaderboard's layout, or ``None`` if there is none."""
    path = evaluation_folder(evaluation) / PREDICTIONS
    return path if evaluation.path and path.is_file() else None


def read_comparison_scores(evaluation: Evaluation) -> dict[tuple[str, str], float]:
    """Return the comparison scores by (pair of the region, pair of the inference), empty if there are none."""
    path = predictions_file(evaluation)
    key = _read_comparison_answer_key(evaluation)
    if path is None or not key:
        return {}
    with zipfile.ZipFile(path) as archive:
        data = archive.read(COMPARISON_MEMBER)
    scores = np.load(io.BytesIO(data), allow_pickle=False).tolist()
    named = sorted(key["test_id_map"].items())  # scores follow the sorted test ids
    return {
        (item["Input_iid"], item["candidate"]): score for (_, item), score in zip(named, scores, strict=True)
    }


def count_known_pairs(scorer: Scorer, ids: Set[str]) -> int:
    """Return how many of these pairs a scorer or one of its ancestors was trained or validated on."""
    known: set[str] = set()
    for ancestor in scorer_and_ancestors(scorer):
        if ancestor.version_id is not None:
            splits = {ancestor.splits.get("train", ""), ancestor.splits.get("val", "")}
            sealed = VersionRow.objects.filter(version=ancestor.version_id, part=Part.OBSERVATION)
            rows = sealed.filter(split__in=splits)
            known |= ids & set(rows.values_list("instance_id", flat=True))
    return len(known)


def _read_comparison_answer_key(evaluation: Evaluation) -> dict[str, Any]:
    try:
        text = (evaluation_folder(evaluation) / COMPARISON_KEY).read_text("utf-8")
    except OSError:
        return {}
    key: dict[str, Any] = json.loads(text)
    return key
