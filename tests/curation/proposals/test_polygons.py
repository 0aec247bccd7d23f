"""Outlines of masks: drawn again they cover the mask, holes stay open, pieces stay apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import ndimage

from curation.proposals import polygons as module
from curation.proposals.polygons import draw_polygons, mask_iou, mask_polygons

MASKS = arrays.arrays(np.bool_, st.tuples(st.integers(1, 16), st.integers(1, 16)))


def redrawn(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return draw_polygons(mask_polygons(mask), mask.shape[1], mask.shape[0])


def disc(side: int, radius: float, *, hole: float = 0) -> NDArray[np.bool_]:
    rows, columns = np.indices((side, side)) + 0.5 - side / 2
    distance = np.hypot(rows, columns)
    return (distance <= radius) & (distance >= hole)


@given(MASKS)
def test_any_mask_is_covered_by_its_polygons(mask: NDArray[np.bool_]) -> None:
    assert mask_iou(redrawn(mask), mask) >= 0.95


@given(MASKS)
def test_outlines_without_simplification_are_exact(mask: NDArray[np.bool_]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOLERANCES", (0.0,))
        patch.setattr(module, "_MAX_DROPPED_SHARE", 0.0)
        assert np.array_equal(redrawn(mask), mask)


@pytest.mark.parametrize("seed", range(6))
def test_masks_of_a_model_are_covered_by_few_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = ndimage.gaussian_filter(rng.normal(size=(120, 160)), 9)
    mask = field > np.quantile(field, rng.uniform(0.3, 0.9))
    polygons = mask_polygons(mask)
    assert mask_iou(draw_polygons(polygons, 160, 120), mask) >= 0.95
    border = int((mask ^ ndimage.binary_erosion(mask)).sum())
    assert sum(map(len, polygons)) < border / 2


def test_a_hole_stays_open() -> None:
    ring = disc(60, 28, hole=20)
    (outline,) = mask_polygons(ring)
    found = draw_polygons([outline], 60, 60)
    assert not found[30, 30]
    assert mask_iou(found, ring) >= 0.95


def test_pieces_are_polygons_of_their_own_and_largest_first() -> None:
    mask = np.zeros((20, 30), dtype=np.bool_)
    mask[2:5, 2:6] = True
    mask[6:18, 10:28] = True
    small, large = mask_polygons(mask)[1], mask_polygons(mask)[0]
    assert max(x for x, _ in small) <= 6
    assert min(x for x, _ in large) >= 10


def test_specks_of_a_hundredth_of_the_mask_are_left_out() -> None:
    mask = np.zeros((40, 40), dtype=np.bool_)
    mask[5:35, 5:35] = True
    mask[0, 0] = mask[39, 39] = True
    assert len(mask_polygons(mask)) == 1


def test_pieces_that_touch_at_a_corner_stay_apart() -> None:
    mask = np.zeros((12, 12), dtype=np.bool_)
    mask[0:6, 0:6] = mask[6:12, 6:12] = True
    assert len(mask_polygons(mask)) == 2


def test_empty_mask_has_no_polygon() -> None:
    assert mask_polygons(np.zeros((4, 5), dtype=np.bool_)) == ()
    assert mask_iou(np.zeros((2, 2), dtype=np.bool_), np.zeros((2, 2), dtype=np.bool_)) == 1.0


def test_thin_line_is_not_simplified_away() -> None:
    mask = np.eye(40, dtype=np.bool_) | np.eye(40, k=1, dtype=np.bool_)
    assert mask_iou(redrawn(mask), mask) >= 0.95


def test_polygons_are_drawn_by_pixel_centres() -> None:
    triangle = [(0.0, 0.0), (4.0, 0.0), (0.0, 4.0)]
    assert draw_polygons([triangle], 4, 4).sum(axis=1).tolist() == [3, 2, 1, 0]
    square = [(1.0, 1.0), (3.0, 1.0), (3.0, 3.0), (1.0, 3.0)]
    assert draw_polygons([square], 4, 4).sum() == 4


def test_overlapping_polygons_are_joined_and_outside_is_not_drawn() -> None:
    one = [(-5.0, -5.0), (2.0, -5.0), (2.0, 2.0), (-5.0, 2.0)]
    two = [(1.0, 1.0), (9.0, 1.0), (9.0, 9.0), (1.0, 9.0)]
    assert draw_polygons([one, two], 4, 4).sum() == 4 + 9 - 1
