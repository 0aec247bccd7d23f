"""Complete runs of a tiny model: resuming, written files, refusals."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from curation.records import InvalidInput
from curation.scorer import train as command
from curation.scorer.model.folder import load_scorer
from curation.scorer.train import train
from curation.scorer.training.batches import BatchPlan
from curation.scorer.training.environment import shorten_paths
from curation.scorer.training.journal import LOSSES_FILE, Journal, read_losses, read_validations
from tests.support.curation._scorer_runs import SETTINGS, make_run
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("one_thread")


def stop_at(step: int):
    def stop(done: int, total: int) -> None:
        if done == step:
            raise KeyboardInterrupt

    return stop


def same_runs(one: Path, other: Path) -> None:
    """Assert that two runs came to the same, but for how long it took."""

    def untimed(run: Path) -> list[list[str]]:
        return [line.split(",")[:-1] for line in (run / LOSSES_FILE).read_text().splitlines()]

    assert untimed(one) == untimed(other)
    assert (one / "validation.csv").read_bytes() == (other / "validation.csv").read_bytes()
    assert (one / "done.json").read_bytes() == (other / "done.json").read_bytes()
    assert (one / "best" / "scorer.json").read_bytes() == (other / "best" / "scorer.json").read_bytes()
    first, second = (load_file(run / "checkpoint" / "state.safetensors") for run in (one, other))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed: 9 updates of 8 pairs, multitask, in chunks of 3."""
    torch.set_num_threads(1)
    run = make_run(tmp_path_factory.mktemp("whole") / "run", epochs=3, text_mode="multitask", chunk_size=3)
    train(run)
    return run


def test_run_writes_its_documented_files(whole: Path) -> None:
    losses, validations = read_losses(whole), read_validations(whole)
    assert [row["step"] for row in losses] == list(range(1, 10))
    assert [row["epoch"] for row in losses] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [row["learning_rate"] for row in losses[:4]] == [0, 5e-4, 1e-3, 1e-3]
    assert [row["step"] for row in validations] == [2, 4, 6, 8, 9]
    result = json.loads((whole / "done.json").read_text())
    best = max(validations, key=lambda row: (row["p_at_1"], -(row["im2txt"] + row["txt2im"])))
    assert {name: result[name] for name in ("p_at_1", "im2txt", "txt2im", "loss")} == {
        name: best[name] for name in ("p_at_1", "im2txt", "txt2im", "loss")
    }
    assert result["best_step"] == best["step"]
    scorer = load_scorer(whole / "best")
    assert scorer.sha256 == result["weights_sha256"]
    assert scorer.card.text_mode == "multitask"
    assert scorer.card.made["training"]["batch_size"] == 8
    assert not (whole / "pixels").exists(), "nobody needs them any more"


def test_environment_has_no_paths_or_user_names(whole: Path) -> None:
    text = (whole / "environment.json").read_text()
    found = json.loads(text)
    assert found["packages"]["torch"] == str(torch.__version__)
    assert {"numpy", "transformers"} <= found["packages"].keys()
    assert found["config"]["batch_size"] == 8
    assert (found["precision"], found["threads"], found["processes"]) == ("fp32", 1, 1)
    assert str(whole.parent) not in text
    assert "/home" not in text
    assert str(ROOT) not in text


def test_absolute_paths_are_shortened_to_the_last_name() -> None:
    kept = ["scorer:best", "clip:openai/clip-vit-base-patch16", "runs/a/b", "C:", 3, None]
    given = ["scorer:/srv/media/7/best", "clip:openai/clip-vit-base-patch16", "runs/a/b", "C:", 3, None]
    assert shorten_paths({"x": [given, "/srv/somebody/run", r"C:\Users\somebody\run"]}) == {
        "x": [kept, "run", "run"]
    }


