"""Prepared pixels and augmentations equal Pillow and colorsys."""

import colorsys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from PIL import ImageEnhance, ImageOps

from curation.features.crops import Crop
from curation.features.pixels import Normalisation, cut_views
from curation.records import InvalidInput, Region
from curation.scorer.training.augment import (
    AugmentationDraws,
    augment,
    draw_augmentations,
    normalise,
    rotate_hue,
    scale_brightness,
    scale_to_unit,
    to_greyscale,
)
from curation.scorer.training.inputs import Pair
from curation.scorer.training.pixels import (
    SIZES_FILE,
    PreparedPixels,
    ViewSettings,
    open_pixels,
    prepare_pixels,
)
from hits.domain.images.region_drawing import RegionMode, draw_region

NORM = Normalisation(side=16, mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.3))


def bytes_of(count: int = 3, side: int = 6) -> torch.Tensor:
    values = np.random.default_rng(1).integers(0, 256, (count, 3, side, side), dtype=np.uint8)
    values[0, :, 0, 0] = 77  # a grey pixel has no hue
    values[0, :, 0, 1] = (255, 255, 0)  # two channels share the maximum
    return torch.from_numpy(values)


def factors(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).view(-1, 1, 1, 1)


def test_hue_shift_equals_colorsys() -> None:
    found = bytes_of().double() / 255
    turns = (0.3, -0.3, 0.07)
    done = rotate_hue(found, factors(*turns))
    for square, turn, after in zip(found, turns, done, strict=True):
        for before, now in zip(square.flatten(1).T.tolist(), after.flatten(1).T.tolist(), strict=True):
            hue, saturation, value = colorsys.rgb_to_hsv(*before)
            assert now == pytest.approx(colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value), abs=1e-12)


def test_hue_shift_equals_pillow_within_rounding() -> None:
    square = bytes_of(1, 32)
    picture = Pillow.fromarray(square[0].permute(1, 2, 0).numpy())
    hue, saturation, value = picture.convert("HSV").split()
    moved = Pillow.fromarray((np.array(hue) + np.uint8(round(0.2 * 255))).astype(np.uint8))
    expected = np.array(Pillow.merge("HSV", (moved, saturation, value)).convert("RGB")).transpose(2, 0, 1)
    found = rotate_hue(square.double() / 255, factors(0.2))[0].numpy() * 255
    assert np.abs(found - expected).mean() < 2
    assert np.abs(found - expected).max() < 13  # one of 256 hues is up to 6 levels, and two are cut off


def test_brightness_equals_pillow() -> None:
    square = bytes_of(1, 32)
    picture = Pillow.fromarray(square[0].permute(1, 2, 0).numpy())
    for factor in (0.5, 1.0, 1.37):
        expected = np.array(ImageEnhance.Brightness(picture).enhance(factor)).transpose(2, 0, 1)
        found = scale_brightness(square.double() / 255, factors(factor))[0].numpy() * 255
        assert np.abs(found - expected).max() <= 1


def test_greyscale_equals_pillow_luma() -> None:
    square = bytes_of(1, 32)
    expected = np.array(ImageOps.grayscale(Pillow.fromarray(square[0].permute(1, 2, 0).numpy())))
    found = to_greyscale(square.double() / 255)[0].numpy() * 255
    assert np.abs(found - expected[None]).max() <= 1


def chosen(**changes: object) -> AugmentationDraws:
    """One picture of two halves to which nothing happens, but for the changes."""
    nothing = {
        "window": np.zeros((1, 2)),
        "flip": np.zeros((1, 2), dtype=bool),
        "grey": np.zeros((1, 2), dtype=bool),
        "brightness": np.ones((1, 2)),
        "hue": np.zeros((1, 2)),
        "hue_first": np.zeros((1, 2), dtype=bool),
    }
    return AugmentationDraws(**(nothing | {name: np.array([value]) for name, value in changes.items()}))


