"""What a job reports of its training run: progress, new validations, and the figures of the best one."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hits.services.jobs.jobs import Progress

PROGRESS_INTERVAL_SECONDS = 1.0  # between two progress updates
Row = Mapping[str, Any]


class TrainingProgress:
    """Stores a run's progress, at most once per second, and its validation results.

    Args:
        validations: for each part of the run, returns its rows so far. store: called after new ones. describe:
            returns a line of the job's log about a row of a part.
    """

    def __init__(
        self,
        progress: Progress,
        validations: Mapping[str, Callable[[], Sequence[Row]]],
        *,
        store: Callable[[], None],
        describe: Callable[[str, Any], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress, self._validations, self._clock = progress, validations, clock
        self._store, self._describe = store, describe
        self._next = -1.0
        self._known = {part: len(read()) for part, read in validations.items()}

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
        for part, read in self._validations.items():
            new = read()[self._known[part] :]
            self._known[part] += len(new)
            if new:
                self._store()
            for row in new:
                self._progress.log(self._describe(part, row))


def best_validation_figures(rows: Sequence[Row], measures: Sequence[str]) -> dict[str, Any]:
    """Return these measures of the best validation, and the progress; nothing before the first one."""
    best = next((row for row in reversed(rows) if row["kept"]), None)
    if best is None:
        return {}
    measured = {name: best[name] for name in measures}
    return {"best_step": best["step"], **measured, "steps": rows[-1]["step"], "validations": len(rows)}


def format_measure(value: float | None, digits: int) -> str:
    """Return a measure for a line of the log; a dash if it was not measured."""
    return "–" if value is None else f"{value:.{digits}f}"


def read_json_or_empty(path: Path) -> dict[str, Any]:
    """Return the JSON object of a run's file; empty if there is none."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
