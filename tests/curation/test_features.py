"""Encoders: one contract for all, real weights where packages carry them, a tiny CLIP for its loading code."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from annotation_site.demo.photos import sample_photos
from curation.features.choose import get_encoder
from curation.features.encoder import EncoderUnavailable
from curation.features.regions import widescreen_squares
from curation.records import Region
from hits.domain.regions import RegionMode, draw_region
from tests.curation_site.fakes import save_tiny_clip

RENDER = Path(__file__).resolve().parents[1] / "cases" / "render"
RENDER_CASES = json.loads((RENDER / "render_cases.json").read_text())["cases"]
MODES = {
    "1": RegionMode.HIDE,
    "2": RegionMode.HIGHLIGHT,
    "3": RegionMode.ONLY_REGION,
    "6": RegionMode.POSITION_ONLY,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", RENDER_CASES, ids=lambda case: case["name"])
def test_regions_are_drawn_as_published(case: dict[str, Any], mode: str) -> None:
    if mode not in case["modes"]:
        assert case["name"].startswith("coco")  # photographs were drawn in one mode only
        return
    expected = case["modes"][mode]
    boxes = case["bboxes"]
    regions = [Region(**{k: round(v) for k, v in box.items()}) for box in boxes]
    if any(value != int(value) for box in boxes for value in box.values()):
        pytest.skip("our boxes are whole pixels; the published code also took fractions")
    with Pillow.open(RENDER / case["input"]) as picture:
        drawn = draw_region(picture, regions, MODES[mode])
    assert drawn.mode == expected["mode"]
    assert hashlib.sha256(drawn.tobytes()).hexdigest() == expected["sha256_raw"]
    squares = [hashlib.sha256(square.tobytes()).hexdigest() for square in widescreen_squares(drawn)]
    assert squares == [square["sha256_raw"] for square in expected["widescreen_crops"]]


@pytest.fixture(scope="module")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with a CLIP of random weights; it carries no meaning, only shapes."""
    return save_tiny_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module", params=["label-sentence", "clip"])
def encoder(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return every encoder there is."""
    if request.param == "clip":
        yield get_encoder(f"clip:{request.getfixturevalue('tiny_clip')}")
    else:
        yield get_encoder(request.param)


@pytest.fixture(scope="module")
def pictures() -> list[Pillow.Image]:
    """Return three sample photographs that packages ship."""
    wanted = {"chelsea.png", "coffee.png", "china.jpg"}
    found = [Pillow.open(photo.path).convert("RGB") for photo in sample_photos() if photo.name in wanted]
    assert len(found) == 3
    return found


class TestEveryEncoder:
    def test_rows_are_unit_float32(self, encoder: Any, pictures: list[Pillow.Image]) -> None:
        regions = [[Region(0, 0, 50, 40)], [Region(10, 10, 60, 60), Region(0, 0, 9, 9)], []]
        for rows in (
            encoder.encode_images(pictures),
            encoder.encode_regions(pictures, regions),
            encoder.encode_texts(["a cat", "a cup", "a tower on a hill"]),
        ):
            assert rows.shape == (3, encoder.dim)
            assert rows.dtype == np.float32
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)

    def test_nothing_gives_no_rows(self, encoder: Any) -> None:
        assert encoder.encode_images([]).shape == (0, encoder.dim)
        assert encoder.encode_texts([]).shape == (0, encoder.dim)

    def test_is_repeatable_and_blind_to_the_batch(self, encoder: Any, pictures: list[Pillow.Image]) -> None:
        together = encoder.encode_images(pictures)
        alone = np.concatenate([encoder.encode_images([picture]) for picture in pictures])
        np.testing.assert_allclose(together, alone, atol=1e-5)

    def test_a_region_changes_the_row(self, encoder: Any, pictures: list[Pillow.Image]) -> None:
        whole = encoder.encode_regions(pictures[:1], [[]])
        marked = encoder.encode_regions(pictures[:1], [[Region(20, 20, 120, 120)]])
        assert not np.allclose(whole, marked, atol=1e-4)

    def test_says_what_it_is(self, encoder: Any) -> None:
        assert encoder.revision
        assert encoder.is_clip or "not CLIP" in encoder.name


def test_the_offline_encoder_finds_the_right_sentence(pictures: list[Pillow.Image]) -> None:
    encoder = get_encoder()
    names = [Path(str(p)).stem for p in (photo.path for photo in sample_photos())]
    order = [name for name in names if name in {"chelsea", "coffee", "china"}]
    texts = {"chelsea": "a cat", "coffee": "a cup of coffee", "china": "a palace with many roofs"}
    scores = encoder.encode_images(pictures) @ encoder.encode_texts([texts[name] for name in order]).T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2]


def test_missing_weights_are_explained(tmp_path: Path) -> None:
    with pytest.raises(EncoderUnavailable, match="cannot be had: name a folder"):
        get_encoder(f"clip:{tmp_path}")


def test_cut_off_weights_are_explained(tmp_path: Path, tiny_clip: str) -> None:
    shutil.copytree(tiny_clip, tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5])
    with pytest.raises(EncoderUnavailable, match="cannot be had: name a folder"):
        get_encoder(f"clip:{tmp_path / 'cut'}")


@pytest.mark.parametrize("name", ["clip", "clip:", "resnet"])
def test_unknown_encoders_list_the_known(name: str) -> None:
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
