"""Train a scorer: write a run's folder from its row, run the training loop, and store the result in the row.

The loop (``curation.scorer.train``) works on files only. It saves its exact state there, so that a cancelled or
killed job resumes where it stopped.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from curation.models import Scorer
from curation.pipelines.training.training_files import RunFiles, load_or_write_run
from curation.pipelines.training.training_processes import ProgressCallback, train_in_processes
from curation.scorer.model.folder import load_scorer
from curation.scorer.training.inputs import read_inputs
from curation.scorer.training.journal import ENVIRONMENT_FILE, ValidationRow, read_validations
from curation.selectors.scorers import WEIGHTS_FOLDER
from curation.services.refusals import refuse_invalid_input
from curation.services.scorers import mark_trained, merge_scorer_facts
from hits.services.jobs.jobs import Progress

PROGRESS_INTERVAL_SECONDS = 1.0  # between two progress updates


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
    merge_scorer_facts(scorer=scorer, splits=run.counts)
    progress.log(_describe_start(run.counts))
    training_progress = TrainingProgress(scorer, run.folder, progress)
    with refuse_invalid_input():
        _train(run, training_progress)
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


class TrainingProgress:
    """Stores a training run's progress, at most once per second, and its validation results."""

    def __init__(
        self, scorer: Scorer, folder: Path, progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._scorer, self._folder, self._progress, self._clock = scorer, folder, progress, clock
        self._next = -1.0
        self._last_validated = _last_step(read_validations(folder))

    def __call__(self, done: int, total: int) -> None:
        """Report a step.

        Raises:
            Cancelled: the job was cancelled.
        """
        now = self._clock()
        if now < self._next and done < total:
            return
        self._next = now + PROGRESS_INTERVAL_SECONDS
        self._progress.advance(done, total)
        rows = read_validations(self._folder)
        new = [row for row in rows if row["step"] > self._last_validated]
        if new:
            self._last_validated = _last_step(rows)
            merge_scorer_facts(scorer=self._scorer, figures=best_validation_figures(rows))
        for row in new:
            self._progress.log(_describe_validation(row))


def _last_step(rows: Sequence[ValidationRow]) -> int:
    return rows[-1]["step"] if rows else 0


def best_validation_figures(rows: Sequence[ValidationRow]) -> dict[str, Any]:
    """Return the best validation's figures, and the progress."""
    best_row = next((row for row in reversed(rows) if row["kept"]), None)
    if best_row is None:
        return {}
    figures = {
        "best_step": best_row["step"],
        "loss": best_row["loss"],
        "im2txt": best_row["im2txt"],
        "txt2im": best_row["txt2im"],
    }
    return figures | {"p_at_1": best_row["p_at_1"], "steps": rows[-1]["step"], "validations": len(rows)}


def _store_trained_scorer(scorer: Scorer, folder: Path) -> None:
    with refuse_invalid_input():
        sha256 = load_scorer(folder / WEIGHTS_FOLDER).sha256
    merge_scorer_facts(scorer=scorer, environment=_read_json_or_empty(folder / ENVIRONMENT_FILE))
    figures = best_validation_figures(read_validations(folder))
    mark_trained(scorer=scorer, figures=figures, weights_sha256=sha256)


def _read_json_or_empty(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


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
    loss, p_at_1 = _format_value(row["loss"], 4), _format_value(row["p_at_1"], 1)
    return f"Step {row['step']}: validation loss {loss}, P@1 {p_at_1}{suffix}"


def _format_value(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
