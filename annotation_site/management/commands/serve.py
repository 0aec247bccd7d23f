"""``manage.py serve``: run the web server and the background workers with one command."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, TextIO

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from annotation_site.startup import (
    bind_address,
    exposure_warning,
    lock_data_folder,
    refuse_unapplied_migrations,
)
from annotation_site.workers import celery_worker_commands

logger = logging.getLogger(__name__)

# A worker that dies is restarted after 1, 2, 4, 8 and 16 seconds. After the sixth death within this window it is
# not restarted any more, because another restart would not help.
MAX_DEATHS = 6
DEATH_WINDOW_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 1.0
STOP_SECONDS = 10.0
# Each half-sent request occupies a thread. With this many threads, two dozen such requests block nobody, even in one
# process. Waiting threads cost little: the database does most of the work (docs/performance.md).
DEFAULT_THREADS = 40


class Command(BaseCommand):
    """Run gunicorn and two Celery workers as processes: a light one with the beat, and a heavy one."""

    help = "Serve the console and the task pages and run the background workers, until Ctrl C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        parser.add_argument("--workers", type=int, default=2, help="web processes")
        parser.add_argument("--threads", type=int, default=DEFAULT_THREADS, help="threads per web process")
        parser.add_argument("--no-worker", action="store_true", help="run no background workers")
        parser.add_argument("--no-encoder", action="store_true", help="run no encoder for live hints")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start all processes, wait, and stop them when the web server or a worker has ended for good."""
        refuse_taken_port()
        refuse_unapplied_migrations()
        with nullcontext() if options["no_worker"] else lock_data_folder():
            self._serve(options)

    def _serve(self, options: dict[str, Any]) -> None:
        warning = exposure_warning()
        if warning:
            self.stderr.write(f"Warning: {warning}")
        call_command("collectstatic", interactive=False, verbosity=0)
        web = [web_command(options["workers"], options["threads"])]
        workers = [] if options["no_worker"] else celery_worker_commands()
        helpers = [] if options["no_encoder"] else [encoder_command()]
        self.stderr.write(f"Serving {settings.PUBLIC_URL}, tasks at {settings.HIT_ORIGIN}.", style_func=str)
        with (
            suppress(KeyboardInterrupt),
            run_processes(web, supervised=workers, helpers=helpers) as processes,
        ):
            wait_until_one_ends(processes)


class SupervisedProcess:
    """A process that is restarted when it dies, after growing pauses, until it dies too often."""

    def __init__(
        self, command: list[str], stdout: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._command = command
        self._stdout = stdout
        self._clock = clock
        self._deaths: list[float] = []
        self._restart_at: float | None = None
        self._final_status: int | None = None
        self._start()

    @property
    def pid(self) -> int:
        """The id of the current process, or of the last one if none runs."""
        return self._process.pid

    def poll(self) -> int | None:
        """Restart the process when that is due; return its exit status when it is not restarted any more."""
        if self._final_status is not None:
            return self._final_status
        if self._restart_at is not None:
            if self._clock() >= self._restart_at:
                with _defer_signals():
                    self._start()
            return None
        status = self._process.poll()
        if status is not None:
            self._plan_restart_or_give_up(status)
        return self._final_status

    def terminate(self) -> None:
        """Send SIGTERM to the current process."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL to the current process."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the current process, as ``Popen.wait`` does."""
        return self._process.wait(timeout)

    def _start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=self._stdout)  # noqa: S603
        self._restart_at = None

    def _plan_restart_or_give_up(self, status: int) -> None:
        now = self._clock()
        self._deaths = [death for death in self._deaths if now - death < DEATH_WINDOW_SECONDS] + [now]
        cause = f"by signal {-status}" if status < 0 else f"with status {status}"
        if len(self._deaths) >= MAX_DEATHS:
            self._final_status = status
            logger.critical("a background worker ended %s; not restarted after %d deaths", cause, MAX_DEATHS)
            return
        pause = FIRST_PAUSE_SECONDS * 2 ** (len(self._deaths) - 1)
        self._restart_at = now + pause
        logger.error("a background worker ended %s; it is restarted in %.0f s", cause, pause)


Process = subprocess.Popen[bytes] | SupervisedProcess


def refuse_taken_port() -> None:
    """Refuse to start if another program listens on the port.

    Raises:
        CommandError: with exit status 2.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((bind_address(), settings.PORT))
        except OSError as error:
            raise CommandError(
                f"port {settings.PORT}: {error.strerror or error}; choose another, such as PORT=8100",
                returncode=2,
            ) from error


@contextmanager
def run_processes(
    commands: list[list[str]],
    stdout: TextIO | None = None,
    *,
    supervised: Sequence[list[str]] = (),
    helpers: Sequence[list[str]] = (),
) -> Iterator[list[Process]]:
    """Start the commands, and stop them all at the end; SIGTERM stops them as Ctrl C does.

    ``supervised`` commands are restarted when they die, while the caller polls them. ``helpers`` start and stop with
    the others but are not yielded, because the service works without them.

    Raises:
        KeyboardInterrupt: on Ctrl C or SIGTERM.
    """
    previous_handler = signal.signal(signal.SIGTERM, _interrupt)
    processes: list[Process] = []
    helper_processes: list[Process] = []
    try:
        with _defer_signals():
            processes.extend(subprocess.Popen(command, stdout=stdout) for command in commands)  # noqa: S603
            processes.extend(SupervisedProcess(command, stdout) for command in supervised)
            helper_processes.extend(subprocess.Popen(command, stdout=stdout) for command in helpers)  # noqa: S603
        yield processes
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # stopping is under way
        _stop_all([*processes, *helper_processes])
        signal.signal(signal.SIGTERM, previous_handler)


def wait_until_one_ends(processes: list[Process]) -> None:
    """Wait while all processes run or are restarted.

    Raises:
        CommandError: one process ended for good. The service needs all of them; a supervisor can restart ``serve``.
    """
    while all(process.poll() is None for process in processes):
        time.sleep(0.3)
    raise CommandError("a server process ended by itself; see its output above")


def web_command(workers: int = 2, threads: int = DEFAULT_THREADS) -> list[str]:
    """Return the command line of the web server."""
    return [
        sys.executable, "-m", "gunicorn", "annotation_site.wsgi:application",
        "--bind", f"{bind_address()}:{settings.PORT}",
        "--workers", str(workers), "--worker-class", "gthread", "--threads", str(threads),
        "--log-level", "warning", "--worker-tmp-dir", "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp",  # noqa: S108, PTH112
    ]  # fmt: skip


def encoder_command() -> list[str]:
    """Return the command line of the encoder of live hints; pages work without it when it ends."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), "serve_encoder"]


def _stop_all(processes: list[Process]) -> None:
    """Send SIGTERM to every process, and SIGKILL after ten seconds."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in processes:
        try:
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Defer Ctrl C and SIGTERM to the block's end, so that a process just started is listed and can be stopped.

    Raises:
        KeyboardInterrupt: one of the signals arrived meanwhile.
    """
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(number, lambda number, frame: received.append(number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
    if received:
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