def test_each_half_is_augmented_separately() -> None:
    pixels = bytes_of(2)[None]
    halves = scale_to_unit(pixels)[0]
    torch.testing.assert_close(augment(pixels, chosen())[0], halves, atol=1e-6, rtol=0)
    flipped = augment(pixels, chosen(flip=[True, False]))[0]
    torch.testing.assert_close(flipped[0], halves[0].flip(-1), atol=1e-6, rtol=0)
    torch.testing.assert_close(flipped[1], halves[1], atol=1e-6, rtol=0)
    grey = augment(pixels, chosen(grey=[False, True]))[0]
    torch.testing.assert_close(grey[1], to_greyscale(halves[1:])[0], atol=1e-6, rtol=0)


def test_order_of_brightness_and_hue_is_random() -> None:
    pixels = bytes_of(2)[None]
    both = {"brightness": [1.5, 1.5], "hue": [0.2, 0.2], "hue_first": [False, True]}
    found = augment(pixels, chosen(**both))[0]
    halves, bright, turn = scale_to_unit(pixels)[0], factors(1.5).float(), factors(0.2).float()
    torch.testing.assert_close(
        found[:1], rotate_hue(scale_brightness(halves[:1], bright), turn), atol=1e-6, rtol=0
    )
    torch.testing.assert_close(
        found[1:], scale_brightness(rotate_hue(halves[1:], turn), bright), atol=1e-6, rtol=0
    )


def test_augmentation_ranges_equal_the_paper() -> None:
    found = draw_augmentations(np.random.default_rng(3), 20_000, 2, grayscale=0.1)
    assert found.flip.mean() == pytest.approx(0.5, abs=0.02)
    assert found.grey.mean() == pytest.approx(0.1, abs=0.01)
    assert found.hue_first.mean() == pytest.approx(0.5, abs=0.02)
    assert (found.brightness.min(), found.brightness.max()) == pytest.approx((0.5, 1.5), abs=1e-3)
    assert (found.hue.min(), found.hue.max()) == pytest.approx((-0.3, 0.3), abs=1e-3)
    assert abs(np.corrcoef(found.hue[:, 0], found.hue[:, 1])[0, 1]) < 0.03, "halves are independent"


def test_normalising_is_per_channel() -> None:
    mean, std = torch.tensor(NORM.mean), torch.tensor(NORM.std)
    found = normalise(torch.full((2, 2, 3, 4, 4), 0.5), mean, std)
    assert found[1, 1, :, 2, 2].tolist() == pytest.approx([0, 0.4, 2 / 3], abs=1e-6)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    folder = tmp_path / "images"
    folder.mkdir()
    for number, size in enumerate([(40, 20), (18, 33), (25, 25)]):
        values = generator.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        Pillow.fromarray(values).save(folder / f"{number}.png")
    return folder


PAIRS = [Pair(f"p{n}", f"{n % 3}.png", (Region(2, 3, 9, 8 + n),), "", "") for n in range(5)]


def read(pixels: PreparedPixels, pairs: list[int], windows: list[float] | None = None) -> np.ndarray:
    out = np.empty((len(pairs), *pixels.shape), dtype=np.uint8)
    chosen_windows = None if windows is None else np.array(windows)[:, None]
    pixels.read(np.array(pairs), chosen_windows, out)
    return out


@pytest.mark.parametrize("crop", Crop)
@pytest.mark.parametrize("mode", [RegionMode.HIGHLIGHT, RegionMode.HIDE])
def test_prepared_pixels_equal_the_encoder_input(
    images: Path, tmp_path: Path, crop: Crop, mode: RegionMode
) -> None:
    look = ViewSettings(mode, crop, NORM)
    prepare_pixels(PAIRS, images, look, tmp_path / "pixels", split="train")
    found = read(open_pixels(PAIRS, look, tmp_path / "pixels", split="train"), [4, 0, 3])
    for pixels, number in zip(found, [4, 0, 3], strict=True):
        pair = PAIRS[number]
        picture = draw_region(Pillow.open(images / pair.image), pair.boxes, mode).convert("RGB")
        np.testing.assert_array_equal(pixels, cut_views(picture, crop, NORM).numpy())


