"""What ``serve`` starts it also stops, and it goes on without the processes that it can do without."""

import os
import sys
import time
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation_site.management.commands.serve import encoder_command, running, wait_for_end

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]
FAILS = [sys.executable, "-c", "raise SystemExit(3)"]


def _noted(path: Path) -> list[str]:
    """Return a command that writes its process id and sleeps."""
    code = (
        f"import os, pathlib, time; pathlib.Path({str(path)!r}).write_text(str(os.getpid())); time.sleep(60)"
    )
    return [sys.executable, "-c", code]


def _wait(condition: object) -> None:
    for _ in range(200):
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_helper_is_stopped_with_the_service(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with running([SLEEPS], helpers=[_noted(note)]) as processes:
        assert len(processes) == 1
        _wait(lambda: note.exists() and note.read_text())
        helper = int(note.read_text())
        assert _runs(helper)
    assert not _runs(helper)


def test_the_service_goes_on_when_a_helper_ends_and_not_when_a_server_does(tmp_path: Path) -> None:
    note = tmp_path / "over"
    ends_later = [
        sys.executable,
        "-c",
        f"import time, pathlib\nwhile not pathlib.Path({str(note)!r}).exists(): time.sleep(.05)",
    ]
    helper = [
        sys.executable,
        "-c",
        f"import pathlib; pathlib.Path({str(note)!r}).write_text('x'); raise SystemExit(3)",
    ]
    with running([SLEEPS, SLEEPS], helpers=[FAILS]) as processes:
        time.sleep(1.0)
        assert all(process.poll() is None for process in processes)
    with running([SLEEPS, ends_later], helpers=[helper]) as processes, pytest.raises(CommandError):
        wait_for_end(processes)


def test_the_encoder_is_a_helper_of_its_own() -> None:
    assert encoder_command()[-1] == "serve_encoder"
