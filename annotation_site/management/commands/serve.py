"""``manage.py serve``: web server and background worker with one command, stopped together."""

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Run gunicorn and, as a process of its own, a Celery worker with its beat."""

    help = "Serve both origins and run the background worker, until Ctrl C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        parser.add_argument("--workers", type=int, default=2, help="web processes")
        parser.add_argument("--threads", type=int, default=8, help="threads a web process")
        parser.add_argument("--no-worker", action="store_true", help="leave the background worker out")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start both, wait, and stop both when either ends."""
        call_command("collectstatic", interactive=False, verbosity=0)
        processes = [subprocess.Popen(web_command(options["workers"], options["threads"]))]  # noqa: S603
        if not options["no_worker"]:
            processes.append(subprocess.Popen(worker_command()))  # noqa: S603
        signal.signal(signal.SIGTERM, _stop)
        try:
            while all(process.poll() is None for process in processes):
                time.sleep(0.3)
        except KeyboardInterrupt:
            pass
        finally:
            stop_all(processes)


def web_command(workers: int = 2, threads: int = 8) -> list[str]:
    """Return the command line of the web server."""
    return [
        sys.executable, "-m", "gunicorn", "annotation_site.wsgi:application",
        "--bind", f"{os.environ.get('BIND', '127.0.0.1')}:{settings.PORT}",
        "--workers", str(workers), "--worker-class", "gthread", "--threads", str(threads),
        "--log-level", "warning", "--worker-tmp-dir", "/dev/shm" if os.path.isdir("/dev/shm") else "/tmp",  # noqa: S108, PTH112
    ]  # fmt: skip


def worker_command() -> list[str]:
    """Return the command line of the background worker."""
    return [
        sys.executable, "-m", "celery", "--app", "annotation_site", "worker", "--beat",
        "--concurrency", os.environ.get("WORKER_CONCURRENCY", "2"), "--pool", "prefork",
        "--without-gossip", "--without-mingle", "--loglevel", "warning",
    ]  # fmt: skip


def stop_all(processes: list["subprocess.Popen[bytes]"]) -> None:
    """Ask every process to stop, and insist after ten seconds."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
