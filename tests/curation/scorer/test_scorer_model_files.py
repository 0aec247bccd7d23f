"""Scorer folders: complete, or refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.records import InvalidInput
from curation.scorer.config import TextMode
from curation.scorer.model import card_folder as folders
from curation.scorer.model.folder import load_scorer, save_scorer
from curation.scorer.training.starting_weights import load_starting_model
from hits.domain.images.region_drawing import RegionMode
from tests.support.files import files_of, is_one_line


class TestFolder:
    @pytest.mark.parametrize("kind", ["tiny", "clip"])
    def test_saved_scorer_round_trip(self, tmp_path: Path, clip_folder: Path, kind: str) -> None:
        name = "tiny" if kind == "tiny" else f"clip:{clip_folder}"
        made = load_starting_model(name, region_mode=RegionMode.ONLY_REGION, text_mode=TextMode.MULTITASK)
        sha256 = save_scorer(tmp_path / "a" / "scorer", made)
        found = load_scorer(tmp_path / "a" / "scorer")
        assert found.sha256 == sha256
        assert found.card == made.card
        texts = ["a cat", "and a dog"]
        assert torch.equal(found.tokenizer(texts), made.tokenizer(texts))
        ours, theirs = found.model.state_dict(), made.model.state_dict()
        assert all(torch.equal(ours[key], theirs[key]) for key in theirs)
        pixels = torch.randn(1, 2, 3, found.card.side, found.card.side)
        with torch.no_grad():
            assert torch.equal(found.model.encode_images(pixels), made.model.encode_images(pixels))
        assert all(parameter.requires_grad for parameter in found.model.parameters())
        assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["scorer"]

    def test_equal_scorers_have_equal_bytes(self, tmp_path: Path) -> None:
        hashes = [save_scorer(tmp_path / name, load_starting_model("tiny")) for name in ("a", "b")]
        assert hashes[0] == hashes[1]
        assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
        assert save_scorer(tmp_path / "c", load_starting_model("tiny", seed=1)) != hashes[0]

    def test_saving_replaces_the_earlier_scorer(self, tmp_path: Path, clip_folder: Path) -> None:
        save_scorer(tmp_path / "best", load_starting_model(f"clip:{clip_folder}"))
        sha256 = save_scorer(tmp_path / "best", load_starting_model("tiny"))
        assert load_scorer(tmp_path / "best").sha256 == sha256
        assert len(files_of(tmp_path / "best")) == 2

    @pytest.mark.parametrize("calls", [0, 1])
    def test_interrupted_save_keeps_the_earlier_scorer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
    ) -> None:
        sha256 = save_scorer(tmp_path / "best", load_starting_model("tiny"))
        settle, done = folders._sync_and_rename_file, []

        def stopped(partial: Path, path: Path) -> None:
            if len(done) == calls:
                raise KeyboardInterrupt
            done.append(path)
            settle(partial, path)

        monkeypatch.setattr(folders, "_sync_and_rename_file", stopped)
        for place in ("best", "new"):
            done.clear()
            with pytest.raises(KeyboardInterrupt):
                save_scorer(tmp_path / place, load_starting_model("tiny", seed=1))
        assert load_scorer(tmp_path / "best").sha256 == sha256
        assert [path.name for path in tmp_path.iterdir()] == ["best"]
        monkeypatch.undo()
        save_scorer(tmp_path / "best", load_starting_model("tiny", seed=2))
        assert len(files_of(tmp_path / "best")) == 2

    def test_saved_files_follow_the_umask(self, tmp_path: Path, clip_folder: Path) -> None:
        save_scorer(tmp_path / "s", load_starting_model(f"clip:{clip_folder}"))
        (tmp_path / "any").touch()
        modes = {path.stat().st_mode for path in (tmp_path / "s").iterdir()}
        assert modes == {(tmp_path / "any").stat().st_mode}

    def test_saving_over_another_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(InvalidInput, match="is not a scorer; choose another path"):
            save_scorer(tmp_path, load_starting_model("tiny"))
        assert files_of(tmp_path) == {"notes.txt": b"mine"}

    def test_training_starts_from_a_scorer(self, tmp_path: Path) -> None:
        save_scorer(tmp_path / "one", load_starting_model("tiny", seed=4))
        found = load_starting_model(f"scorer:{tmp_path / 'one'}", region_mode=RegionMode.NONE)
        assert found.card.region_mode is RegionMode.NONE
        assert found.card.made["start"] == "scorer:one"
        assert found.card.made["before"]["seed"] == 4


def _edit(folder: Path, **changes: Any) -> None:
    path = folder / "scorer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _weights(folder: Path) -> Path:
    (path,) = folder.glob("model-*.safetensors")
    return path


def _cut(folder: Path) -> None:
    path = _weights(folder)
    path.write_bytes(path.read_bytes()[:-10])


def _cut_and_claim(folder: Path) -> None:
    """Cut the weights off, and let the card vouch for what is left."""
    import hashlib

    _cut(folder)
    path = _weights(folder)
    files = json.loads((folder / "scorer.json").read_text())["files"]
    files["model"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    _edit(folder, files=files)


def _spoil(folder: Path) -> None:
    """Put NaN among the weights, and let the card vouch for it."""
    import hashlib

    from safetensors.torch import load_file, save_file

    path = _weights(folder)
    save_file(load_file(path) | {"logit_scale": torch.tensor(float("nan"))}, path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    _edit(folder, files={"model": {"file": path.name, "sha256": sha256}})


def _reshape(folder: Path) -> None:
    raw = json.loads((folder / "scorer.json").read_text())["architecture"]
    _edit(folder, architecture=raw | {"dim": raw["dim"] + 8})


def _deepen(folder: Path) -> None:
    raw = json.loads((folder / "scorer.json").read_text())["architecture"]
    _edit(folder, architecture=raw | {"text": raw["text"] | {"layers": 5}})


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no card": (lambda f: (f / "scorer.json").unlink(), "has no scorer.json"),
    "no JSON": (lambda f: (f / "scorer.json").write_text("{"), "is not JSON"),
    "a list": (lambda f: (f / "scorer.json").write_text("[]"), "format None"),
    "other format": (lambda f: _edit(f, format="deerstalker-scorer/9"), "deerstalker-scorer/9.*this reads"),
    "mode": (lambda f: _edit(f, region_mode="blur"), "'blur' is not a valid RegionMode"),
    "prompt": (lambda f: _edit(f, prompt="a photo"), "has no placeholder for the text"),
    "mean": (lambda f: _edit(f, mean=[1, 2]), "save the scorer again"),
    "architecture": (lambda f: _edit(f, architecture={"dim": 3}), "does not describe two towers"),
    "heads": (
        lambda f: _edit(f, architecture=TINY | {"text": TINY["text"] | {"heads": 3}}),
        "64 wide, not a multiple of 3",
    ),
    "activation": (
        lambda f: _edit(f, architecture=TINY | {"text": TINY["text"] | {"activation": "loud"}}),
        "text.activation: 'loud' is not known",
    ),
    "endless": (
        lambda f: _edit(f, architecture=TINY | {"text": TINY["text"] | {"layers": 10**9}}),
        "text.layers: 1000000000 is too large",
    ),
    "odd ResNet": (
        lambda f: _edit(f, architecture=TINY | {"vision": {"width": 7, "blocks": [1, 1, 1, 1]}}),
        "vision.width: 7 is odd",
    ),
    "size": (
        lambda f: _edit(f, architecture=TINY | {"dim": "8"}),
        "architecture.dim: '8' is not a whole number",
    ),
    "weights gone": (lambda f: _weights(f).unlink(), "safetensors is missing"),
    "weights cut": (_cut, "is cut off or was replaced"),
    "cut but vouched for": (_cut_and_claim, "is not a safetensors file"),
    "other shape": (_reshape, r"vision.visual_projection.weight is \[32, 64\] instead of \[40, 64\]"),
    "more layers": (_deepen, r"text_model.encoder.layers.2.* and 45 more are missing"),
    "outside": (
        lambda f: _edit(f, files={"model": {"file": "../model.safetensors", "sha256": ""}}),
        "not in the folder",
    ),
    "other files": (
        lambda f: _edit(f, files={"extra": {"file": "../../stolen", "sha256": ""}}),
        "its files are not those of a scorer",
    ),
    "a name that is none": (
        lambda f: _edit(f, files={"model": {"file": "a\0b", "sha256": ""}}),
        "not in the folder",
    ),
    "nested without end": (
        lambda f: (f / "scorer.json").write_text("[" * 100_000),
        "is not JSON",
    ),
    "far too long": (lambda f: _edit(f, made={"x": "x" * (1 << 20)}), "is over 1048576 bytes"),
    "deviation": (lambda f: _edit(f, std=[0.0, 1.0, 1.0]), "a deviation is not above 0"),
    "end": (lambda f: _edit(f, architecture=TINY | {"end": 258}), "end: 258 is not one of the 258 tokens"),
    "no number": (_spoil, "logit_scale holds NaN or infinity"),
    "no files": (lambda f: _edit(f, files={}), "names no model file"),
    "tokenizer gone": (lambda f: _edit(f, tokenizer="clip"), "names no tokenizer file"),
    "tokenizer": (lambda f: _edit(f, tokenizer="words"), "'words' is not a valid TokenizerKind"),
}
TINY = load_starting_model("tiny").card.architecture.as_json()


@pytest.mark.parametrize("defect", BROKEN)
def test_broken_scorer_folder_is_refused_in_one_line(tmp_path: Path, defect: str) -> None:
    save_scorer(tmp_path / "scorer", load_starting_model("tiny"))
    breaks, message = BROKEN[defect]
    breaks(tmp_path / "scorer")
    with pytest.raises(InvalidInput, match=message) as caught:
        load_scorer(tmp_path / "scorer")
    assert is_one_line(caught.value)
    assert str(tmp_path / "scorer") in str(caught.value)


def test_a_missing_or_foreign_tokenizer_file_is_refused(tmp_path: Path, clip_folder: Path) -> None:
    save_scorer(tmp_path / "scorer", load_starting_model(f"clip:{clip_folder}"))
    (path,) = (tmp_path / "scorer").glob("tokenizer-*.json")
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(InvalidInput, match=r"tokenizer-\w+.json is missing"):
        load_scorer(tmp_path / "scorer")
    path.write_bytes(kept.replace(b'"a"', b'"b"'))
    with pytest.raises(InvalidInput, match="was replaced"):
        load_scorer(tmp_path / "scorer")
