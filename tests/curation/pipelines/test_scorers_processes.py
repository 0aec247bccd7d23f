"""Training with several processes: a child that is followed, stopped and quoted. A short program plays torchrun."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.pipelines.training import training_processes
from curation.pipelines.training.training_processes import (
    LOG_FILE,
    build_command,
    read_last_step,
    train_in_processes,
)
from hits.services.errors import Refused

STEPS = "import sys, pathlib, time; run = pathlib.Path(sys.argv[1])\n"
WRITES = STEPS + "(run / 'losses.csv').write_text('step,loss\\n1,2.0\\n2,1.5\\n')\n"
FAILS = STEPS + "print('error: batch_size: 64 is more than 9'); print('ChildFailedError: '); sys.exit(2)"
LASTS = WRITES + "(run / 'pid').write_text(str(__import__('os').getpid())); time.sleep(600)"


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that puts a program in torchrun's place."""

    def put(program: str) -> None:
        played = lambda run, *_: [sys.executable, "-c", program, str(run)]  # noqa: E731
        monkeypatch.setattr(training_processes, "build_command", played)

    monkeypatch.setattr(training_processes, "POLL_SECONDS", 0.05)
    return put


def test_training_command_is_torchrun_of_this_interpreter(tmp_path: Path) -> None:
    words = build_command(tmp_path, 3)
    assert words[:3] == [sys.executable, "-m", "torch.distributed.run"]
    assert words[words.index("--nproc-per-node") + 1] == "3"
    assert words[-3:] == ["-m", "curation.scorer.train", str(tmp_path)]


def test_steps_are_reported_as_written(plays: Any, tmp_path: Path) -> None:
    plays(WRITES + "while not (run / 'seen').exists(): time.sleep(0.01)")  # it works until it was heard
    reported: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        reported.append((done, total))
        if done == total:
            (tmp_path / "seen").touch()

    train_in_processes(tmp_path, 2, total=2, report_progress=report)
    assert reported[-1] == (2, 2)


def test_partial_line_is_not_a_step(tmp_path: Path) -> None:
    assert read_last_step(tmp_path) == 0
    (tmp_path / "losses.csv").write_text("step,loss\n")
    assert read_last_step(tmp_path) == 0
    (tmp_path / "losses.csv").write_text("step,loss\n9,1.0\n10,0.")
    assert read_last_step(tmp_path) == 9


class Enough(Exception):
    """What stops the work."""


def test_stop_request_ends_the_child(plays: Any, tmp_path: Path) -> None:
    plays(LASTS)

    def stop(done: int, total: int) -> None:
        if (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text():
            raise Enough

    with pytest.raises(Enough):
        train_in_processes(tmp_path, 2, total=9, report_progress=stop)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_error_of_the_child_is_quoted(plays: Any, tmp_path: Path) -> None:
    plays(FAILS)
    with pytest.raises(Refused, match="torchrun ended with 2: batch_size: 64 is more than 9; the log is"):
        train_in_processes(tmp_path, 2, total=9, report_progress=lambda *_: None)
    assert "ChildFailedError" in (tmp_path / LOG_FILE).read_text()
