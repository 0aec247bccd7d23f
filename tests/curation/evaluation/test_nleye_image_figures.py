"""Figures of an image's pixels, against values that are known."""

import colorsys

import numpy as np
import pytest

from curation.evaluation.image_figures import RANDOM_PAIR_DISTANCE, ImageFigures, StyleScale, measure_image
from curation.records import InvalidInput


def _plain(colour: tuple[int, int, int]) -> ImageFigures:
    return measure_image(np.full((6, 8, 3), colour, dtype=np.uint8))


def test_plain_images_have_only_brightness_and_saturation() -> None:
    for colour, brightness, saturation in (
        ((0, 0, 0), 0, 0),
        ((255, 255, 255), 1, 0),
        ((128, 128, 128), 128 / 255, 0),
        ((255, 0, 0), 0.299, 1),
        ((0, 255, 0), 0.587, 1),
        ((200, 100, 100), (0.299 * 200 + 0.701 * 100) / 255, 0.5),
    ):
        found = _plain(colour)
        assert found.brightness == pytest.approx(brightness)
        assert found.saturation == pytest.approx(saturation)
        assert found.contrast == pytest.approx(0, abs=1e-12)
        assert found.sharpness == pytest.approx(0, abs=1e-12)


def test_colourfulness_is_zero_for_grey_and_follows_hasler_and_suesstrunk() -> None:
    grey = np.random.default_rng(1).integers(0, 256, size=(20, 20, 1), dtype=np.uint8).repeat(3, axis=2)
    assert measure_image(grey).colourfulness == pytest.approx(0, abs=1e-12)
    assert _plain((255, 0, 0)).colourfulness == pytest.approx(0.3 * np.hypot(1, 0.5))
    halves = np.zeros((2, 2, 3), dtype=np.uint8)
    halves[0, :, 0], halves[1, :, 1] = 255, 255  # red and green: rg is ±1, yb is ½
    assert measure_image(halves).colourfulness == pytest.approx(1 + 0.3 * 0.5)


def test_contrast_and_sharpness_of_a_chessboard_and_of_a_ramp() -> None:
    board = ((np.indices((10, 10)).sum(axis=0) % 2) * 255).astype(np.uint8)
    found = measure_image(np.repeat(board[:, :, None], 3, axis=2))
    assert found.contrast == pytest.approx(0.5)
    assert found.sharpness == pytest.approx(16)  # the Laplacian is 4 and −4
    ramp = np.tile(np.arange(0, 100, 10, dtype=np.uint8), (10, 1))
    assert measure_image(np.repeat(ramp[:, :, None], 3, axis=2)).sharpness == pytest.approx(0, abs=1e-12)


def test_saturation_equals_that_of_the_standard_library() -> None:
    pixels = np.random.default_rng(2).integers(0, 256, size=(9, 7, 3), dtype=np.uint8)
    expected = np.mean([colorsys.rgb_to_hsv(*(pixel / 255))[1] for pixel in pixels.reshape(-1, 3)])
    assert measure_image(pixels).saturation == pytest.approx(expected)


def test_a_brighter_image_is_brighter_and_a_tiny_one_has_no_sharpness() -> None:
    pixels = np.random.default_rng(3).integers(0, 200, size=(16, 16, 3), dtype=np.uint8)
    assert measure_image(pixels + np.uint8(50)).brightness == pytest.approx(
        measure_image(pixels).brightness + 50 / 255
    )
    assert measure_image(pixels[:2]).sharpness == 0
    assert len(measure_image(pixels).as_row()) == len(ImageFigures.names()) == 5


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 4, 3)),
    ],
)
def test_other_arrays_are_refused(pixels: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="give \\(height, width, 3\\) of uint8"):
        measure_image(pixels)


def test_distances_of_style_are_in_standard_deviations() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 5)) * [1, 2, 3, 4, 5]
    images = [ImageFigures(*row) for row in rows.tolist()]
    scale = StyleScale.of(images)
    by_hand = np.sqrt((((rows[0] - rows[1]) / rows.std(axis=0)) ** 2).sum())
    assert scale.distance(images[0], images[1]) == pytest.approx(by_hand)
    squares = [scale.distance(one, other) ** 2 for one in images for other in images]
    assert np.sqrt(np.mean(squares)) == pytest.approx(RANDOM_PAIR_DISTANCE)


def test_equal_figures_do_not_divide_by_zero() -> None:
    """One image, or images that are equal in a figure, have no deviation to divide by."""
    one = ImageFigures(0.5, 0.1, 0.2, 0.3, 0.4)
    assert StyleScale.of([one]).distance(one, one) == 0
    other = ImageFigures(0.9, 0.1, 0.2, 0.3, 0.4)
    assert StyleScale.of([one, other]).distance(one, other) == pytest.approx(2)
    assert StyleScale.of([]).distance(one, other) == pytest.approx(0.4)
