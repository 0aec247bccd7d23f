"""Measure the choices of a model, of people or of a file on one split of a question set.

Source: Zellers et al. 2019 §6; Ye & Kovashka 2021 for changed copies.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from curation.evaluation.choice_files import (
    format_predictions_csv,
    read_partial_predictions_csv,
    read_predictions_csv,
)
from curation.evaluation.choice_people import majority_figures
from curation.evaluation.choices import (
    CHOICES_TASK,
    ChoiceKey,
    ChoicePredictions,
    choice_figures,
    correct_choices,
    drop_figures,
    stage_round_figures,
)
from curation.files import file_sha256, write_text
from curation.models import ChoiceEvaluation, Chooser, EvaluationSource
from curation.pipelines.choice_joint import joint_figures
from curation.pipelines.evaluation.chooser_predictions import predict_question_set
from curation.pipelines.evaluation.evaluation_files import make_interval_generator
from curation.records import InvalidInput
from curation.selectors.choice_evaluations import (
    PREDICTIONS_CSV,
    evaluation_path,
    stage_votes,
    voted_rounds,
)
from curation.selectors.choice_items import question_set_items
from curation.services.choice_evaluations import store_choice_result
from curation.services.refusals import refuse_invalid_input
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress


def run_choice_evaluation(progress: Progress) -> dict[str, Any]:
    """Run a job: measure an evaluation, and return the main figures for the job's page.

    An evaluation that has figures already is not changed.

    Raises:
        Refused: the predictions do not fit, or nobody voted.
    """
    rows = ChoiceEvaluation.objects.select_related("question_set__project")
    evaluation = rows.get(pk=progress.job.args["evaluation"])
    if not evaluation.figures:
        progress.advance(0, total=1)
        with refuse_invalid_input():
            match evaluation.source:
                case EvaluationSource.JUDGMENTS:
                    _measure_people(evaluation)
                case EvaluationSource.SCORER:
                    _measure_chooser(evaluation, progress)
                case _:
                    _measure_file(evaluation)
        progress.advance(1, total=1)
        evaluation.refresh_from_db()
    found = evaluation.figures[CHOICES_TASK]
    return {"evaluation": evaluation.pk} | {
        name: round(found[name]["value"], 3) for name in ("q_a", "qa_r", "q_ar") if name in found
    }


def measure_predictions(
    key: ChoiceKey,
    predictions: ChoicePredictions,
    changed: Mapping[str, tuple[list[str], ChoicePredictions]] | None = None,
) -> dict[str, Any]:
    """Return the figures of a model as ``curation.evaluation.choices`` describes them.

    ``joint`` and ``rounds`` are there if the sources and rounds of the responses are known.

    Args:
        changed: by the name of a changed copy, its ids and scores.
    """
    correct = correct_choices(predictions, key)
    figures: dict[str, Any] = {
        CHOICES_TASK: choice_figures(correct, key.images, rng=make_interval_generator())
    }
    rounds = stage_round_figures(key, predictions)
    if rounds:
        figures["rounds"] = rounds
    if all(key.folds) and all((stage.sources >= 0).all() for stage in key.stages.values()):
        figures["joint"] = joint_figures(key, predictions)
    drops = {
        name: drop_figures(key, predictions, ids, scores) for name, (ids, scores) in (changed or {}).items()
    }
    return figures | ({"drops": drops} if drops else {})


def _measure_people(evaluation: ChoiceEvaluation) -> None:
    question_set = evaluation.question_set
    votes = stage_votes(question_set, evaluation.split)
    if not votes:
        raise Refused(f"set {question_set.name}: nobody has chosen on this split yet; wait for submissions")
    figures = majority_figures(votes, rng=make_interval_generator())
    rounds = [row.pk for row in voted_rounds(question_set)]
    store_choice_result(
        evaluation=evaluation,
        figures=figures,
        provenance={"question_set": question_set.name, "rounds": rounds},
    )


def _measure_file(evaluation: ChoiceEvaluation) -> None:
    key = _read_key(evaluation)
    source = Path(evaluation.options["predictions"])
    predictions = read_predictions_csv(source, key.ids)
    changed = {
        name: read_partial_predictions_csv(Path(path), key.ids)
        for name, path in evaluation.options["changed"].items()
    }
    facts = {"file": source.name, "file_sha256": file_sha256(source)}
    _store_measured(evaluation, key, predictions, changed, facts)


def _measure_chooser(evaluation: ChoiceEvaluation, progress: Progress) -> None:
    """Measure a chooser on the questions that it can predict; the others are counted."""
    chooser = Chooser.objects.get(pk=evaluation.options["chooser"])
    key, perturb = _read_key(evaluation), evaluation.options["perturb"]
    steps = iter(range(1, len(perturb) + 2))
    predicted = predict_question_set(
        chooser,
        evaluation.question_set,
        evaluation.split,
        ids=key.ids,
        perturb=perturb,
        report_step=lambda: progress.advance(next(steps), total=len(perturb) + 1),
    )
    ids, predictions = predicted.scored
    rows = {name: row for row, name in enumerate(key.ids)}
    facts = {
        "chooser": chooser.name,
        "weights_sha256": chooser.weights_sha256,
        "left_out": predicted.left_out,
    }
    own = key.take([rows[name] for name in ids])
    _store_measured(evaluation, own, predictions, predicted.changed, facts)


def _read_key(evaluation: ChoiceEvaluation) -> ChoiceKey:
    key = ChoiceKey.from_items(question_set_items(evaluation.question_set, evaluation.split))
    if not key.ids:
        raise InvalidInput(
            f"set {evaluation.question_set.name}: no question has both stages; choose another split"
        )
    return key


def _store_measured(
    evaluation: ChoiceEvaluation,
    key: ChoiceKey,
    predictions: ChoicePredictions,
    changed: Mapping[str, tuple[list[str], ChoicePredictions]],
    facts: Mapping[str, Any],
) -> None:
    """Write the predictions into the media folder, and store the figures with their provenance."""
    figures = measure_predictions(key, predictions, changed)
    folder = evaluation_path(evaluation)
    stored = Path(settings.MEDIA_ROOT) / folder / PREDICTIONS_CSV
    stored.parent.mkdir(parents=True, exist_ok=True)
    write_text(stored, format_predictions_csv(key.ids, predictions))
    named = {"question_set": evaluation.question_set.name, **facts, "sha256": file_sha256(stored)}
    store_choice_result(evaluation=evaluation, figures=figures, provenance=named, path=folder)
