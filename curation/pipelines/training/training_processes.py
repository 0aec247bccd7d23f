"""Train with several processes: run ``torchrun`` as a child, read its progress, and stop it with the parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from celery import platforms
from django.conf import settings

from hits.services.errors import Refused

LOG_FILE = "torchrun.log"
POLL_SECONDS = 1.0
STOP_SECONDS = 30.0
_TAIL_BYTES = 4096  # bytes to read from the end of a file
_MAX_EXCERPT_LENGTH = 300  # characters of the log in a failed job's message
ProgressCallback = Callable[[int, int], None]


SCORER_MODULE = "curation.scorer.train"


def build_command(run: Path, processes: int, module: str = SCORER_MODULE) -> list[str]:
    """Return the command that trains a run with several processes on this machine."""
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
        "-m",
        module,
        str(run),
    ]


def train_in_processes(
    run: Path,
    processes: int,
    *,
    total: int,
    report_progress: ProgressCallback,
    module: str = SCORER_MODULE,
    journals: Sequence[str] = ("",),
) -> None:
    """Train a run to its end.

    Args:
        total: steps of the run. report_progress: called at each new step; if it raises, all processes are stopped.
        module: trains the run. journals: the subfolders of the run whose ``losses.csv`` count together.

    Raises:
        Refused: a process failed; the message quotes the end of its log.
    """
    with (run / LOG_FILE).open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            build_command(run, processes, module),
            cwd=settings.BASE_DIR,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # If this worker dies, its processes must not keep writing into the folder of the resumed job.
            preexec_fn=lambda: platforms.set_pdeathsig("SIGTERM"),  # type: ignore[attr-defined]  # noqa: PLW1509
        )
        try:
            _report_until_exit(child, [run / name for name in journals], total, report_progress)
        finally:
            _stop(child)
    if child.returncode:
        raise Refused(
            f"torchrun ended with {child.returncode}: {_last_error(run)}; the log is {run.name}/{LOG_FILE}"
        )


def read_last_step(run: Path) -> int:
    """Return the last complete step in a run's ``losses.csv``; 0 before the first."""
    tail = _read_tail(run / "losses.csv")
    lines = tail[: tail.rfind("\n") + 1].splitlines()
    number = lines[-1].partition(",")[0] if lines else ""
    return int(number) if number.isdecimal() else 0


def _report_until_exit(
    child: "subprocess.Popen[bytes]",
    folders: Sequence[Path],
    total: int,
    report_progress: ProgressCallback,
) -> None:
    while child.poll() is None:
        report_progress(sum(map(read_last_step, folders)), total)
        with suppress(subprocess.TimeoutExpired):
            child.wait(POLL_SECONDS)


def _stop(child: "subprocess.Popen[bytes]") -> None:
    """Stop all processes: by SIGTERM, then by SIGKILL."""
    if child.poll() is None:
        child.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        while child.poll() is None and time.monotonic() < deadline:
            with suppress(subprocess.TimeoutExpired):
                child.wait(POLL_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _last_error(run: Path) -> str:
    """Return the error message of a process; torchrun's own output only if our processes logged none."""
    lines = [line.strip() for line in _read_tail(run / LOG_FILE).splitlines() if line.strip()]
    ours = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    raised = [line for line in lines if "Error: " in line and "ChildFailedError" not in line]
    return (ours or raised or lines or ["it logged nothing"])[-1][-_MAX_EXCERPT_LENGTH:]


def _read_tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
