"""Regions as published, real weights where packages carry them, a tiny CLIP for its loading code.

What holds for every encoder is in tests/contracts/test_encoders.py.
"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from annotation_site.demo.photos import sample_photos
from curation.features.crops import Crop
from curation.features.encoder import EncoderUnavailable
from curation.features.factory import get_encoder
from curation.features.pixels import Normalisation, cut_views
from hits.domain.images.region_drawing import RegionMode, draw_region
from tests.support.curation.fakes import save_tiny_clip
from tests.support.paths import CASES
from tests.support.pictures import end_squares

RENDER = CASES / "render"
RENDER_CASES = json.loads((RENDER / "render_cases.json").read_text())["cases"]
MODES = {
    "1": RegionMode.HIDE,
    "2": RegionMode.HIGHLIGHT,
    "3": RegionMode.ONLY_REGION,
    "6": RegionMode.POSITION_ONLY,
}


@dataclass(frozen=True, slots=True)
class PublishedBox:
    """A box as the published files have them, which need not be whole pixels."""

    left: float
    top: float
    width: float
    height: float


DRAWN = [(case, mode) for case in RENDER_CASES for mode in case["modes"]]


def drawn_case(case: dict[str, Any], mode: str) -> Pillow.Image:
    with Pillow.open(RENDER / case["input"]) as picture:
        return draw_region(picture, [PublishedBox(**box) for box in case["bboxes"]], MODES[mode])


def sha256_of(picture: Pillow.Image) -> str:
    return hashlib.sha256(picture.tobytes()).hexdigest()


def test_all_published_drawings_are_available() -> None:
    assert len(DRAWN) == 36
    assert {mode for _, mode in DRAWN} == set(MODES)
    assert any(
        isinstance(value, float) for case in RENDER_CASES for box in case["bboxes"] for value in box.values()
    )


@pytest.mark.parametrize(("case", "mode"), DRAWN, ids=[f"{case['name']}-{mode}" for case, mode in DRAWN])
class TestPublishedDrawings:
    def test_regions_are_drawn_as_published(self, case: dict[str, Any], mode: str) -> None:
        expected = case["modes"][mode]
        drawn = drawn_case(case, mode)
        assert drawn.mode == expected["mode"]
        assert sha256_of(drawn) == expected["sha256_raw"]
        found = [sha256_of(square) for square in end_squares(drawn)]
        assert found == [square["sha256_raw"] for square in expected["widescreen_crops"]]

    def test_squares_are_scaled_as_published(self, case: dict[str, Any], mode: str) -> None:
        """Also once the colours stand alone, which is what models are given: nothing drawn is see-through."""
        expected = case["modes"][mode]["widescreen_resized_32px_bicubic_rgb_sha256"]
        ends = end_squares(drawn_case(case, mode))
        small = [square.resize((32, 32), Pillow.Resampling.BICUBIC).convert("RGB") for square in ends]
        assert [sha256_of(square) for square in small] == expected
        colours = [square.convert("RGB").resize((32, 32), Pillow.Resampling.BICUBIC) for square in ends]
        assert [sha256_of(square) for square in colours] == expected

    def test_model_scaling_is_within_two_grey_levels(self, case: dict[str, Any], mode: str) -> None:
        drawn = drawn_case(case, mode)
        published = [
            np.asarray(square.resize((32, 32), Pillow.Resampling.BICUBIC).convert("RGB"), dtype=np.int16)
            for square in end_squares(drawn)
        ]
        norm = Normalisation(32, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
        ours = cut_views(drawn.convert("RGB"), Crop.TWO_SQUARES, norm).permute(0, 2, 3, 1).numpy()
        levels = np.abs(ours.astype(np.int16) - np.stack(published))
        assert levels.max() <= 2
        assert levels.mean() < 0.01


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("none", RegionMode.NONE),
        ("highlight", RegionMode.HIGHLIGHT),
        ("hide", RegionMode.HIDE),
        ("hide_region", RegionMode.HIDE),
        ("only_context", RegionMode.HIDE),
        ("only_region", RegionMode.ONLY_REGION),
        ("position_only", RegionMode.POSITION_ONLY),
    ],
)
def test_region_modes_are_named_as_in_the_paper(word: str, mode: RegionMode) -> None:
    assert RegionMode(word) is mode


def test_only_context_is_an_alias_of_hide() -> None:
    assert RegionMode.ONLY_CONTEXT is RegionMode.HIDE
    assert len(RegionMode) == 5
    with pytest.raises(ValueError, match="'blur' is not a valid RegionMode"):
        RegionMode("blur")


@pytest.fixture(scope="module")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with a CLIP of random weights; it carries no meaning, only shapes."""
    return save_tiny_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def pictures() -> list[Pillow.Image]:
    """Return three sample photographs that packages ship."""
    file_names = {"chelsea.png", "coffee.png", "china.jpg"}
    found = [Pillow.open(photo.path).convert("RGB") for photo in sample_photos() if photo.name in file_names]
    assert len(found) == 3
    return found


def test_offline_encoder_ranks_the_right_sentence_first(pictures: list[Pillow.Image]) -> None:
    encoder = get_encoder()
    names = [Path(str(p)).stem for p in (photo.path for photo in sample_photos())]
    order = [name for name in names if name in {"chelsea", "coffee", "china"}]
    texts = {"chelsea": "a cat", "coffee": "a cup of coffee", "china": "a palace with many roofs"}
    scores = encoder.encode_images(pictures) @ encoder.encode_texts([texts[name] for name in order]).T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]


def test_missing_weights_are_explained(tmp_path: Path) -> None:
    with pytest.raises(EncoderUnavailable, match="are not available: give a folder"):
        get_encoder(f"clip:{tmp_path}")


def test_cut_off_weights_are_explained(tmp_path: Path, tiny_clip: str) -> None:
    shutil.copytree(tiny_clip, tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5])
    with pytest.raises(EncoderUnavailable, match="are not available: give a folder"):
        get_encoder(f"clip:{tmp_path / 'cut'}")


@pytest.mark.parametrize("name", ["clip", "clip:", "resnet"])
def test_unknown_encoder_lists_known_encoders(name: str) -> None:
    with pytest.raises(EncoderUnavailable, match="use label-sentence"):
        get_encoder(name)


@pytest.mark.photos
def test_real_photographs_find_their_captions_better_than_chance(photos: Path) -> None:
    data = json.loads((photos.parent / "coco_cc.json").read_text())
    captions = {row["image_id"]: row["caption"] for row in reversed(data["annotations"]) if "caption" in row}
    if not captions:
        captions = {row["image_id"]: row["caption"] for row in reversed(data.get("captions", []))}
    names = {row["id"]: row["file_name"] for row in data["images"]}
    ids = sorted(captions)[:40]
    encoder = get_encoder()
    shown = [Pillow.open(photos / names[i]).convert("RGB") for i in ids]
    scores = encoder.encode_images(shown) @ encoder.encode_texts([captions[i] for i in ids]).T
    ranks = (scores > np.diag(scores)[:, None]).sum(axis=1) + 1
    assert len(ids) >= 30
    assert (ranks <= 10).mean() > 0.5  # chance is one in four
