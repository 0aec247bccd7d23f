"""Train a scorer: from its row to a run's folder, through the training loop, and back to its row.

The loop (``curation.scorer.train``) knows files alone. It keeps its exact state beside them, so that a job that was
cancelled or killed goes on where it ended.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from curation.models import Scorer
from curation.pipelines.training.training_files import RunFiles, write_run
from curation.pipelines.training.training_processes import train_in_processes
from curation.records import InvalidInput
from curation.scorer.model.folder import load_scorer
from curation.scorer.training.inputs import read_inputs
from curation.scorer.training.journal import ENVIRONMENT, ValidationRow, read_validations
from curation.selectors.scorers import BEST
from curation.services.scorers import keep_progress, keep_trained
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

TELL_SECONDS = 1.0  # between two writes of how far it is
Told = Callable[[int, int], None]


def train_scorer(progress: Progress) -> dict[str, Any]:
    """Do a whole job: train its scorer to the end, and return what the job's page shows.

    Raises:
        Refused: see ``write_run``, or the training loop could not begin or go on.
        Cancelled: somebody asked for it to stop; a later run goes on at the last checkpoint.
    """
    scorer = Scorer.objects.select_related("project", "version").get(pk=progress.job.args["scorer"])
    if scorer.is_ready:
        return summary(scorer)
    run = write_run(scorer)
    keep_progress(scorer=scorer, splits=run.counts)
    progress.log(_beginning(run.counts))
    telling = Telling(scorer, run.folder, progress)
    try:
        _train(run, telling)
    except InvalidInput as error:
        raise Refused(str(error)) from error
    _finish(scorer, run.folder)
    return summary(scorer)


def _train(run: RunFiles, tell: Told) -> None:
    if (run.folder / "done.json").is_file():
        return
    if run.config.processes > 1:
        total = read_inputs(run.folder).steps
        train_in_processes(run.folder, run.config.processes, total=total, tell=tell)
        return
    from curation.scorer.train import (
        train,
    )  # torch's work begins here; a run with processes leaves it to them

    train(run.folder, tell=tell)


class Telling:
    """Writes down how far a training is, once a second at most, and what each validation found."""

    def __init__(
        self, scorer: Scorer, folder: Path, progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._scorer, self._folder, self._progress, self._clock = scorer, folder, progress, clock
        self._next = -1.0
        self._validated = _last_step(read_validations(folder))

    def __call__(self, done: int, total: int) -> None:
        """Hear of a step.

        Raises:
            Cancelled: somebody asked for the job to stop.
        """
        now = self._clock()
        if now < self._next and done < total:
            return
        self._next = now + TELL_SECONDS
        self._progress.advance(done, total)
        rows = read_validations(self._folder)
        new = [row for row in rows if row["step"] > self._validated]
        if new:
            self._validated = _last_step(rows)
            keep_progress(scorer=self._scorer, figures=figures_of(rows))
        for row in new:
            self._progress.log(_validated(row))


def _last_step(rows: Sequence[ValidationRow]) -> int:
    return rows[-1]["step"] if rows else 0


def figures_of(rows: Sequence[ValidationRow]) -> dict[str, Any]:
    """Return what a run's validations say: the kept one's figures, and how far it is."""
    kept = next((row for row in reversed(rows) if row["kept"]), None)
    if kept is None:
        return {}
    best = {
        "best_step": kept["step"],
        "loss": kept["loss"],
        "im2txt": kept["im2txt"],
        "txt2im": kept["txt2im"],
    }
    return best | {"p_at_1": kept["p_at_1"], "steps": rows[-1]["step"], "validations": len(rows)}


def _finish(scorer: Scorer, folder: Path) -> None:
    try:
        sha256 = load_scorer(folder / BEST).sha256
    except InvalidInput as error:
        raise Refused(str(error)) from error
    keep_progress(scorer=scorer, environment=_read(folder / ENVIRONMENT))
    figures = figures_of(read_validations(folder))
    keep_trained(scorer=scorer, figures=figures, weights_sha256=sha256)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def summary(scorer: Scorer) -> dict[str, Any]:
    """Return what a job's page shows of a trained scorer."""
    wanted = ("steps", "best_step", "p_at_1", "im2txt", "txt2im")
    known = {name: scorer.figures[name] for name in wanted if name in scorer.figures}
    return {"scorer": scorer.pk, "name": scorer.name, **known, "weights_sha256": scorer.weights_sha256}


def _beginning(counts: dict[str, int]) -> str:
    line = (
        f"Training on {counts['train_pairs']} pairs of {counts['train_images']} photos, validating with "
        f"{counts['val_pairs']} pairs of {counts['val_images']}"
    )
    left = counts.get("left_out_pairs", 0)
    return f"{line}; {left} pairs left out, their photos were taken down" if left else line


def _validated(row: ValidationRow) -> str:
    kept = ", the best so far" if row["kept"] else ""
    return (
        f"Step {row['step']}: validation loss {_shown(row['loss'], 4)}, P@1 {_shown(row['p_at_1'], 1)}{kept}"
    )


def _shown(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"
