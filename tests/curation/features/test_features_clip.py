"""CLIP encoders: pixels, precision, crops, region modes, and the revision that names them."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

from curation.features.clip import ClipEncoder
from curation.features.crops import Crop
from curation.features.encoder import EncoderUnavailable, Precision
from curation.features.factory import get_encoder
from curation.features.pixels import Normalisation, to_pixels
from curation.records import InvalidInput, Region
from hits.domain.images.region_drawing import RegionMode
from tests.support.curation.fakes import save_tiny_clip
from tests.support.pictures import end_squares, picture

BOX = [[Region(20, 10, 60, 40)]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(save_tiny_clip(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def shots() -> list[Pillow.Image]:
    generator = np.random.default_rng(1)
    coarse = [
        generator.integers(0, 256, (24, 40, 3), dtype=np.uint8),
        generator.integers(0, 256, (40, 24, 3), dtype=np.uint8),
    ]
    return [
        Pillow.fromarray(values).resize((values.shape[1] * 9 + 5, values.shape[0] * 9)) for values in coarse
    ]


def encoder_of(folder: Path, **more: Any) -> ClipEncoder:
    found = get_encoder(f"clip:{folder}", **more)
    assert isinstance(found, ClipEncoder)
    return found


@pytest.mark.parametrize("crop", [Crop.TWO_SQUARES, Crop.CENTRE])
def test_pixels_equal_the_model_processor_within_two_grey_levels(
    shots: list[Pillow.Image], crop: Crop
) -> None:
    from transformers.models.clip import CLIPImageProcessorPil

    processor = CLIPImageProcessorPil()
    norm = Normalisation(224, processor.image_mean, processor.image_std)
    views = [square for shot in shots for square in end_squares(shot)] if crop is Crop.TWO_SQUARES else shots
    expected = processor(images=views, return_tensors="pt")["pixel_values"]
    found = to_pixels(shots, crop, norm, torch.float32)
    assert found.shape == expected.shape == (len(shots) * crop.view_count, 3, 224, 224)
    levels = (found - expected).abs() * torch.tensor(norm.std).view(1, 3, 1, 1) * 255
    assert levels.max() < 2.01
    assert levels.mean() < 0.05


def test_padding_keeps_the_whole_image_between_mean_bars(shots: list[Pillow.Image]) -> None:
    norm = Normalisation(64, (0.5, 0.25, 0.75), (0.2, 0.2, 0.2))
    (found,) = to_pixels(shots[:1], Crop.PAD, norm, torch.float32)
    assert found.shape == (3, 64, 64)
    assert found[:, 0].abs().max() < 0.02 * 5  # the bars, which are the mean but for rounding to a byte
    assert found[:, 32].abs().max() > 0.5


def test_precisions_agree_but_have_different_revisions(folder: Path, shots: list[Pillow.Image]) -> None:
    exact, short = (encoder_of(folder, precision=p) for p in (Precision.FP32, Precision.BF16))
    assert exact.revision != short.revision
    assert (exact.preprocessing["precision"], short.preprocessing["precision"]) == ("fp32", "bf16")
    for one, two in (
        (exact.encode_images(shots), short.encode_images(shots)),
        (exact.encode_texts(["a cat", "b"]), short.encode_texts(["a cat", "b"])),
    ):
        assert (one * two).sum(axis=1).min() > 0.999
    assert encoder_of(folder).preprocessing["precision"] in {"fp32", "bf16"}


def test_each_crop_and_mode_gives_a_different_vector(folder: Path, shots: list[Pillow.Image]) -> None:
    crops = {crop: encoder_of(folder, crop=crop, precision=Precision.FP32) for crop in Crop}
    assert len({found.revision for found in crops.values()}) == 3
    rows = [found.encode_images(shots[:1])[0] for found in crops.values()]
    modes = [crops[Crop.TWO_SQUARES].encode_regions(shots[:1], BOX, mode)[0] for mode in RegionMode]
    np.testing.assert_allclose(modes[list(RegionMode).index(RegionMode.NONE)], rows[0], atol=1e-6)
    everything = np.round(np.array([*rows, *modes]), 6)
    assert len(np.unique(everything, axis=0)) == len(Crop) + len(RegionMode) - 1


def test_two_squares_are_averaged_before_normalisation(folder: Path, shots: list[Pillow.Image]) -> None:
    encoder = encoder_of(folder, precision=Precision.FP32)
    single = encoder_of(folder, precision=Precision.FP32, crop=Crop.CENTRE)
    ends = [single.encode_pixels(single.pixels([square]))[0] for square in end_squares(shots[0])]
    mean = np.mean(ends, axis=0)
    np.testing.assert_allclose(encoder.encode_images(shots[:1])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_other_weights_have_another_revision(folder: Path, tmp_path: Path) -> None:
    other = encoder_of(Path(save_tiny_clip(tmp_path / "tiny", seed=1)))
    mine = encoder_of(folder)
    assert mine.name == other.name
    assert mine.revision != other.revision
    assert mine.preprocessing["weights"].startswith(mine.revision.split()[0])
    assert encoder_of(folder).revision == mine.revision


def test_pickled_weights_are_never_read(tmp_path: Path) -> None:
    from transformers import CLIPModel

    place = Path(save_tiny_clip(tmp_path / "tiny", seed=1))
    model = CLIPModel.from_pretrained(place)
    torch.save(model.state_dict(), place / "pytorch_model.bin")
    (place / "model.safetensors").unlink()
    with pytest.raises(EncoderUnavailable, match="pickled weights are never read"):
        ClipEncoder(str(place))


def test_threads_may_share_an_encoder(folder: Path) -> None:
    from curation.features.parallel import map_in_threads

    encoder = encoder_of(folder, precision=Precision.FP32)
    texts = [["abc"[: n % 3 + 1] * (n + 1), "x"] for n in range(40)]
    together = list(map_in_threads(encoder.encode_texts, texts, threads=4))
    np.testing.assert_allclose(together, [encoder.encode_texts(few) for few in texts], atol=1e-5)


def test_label_sentence_lists_its_region_modes() -> None:
    encoder = get_encoder()
    shot = [Pillow.open(io.BytesIO(picture(seed=1))).convert("RGB")]
    assert RegionMode.POSITION_ONLY not in encoder.region_modes
    with pytest.raises(InvalidInput, match=r"position_only: .* sees objects only; use"):
        encoder.encode_regions(shot, BOX, RegionMode.POSITION_ONLY)
    for mode in encoder.region_modes:
        assert encoder.encode_regions(shot, BOX, mode).shape == (1, 384)


def test_openvino_agrees_with_torch(folder: Path, shots: list[Pillow.Image]) -> None:
    pytest.importorskip("openvino", reason="openvino is not installed: ITS TEST IS SKIPPED")
    name, torch_s = f"clip-openvino:{folder}", encoder_of(folder, precision=Precision.FP32)
    found = get_encoder(name, precision=Precision.FP32)
    assert "OpenVINO" in found.name
    assert "openvino" in found.revision
    rows = (found.encode_images(shots) * torch_s.encode_images(shots)).sum(axis=1)
    assert rows.min() > 0.9999
    np.testing.assert_allclose(found.encode_texts(["a"]), torch_s.encode_texts(["a"]), atol=1e-5)


def test_missing_openvino_names_the_install_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(EncoderUnavailable, match="pip install openvino"):
        get_encoder(f"clip-openvino:{folder}")