def test_centre_crop_window_follows_the_long_side(images: Path, tmp_path: Path) -> None:
    look = ViewSettings(RegionMode.NONE, Crop.CENTRE, NORM)
    prepare_pixels(PAIRS, images, look, tmp_path, split="train")
    pixels = open_pixels(PAIRS, look, tmp_path, split="train")
    left, right = read(pixels, [0, 0], [0.0, 0.999])  # 40 by 20 becomes 32 by 16
    middle = read(pixels, [0])[0]
    np.testing.assert_array_equal(left[..., 8:], middle[..., :8])
    np.testing.assert_array_equal(right[..., :8], middle[..., 8:])
    top, bottom = read(pixels, [1, 1], [0.0, 0.999])  # 18 by 33 becomes 16 by 29
    np.testing.assert_array_equal(top[..., 13:, :], bottom[..., :3, :])


def test_image_without_drawing_is_prepared_once(images: Path, tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    look = ViewSettings(RegionMode.NONE, Crop.TWO_SQUARES, NORM)
    prepare_pixels(
        PAIRS, images, look, tmp_path, split="train", report_progress=lambda *how: reported.append(how)
    )
    assert reported == [(3, 3)]
    prepare_pixels(
        PAIRS, images, look, tmp_path, split="train", report_progress=lambda *how: reported.append(how)
    )
    assert reported == [(3, 3)], "what is there is not made again"


def test_interrupted_preparation_resumes(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.scorer.training.pixels.IMAGES_PER_FILE", 2)
    look = ViewSettings(RegionMode.HIGHLIGHT, Crop.TWO_SQUARES, NORM)
    prepare_pixels(PAIRS, images, look, tmp_path / "whole", split="train")

    def stop(done: int, total: int) -> None:
        if done > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_pixels(PAIRS, images, look, tmp_path / "cut", split="train", report_progress=stop)
    (folder,) = (tmp_path / "cut").iterdir()
    assert not (folder / SIZES_FILE).exists()
    torn = folder / "00000.npy"
    torn.write_bytes(torn.read_bytes()[:-9])
    prepare_pixels(PAIRS, images, look, tmp_path / "cut", split="train")
    found = read(open_pixels(PAIRS, look, tmp_path / "cut", split="train"), [0, 1, 2, 3, 4])
    expected = read(open_pixels(PAIRS, look, tmp_path / "whole", split="train"), [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(found, expected)


def test_changed_boxes_are_prepared_again_and_old_pixels_removed(images: Path, tmp_path: Path) -> None:
    look = ViewSettings(RegionMode.HIGHLIGHT, Crop.TWO_SQUARES, NORM)
    prepare_pixels(PAIRS, images, look, tmp_path, split="train")
    before = {path.name for path in tmp_path.glob("train-*")}
    prepare_pixels(PAIRS[:4], images, look, tmp_path, split="train")
    after = {path.name for path in tmp_path.glob("train-*")}
    assert len(after) == 1
    assert after != before


def test_broken_image_names_its_pair(images: Path, tmp_path: Path) -> None:
    (images / "1.png").write_bytes(b"no picture")
    look = ViewSettings(RegionMode.HIGHLIGHT, Crop.PAD, NORM)
    with pytest.raises(InvalidInput, match=r"pair p1: its image 1\.png cannot be read"):
        prepare_pixels(PAIRS, images, look, tmp_path / "pixels", split="train")


def test_too_little_disk_space_is_refused_before_preparing(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 100})())
    with pytest.raises(InvalidInput, match="free disk space"):
        prepare_pixels(
            PAIRS, images, ViewSettings(RegionMode.NONE, Crop.PAD, NORM), tmp_path / "pixels", split="train"
        )
