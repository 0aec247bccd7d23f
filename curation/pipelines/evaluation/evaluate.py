"""Evaluate a scorer, an encoder, predictions from a file, people, or a shortcut on one split of a sealed version.

Source: Hessel et al. 2022 §4 and §5.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.answer_keys import COMPARISON, LOCALIZATION, RETRIEVAL, sort_file_names, task_of_file
from curation.evaluation.inputs import order_scores, parse_json, parse_scores_by_id
from curation.evaluation.npy_scores import read_npy_scores
from curation.evaluation.shortcuts import Shortcut
from curation.evaluation.submission import read_submission
from curation.evaluation.submission_zip import ZIP_NAME
from curation.families.sherlock.evaluation_plan import SplitEvaluationSets, plan_sets, resolve_proposal_run
from curation.features.encoder import Encoder
from curation.features.prompted import PromptedEncoder
from curation.files import file_sha256
from curation.models import Evaluation, EvaluationSource, Scorer
from curation.pipelines.encoders import get_feature_encoder
from curation.pipelines.evaluation.evaluate_bertscore import parse_options, retrieval_bertscore
from curation.pipelines.evaluation.evaluate_people import judgment_figures
from curation.pipelines.evaluation.evaluate_shortcuts import shortcut_scores
from curation.pipelines.evaluation.evaluate_vectors import EncodingSetup, encoder_scores
from curation.pipelines.evaluation.evaluation_files import Scores, make_interval_generator, save_evaluation
from curation.records import InvalidInput
from curation.selectors.evaluations import SHORTCUT_OPTION, count_known_pairs
from curation.services.evaluations import evaluation_set_options
from curation.services.refusals import refuse_invalid_input
from hits.services.jobs.jobs import Progress


def run_evaluation(
    *, evaluation: Evaluation, progress: Progress, given_encoder: Encoder | None = None
) -> dict[str, Any]:
    """Run a job; return the result for its page. An evaluation that has figures already is not changed.

    Args:
        given_encoder: an encoder that is already loaded; by default the one in the options.

    Raises:
        Refused: the encoder, a photo or the predictions are not available, or do not fit.
        Cancelled: the job was cancelled; finished vectors are saved.
    """
    if evaluation.sha256:
        return _summary(evaluation)
    with refuse_invalid_input():
        sets = _plan_sets(evaluation)
        progress.log(_describe_sets(sets))
        if evaluation.source == EvaluationSource.JUDGMENTS:
            save_evaluation(evaluation, sets, None, judgment_figures(sets, rng=make_interval_generator()), {})
        else:
            scores, facts = _compute_scores(evaluation, sets, progress, given_encoder)
            save_evaluation(evaluation, sets, scores, _extra_figures(evaluation, sets, scores), facts)
    evaluation.refresh_from_db()
    return _summary(evaluation)


def _plan_sets(evaluation: Evaluation) -> SplitEvaluationSets:
    version = evaluation.version
    run = resolve_proposal_run(version, evaluation.options["proposals"] or 0)
    options = evaluation_set_options(evaluation)
    return plan_sets(version, split=evaluation.split, proposals=run, options=options)


def _describe_sets(sets: SplitEvaluationSets) -> str:
    expected = ", ".join(f"{name} {count}" for name, count in sets.expected_counts.items())
    left_out = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sets.left_out.items())
    return f"To be scored: {expected}" + (f"; left out: {left_out}" if left_out else "")


def _compute_scores(
    evaluation: Evaluation, sets: SplitEvaluationSets, progress: Progress, given_encoder: Encoder | None
) -> tuple[Scores, dict[str, Any]]:
    """Return the scores by file, in the order of the sorted test ids, and facts for the provenance."""
    options = evaluation.options
    match evaluation.source:
        case EvaluationSource.BASELINE:
            shortcut = Shortcut(options[SHORTCUT_OPTION])
            scores, facts = shortcut_scores(sets, shortcut, seed=options["seed"], progress=progress)
            return _to_float32(scores), facts
        case EvaluationSource.PREDICTIONS:
            return _read_predictions(Path(options["predictions"]), sets)
    encoder = given_encoder or get_feature_encoder(options["encoder"])
    if options.get("prompt"):
        encoder = PromptedEncoder(encoder, options["prompt"])
    setup = EncodingSetup(encoder, options.get("region_mode", ""), sets.options.texts)
    result = encoder_scores(sets, setup, progress)
    facts = result.facts | (_scorer_facts(evaluation.scorer, sets, progress) if evaluation.scorer else {})
    return _to_float32(result.scores), facts


def _scorer_facts(scorer: Scorer, sets: SplitEvaluationSets, progress: Progress) -> dict[str, Any]:
    """Return the scorer's weights hash, and how many of the evaluated pairs were used in its training."""
    ids = {pair.instance_id for chunk in sets.chunks for pair in chunk}
    known_count = count_known_pairs(scorer, ids)
    if known_count:
        progress.log(
            f"{known_count} of these {len(ids)} pairs were used to train or select this scorer: "
            "its figures are too optimistic"
        )
    return {"weights_sha256": scorer.weights_sha256, "pairs_known_from_training": known_count}


def _extra_figures(evaluation: Evaluation, sets: SplitEvaluationSets, scores: Scores) -> dict[str, Any]:
    """Return figures beyond those of a leaderboard, by task: BERTScore, if requested."""
    options = parse_options(evaluation.options)
    if options is None or not any(task_of_file(name) == RETRIEVAL for name in scores):
        return {}
    return {
        RETRIEVAL: {"bertscore": retrieval_bertscore(sets, scores, options, rng=make_interval_generator())}
    }


def _read_predictions(path: Path, sets: SplitEvaluationSets) -> tuple[Scores, dict[str, Any]]:
    try:
        facts = {"file": path.name, "file_sha256": file_sha256(path)}
        if path.suffix == ".zip":
            submission = read_submission(path, file_name=ZIP_NAME, expected=sets.expected_counts, keys=sets)
            return dict(submission.scores), facts
        return {path.stem: _read_task_scores(path, sets)}, facts
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _read_task_scores(path: Path, sets: SplitEvaluationSets) -> NDArray[np.float64]:
    """Return the scores of a single file, named as in a submission."""
    name = path.stem
    if name not in sets.expected_counts:
        raise InvalidInput(
            f"{path}: name the file after its task: {', '.join(sort_file_names(sets.expected_counts))}"
        )
    if path.suffix == ".npy":
        return read_npy_scores(path.read_bytes(), path.name, sets.expected_counts[name])
    raw = sets.raw_key(name)
    ids = sorted(raw["test_id_map"] if name == COMPARISON else raw)
    return order_scores(parse_scores_by_id(parse_json(path.read_bytes(), path.name), path.name), ids)


def _summary(evaluation: Evaluation) -> dict[str, Any]:
    """Return the main figures for the job's page."""
    summary: dict[str, Any] = {"evaluation": evaluation.pk}
    figure_names = (
        (RETRIEVAL, ("im2txt", "txt2im", "p_at_1", "bertscore")),
        (LOCALIZATION, ("gt_accuracy", "auto_accuracy")),
        (COMPARISON, ("human", "model")),
    )
    for task, names in figure_names:
        for name in names:
            value = evaluation.figures.get(task, {}).get(name, {}).get("value")
            if value is not None:
                summary[name] = round(value, 3)
    return summary


def _to_float32(scores: Mapping[str, NDArray[np.floating]]) -> Scores:
    """Return scores in a submission's format: (n,) float32 by file."""
    return {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in scores.items()}
