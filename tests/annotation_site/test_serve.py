"""What ``serve`` starts it also stops, and it goes on without the processes that it can do without."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management.base import CommandError

from annotation_site import celery as worker_side
from annotation_site.management.commands import serve
from annotation_site.management.commands.serve import (
    SupervisedProcess,
    encoder_command,
    run_processes,
    wait_until_one_ends,
)
from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import jobs
from tests.support import children
from tests.support.waiting import wait_until

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


def _noted(path: Path, then: str = "time.sleep(60)") -> list[str]:
    """Return a command that writes its process id, and then sleeps or does something else."""
    code = f"import os, pathlib, time; pathlib.Path({str(path)!r}).write_text(str(os.getpid())); {then}"
    return [sys.executable, "-c", code]


def _noted_pid(path: Path) -> int:
    """Return the process id that such a command writes, once it is there."""
    wait_until(lambda: path.exists() and path.read_text())
    return int(path.read_text())


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_helper_stops_with_the_service(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with run_processes([SLEEPS], helpers=[_noted(note)]) as processes:
        assert len(processes) == 1
        helper = _noted_pid(note)
        assert _runs(helper)
    assert not _runs(helper)


def test_service_survives_a_helper_but_not_a_server(tmp_path: Path) -> None:
    note = tmp_path / "over"
    ends_later = [
        sys.executable,
        "-c",
        f"import time, pathlib\nwhile not pathlib.Path({str(note)!r}).exists(): time.sleep(.05)",
    ]
    failed = tmp_path / "pid"
    with run_processes([SLEEPS, SLEEPS], helpers=[_noted(failed, "raise SystemExit(3)")]) as processes:
        os.waitid(os.P_PID, _noted_pid(failed), os.WEXITED | os.WNOWAIT)  # it has ended; its status stays
        assert all(process.poll() is None for process in processes)
    with (
        run_processes([SLEEPS, ends_later], helpers=[_noted(note, "raise SystemExit(3)")]) as processes,
        pytest.raises(CommandError),
    ):
        wait_until_one_ends(processes)


def test_encoder_is_a_helper() -> None:
    assert encoder_command()[-1] == "serve_encoder"


class _Clock:
    """A clock that stands until somebody moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def _restarted(command: list[str], clock: _Clock) -> Iterator[SupervisedProcess]:
    process = SupervisedProcess(command, clock=clock)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _end(process: SupervisedProcess) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def _pause(process: SupervisedProcess, clock: _Clock) -> int:
    """Let the process's death be noticed, and return after how many seconds it is started again."""
    ended = process.pid
    assert process.poll() is None
    for second in range(60):
        if process.pid != ended:
            return second
        clock.now += 1
        assert process.poll() is None
    raise AssertionError("not started again")


def test_dead_worker_is_restarted_after_growing_pauses(caplog: pytest.LogCaptureFixture) -> None:
    clock = _Clock()
    with _restarted(SLEEPS, clock) as process:
        pauses = []
        for _ in range(serve.MAX_DEATHS - 1):
            _end(process)
            pauses.append(_pause(process, clock))
        assert pauses == [1, 2, 4, 8, 16]
        assert "ended by signal 9; it is restarted in 16 s" in caplog.text

        _end(process)
        with pytest.raises(CommandError):
            wait_until_one_ends([process])
        assert caplog.records[-1].levelno == logging.CRITICAL
        last = process.pid
        clock.now += 1000
        assert (process.poll(), process.pid) == (-signal.SIGKILL, last)


def test_deaths_outside_the_window_do_not_count() -> None:
    clock = _Clock()
    with _restarted(SLEEPS, clock) as process:
        for _ in range(serve.MAX_DEATHS * 2):
            _end(process)
            assert _pause(process, clock) == 1
            clock.now += serve.DEATH_WINDOW_SECONDS


def test_stop_during_a_restart_stops_the_new_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The signal comes when the new process runs and nobody knows it yet."""
    started: list[int] = []

    def popen(command: list[str], stdout: object = None) -> "subprocess.Popen[bytes]":
        process = real(command)
        started.append(process.pid)
        if len(started) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return process

    real = subprocess.Popen
    clock = _Clock()
    monkeypatch.setattr(serve.subprocess, "Popen", popen)
    with run_processes([], supervised=[SLEEPS]) as [process]:
        monkeypatch.setattr(process, "_clock", clock)
        _end(process)  # type: ignore[arg-type]
        assert process.poll() is None
        clock.now += 1
        with pytest.raises(KeyboardInterrupt):
            process.poll()
    assert len(started) == 2
    assert not any(_runs(pid) for pid in started)


class _Beat:
    """Lives for as many looks as one says."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_alive(self) -> bool:
        self.looks -= 1
        return self.looks >= 0


