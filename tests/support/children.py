"""Run platform code in a process of its own, on the test's database, so that it can be killed for real."""

import os
import signal
import socket
import subprocess
import sys
import traceback
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from celery.bin.celery import main as celery_main
from django.conf import settings
from django.db import connection, connections
from django.test import override_settings

from annotation_site.management.commands.serve import web_command
from annotation_site.workers import celery_worker_commands
from hits.mturk import boto
from tests.support import isolation
from tests.support.paths import ROOT
from tests.support.ready_server import ReadyServer
from tests.support.waiting import wait_until

START_SECONDS, STOP_SECONDS = 180, 20


def child_environment(**more: str) -> dict[str, str]:
    """Return an environment in which a child sees the same database, files and secrets as this test."""
    database = connection.settings_dict
    environment = os.environ | {
        "DEERSTALKER_VAR": str(settings.VAR_DIR),
        "MEDIA_ROOT": str(settings.MEDIA_ROOT),
        "DJANGO_SETTINGS_MODULE": "annotation_site.settings",
        "DEBUG": "1",
        "LOG_LEVEL": "ERROR",
    }
    if connection.vendor == "sqlite":
        environment["SQLITE_PATH"] = str(database["NAME"])
    else:
        environment["DATABASE_URL"] = (
            f"postgres://{database['USER']}:{database['PASSWORD']}@{database['HOST']}:"
            f"{database['PORT'] or 5432}/{database['NAME']}"
        )
    isolation.pin(environment)  # also when a test set something for itself
    return environment | more


def run(code: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run ``code`` with Django set up, and return how it ended."""
    return subprocess.run(
        [sys.executable, "-c", f"import django; django.setup()\n{code}"],
        env=child_environment(**more),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def forked(work: Callable[[], object], *, crash_at: str = "") -> int:
    """Run ``work`` in a fork of this process, and return its exit status: 0, or 1 with the error on stderr.

    A fork is ready at once, where a new interpreter loads Django for seconds. No connection crosses it: ours are
    closed before, and the child opens its own, as any other process would.
    """
    return wait(start(work, crash_at=crash_at))


def start(work: Callable[[], object], *, crash_at: str = "") -> int:
    """Start ``work`` in a fork, and return its process id; see ``forked``."""
    connections.close_all()
    if connection.vendor == "postgresql":
        connection.close_pool()  # what is closed only goes back there, and the child would take the same socket out
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.environ["DEERSTALKER_CRASH_AT"] = crash_at
        boto._local.__dict__.clear()  # a socket of the parent's would be shared
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def leave(status: int) -> None:
    """End a forked child with a status of its own."""
    os._exit(status)


def wait(child: int) -> int:
    """Wait for a process of ``start``, and return its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def has_ended(child: int) -> bool:
    """Return whether a process of ``start`` has ended; ``wait`` still tells its exit status."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ready_server() -> ReadyServer:
    """Return a server that has loaded the site; end it with ``close``."""
    port = free_port()
    media = Path(settings.VAR_DIR) / f"media-of-{port}"
    return ReadyServer(port, media, child_environment(**_own(port), MEDIA_ROOT=str(media)), ROOT)


def _own(port: int) -> dict[str, str]:
    return {
        "PORT": str(port),
        "PUBLIC_URL": f"http://localhost:{port}",
        "HIT_ORIGIN": f"http://127.0.0.1:{port}",
    }


@contextmanager
def server(port: int, **more: str) -> Iterator[str]:
    """Run the real web server on ``port``; yields its address on the public origin."""
    with server_process(port, **more):
        yield f"http://localhost:{port}"


@contextmanager
def web_server(**more: str) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Run the web server as ``serve`` runs it; yields its port and its first process."""
    port = free_port()
    with override_settings(PORT=port):
        command = web_command()
    environment = child_environment(**_own(port), **more)
    process = subprocess.Popen(command, env=environment, cwd=ROOT, start_new_session=True)
    try:
        wait_until_it_answers(f"http://localhost:{port}", process)
        yield port, process
    finally:
        stop(process)


@contextmanager
def server_process(port: int, workers: int = 1, **more: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the real web server on ``port``; yields its first process, which leads a group of its own."""
    base = f"http://localhost:{port}"
    environment = child_environment(**(_own(port) | more))
    command = [
        sys.executable, "-m", "gunicorn", "annotation_site.wsgi:application", "--bind", f"127.0.0.1:{port}",
        "--workers", str(workers), "--worker-class", "gthread", "--threads", "8", "--log-level", "critical",
        "--timeout", "0",  # a worker that the machine holds up is not one that hangs
    ]  # fmt: skip
    process = subprocess.Popen(command, env=environment, cwd=ROOT, start_new_session=True)
    try:
        wait_until_it_answers(base, process)
        yield process
    finally:
        stop(process)


@contextmanager
def workers(log: Path | None = None, **more: str) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Run the real background workers; yields the light one and the heavy one. Their standard error goes to ``log``.

    Wake-ups that earlier tests left in the queue are forgotten first.
    """
    _forget_wakeups()
    environment = child_environment(**more)
    errors = log.open("wb") if log is not None else None
    started = [
        subprocess.Popen(command, env=environment, cwd=ROOT, start_new_session=True, stderr=errors)
        for command in celery_worker_commands()
    ]
    try:
        yield started
    finally:
        if errors is not None:
            errors.close()
        for process in started:
            process.terminate()
        for process in started:
            stop(process)


@contextmanager
def forked_workers() -> Iterator[None]:
    """Run the background workers as forks of this process: the same commands, without seconds of imports for each."""
    _forget_wakeups()
    started = [start(partial(_work_off_queues, command)) for command in celery_worker_commands()]
    try:
        yield
    finally:
        for child in started:
            with suppress(ProcessLookupError):  # it has no group of its own yet, and no children
                os.killpg(child, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
            wait(child)


def _work_off_queues(command: list[str]) -> None:
    os.setsid()
    sys.argv = command[2:]
    celery_main()


def _forget_wakeups() -> None:
    for message in (settings.VAR_DIR / "queue" / "messages").glob("*.msg"):
        message.unlink(missing_ok=True)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Ask the leader of a group to stop, and kill the group when it takes long: stopping is not what is tested."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_it_answers(base: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the server that ``process`` runs at this address has started."""

    def answers() -> bool:
        assert process.poll() is None, f"the server at {base} ended with status {process.returncode}"
        try:
            urllib.request.urlopen(f"{base}/healthz", timeout=10).read()
        except OSError:
            return False
        return True

    wait_until(answers, START_SECONDS, f"the server at {base} did not start", step=0.1)