def test_finished_run_returns_the_same_result(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    assert train(whole) == train(whole)
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before


@pytest.mark.parametrize("step", [1, 4, 9])
def test_stopped_run_resumes_bit_for_bit(whole: Path, tmp_path: Path, step: int) -> None:
    run = make_run(tmp_path / "run", epochs=3, text_mode="multitask", chunk_size=3)
    with pytest.raises(KeyboardInterrupt):
        train(run, report_progress=stop_at(step))
    assert read_losses(run)[-1]["step"] == step
    train(run)
    same_runs(run, whole)
    environment = json.loads((run / "environment.json").read_text())
    assert (environment["from_step"], len(environment["earlier"])) == (step, 1)


@pytest.mark.long
def test_repeatedly_killed_run_resumes_bit_for_bit(whole: Path, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", epochs=3, text_mode="multitask", chunk_size=3)
    for where, number in (("best", 1), ("save", 2), ("step", 5)):
        arguments = [str(run), where, str(number)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.curation._scorer_killed", *arguments], cwd=ROOT, check=False
        )
        if (run / "done.json").exists():
            pytest.fail(f"{where} {number} came too late to kill anything")
        assert done.returncode == -9
        with (run / LOSSES_FILE).open("a") as file:
            file.write("7,1,0.12")  # half a line
    train(run)
    same_runs(run, whole)


def torchrun(*words: str) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            "2",
            "-m",
            *words,
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=200,
    )


@pytest.mark.long
def test_two_processes_equal_one_in_float64(tmp_path: Path) -> None:
    torchrun("tests.support.curation._scorer_two", str(tmp_path))
    subprocess.run(
        [sys.executable, "-m", "tests.support.curation._scorer_two", str(tmp_path)],
        cwd=ROOT,
        check=True,
        timeout=200,
    )
    one, *others = (load_file(tmp_path / f"{name}.safetensors") for name in ("1-0", "1-4", "2-0", "2-4"))
    assert len(set(one["losses"].tolist())) == len(one["losses"])
    for other in others:
        for name, expected in one.items():
            torch.testing.assert_close(other[name], expected, atol=1e-11, rtol=0)


@pytest.mark.long
def test_two_processes_equal_one_within_tolerance(whole: Path, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", epochs=3, text_mode="multitask", chunk_size=3, processes=2)
    torchrun("curation.scorer.train", str(run))
    for found, expected in zip(read_losses(run), read_losses(whole), strict=True):
        assert found["loss"] == pytest.approx(expected["loss"], abs=2e-5)
        assert found["scale"] == pytest.approx(expected["scale"], abs=2e-5)
    for found, expected in zip(read_validations(run), read_validations(whole), strict=True):
        assert found["loss"] == pytest.approx(expected["loss"], abs=2e-4)
    found, expected = (load_scorer(folder / "best").model.state_dict() for folder in (run, whole))
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], atol=2e-4, rtol=0)


def test_every_pair_comes_once_an_epoch_in_another_order() -> None:
    plan = BatchPlan(count=10, size=3, seed=4)
    epochs = [[pair for update in range(3 * n, 3 * n + 3) for pair in plan.items(update)] for n in range(2)]
    assert [len(set(epoch)) for epoch in epochs] == [9, 9]
    assert epochs[0] != epochs[1]
    assert epochs[0] != [pair for update in range(3) for pair in BatchPlan(10, 3, seed=5).items(update)]


