"""Train a scorer: write a run's folder from its row, run the training loop, and store the result in the row.

The loop (``curation.scorer.train``) works on files only. It saves its exact state there, so that a cancelled or
killed job resumes where it stopped.
"""

from pathlib import Path
from typing import Any

from curation.models import Scorer
from curation.pipelines.training.training_files import RunFiles, load_or_write_run
from curation.pipelines.training.training_processes import ProgressCallback, train_in_processes
from curation.pipelines.training.training_progress import (
    TrainingProgress,
    best_validation_figures,
    format_measure,
    read_json_or_empty,
)
from curation.scorer.model.folder import load_scorer
from curation.scorer.training.inputs import read_inputs
from curation.scorer.training.journal import ENVIRONMENT_FILE, ValidationRow, read_validations
from curation.selectors.scorers import WEIGHTS_FOLDER
from curation.services.named_rows import mark_ready, merge_facts
from curation.services.refusals import refuse_invalid_input
from hits.services.jobs.jobs import Progress


def train_scorer(progress: Progress) -> dict[str, Any]:
    """Run a job: train its scorer to the end, and return the result for the job's page.

    Raises:
        Refused: see ``load_or_write_run``, or the training loop could not start or continue.
        Cancelled: the job was cancelled; a later run resumes at the last checkpoint.
    """
    scorer = Scorer.objects.select_related("project", "version").get(pk=progress.job.args["scorer"])
    if scorer.is_ready:
        return summarise_scorer(scorer)
    run = load_or_write_run(scorer)
    merge_facts(scorer, splits=run.counts)
    progress.log(_describe_start(run.counts))
    with refuse_invalid_input():
        _train(run, _make_reporter(scorer, run.folder, progress))
    _store_trained_scorer(scorer, run.folder)
    return summarise_scorer(scorer)


def _train(run: RunFiles, report_progress: ProgressCallback) -> None:
    if (run.folder / "done.json").is_file():
        return
    if run.config.processes > 1:
        total = read_inputs(run.folder).total_steps
        train_in_processes(run.folder, run.config.processes, total=total, report_progress=report_progress)
        return
    from curation.scorer.train import (
        train,
    )  # not at the top: with several processes, only they need torch

    train(run.folder, report_progress=report_progress)


def _make_reporter(scorer: Scorer, folder: Path, progress: Progress) -> TrainingProgress:
    return TrainingProgress(
        progress,
        {"": lambda: read_validations(folder)},
        store=lambda: merge_facts(scorer, figures=_figures(folder)),
        describe=lambda _, row: _describe_validation(row),
    )


def _figures(folder: Path) -> dict[str, Any]:
    return best_validation_figures(read_validations(folder), ("loss", "im2txt", "txt2im", "p_at_1"))


def _store_trained_scorer(scorer: Scorer, folder: Path) -> None:
    with refuse_invalid_input():
        sha256 = load_scorer(folder / WEIGHTS_FOLDER).sha256
    merge_facts(scorer, environment=read_json_or_empty(folder / ENVIRONMENT_FILE))
    mark_ready(scorer, figures=_figures(folder), weights_sha256=sha256)


def summarise_scorer(scorer: Scorer) -> dict[str, Any]:
    """Return a trained scorer's result for the job's page."""
    names = ("steps", "best_step", "p_at_1", "im2txt", "txt2im")
    figures = {name: scorer.figures[name] for name in names if name in scorer.figures}
    return {"scorer": scorer.pk, "name": scorer.name, **figures, "weights_sha256": scorer.weights_sha256}


def _describe_start(counts: dict[str, int]) -> str:
    message = (
        f"Training on {counts['train_pairs']} pairs of {counts['train_images']} photos, validating with "
        f"{counts['val_pairs']} pairs of {counts['val_images']} photos"
    )
    left_out = counts.get("left_out_pairs", 0)
    return f"{message}; {left_out} pairs omitted, since their photos were taken down" if left_out else message


def _describe_validation(row: ValidationRow) -> str:
    suffix = ", the best so far" if row["kept"] else ""
    loss, p_at_1 = format_measure(row["loss"], 4), format_measure(row["p_at_1"], 1)
    return f"Step {row['step']}: validation loss {loss}, P@1 {p_at_1}{suffix}"
