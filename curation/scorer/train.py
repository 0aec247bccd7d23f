"""Train a scorer from a run's folder: ``python -m curation.scorer.train RUN``, or several processes by ``torchrun``.

Model (``towers``) and loop (``loop``) do not know each other; ``parts`` puts them together. A run goes on by itself
where it was stopped, and ends with the same weights and losses as if it never had been (bit for bit on a CPU).

Where the published code and the paper (001 §5 and B) differ, this is what is done:
- the best checkpoint is the one with the best P@1 in validation, every ``checkpoint_every`` updates, as in the paper;
  the published code takes the lowest loss of an epoch, and computes no P@1;
- halves turn grey, as the paper says; the published code has that line commented out;
- a tenth of the rate on a plateau is the published code's, and the paper is silent: an option, off by default.
One thing is neither's: a last batch that is not full is left out, so that every update has as many negatives.
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
from curation.scorer.training.components import DONE, Told, Training, TrainingResult, remove_pixels
from curation.scorer.training.distributed import World, joined
from curation.scorer.training.inputs import Inputs, read_inputs

SECONDS_BETWEEN_LINES = 10.0
BAD_INPUT, INTERRUPTED = 2, 130
LOCK, LOCK_SECONDS, LOOK_SECONDS = ".lock", 60.0, 0.2


def train(run: Path, *, tell: Told = lambda *_: None) -> TrainingResult:
    """Train a run to its end, from its checkpoint if there is one, and return what it came to.

    Args:
        tell: told after each update how many are done, of how many; also while pixels are prepared. When it raises,
            the state is saved first.

    Raises:
        InvalidInput: the folder, its pairs or a picture cannot be used, the settings or pairs are not those that
            the run was begun with, or the loss became no number.
    """
    inputs = read_inputs(run)
    if (run / DONE).is_file() and _checkpoint(run, inputs) is not None:
        remove_pixels(run)
        return _result(run)
    with joined(inputs.config.device) as (world, device):
        _check_processes(inputs.config, world)
        with _held(run, world):
            Training(run, inputs, world, device).to_the_end(_checkpoint(run, inputs), tell)
    return _result(run)


def _checkpoint(run: Path, inputs: Inputs) -> Checkpoint | None:
    checkpoint = load_checkpoint(run)
    if checkpoint is not None and checkpoint.inputs != inputs.sha256:
        raise InvalidInput(
            f"{run}: its settings or pairs changed since its checkpoint; make a new run for them"
        )
    return checkpoint


@contextmanager
def _held(run: Path, world: World) -> Iterator[None]:
    """Keep everybody else from writing into a run's folder; the system lets go of it when a process dies.

    Raises:
        InvalidInput: others train it, and went on for longer than one that was told to stop needs.
    """
    with (run / LOCK).open("a") as file:
        deadline = time.monotonic() + LOCK_SECONDS
        while world.writes:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise InvalidInput(
                        f"{run}: another process trains it; wait for it, or stop it"
                    ) from error
                time.sleep(LOOK_SECONDS)
            except OSError:
                break  # a file system without locks
        world.wait()
        yield


def _result(run: Path) -> TrainingResult:
    try:
        found = json.loads((run / DONE).read_text("utf-8"))
        del found["format"]
        return TrainingResult(**found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{run / DONE}: is broken; delete it, and the run writes it anew") from error


def _check_processes(config: TrainingConfig, world: World) -> None:
    if config.processes != world.size:
        raise InvalidInput(
            f"processes: the run is for {config.processes}, and {world.size} started; use "
            f"torchrun --nproc-per-node {config.processes} -m curation.scorer.train RUN"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Train from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m curation.scorer.train",
        description="Train a scorer from a run's folder. A run that was stopped goes on at its last checkpoint.",
        epilog=(
            "RUN holds run.json (settings, and where the pictures are), train.jsonl and val.jsonl (a pair a line). "
            "Written there: losses.csv, validation.csv, environment.json, checkpoint/, best/ (a scorer), done.json. "
            "Several processes: torchrun --nproc-per-node N -m curation.scorer.train RUN, N as in run.json."
        ),
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    options = parser.parse_args(words)
    try:
        with _stopping() as stopped:
            result = train(options.run, tell=_Telling(stopped))
    except InvalidInput as error:
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("stopped; the same command goes on from here\n")
        return INTERRUPTED
    measured = "" if result.p_at_1 is None else f", P@1 {result.p_at_1:.1f} at step {result.best_step}"
    sys.stdout.write(f"done: {result.steps} steps{measured}\n")
    return 0


class _Telling:
    """Says how far it is every few seconds, and raises once somebody asked to stop."""

    def __init__(self, stopped: list[int]) -> None:
        self._stopped = stopped
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._next or done == total:
            self._next = now + SECONDS_BETWEEN_LINES
            sys.stdout.write(f"step {done} of {total}\n")
            sys.stdout.flush()
        if self._stopped:
            raise KeyboardInterrupt


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """Yield a list that an interruption or a termination puts its number into, so that an update is never cut."""
    asked: list[int] = []
    before = {
        number: signal.signal(number, lambda found, _: asked.append(found))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    raise SystemExit(main())