def test_run_without_validation_pairs_saves_the_last_state(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", val=0, patience=1)
    result = train(run)
    assert (result.steps, result.best_step, result.p_at_1, result.loss) == (3, 3, None, None)
    assert [(row["step"], row["p_at_1"], row["kept"]) for row in read_validations(run)] == [
        (2, None, True),
        (3, None, True),
    ]
    weights = load_file(run / "checkpoint" / "state.safetensors")
    kept = load_scorer(run / "best").model.state_dict()
    assert all(torch.equal(kept[name], weights[f"weight/{name}"]) for name in kept)


def test_max_steps_ends_a_run(tmp_path: Path) -> None:
    assert train(make_run(tmp_path / "run", epochs=9, max_steps=2)).steps == 2


def test_centre_crops_and_half_precision_train_too(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", crop="centre", precision="bf16", region_mode="none", grayscale=0.5)
    assert train(run).steps == 3
    assert json.loads((run / "environment.json").read_text())["precision"] == "bf16"
    weights = load_file(run / "checkpoint" / "state.safetensors")
    assert {tensor.dtype for name, tensor in weights.items() if name.startswith("weight/")} == {torch.float32}


def changed(run: Path, **settings: object) -> None:
    raw = json.loads((run / "run.json").read_text())
    raw["config"] |= settings
    (run / "run.json").write_text(json.dumps(raw))


def test_a_changed_run_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        train(run, report_progress=stop_at(2))
    changed(run, learning_rate=1e-4)
    with pytest.raises(InvalidInput, match="settings or pairs changed since its checkpoint"):
        train(run)
    changed(run, learning_rate=SETTINGS["learning_rate"])
    lines = (run / "val.jsonl").read_text().splitlines(keepends=True)
    (run / "val.jsonl").write_text("".join(lines[1:]))
    with pytest.raises(InvalidInput, match="settings or pairs changed"):
        train(run)
    (run / "val.jsonl").write_text("".join(lines))
    assert train(run).steps == 3


def test_invalid_runs_are_refused_in_one_line(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", pairs=6)
    with pytest.raises(
        InvalidInput, match="batch_size: 8 is more than the 6 pairs to train on; use 6 or fewer"
    ):
        train(run)
    changed(run, batch_size=4, processes=4)
    with pytest.raises(InvalidInput, match="processes: the run needs 4, but 1 started; use torchrun"):
        train(run)
    changed(run, processes=1)
    picture = tmp_path / "pictures" / "3.png"
    picture.rename(tmp_path / "elsewhere.png")
    with pytest.raises(InvalidInput, match=r"pair pair-3: its image 3\.png is missing"):
        train(run)
    (run / "train.jsonl").write_text("")
    with pytest.raises(InvalidInput, match=r"train\.jsonl: contains no pair"):
        train(run)
    (run / "train.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(InvalidInput, match="line 1 is not a pair"):
        train(run)
    (run / "run.json").write_text("{}")
    with pytest.raises(InvalidInput, match=r"run\.json: is not of the format"):
        train(run)


def test_nan_loss_keeps_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path / "run", epochs=2)
    monkeypatch.setattr("curation.scorer.training.contrastive.symmetric_loss", _broken_from(5))
    with pytest.raises(InvalidInput, match="loss: is nan at step 5; the last checkpoint is unchanged"):
        train(run)
    weights = load_file(run / "checkpoint" / "state.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())
    monkeypatch.undo()
    assert train(run).steps == 6


def _broken_from(call: int):
    from curation.scorer.training.contrastive import symmetric_loss

    calls: list[None] = []

    def loss(images: torch.Tensor, texts: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        calls.append(None)
        return symmetric_loss(images, texts, scale) * (float("nan") if len(calls) >= call else 1)

    return loss


def test_broken_checkpoint_is_reported_in_one_line(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / "checkpoint").mkdir()
    (run / "checkpoint" / "state.safetensors").write_bytes(b"torn")
    with pytest.raises(InvalidInput, match=r"state\.safetensors: is broken"):
        train(run)


def test_journal_survives_a_truncated_end(tmp_path: Path) -> None:
    assert read_losses(tmp_path) == []
    journal = Journal(tmp_path)
    journal.truncate_after(0)
    row = {"epoch": 1, "loss": 0.1 + 0.2, "learning_rate": 1e-5, "scale": 14.0, "images_per_second": 3.5}
    for step in (1, 2, 3):
        journal.record_update({"step": step, **row})
    with (tmp_path / LOSSES_FILE).open("a") as file:
        file.write("\0\r5\0,1\n4,1,0.3")
    assert [one["step"] for one in read_losses(tmp_path)] == [1, 2, 3]
    assert read_losses(tmp_path)[0]["loss"] == 0.1 + 0.2
    journal.truncate_after(2)
    journal.record_update({"step": 3, **row})
    assert [one["step"] for one in read_losses(tmp_path)] == [1, 2, 3]
    with (tmp_path / LOSSES_FILE).open("a") as file:
        file.write("4,\x00\x00\n5,1,0.3,0,1,1\n")
    assert [one["step"] for one in read_losses(tmp_path)] == [1, 2, 3]


def test_train_command_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "run")
    assert command.main([str(run)]) == 0
    assert "done: 3 steps, P@1" in capsys.readouterr().out
    assert command.main([str(tmp_path)]) == command.BAD_INPUT
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    with pytest.raises(SystemExit) as requested:
        command.main(["--help"])
    assert requested.value.code == 0
    assert "torchrun" in capsys.readouterr().out
