"""Train a chooser: write a run's folder, run the training loop, predict, and store the result in the row.

The loop (``curation.chooser.train``) works on files only. It saves its exact state there, so that a cancelled or
killed job resumes where it stopped.
"""

from functools import partial
from pathlib import Path
from typing import Any

from curation.chooser.config import StageSelection
from curation.chooser.training.inputs import read_run_settings
from curation.chooser.training.journal import ChoiceValidationRow, read_validations
from curation.models import Chooser
from curation.pipelines.training.chooser_files import ChooserRun, load_or_write_chooser_run
from curation.pipelines.training.training_processes import ProgressCallback, train_in_processes
from curation.pipelines.training.training_progress import (
    TrainingProgress,
    best_validation_figures,
    format_measure,
    read_json_or_empty,
)
from curation.scorer.training.inputs import VAL_FILE
from curation.scorer.training.journal import ENVIRONMENT_FILE
from curation.services.named_rows import mark_ready, merge_facts
from curation.services.refusals import refuse_invalid_input
from hits.domain.hashing import content_sha256
from hits.services.jobs.jobs import Progress

MODULE = "curation.chooser.train"
PREDICTIONS_FILE = "predictions-val.csv"


def train_chooser(progress: Progress) -> dict[str, Any]:
    """Run a job: train a chooser to the end, and return the result for the job's page.

    Raises:
        Refused: see ``load_or_write_chooser_run``, or the training loop could not start or continue.
        Cancelled: the job was cancelled; a later run resumes at the last checkpoint.
    """
    args = progress.job.args
    chooser = Chooser.objects.select_related("project", "question_set").get(pk=args["chooser"])
    if chooser.is_ready:
        return summarise_chooser(chooser)
    run = load_or_write_chooser_run(chooser, args["data"])
    merge_facts(chooser, splits=run.counts)
    progress.log(_describe_start(run.counts))
    with refuse_invalid_input():
        _train(run, _make_reporter(chooser, run, progress))
        _write_predictions(run)
    environment = {
        stage.value: read_json_or_empty(run.folder / stage / ENVIRONMENT_FILE)
        for stage in run.config.stage.stages
    }
    merge_facts(chooser, environment=environment)
    figures = stage_figures(run)
    hashes = {stage: found["weights_sha256"] for stage, found in figures.items()}
    mark_ready(chooser, figures=figures, weights_sha256=content_sha256(hashes))
    return summarise_chooser(chooser)


def _train(run: ChooserRun, report_progress: ProgressCallback) -> None:
    if run.config.processes > 1:
        stages = run.config.stage.stages
        total = run.config.count_steps(run.counts["train_questions"]) * len(stages)
        train_in_processes(
            run.folder,
            run.config.processes,
            total=total,
            report_progress=report_progress,
            module=MODULE,
            journals=[stage.value for stage in stages],
        )
        return
    from curation.chooser.train import train  # not at the top: with several processes, only they need torch

    train(run.folder, report_progress=report_progress)


def _write_predictions(run: ChooserRun) -> None:
    """Predict the validation questions, if both stages were trained."""
    if run.config.stage is not StageSelection.BOTH or (run.folder / PREDICTIONS_FILE).is_file():
        return
    from curation.chooser.chooser import open_run, predict_choices, write_predictions
    from curation.chooser.questions import read_image_items

    answers, rationales = open_run(run.folder, run.config, read_run_settings(run.folder).images)
    items = read_image_items(run.folder / VAL_FILE)
    write_predictions(run.folder / PREDICTIONS_FILE, *predict_choices(answers, rationales, items))


def _make_reporter(chooser: Chooser, run: ChooserRun, progress: Progress) -> TrainingProgress:
    return TrainingProgress(
        progress,
        {stage: partial(read_validations, run.folder / stage) for stage in run.config.stage.stages},
        store=lambda: merge_facts(chooser, figures=stage_figures(run)),
        describe=_describe_validation,
    )


def stage_figures(run: ChooserRun) -> dict[str, Any]:
    """Return the best validation's figures and the progress of each stage that has begun."""
    figures = {}
    for stage in run.config.stage.stages:
        found = best_validation_figures(read_validations(run.folder / stage), ("loss", "accuracy"))
        if found:
            figures[stage.value] = found | _result_facts(run.folder / stage)
    return figures


def _result_facts(folder: Path) -> dict[str, Any]:
    """Return a finished stage's hash, how many texts it read, and how many were too long and were cut."""
    result = read_json_or_empty(folder / "done.json")
    return {name: result[name] for name in ("texts", "cut_texts", "weights_sha256") if name in result}


def summarise_chooser(chooser: Chooser) -> dict[str, Any]:
    """Return a trained chooser's result for the job's page. Accuracies are percentages on validation questions."""
    facts: dict[str, Any] = {"chooser": chooser.pk, "name": chooser.name}
    for stage, figures in chooser.figures.items():
        facts |= {f"{stage}_accuracy": figures["accuracy"], f"{stage}_steps": figures["steps"]}
        facts |= {f"{stage}_cut_texts": figures["cut_texts"]} if figures.get("cut_texts") else {}
    return facts | {"folder": chooser.path, "weights_sha256": chooser.weights_sha256}


def _describe_start(counts: dict[str, int]) -> str:
    message = f"Training on {counts['train_questions']} questions, validating with {counts['val_questions']}"
    left_out = counts.get("left_out_questions", 0)
    reason = "since their photos were taken down or a stage was set aside"
    return f"{message}; {left_out} questions omitted, {reason}" if left_out else message


def _describe_validation(stage: str, row: ChoiceValidationRow) -> str:
    suffix = ", the best so far" if row["kept"] else ""
    loss, accuracy = format_measure(row["loss"], 4), format_measure(row["accuracy"], 1)
    percent = "" if row["accuracy"] is None else " %"
    return f"{stage.capitalize()}s, step {row['step']}: validation loss {loss}, accuracy {accuracy}{percent}{suffix}"
