"""Broken, incomplete or busy run folders and a full disk: one-line errors and resuming."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from curation.records import InvalidInput
from curation.scorer.config import TrainingConfig
from curation.scorer.model.folder import load_scorer
from curation.scorer.train import train
from tests.support.curation._scorer_runs import make_run

pytestmark = pytest.mark.usefixtures("one_thread")


def edited(run: Path, **values: object) -> None:
    """Change the first pair of a run."""
    first, _, rest = (run / "train.jsonl").read_text("utf-8").partition("\n")
    pair = json.loads(first) | values
    (run / "train.jsonl").write_text(f"{json.dumps(pair, ensure_ascii=False)}\n{rest}", "utf-8")


@pytest.mark.parametrize(
    "values",
    [
        {"boxes": []},
        {"boxes": [{"left": 1e999, "top": 1, "width": 5, "height": 5}]},
        {"boxes": [{"left": 1, "top": 1, "width": 0, "height": 5}]},
        {"boxes": None},
    ],
)
def test_invalid_pair_is_refused_with_its_line(tmp_path: Path, values: dict[str, object]) -> None:
    run = make_run(tmp_path / "run")
    edited(run, **values)
    with pytest.raises(InvalidInput, match=r"train\.jsonl: line 1 is not a pair"):
        train(run)


def test_invalid_unicode_and_nesting_are_refused_in_one_line(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    path = run / "train.jsonl"
    whole = path.read_text("utf-8")
    for text in (whole.replace("somebody likes red", "\\ud800"), "[" * 100_000):
        path.write_text(text, "utf-8")
        with pytest.raises(InvalidInput, match="line 1 is not a pair"):
            train(run)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="cannot be read"):
        train(run)
    (run / "run.json").write_text("[" * 100_000)
    with pytest.raises(InvalidInput, match="cannot be read"):
        train(run)


def test_text_may_contain_any_character(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    edited(run, inference="one\u2028two\x85\x0b\x00 é🦌" * 500, clue="")
    assert train(run).steps == 3


@pytest.mark.parametrize(("device", "words"), [("nonsense", "is not known"), ("cuda", "torch finds no GPU")])
def test_unavailable_device_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, words: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match=f"device: .*{words}"):
        train(make_run(tmp_path / "run", device=device))


def test_missing_files_of_a_finished_run_are_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    result = train(run)
    (run / "done.json").write_text("{}")
    with pytest.raises(InvalidInput, match=r"done\.json: is broken; delete it"):
        train(run)
    (run / "done.json").unlink()
    assert train(run) == result
    (run / "done.json").unlink()
    kept = (run / "validation.csv").read_bytes()
    (run / "validation.csv").write_text("")
    with pytest.raises(InvalidInput, match=r"the scorer of step \d or its validation is missing"):
        train(run)
    (run / "validation.csv").write_bytes(kept)
    shutil.rmtree(run / "best")
    with pytest.raises(InvalidInput, match="is missing"):
        train(run)


def test_card_records_training_on_rehearsal_data(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    raw = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(raw | {"provenance": {"rehearsal": True}}))
    train(run)
    shutil.move(run / "best", tmp_path / "carried-off")
    assert load_scorer(tmp_path / "carried-off").card.made["rehearsal"] is True
    after = make_run(tmp_path / "after", model=f"scorer:{tmp_path / 'carried-off'}")
    train(after)
    assert load_scorer(after / "best").card.made["rehearsal"] is True
    plain = make_run(tmp_path / "plain")
    train(plain)
    assert "rehearsal" not in load_scorer(plain / "best").card.made


def test_two_processes_cannot_train_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.scorer.training.process.LOCK_SECONDS", 0)
    run = make_run(tmp_path / "run")
    errors: list[str] = []

    def another(done: int, total: int) -> None:
        if done == 1:
            with pytest.raises(InvalidInput, match="another process is training it") as caught:
                train(run)
            errors.append(str(caught.value))

    assert train(run, report_progress=another).steps == 3
    assert len(errors) == 1


def test_full_disk_is_reported_and_the_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "run", epochs=2)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("curation.scorer.training.checkpoint.save_file", full)
        with pytest.raises(InvalidInput, match=r"cannot be written .*No space left"):
            train(run)
    assert not list((run / "checkpoint").glob(".*"))
    assert train(run).steps == 6


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1])
def test_invalid_weight_decay_is_refused(value: float) -> None:
    with pytest.raises(InvalidInput, match=r"^weight_decay: .* is not a valid decay; use 0 or more$"):
        TrainingConfig("tiny", weight_decay=value)
