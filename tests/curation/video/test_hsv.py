"""HSV and the score of two frames: known colours, OpenCV where it is installed, properties."""

import colorsys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.video.hsv import frame_score, to_hsv

BYTE = st.integers(0, 255)


@pytest.mark.parametrize(
    ("rgb", "hsv"),
    [
        ((255, 0, 0), (0, 255, 255)),
        ((0, 255, 0), (60, 255, 255)),
        ((0, 0, 255), (120, 255, 255)),
        ((255, 255, 0), (30, 255, 255)),
        ((255, 0, 1), (0, 255, 255)),
        ((255, 0, 12), (179, 255, 255)),
        ((0, 0, 0), (0, 0, 0)),
        ((128, 128, 128), (0, 0, 128)),
        ((200, 100, 100), (0, 127, 200)),  # OpenCV rounds 127.5 down here
    ],
)
def test_hsv_of_known_colours(rgb: tuple[int, ...], hsv: tuple[int, ...]) -> None:
    assert tuple(to_hsv(np.array(rgb, dtype=np.uint8)).tolist()) == hsv


@given(BYTE, BYTE, BYTE)
def test_hsv_equals_the_float_formula_to_one_step(red: int, green: int, blue: int) -> None:
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    found = to_hsv(np.array([red, green, blue], dtype=np.uint8)).astype(int)
    difference = abs(int(found[0]) - hue * 180)
    assert min(difference, 180 - difference) <= 1
    assert abs(found[1] - saturation * 255) <= 1
    assert found[2] == round(value * 255)


def test_hsv_equals_opencv_for_a_grid_of_colours() -> None:
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed: the comparison with it is SKIPPED")
    steps = np.arange(0, 256, 3)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).astype(np.uint8)
    pixels = grid.reshape(len(steps), -1, 3)
    assert np.array_equal(to_hsv(pixels), cv2.cvtColor(pixels, cv2.COLOR_RGB2HSV))


def test_score_is_the_mean_over_pixels_and_channels() -> None:
    earlier = np.zeros((2, 2, 3), dtype=np.uint8)
    later = earlier.copy()
    later[0, 0] = (10, 20, 30)
    later[1, 1] = (0, 0, 60)
    assert frame_score(earlier, later) == pytest.approx(120 / 12)
    assert frame_score(later, earlier) == frame_score(earlier, later)


def test_score_of_bytes_does_not_wrap_around() -> None:
    black, white = np.zeros((1, 1, 3), dtype=np.uint8), np.full((1, 1, 3), 255, dtype=np.uint8)
    assert frame_score(white, black) == frame_score(black, white) == 255
