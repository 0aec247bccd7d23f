"""A process that trains a run from its folder: its lock, its signals, its progress and its exit status."""

import argparse
import fcntl
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from curation.records import InvalidInput
from curation.scorer.training.checkpoint import Checkpoint, load_checkpoint
from curation.scorer.training.distributed import World

PROGRESS_INTERVAL_SECONDS = 10.0
BAD_INPUT, INTERRUPTED = 2, 130  # exit statuses
LOCK_FILE, LOCK_SECONDS, POLL_SECONDS = ".lock", 60.0, 0.2
ProgressCallback = Callable[[int, int], None]
Result = TypeVar("Result")


def load_own_checkpoint(run: Path, inputs_hash: str, *, items: str = "pairs") -> Checkpoint | None:
    """Return a run's checkpoint, or None.

    Args:
        items: what the run learns from, for the message.

    Raises:
        InvalidInput: it is broken, or the run's inputs changed since.
    """
    checkpoint = load_checkpoint(run)
    if checkpoint is not None and checkpoint.inputs_hash != inputs_hash:
        raise InvalidInput(
            f"{run}: its settings or {items} changed since its checkpoint; create a new run for them"
        )
    return checkpoint


@contextmanager
def lock_run(run: Path, world: World) -> Iterator[None]:
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


def check_processes(processes: int, world: World, module: str) -> None:
    """Raise InvalidInput if a run needs another number of processes than were started."""
    if processes != world.size:
        raise InvalidInput(
            f"processes: the run needs {processes}, but {world.size} started; use "
            f"torchrun --nproc-per-node {processes} -m {module} RUN"
        )


def run_command(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    train: Callable[[Path, ProgressCallback], Result],
    describe: Callable[[Result], str],
) -> int:
    """Train the run that a command line names; return the exit status.

    Args:
        train: trains the run's folder, and reports its progress. describe: returns a line about the result.
    """
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    options = parser.parse_args(arguments)
    try:
        with _catch_signals() as stop_signals:
            result = train(options.run, _ProgressPrinter(stop_signals))
    except InvalidInput as error:
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("stopped; run the same command to resume\n")
        return INTERRUPTED
    sys.stdout.write(f"done: {describe(result)}\n")
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
