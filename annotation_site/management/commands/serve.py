"""``manage.py serve``: web server and background workers with one command, stopped together."""

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

from annotation_site.starting import (
    bind_address,
    held_folder,
    refuse_unapplied_migrations,
    warning_about_reach,
)
from annotation_site.workers import worker_commands

logger = logging.getLogger(__name__)

# A worker that dies is started again after 1, 2, 4, 8 and 16 seconds; one that dies once more within this time will
# not live by being started again.
DEATHS = 6
WITHIN_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 1.0
STOP_SECONDS = 10.0
# Each request that is only half sent holds a thread; with so many, two dozen of them turn nobody away, even when one
# process gets them all. Waiting threads cost little: most work is the database's (docs/performance.md).
THREADS = 40


class Command(BaseCommand):
    """Run gunicorn and, as processes of their own, two Celery workers: a light one with the beat, a heavy one."""

    help = "Serve both origins and run the background workers, until Ctrl C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        parser.add_argument("--workers", type=int, default=2, help="web processes")
        parser.add_argument("--threads", type=int, default=THREADS, help="threads a web process")
        parser.add_argument("--no-worker", action="store_true", help="leave the background workers out")
        parser.add_argument("--no-encoder", action="store_true", help="leave the encoder of live hints out")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start them and the encoder, wait, and stop all when the web server ends or a worker cannot be kept."""
        refuse_taken_port()
        refuse_unapplied_migrations()
        with nullcontext() if options["no_worker"] else held_folder():
            self._serve(options)

    def _serve(self, options: dict[str, Any]) -> None:
        warning = warning_about_reach()
        if warning:
            self.stderr.write(f"Warning: {warning}")
        call_command("collectstatic", interactive=False, verbosity=0)
        web = [web_command(options["workers"], options["threads"])]
        workers = [] if options["no_worker"] else worker_commands()
        helpers = [] if options["no_encoder"] else [encoder_command()]
        self.stderr.write(f"Serving {settings.PUBLIC_URL}, tasks at {settings.HIT_ORIGIN}.", style_func=str)
        with suppress(KeyboardInterrupt), running(web, restarted=workers, helpers=helpers) as processes:
            wait_for_end(processes)


class Restarted:
    """A process that is started again when it dies, after pauses that grow, until it dies too often."""

    def __init__(
        self, command: list[str], stdout: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._command = command
        self._stdout = stdout
        self._clock = clock
        self._deaths: list[float] = []
        self._due: float | None = None
        self._given_up: int | None = None
        self._start()

    @property
    def pid(self) -> int:
        """The present process, or the latest when none runs."""
        return self._process.pid

    def poll(self) -> int | None:
        """Start the process again when that is due; return its last exit status once it is given up."""
        if self._given_up is not None:
            return self._given_up
        if self._due is not None:
            if self._clock() >= self._due:
                with _signals_held_back():
                    self._start()
            return None
        status = self._process.poll()
        if status is not None:
            self._note_death(status)
        return self._given_up

    def terminate(self) -> None:
        """Ask the present process to stop."""
        self._process.terminate()

    def kill(self) -> None:
        """Insist."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the present process, as ``Popen.wait`` does."""
        return self._process.wait(timeout)

    def _start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=self._stdout)  # noqa: S603
        self._due = None

    def _note_death(self, status: int) -> None:
        now = self._clock()
        self._deaths = [death for death in self._deaths if now - death < WITHIN_SECONDS] + [now]
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        if len(self._deaths) >= DEATHS:
            self._given_up = status
            logger.critical("a background worker ended %s; given up after %d times", how, DEATHS)
            return
        pause = FIRST_PAUSE_SECONDS * 2 ** (len(self._deaths) - 1)
        self._due = now + pause
        logger.error("a background worker ended by itself %s; it is started again in %.0f s", how, pause)


Process = subprocess.Popen[bytes] | Restarted


def refuse_taken_port() -> None:
    """Say in one line that another program listens, before anything is started.

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
def running(
    commands: list[list[str]],
    stdout: TextIO | None = None,
    *,
    restarted: Sequence[list[str]] = (),
    helpers: Sequence[list[str]] = (),
) -> Iterator[list[Process]]:
    """Start the commands, and stop them all at the end; SIGTERM ends it as Ctrl C does.

    ``restarted`` are started again when they die, for as long as somebody polls them. ``helpers`` are started and
    stopped with the others, but not yielded: the service goes on without them.

    Raises:
        KeyboardInterrupt: somebody asked to stop.
    """
    before = signal.signal(signal.SIGTERM, _stop)
    processes: list[Process] = []
    aside: list[Process] = []
    try:
        with _signals_held_back():
            processes.extend(subprocess.Popen(command, stdout=stdout) for command in commands)  # noqa: S603
            processes.extend(Restarted(command, stdout) for command in restarted)
            aside.extend(subprocess.Popen(command, stdout=stdout) for command in helpers)  # noqa: S603
        yield processes
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # stopping is under way
        _stop_all([*processes, *aside])
        signal.signal(signal.SIGTERM, before)


def wait_for_end(processes: list[Process]) -> None:
    """Wait for as long as all processes run or are started again.

    Raises:
        CommandError: one ended for good; half a service is none, and a supervisor can start the whole again.
    """
    while all(process.poll() is None for process in processes):
        time.sleep(0.3)
    raise CommandError("a server process ended by itself; what it said stands above")


def web_command(workers: int = 2, threads: int = THREADS) -> list[str]:
    """Return the command line of the web server."""
    return [
        sys.executable, "-m", "gunicorn", "annotation_site.wsgi:application",
        "--bind", f"{bind_address()}:{settings.PORT}",
        "--workers", str(workers), "--worker-class", "gthread", "--threads", str(threads),
        "--log-level", "warning", "--worker-tmp-dir", "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp",  # noqa: S108, PTH112
    ]  # fmt: skip


def encoder_command() -> list[str]:
    """Return the command line of the process that live hints ask; pages do without it when it ends."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), "serve_encoder"]


def _stop_all(processes: list[Process]) -> None:
    """Ask every process to stop, and insist after ten seconds."""
    for process in processes:
        process.terminate()
    ends = time.monotonic() + STOP_SECONDS
    for process in processes:
        try:
            process.wait(timeout=max(0.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Let Ctrl C and SIGTERM wait for the block's end: a process that was just started must be known, to be stopped.

    Raises:
        KeyboardInterrupt: one of them came meanwhile.
    """
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, frame: came.append(number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
