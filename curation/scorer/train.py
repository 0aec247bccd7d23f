"""Train a scorer from a run's folder: ``python -m curation.scorer.train RUN``, or several processes by ``torchrun``.

Model (``towers``) and loop (``loop``) are independent; ``components`` combines them. A stopped run resumes from its
checkpoint, and ends with the same weights and losses as an uninterrupted run (bit for bit on a CPU).

Where the published code and the paper (Hessel et al. 2022 §5 and appendix B) differ:
- the best checkpoint has the best P@1 in validation, every ``checkpoint_every`` updates, as in the paper; the
  published code takes the lowest loss of an epoch, and computes no P@1;
- views turn grey at random, as in the paper; in the published code that line is commented out;
- the published code divides the rate by 10 on a plateau, the paper does not mention it: an option, off by default.
Unlike both, a last batch that is not full is dropped, so that every update has equally many negatives.
"""

import argparse
import fcntl
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from curation.records import InvalidInput
from curation.scorer.config import TrainingConfig
from curation.scorer.training.checkpoint import Checkpoint, load_checkpoint
from curation.scorer.training.components import (
    RESULT_FILE,
    ProgressCallback,
    TrainingResult,
    TrainingRun,
    remove_pixels,
)
from curation.scorer.training.distributed import World, join_process_group
from curation.scorer.training.inputs import RunInputs, read_inputs

PROGRESS_INTERVAL_SECONDS = 10.0
BAD_INPUT, INTERRUPTED = 2, 130  # exit statuses
LOCK_FILE, LOCK_SECONDS, POLL_SECONDS = ".lock", 60.0, 0.2


def train(run: Path, *, report_progress: ProgressCallback = lambda *_: None) -> TrainingResult:
    """Train a run to its end, from its checkpoint if there is one, and return its result.

    Args:
        report_progress: called with (updates done, total) after each update and while pixels are prepared. If it
            raises, the state is saved first.

    Raises:
        InvalidInput: the folder, its pairs or an image cannot be used, settings or pairs changed since the
            checkpoint, or the loss became NaN or infinite.
    """
    inputs = read_inputs(run)
    if (run / RESULT_FILE).is_file() and _load_own_checkpoint(run, inputs) is not None:
        remove_pixels(run)
        return _read_result(run)
    with join_process_group(inputs.config.device) as (world, device):
        _check_processes(inputs.config, world)
        with _lock_run(run, world):
            checkpoint = _load_own_checkpoint(run, inputs)
            TrainingRun(run, inputs, world, device).run_to_end(checkpoint, report_progress)
    return _read_result(run)


def _load_own_checkpoint(run: Path, inputs: RunInputs) -> Checkpoint | None:
    checkpoint = load_checkpoint(run)
    if checkpoint is not None and checkpoint.inputs_hash != inputs.sha256:
        raise InvalidInput(
            f"{run}: its settings or pairs changed since its checkpoint; create a new run for them"
        )
    return checkpoint


@contextmanager
def _lock_run(run: Path, world: World) -> Iterator[None]:
    """Lock a run's folder against other processes; the system releases the lock when the process dies.

    Raises:
        InvalidInput: another process still trains it, for longer than a stopping process needs.
    """
    with (run / LOCK_FILE).open("a") as file:
        deadline = time.monotonic() + LOCK_SECONDS
        while world.is_writer:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise InvalidInput(
                        f"{run}: another process is training it; wait for it, or stop it"
                    ) from error
                time.sleep(POLL_SECONDS)
            except OSError:
                break  # the file system has no locks
        world.wait_for_all()
        yield


def _read_result(run: Path) -> TrainingResult:
    try:
        values = json.loads((run / RESULT_FILE).read_text("utf-8"))
        del values["format"]
        return TrainingResult(**values)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{run / RESULT_FILE}: is broken; delete it and train again") from error


def _check_processes(config: TrainingConfig, world: World) -> None:
    if config.processes != world.size:
        raise InvalidInput(
            f"processes: the run needs {config.processes}, but {world.size} started; use "
            f"torchrun --nproc-per-node {config.processes} -m curation.scorer.train RUN"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Train from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m curation.scorer.train",
        description="Train a scorer from a run's folder. A stopped run resumes at its last checkpoint.",
        epilog=(
            "RUN contains run.json (settings and the image folder), train.jsonl and val.jsonl (one pair per line). "
            "Output: losses.csv, validation.csv, environment.json, checkpoint/, best/ (a scorer), done.json. "
            "Several processes: torchrun --nproc-per-node N -m curation.scorer.train RUN, N as in run.json."
        ),
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    options = parser.parse_args(arguments)
    try:
        with _catch_signals() as stop_signals:
            result = train(options.run, report_progress=_ProgressPrinter(stop_signals))
    except InvalidInput as error:
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run the same command to resume\n")
        return INTERRUPTED
    figures = "" if result.p_at_1 is None else f", P@1 {result.p_at_1:.1f} at step {result.best_step}"
    sys.stdout.write(f"done: {result.steps} steps{figures}\n")
    return 0


class _ProgressPrinter:
    """Prints the progress every few seconds, and raises KeyboardInterrupt after a stop signal."""

    def __init__(self, stop_signals: list[int]) -> None:
        self._stop_signals = stop_signals
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._next or done == total:
            self._next = now + PROGRESS_INTERVAL_SECONDS
            sys.stdout.write(f"step {done} of {total}\n")
            sys.stdout.flush()
        if self._stop_signals:
            raise KeyboardInterrupt


@contextmanager
def _catch_signals() -> Iterator[list[int]]:
    """Yield a list that collects SIGINT and SIGTERM, so that a signal never interrupts an update."""
    received: list[int] = []
    previous = {
        number: signal.signal(number, lambda signal_number, _: received.append(signal_number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    raise SystemExit(main())
