"""``manage.py serve``: web server and background worker with one command, stopped together."""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

Process = subprocess.Popen[bytes]


class Command(BaseCommand):
    """Run gunicorn and, as a process of its own, a Celery worker with its beat."""

    help = "Serve both origins and run the background worker, until Ctrl C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        parser.add_argument("--workers", type=int, default=2, help="web processes")
        parser.add_argument("--threads", type=int, default=8, help="threads a web process")
        parser.add_argument("--no-worker", action="store_true", help="leave the background worker out")
        parser.add_argument("--no-encoder", action="store_true", help="leave the encoder of live hints out")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start both and the encoder, wait, and stop all when one of the two ends."""
        refuse_taken_port()
        call_command("collectstatic", interactive=False, verbosity=0)
        commands = [web_command(options["workers"], options["threads"])]
        if not options["no_worker"]:
            commands.append(worker_command())
        helpers = [] if options["no_encoder"] else [encoder_command()]
        self.stderr.write(f"Serving {settings.PUBLIC_URL}, tasks at {settings.HIT_ORIGIN}.", style_func=str)
        with suppress(KeyboardInterrupt), running(commands, helpers=helpers) as processes:
            wait_for_end(processes)


def refuse_taken_port() -> None:
    """Say in one line that another program listens, before anything is started.

    Raises:
        CommandError: with exit status 2.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_address(), settings.PORT))
        except OSError as error:
            raise CommandError(
                f"port {settings.PORT}: {error.strerror or error}; choose another, such as PORT=8100",
                returncode=2,
            ) from error


@contextmanager
def running(
    commands: list[list[str]], stdout: TextIO | None = None, *, helpers: Sequence[list[str]] = ()
) -> Iterator[list[Process]]:
    """Start the commands, and stop them all at the end; SIGTERM ends it as Ctrl C does.

    ``helpers`` are started and stopped with the others, but not yielded: the service goes on without them.

    Raises:
        KeyboardInterrupt: somebody asked to stop.
    """
    before = signal.signal(signal.SIGTERM, _stop)
    processes: list[Process] = []
    aside: list[Process] = []
    try:
        for command in commands:
            processes.append(subprocess.Popen(command, stdout=stdout))  # noqa: S603
        for command in helpers:
            aside.append(subprocess.Popen(command, stdout=stdout))  # noqa: S603
        yield processes
    finally:
        _stop_all([*processes, *aside])
        signal.signal(signal.SIGTERM, before)


def wait_for_end(processes: list[Process]) -> None:
    """Wait for as long as all processes run.

    Raises:
        CommandError: one ended by itself; half a service is none.
    """
    while all(process.poll() is None for process in processes):
        time.sleep(0.3)
    raise CommandError("a server process ended by itself; what it said stands above")


def web_command(workers: int = 2, threads: int = 8) -> list[str]:
    """Return the command line of the web server."""
    return [
        sys.executable, "-m", "gunicorn", "annotation_site.wsgi:application",
        "--bind", f"{_address()}:{settings.PORT}",
        "--workers", str(workers), "--worker-class", "gthread", "--threads", str(threads),
        "--log-level", "warning", "--worker-tmp-dir", "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp",  # noqa: S108, PTH112
    ]  # fmt: skip


def worker_command() -> list[str]:
    """Return the command line of the background worker."""
    return [
        sys.executable, "-m", "celery", "--quiet", "--app", "annotation_site", "worker", "--beat",
        "--concurrency", os.environ.get("WORKER_CONCURRENCY", "2"), "--pool", "prefork",
        "--without-gossip", "--without-mingle", "--loglevel", "warning",
    ]  # fmt: skip


def encoder_command() -> list[str]:
    """Return the command line of the process that live hints ask; pages do without it when it ends."""
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), "serve_encoder"]


def _stop_all(processes: list[Process]) -> None:
    """Ask every process to stop, and insist after ten seconds."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()


def _address() -> str:
    return os.environ.get("BIND", "127.0.0.1")


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
