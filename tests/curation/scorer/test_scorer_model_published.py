"""Conversion of published checkpoints; others are refused in one line, and their code is never run."""

import dataclasses
import io
import json
import os
import pickle
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from django.core.management import CommandError, call_command

from curation.management.commands.convert_scorer import NAMES
from curation.records import InvalidInput
from curation.scorer.config import TextMode
from curation.scorer.model.folder import load_scorer
from curation.scorer.model.openai_weights import build_from_openai, unwrap_names
from curation.scorer.model.published_scorers import PUBLISHED_SCORERS, convert_published
from tests.support.files import files_of, is_one_line
from tests.support.scorer_weights import TINY_RESNET, clip_as_openai, random_weights, save_checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Return a fabricated checkpoint of a small ModifiedResNet, as data parallelism saves one."""
    return save_checkpoint(tmp_path / "made-up.pt", random_weights(TINY_RESNET))


def converted(*args: Any, **options: Any) -> dict[str, Any]:
    out = StringIO()
    call_command("convert_scorer", *map(str, args), "--json", stdout=out, **options)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


class TestConverting:
    def test_published_scorers_equal_the_release(self) -> None:
        assert tuple(PUBLISHED_SCORERS) == NAMES
        assert {one.step for one in PUBLISHED_SCORERS.values()} == {1800, 4500, 15600, 25200}
        assert all(
            one.step % 300 == 0 and f"STEP={one.step}.pt" in one.file_name
            for one in PUBLISHED_SCORERS.values()
        )
        assert [one.batch_size for one in PUBLISHED_SCORERS.values()] == [512, 200, 64, 64]
        assert [one.text_mode for one in PUBLISHED_SCORERS.values()] == [*["inference"] * 3, "multitask"]

    def test_a_checkpoint_becomes_a_scorer(self, tmp_path: Path, checkpoint: Path, clip_folder: Path) -> None:
        made = converted(checkpoint, "--tokenizer", clip_folder, "--out", tmp_path / "s")
        found = load_scorer(tmp_path / "s")
        assert made["sha256"] == found.sha256
        assert found.card.made["sha256"] == made["checkpoint_sha256"]
        assert (found.card.region_mode, found.card.text_mode) == ("highlight", "inference")
        assert found.card.crop.view_count == 2
        direct = build_from_openai(unwrap_names(random_weights(TINY_RESNET)))
        pixels = torch.randn(1, 2, 3, 64, 64)
        with torch.no_grad():
            assert torch.equal(found.model.encode_images(pixels), direct.encode_images(pixels))

    @pytest.mark.parametrize("prefix", ["module.clip_model.", "clip_model.", ""])
    def test_vision_transformers_with_any_wrapping(
        self, tmp_path: Path, clip_folder: Path, prefix: str
    ) -> None:
        from transformers import CLIPConfig, CLIPModel

        tower = {
            "hidden_size": 64,
            "num_hidden_layers": 1,
            "num_attention_heads": 1,
            "intermediate_size": 256,
        }
        text = tower | {"vocab_size": 54, "max_position_embeddings": 20, "eos_token_id": 53}
        vision = tower | {"image_size": 16, "patch_size": 8}
        clip = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)).eval()
        path = save_checkpoint(tmp_path / "vit.pt", clip_as_openai(clip), prefix)
        options = ("--tokenizer", clip_folder, "--text-mode", "multitask")
        made = converted(path, *options, "--out", tmp_path / "s")
        assert made["text_mode"] == "multitask"
        pixels = torch.randn(2, 1, 3, 16, 16)
        with torch.no_grad():
            expected = clip.get_image_features(pixel_values=pixels[:, 0]).pooler_output
            found = load_scorer(tmp_path / "s").model.encode_views(pixels[:, 0])
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)

    def test_half_precision_and_old_files_are_read(self, tmp_path: Path, clip_folder: Path) -> None:
        weights = {
            name: tensor.half() if tensor.is_floating_point() else tensor
            for name, tensor in random_weights(TINY_RESNET).items()
        }
        path = tmp_path / "old.pt"
        torch.save({"model_state_dict": weights}, path, _use_new_zipfile_serialization=False)
        convert_published(path, str(clip_folder), tmp_path / "s")
        dtypes = {tensor.dtype for tensor in load_scorer(tmp_path / "s").model.state_dict().values()}
        assert dtypes == {torch.float32}

    def test_weights_alone_are_read_too(self, tmp_path: Path, clip_folder: Path, checkpoint: Path) -> None:
        bare = tmp_path / "bare.pt"
        torch.save(random_weights(TINY_RESNET), bare)
        for path, out in ((checkpoint, "a"), (bare, "b")):
            convert_published(path, str(clip_folder), tmp_path / out)
        ours, theirs = (load_scorer(tmp_path / out).model.state_dict() for out in ("a", "b"))
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)

    def test_published_scorer_is_known_by_its_file_name(
        self, tmp_path: Path, clip_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        weights = random_weights(TINY_RESNET)
        one = PUBLISHED_SCORERS["rn50x64-multitask"]
        shape = build_from_openai(unwrap_names(weights)).architecture
        mine = dataclasses.replace(one, architecture=shape)
        monkeypatch.setattr("curation.scorer.model.published_scorers.PUBLISHED_SCORERS", {one.name: mine})
        path = save_checkpoint(tmp_path / one.file_name.replace("=", "%3D"), weights)
        made = convert_published(path, str(clip_folder), tmp_path / "s")
        assert (made.name, made.text_mode) == ("rn50x64-multitask", TextMode.MULTITASK)
        card = load_scorer(tmp_path / "s").card
        assert (card.made["checkpoint"], card.made["step"]) == ("rn50x64-multitask", 25200)


class _Code:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("code-was-run",)


def _saved(**changes: Any) -> Callable[[Path], object]:
    """Return what writes the small checkpoint with some tensors changed; ``None`` leaves one out."""

    def write(path: Path) -> None:
        weights: dict[str, Any] = dict(random_weights(TINY_RESNET)) | changes
        save_checkpoint(path, {name: tensor for name, tensor in weights.items() if tensor is not None})

    return write


def _cut_checkpoint(path: Path) -> None:
    save_checkpoint(path, random_weights(TINY_RESNET))
    path.write_bytes(path.read_bytes()[:-5000])


def _script(path: Path) -> None:
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path)  # type: ignore[no-untyped-call]


DEFECTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing there": (lambda p: None, "cannot be read"),
    "empty": (lambda p: p.write_bytes(b""), "not a file of torch.save"),
    "text": (lambda p: p.write_bytes(b"no torch file"), "not a file of torch.save"),
    "cut off": (_cut_checkpoint, "is cut off, or not a file"),
    "TorchScript": (_script, "is TorchScript, which is code"),
    "code": (lambda p: torch.save({"model_state_dict": {}, "x": _Code()}, p), "holds code besides numbers"),
    "plain pickle": (lambda p: p.write_bytes(pickle.dumps(_Code(), protocol=2)), "holds code|no file"),
    "a list": (lambda p: torch.save([torch.zeros(2)], p), "has no model_state_dict"),
    "no state": (lambda p: torch.save({"state": {}}, p), "has no model_state_dict"),
    "numbers": (lambda p: torch.save({"model_state_dict": {"a": 1.0}}, p), "'a', which is not a tensor"),
    "no text tower": (_saved(positional_embedding=None), "positional_embedding is missing"),
    "three missing": (
        _saved(**{f"visual.bn{n}.weight": None for n in (1, 2, 3)}, logit_scale=None),
        r"logit_scale, visual.bn1.weight, visual.bn2.weight and 1 more are missing",
    ),
    "one missing": (
        _saved(**{"visual.layer2.0.conv2.weight": None}),
        r"visual.layer2.0.conv2.weight is missing",
    ),
    "unknown": (_saved(**{"visual.extra": torch.zeros(2)}), "visual.extra is unknown"),
    "shape": (
        _saved(**{"visual.conv2.weight": torch.zeros(4, 4, 5, 5)}),
        r"visual.conv2.weight is \[4, 4, 5, 5\] instead of \[4, 4, 3, 3\]",
    ),
    "attention": (
        _saved(**{"transformer.resblocks.0.attn.in_proj_weight": torch.zeros(190, 64)}),
        r"attn.in_proj_weight is \[190, 64\] instead of \[192, 64\]",
    ),
    "projection": (
        _saved(text_projection=torch.zeros(64, 24)),
        r"attnpool.c_proj.weight is \[16, 256\] instead of \[24, 256\]",
    ),
    "axes": (_saved(text_projection=torch.zeros(4)), "text_projection has 1 axes instead of 2"),
    "positions": (
        _saved(**{"visual.attnpool.positional_embedding": torch.zeros(4, 256)}),
        "3 positions do not form a square",
    ),
    "no finite number": (
        _saved(logit_scale=torch.tensor(float("nan"))),
        "logit_scale holds NaN or infinity",
    ),
    "whole numbers": (_saved(logit_scale=torch.tensor(3)), "logit_scale holds NaN or infinity"),
    "sparse": (
        _saved(text_projection=torch.ones(64, 16).to_sparse()),
        "text_projection', which is not a tensor",
    ),
    "claims a terabyte": (
        _saved(**{"token_embedding.weight": torch.zeros(1, 1).expand(10**10, 64)}),
        "token_embedding.weight', which is not a tensor",
    ),
    "no words": (
        _saved(**{"token_embedding.weight": torch.zeros(0, 64)}),
        "vocabulary: 0 is not a whole number",
    ),
    "twice": (_saved(**{"module.logit_scale": torch.tensor(1.0)}), "logit_scale occurs twice"),
    "vocabulary": (_saved(**{"token_embedding.weight": torch.zeros(99, 64)}), "has 54 tokens, the model 99"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_broken_checkpoint_is_refused_in_one_line(
    tmp_path: Path, clip_folder: Path, monkeypatch: pytest.MonkeyPatch, defect: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write, message = DEFECTS[defect]
    write(tmp_path / "c.pt")
    with pytest.raises(CommandError, match=message) as caught:
        converted("c.pt", "--tokenizer", clip_folder, "--out", "s")
    assert caught.value.returncode == 2
    assert is_one_line(caught.value)
    assert [path.name for path in tmp_path.iterdir() if path.name != "c.pt"] == []


def _of_before_torch_1_6() -> bytes:
    """Return a file of several pickles, one after the other, then the numbers."""
    whole = io.BytesIO()
    torch.save({"state_dict": {"a": torch.ones(3)}}, whole, _use_new_zipfile_serialization=False)
    return whole.getvalue()


def test_a_checkpoint_cut_off_anywhere_is_refused_in_one_line(tmp_path: Path, clip_folder: Path) -> None:
    whole = _of_before_torch_1_6()
    broken = [whole[:size] for size in range(len(whole))] + [b"\x80\x02.", b"\x80\x02a.", b"\x80\x02K\x01s."]
    path = tmp_path / "c.pt"
    for data in broken:
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=r"^c\.pt: ") as caught:
            convert_published(path, str(clip_folder), tmp_path / "s")
        assert "\n" not in str(caught.value)
    assert [one.name for one in tmp_path.iterdir()] == ["c.pt"]


class TestConvertingRefuses:
    def refusal(self, *args: Any) -> str:
        with pytest.raises(CommandError) as caught:
            converted(*args)
        assert caught.value.returncode == 2
        assert is_one_line(caught.value)
        return str(caught.value)

    def test_checkpoint_of_another_architecture_is_refused(
        self, tmp_path: Path, checkpoint: Path, clip_folder: Path
    ) -> None:
        place = ("--tokenizer", clip_folder, "--out", tmp_path / "s")
        message = self.refusal(checkpoint, *place, "--name", "rn50x16")
        assert "a ResNet 8 wide of 64 pixels and 16 dimensions, rn50x16 is a ResNet 96 wide of 384" in message
        assert not (tmp_path / "s").exists()

    def test_conversion_into_a_non_empty_folder_is_refused(
        self, tmp_path: Path, checkpoint: Path, clip_folder: Path
    ) -> None:
        (tmp_path / "s").mkdir()
        converted(checkpoint, "--tokenizer", clip_folder, "--out", tmp_path / "s")
        before = files_of(tmp_path / "s")
        assert "is not empty" in self.refusal(checkpoint, "--tokenizer", clip_folder, "--out", tmp_path / "s")
        assert files_of(tmp_path / "s") == before

    def test_missing_tokenizer_is_refused(self, tmp_path: Path, checkpoint: Path) -> None:
        (tmp_path / "none").mkdir()
        message = self.refusal(checkpoint, "--tokenizer", tmp_path / "none", "--out", tmp_path / "s")
        assert "not available" in message
        assert not (tmp_path / "s").exists()

    def test_unknown_published_scorer_is_refused(
        self, tmp_path: Path, checkpoint: Path, clip_folder: Path
    ) -> None:
        with pytest.raises(InvalidInput, match="'vit-b32' is not known; use vit-b16"):
            convert_published(checkpoint, str(clip_folder), tmp_path / "s", name="vit-b32")