@pytest.mark.parametrize(
    ("closing", "expected"),
    [(False, [signal.SIGTERM, worker_side.STOP_SECONDS, signal.SIGKILL]), (True, [])],
    ids=["by itself", "with the worker"],
)
def test_worker_stops_when_its_beat_dies(
    monkeypatch: pytest.MonkeyPatch, closing: bool, expected: list[float]
) -> None:
    """A worker that hangs while it stops is killed; one that is being stopped anyway is left alone."""
    done: list[float] = []
    monkeypatch.setattr(worker_side, "BEAT_CHECK_SECONDS", 0.01)
    monkeypatch.setattr(worker_side.os, "kill", lambda pid, number: done.append(number))
    monkeypatch.setattr(worker_side.time, "sleep", done.append)
    step = worker_side.BeatMonitor(None)
    if closing:
        step.close(None)
    step.watch(_Beat(looks=3))
    assert done == expected


@contextmanager
def _served(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """Run ``manage.py serve`` with one web process; yields it, and the file that it writes its errors to."""
    port = children.free_port()
    base = f"http://localhost:{port}"
    environment = children.child_environment(
        PORT=str(port), PUBLIC_URL=base, HIT_ORIGIN=f"http://127.0.0.1:{port}", WORKER_CONCURRENCY="1"
    )
    output = tmp_path / "output"
    with output.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--workers", "1", "--no-encoder"],
            cwd=children.ROOT,
            env=environment,
            stderr=errors,
        )
        try:
            children.wait_until_it_answers(base, process)
            yield process, output
        finally:
            process.terminate()
            process.wait(timeout=30)


def _children_of(pid: int) -> dict[int, str]:
    """Return the processes that ``pid`` started, and their command lines."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            found[int(child)] = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
        except FileNotFoundError:
            continue  # it has just ended
    return found


def _worker_of(pid: int) -> int | None:
    """Return the light worker of a served site once it has a beat and its pool."""
    for child, command in _children_of(pid).items():
        if " worker " in command and "--beat" in command and len(_children_of(child)) >= 3:
            return child
    return None


def _beat_of(worker: int) -> int:
    """Return the one process of a worker that does not ignore Ctrl C; those of the pool do."""
    ignored = {
        child: int(Path(f"/proc/{child}/status").read_text().split("SigIgn:")[1].split()[0], 16)
        for child in _children_of(worker)
    }
    [beat] = [child for child, signals in ignored.items() if not signals & 1 << (signal.SIGINT - 1)]
    return beat


def _web_of(pid: int) -> int:
    [web] = [child for child, command in _children_of(pid).items() if "gunicorn" in command]
    return web


def _do_a_job() -> None:
    """Batch 0 does not exist: a worker takes the job up and says so."""
    job = jobs.enqueue(task="hits.sync_batch", title="Nothing", batch=0)

    def over() -> bool:
        job.refresh_from_db()
        return job.state not in {JobState.QUEUED, JobState.RUNNING}

    wait_until(over, 180)
    assert (job.state, "DoesNotExist" in job.error) == (JobState.FAILED, True)


@pytest.fixture
def empty_queue() -> Iterator[Path]:
    folder = settings.VAR_DIR / "queue" / "messages"
    for message in folder.iterdir():
        message.unlink()
    yield folder
    for message in folder.iterdir():
        message.unlink()


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_site_survives_death_of_worker_and_beat(tmp_path: Path, empty_queue: Path) -> None:
    Job.objects.all().delete()
    with _served(tmp_path) as (served, output):
        wait_until(lambda: _worker_of(served.pid), 180)
        first, web = _worker_of(served.pid), _web_of(served.pid)
        assert first is not None

        # A message that somebody has not written yet, in front of all others, ends nothing.
        (empty_queue / "0_first.default.msg").touch()
        _do_a_job()
        assert _worker_of(served.pid) == first

        # A killed worker takes its beat and its pool along, and another one comes.
        family = [first, *_children_of(first)]
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not any(_runs(pid) for pid in family[1:]))
        wait_until(lambda: _worker_of(served.pid) not in {None, first}, 180)
        second = _worker_of(served.pid)
        assert second is not None
        _do_a_job()

        # A worker without a beat is none.
        os.kill(_beat_of(second), signal.SIGKILL)
        wait_until(lambda: _worker_of(served.pid) not in {None, second}, 180)
        _do_a_job()

        third = _worker_of(served.pid)
        assert third is not None
        assert _web_of(served.pid) == web
        everyone = [web, third, *_children_of(web), *_children_of(third)]
        served.terminate()
        assert served.wait(timeout=20) == 0
        wait_until(lambda: not any(_runs(pid) for pid in everyone))
        assert "Unrecoverable" not in output.read_text()


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_site_stops_with_its_web_server(tmp_path: Path, empty_queue: Path) -> None:
    """Whoever runs it then starts the whole again; a worker alone answers nobody."""
    with _served(tmp_path) as (served, output):
        wait_until(lambda: _worker_of(served.pid), 180)
        worker, web = _worker_of(served.pid), _web_of(served.pid)
        assert worker is not None
        os.kill(web, signal.SIGKILL)
        assert served.wait(timeout=30) != 0
        assert not _runs(worker)
        assert "a server process ended by itself" in output.read_text()
