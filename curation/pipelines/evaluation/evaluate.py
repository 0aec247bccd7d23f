"""Evaluate a scorer, an encoder, somebody's predictions, people, or a shortcut on one split of a sealed version.

Source: paper 000 §4 and §5.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.arrays import scores_in_npy
from curation.evaluation.held_keys import COMPARISON, LOCALIZATION, RETRIEVAL, in_file_order, task_of
from curation.evaluation.inputs import in_order, parse_json, scores_by_id
from curation.evaluation.shortcuts import Shortcut
from curation.evaluation.submission import ZIP_NAME, read_submission
from curation.families.sherlock.evaluation_plan import SplitSets, chosen_proposals, plan_sets
from curation.features.encoder import Encoder
from curation.features.prompted import Prompted
from curation.files import file_sha256
from curation.models import Evaluation, EvaluationSource, Scorer
from curation.pipelines.encoders import feature_encoder
from curation.pipelines.evaluation.evaluate_bertscore import options_of, retrieved_bertscore
from curation.pipelines.evaluation.evaluate_people import people_figures
from curation.pipelines.evaluation.evaluate_shortcuts import shortcut_scores
from curation.pipelines.evaluation.evaluate_vectors import Shown, encoder_scores
from curation.pipelines.evaluation.evaluation_files import Scores, interval_generator, keep_evaluation
from curation.records import InvalidInput
from curation.selectors.evaluations import SHORTCUT, known_of
from curation.services.evaluations import set_options_of
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress


def run_evaluation(
    *, evaluation: Evaluation, progress: Progress, using: Encoder | None = None
) -> dict[str, Any]:
    """Do a whole job; return what its page shows. Repeatable: an evaluation that has figures stays as it is.

    Args:
        using: an encoder that is at hand; else the one that the options name.

    Raises:
        Refused: the encoder, a photo or the predictions cannot be had, or do not fit.
        Cancelled: somebody asked for it to stop; vectors that were made are kept.
    """
    if evaluation.sha256:
        return _summary(evaluation)
    try:
        sets = _planned(evaluation)
        progress.log(_words(sets))
        if evaluation.source == EvaluationSource.JUDGMENTS:
            keep_evaluation(evaluation, sets, None, people_figures(sets, rng=interval_generator()), {})
        else:
            scores, facts = _scores(evaluation, sets, progress, using)
            keep_evaluation(evaluation, sets, scores, _further(evaluation, sets, scores), facts)
    except InvalidInput as error:
        raise Refused(str(error)) from error
    evaluation.refresh_from_db()
    return _summary(evaluation)


def _planned(evaluation: Evaluation) -> SplitSets:
    version = evaluation.version
    run = chosen_proposals(version, evaluation.options["proposals"] or 0)
    return plan_sets(version, split=evaluation.split, proposals=run, options=set_options_of(evaluation))


def _words(sets: SplitSets) -> str:
    asked = ", ".join(f"{name} {count}" for name, count in sets.expected.items())
    left = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sets.left_out.items())
    return f"To be scored: {asked}" + (f"; left out: {left}" if left else "")


def _scores(
    evaluation: Evaluation, sets: SplitSets, progress: Progress, using: Encoder | None
) -> tuple[Scores, dict[str, Any]]:
    """Return the scores by file, in the order of the sorted test ids, and what the provenance says of them."""
    options = evaluation.options
    match evaluation.source:
        case EvaluationSource.BASELINE:
            shortcut = Shortcut(options[SHORTCUT])
            read, facts = shortcut_scores(sets, shortcut, seed=options["seed"], progress=progress)
            return _float32(read), facts
        case EvaluationSource.PREDICTIONS:
            return _predicted(Path(options["predictions"]), sets)
    encoder = using or feature_encoder(options["encoder"])
    if options.get("prompt"):
        encoder = Prompted(encoder, options["prompt"])
    found = encoder_scores(sets, Shown(encoder, options.get("region_mode", ""), sets.options.texts), progress)
    facts = found.facts | (_facts_of(evaluation.scorer, sets, progress) if evaluation.scorer else {})
    return _float32(found.scores), facts


def _facts_of(scorer: Scorer, sets: SplitSets, progress: Progress) -> dict[str, Any]:
    """Return which weights were measured, and how much of what is asked they were trained on."""
    ids = {pair.instance_id for chunk in sets.chunks for pair in chunk}
    known = known_of(scorer, ids)
    if known:
        progress.log(
            f"{known} of these {len(ids)} pairs trained or chose this scorer: its figures flatter it"
        )
    return {"weights_sha256": scorer.weights_sha256, "pairs_known_from_training": known}


def _further(evaluation: Evaluation, sets: SplitSets, scores: Scores) -> dict[str, Any]:
    """Return figures beyond those of a leaderboard, by task: BERTScore, where it is asked for."""
    options = options_of(evaluation.options)
    if options is None or not any(task_of(name) == RETRIEVAL for name in scores):
        return {}
    return {RETRIEVAL: {"bertscore": retrieved_bertscore(sets, scores, options, rng=interval_generator())}}


def _predicted(path: Path, sets: SplitSets) -> tuple[Scores, dict[str, Any]]:
    try:
        facts = {"file": path.name, "file_sha256": file_sha256(path)}
        if path.suffix == ".zip":
            read = read_submission(path, file_name=ZIP_NAME, expected=sets.expected, held=sets)
            return dict(read.scores), facts
        return {path.stem: _one_task(path, sets)}, facts
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _one_task(path: Path, sets: SplitSets) -> NDArray[np.float64]:
    """Return the scores of a single file, called as in a submission."""
    name = path.stem
    if name not in sets.expected:
        raise InvalidInput(f"{path}: call it after its task: {', '.join(in_file_order(sets.expected))}")
    if path.suffix == ".npy":
        return scores_in_npy(path.read_bytes(), path.name, sets.expected[name])
    raw = sets.raw(name)
    ids = sorted(raw["test_id_map"] if name == COMPARISON else raw)
    return in_order(scores_by_id(parse_json(path.read_bytes(), path.name), path.name), ids)


def _summary(evaluation: Evaluation) -> dict[str, Any]:
    """Return the main figures for the job's page."""
    found: dict[str, Any] = {"evaluation": evaluation.pk}
    places = (
        (RETRIEVAL, ("im2txt", "txt2im", "p_at_1", "bertscore")),
        (LOCALIZATION, ("gt_accuracy", "auto_accuracy")),
        (COMPARISON, ("human", "model")),
    )
    for task, names in places:
        for name in names:
            value = evaluation.figures.get(task, {}).get(name, {}).get("value")
            if value is not None:
                found[name] = round(value, 3)
    return found


def _float32(scores: Mapping[str, NDArray[np.floating]]) -> Scores:
    """Return scores as a submission has them: (n,) float32 by file."""
    return {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in scores.items()}
