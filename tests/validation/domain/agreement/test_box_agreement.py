"""Agreement on boxes against a direct double sum over sets of pixels, and matching against all one-to-one ways."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from validation.domain.agreement.box_agreement import (
    MAX_EXACT_REGIONS,
    BoxError,
    DrawnRegion,
    Region,
    box_agreement,
    iou_matrix,
    match_boxes,
    region,
    region_iou,
)

SIDE = 12
Boxes = list[tuple[int, int, int, int]]


def pixels(boxes: Boxes, width: int, height: int) -> frozenset[tuple[int, int]]:
    """The cells of a grid of 24 × 24 over the image which the boxes cover; ``width``, ``height`` divide 24."""
    across, down = 24 // width, 24 // height
    return frozenset(
        (x, y)
        for left, top, wide, high in boxes
        for x in range(left * across, (left + wide) * across)
        for y in range(top * down, (top + high) * down)
    )


def apart(first: frozenset, second: frozenset) -> float:
    return 1 - len(first & second) / len(first | second) if first | second else 0.0


def direct_alpha(rows: list[tuple[str, str, frozenset]]) -> float | None:
    """Krippendorff's alpha as two double sums over sets of pixels."""
    units: dict[str, list[frozenset]] = {}
    for unit, _, cells in rows:
        units.setdefault(unit, []).append(cells)
    kept = [cells for cells in units.values() if len(cells) > 1]
    values = [cells for unit in kept for cells in unit]
    n = len(values)
    if n == 0:
        return None
    observed = sum(sum(apart(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in kept) / n
    expected = sum(apart(a, b) for a, b in permutations(values, 2)) / (n * (n - 1))
    return None if expected == 0 else 1 - observed / expected


def iou_alpha(
    ratings: list[DrawnRegion], *, rng: np.random.Generator, max_exact_regions: int = MAX_EXACT_REGIONS
) -> float | None:
    return box_agreement(ratings, rng=rng, replicates=0, max_exact_regions=max_exact_regions).alpha


def random_boxes(rng: np.random.Generator, width: int, height: int) -> Boxes:
    boxes = []
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 5])):
        left, top = int(rng.integers(width)), int(rng.integers(height))
        boxes.append(
            (left, top, int(rng.integers(1, width - left + 1)), int(rng.integers(1, height - top + 1)))
        )
    return boxes


def random_ratings(rng: np.random.Generator) -> tuple[list[DrawnRegion], list[tuple[str, str, frozenset]]]:
    """Units on images of different sizes; people often draw the same boxes, and some draw none."""
    ratings, cells = [], []
    missing = rng.choice([0.0, 0.3, 0.6])
    for unit in range(rng.integers(1, 7)):
        width, height = (int(size) for size in rng.choice([6, 8, 12], size=2))
        shared_boxes = random_boxes(rng, width, height)
        for rater in range(rng.integers(1, 6)):
            if rng.random() < missing:
                continue
            boxes = shared_boxes if rng.random() < 0.4 else random_boxes(rng, width, height)
            ratings.append(DrawnRegion(f"u{unit}", f"r{rater}", region(boxes, width=width, height=height)))
            cells.append((f"u{unit}", f"r{rater}", pixels(boxes, width, height)))
    order = rng.permutation(len(ratings))
    return [ratings[at] for at in order], [cells[at] for at in order]


def test_alpha_is_the_direct_double_sum() -> None:
    rng = np.random.default_rng(41)
    defined = undefined = 0
    for _ in range(320):
        ratings, cells = random_ratings(rng)
        expected, found = direct_alpha(cells), iou_alpha(ratings, rng=np.random.default_rng(0))
        if expected is None:
            assert found is None
            undefined += 1
        else:
            assert found == pytest.approx(expected, abs=1e-9, rel=0)
            defined += 1
    assert defined >= 200
    assert undefined > 0


def test_an_iou_of_areas_counts_overlaps_once() -> None:
    rng = np.random.default_rng(42)
    for _ in range(300):
        one, two = random_boxes(rng, SIDE, SIDE), random_boxes(rng, SIDE, SIDE)
        found = region_iou(region(one, width=SIDE, height=SIDE), region(two, width=SIDE, height=SIDE))
        expected = 1 - apart(pixels(one, SIDE, SIDE), pixels(two, SIDE, SIDE))
        assert found == pytest.approx(expected, abs=1e-9, rel=0)


def test_boxes_are_matched_one_to_one_by_the_largest_sum() -> None:
    rng = np.random.default_rng(43)
    for _ in range(250):
        one, two = random_boxes(rng, SIDE, SIDE), random_boxes(rng, SIDE, SIDE)
        if len(one) > len(two):
            one, two = two, one
        overlap = [[1 - apart(pixels([a], SIDE, SIDE), pixels([b], SIDE, SIDE)) for b in two] for a in one]
        best = max(
            sum(overlap[at][other] for at, other in enumerate(order))
            for order in permutations(range(len(two)), len(one))
        )
        found = match_boxes(region(two, width=SIDE, height=SIDE), region(one, width=SIDE, height=SIDE))
        assert found.matched == len(one)
        if one:
            assert found.mean_iou == pytest.approx(best / len(one), abs=1e-9, rel=0)
        else:
            assert found.mean_iou is None
        if one or two:
            assert found.f1 == pytest.approx(2 * found.above_threshold / (len(one) + len(two)))
        else:
            assert found.f1 is None


Cells = list[frozenset[tuple[int, int]]]


def best_ways(one: Cells, two: Cells) -> tuple[Fraction, set[int]]:
    """The largest sum of IoU of all one-to-one ways; how many are over a half in each way that reaches it."""
    one, two = sorted((one, two), key=len)
    overlap = [[Fraction(len(a & b), len(a | b)) for b in two] for a in one]
    ways = [
        [overlap[at][other] for at, other in enumerate(order)]
        for order in permutations(range(len(two)), len(one))
    ]
    most = max(sum(way, Fraction()) for way in ways)
    return most, {sum(iou > Fraction(1, 2) for iou in way) for way in ways if sum(way, Fraction()) == most}


def exact_mean(values: Iterable[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction()) / len(known) if known else None


def random_units(rng: np.random.Generator) -> list[list[tuple[Region, Cells]]]:
    """One to three photos of different sizes, each with the boxes of one to four people."""
    units = []
    for _ in range(rng.integers(1, 4)):
        width, height = (int(size) for size in rng.choice([6, 8, 12], size=2))
        shared_boxes = random_boxes(rng, width, height)
        drawn = [
            shared_boxes if rng.random() < 0.3 else random_boxes(rng, width, height)
            for _ in range(rng.integers(1, 5))
        ]
        units.append(
            [
                (region(boxes, width=width, height=height), [pixels([box], width, height) for box in boxes])
                for boxes in drawn
            ]
        )
    return units


def slow_means(unit: list[tuple[Region, Cells]]) -> tuple[Fraction | None, Fraction | None] | None:
    """Mean IoU and F1 over a photo's pairs of people; ``None`` where two best ways differ in the count over."""
    ious, f1s = [], []
    for (_, one), (_, two) in combinations(unit, 2):
        most, over = best_ways(one, two)
        if len(over) > 1:
            return None
        ious.append(most / min(len(one), len(two)) if one and two else None)
        f1s.append(Fraction(2 * min(over), len(one) + len(two)) if one or two else None)
    return exact_mean(ious), exact_mean(f1s)


def test_matching_is_optimal_over_all_one_to_one_matchings() -> None:
    rng = np.random.default_rng(44)
    compared = units_seen = 0
    for _ in range(260):
        units = random_units(rng)
        means = [slow_means(unit) for unit in units]
        if None in means:
            continue  # either count would be right
        ratings = [
            DrawnRegion(number, rater, drawn)
            for number, unit in enumerate(units)
            for rater, (drawn, _) in enumerate(unit)
        ]
        found = box_agreement(ratings, rng=np.random.default_rng(0), replicates=1)
        for value, expected in zip(
            (found.mean_iou, found.f1), map(exact_mean, zip(*means, strict=True)), strict=True
        ):
            assert value == (None if expected is None else pytest.approx(float(expected), abs=1e-9, rel=0))
        compared += found.mean_iou is not None
        units_seen += found.units
    assert compared >= 200
    assert units_seen >= 300


def test_accepted_count_is_that_of_the_best_matching() -> None:
    rng = np.random.default_rng(45)
    counts = []
    while len(counts) < 800:
        for unit in random_units(rng):
            for (first, one), (second, two) in combinations(unit, 2):
                _, over = best_ways(one, two)
                found = match_boxes(first, second).above_threshold
                assert found in over
                counts += [found] if len(over) == 1 else []
    assert {0, 1, 2, 3} <= set(counts)


def test_iou_of_exactly_half_is_not_accepted() -> None:
    whole, half = region([(0, 0, 4, 2)], width=8, height=8), region([(0, 0, 2, 2)], width=8, height=8)
    more = region([(0, 0, 3, 2)], width=8, height=8)
    assert match_boxes(whole, half).mean_iou == 0.5
    assert match_boxes(whole, half).f1 == 0
    assert match_boxes(whole, more).f1 == 1
    for side in range(7, 60):
        whole, half = (region([(1, 1, wide, 2)], width=side, height=side) for wide in (6, 3))
        assert match_boxes(whole, half).above_threshold == 0


def test_matched_measures_by_hand() -> None:
    # Two boxes against three: one is the same, one covers 3 of 4 cells, the third has no partner.
    one = region([(0, 0, 2, 2), (4, 4, 2, 2)], width=8, height=8)
    two = region([(4, 4, 2, 2), (0, 0, 2, 1), (6, 0, 1, 1)], width=8, height=8)
    found = match_boxes(one, two)
    assert (found.matched, found.above_threshold) == (2, 1)
    assert found.mean_iou == pytest.approx(0.75)
    assert found.f1 == pytest.approx(0.4)


def test_the_same_share_of_images_of_different_sizes_is_the_same_region() -> None:
    small, large = (region([(side // 4, 0, side // 2, side)], width=side, height=side) for side in (8, 4000))
    assert region_iou(small, large) == pytest.approx(1)
    assert iou_matrix(small.boxes, large.boxes) == pytest.approx(np.ones((1, 1)))


def people(rng: np.random.Generator, units: int, wobble: float) -> list[DrawnRegion]:
    """Three people draw one box per unit, each edge off by about ``wobble``."""
    ratings = []
    for unit in range(units):
        corner = rng.uniform(0.1, 0.5, size=2)
        size = rng.uniform(0.1, 0.4, size=2)
        for rater in range(3):
            edges = np.concatenate([corner, corner + size]) + rng.normal(0, wobble, size=4)
            edges = np.clip(np.concatenate([np.minimum(edges[:2], edges[2:] - 0.01), edges[2:]]), 0, 1)
            ratings.append(DrawnRegion(unit, rater, Region(edges[None, :])))
    return ratings


def test_estimate_from_sampled_pairs_is_close_and_marked() -> None:
    ratings = people(np.random.default_rng(5), 120, 0.04)
    exact = box_agreement(ratings, rng=np.random.default_rng(1))
    drawn = box_agreement(ratings, rng=np.random.default_rng(1), max_exact_regions=100)
    assert not exact.estimated
    assert drawn.estimated
    assert drawn.alpha != exact.alpha
    assert drawn.alpha == pytest.approx(exact.alpha, abs=2e-3)
    assert drawn.low == pytest.approx(exact.low, abs=0.02)
    assert drawn.high == pytest.approx(exact.high, abs=0.02)
    assert (exact.units, exact.regions, exact.raters) == (120, 360, 3)


def test_sampled_pairs_are_of_different_regions() -> None:
    ratings = people(np.random.default_rng(5), 3, 0.02)
    exact = iou_alpha(ratings, rng=np.random.default_rng(1))
    drawn = iou_alpha(ratings, rng=np.random.default_rng(1), max_exact_regions=0)
    assert drawn == pytest.approx(exact, abs=2e-3)


def test_closer_boxes_have_higher_alpha() -> None:
    close, loose = (
        box_agreement(people(np.random.default_rng(6), 80, wobble), rng=np.random.default_rng(1))
        for wobble in (0.01, 0.08)
    )
    assert 0 < loose.alpha < close.alpha < 1
    assert loose.mean_iou < close.mean_iou < 1
    assert loose.f1 < close.f1 <= 1
    for found in (close, loose):
        assert found.low < found.alpha < found.high


def test_an_interval_draws_whole_units() -> None:
    # The interval's draws, written out: units with names of their own, alpha computed anew.
    ratings = people(np.random.default_rng(7), 12, 0.05)
    units = [[rating for rating in ratings if rating.unit == unit] for unit in range(12)]
    draws = np.random.default_rng(9).multinomial(12, np.full(12, 1 / 12), size=60)
    alphas = []
    for times in draws:
        rows = [
            DrawnRegion((unit, copy), rating.rater, rating.region)
            for unit, count in enumerate(times)
            for copy in range(count)
            for rating in units[unit]
        ]
        alphas.append(iou_alpha(rows, rng=np.random.default_rng(0)))
    found = box_agreement(ratings, rng=np.random.default_rng(9), replicates=60)
    assert [found.low, found.high] == pytest.approx(np.quantile(alphas, [0.025, 0.975]).tolist())


def test_means_are_over_pairs_of_people_then_over_units() -> None:
    rng = np.random.default_rng(8)
    ratings = [rating for rating in people(rng, 6, 0.05) if (rating.unit, rating.rater) != (0, 2)]
    by_unit = []
    for unit in range(6):
        regions = [rating.region for rating in ratings if rating.unit == unit]
        by_unit.append(np.mean([match_boxes(a, b).mean_iou for a, b in combinations(regions, 2)]))
    found = box_agreement(ratings, rng=rng)
    assert found.mean_iou == pytest.approx(np.mean(by_unit))
    assert found.regions == 17


@pytest.mark.parametrize("boxes", [[], [(0, 0, 4, 4)]], ids=["no boxes", "the same box"])
def test_alpha_of_equal_regions_is_undefined(boxes: Boxes) -> None:
    same = region(boxes, width=8, height=8)
    found = box_agreement(
        [DrawnRegion(unit, rater, same) for unit in "ab" for rater in "rs"], rng=np.random.default_rng(0)
    )
    assert (found.alpha, found.low, found.high) == (None, None, None)
    assert found.mean_iou == (1.0 if boxes else None)
    assert (found.units, found.regions) == (2, 4)


@pytest.mark.parametrize("side", [7, 11, 13, 41, 49, 97])
def test_one_area_cut_into_other_boxes_is_the_same_area(side: int) -> None:
    whole = region([(1, 1, 5, 5)], width=side, height=side)
    for at in range(1, 5):
        cut = region([(1, 1, at, 5), (1, 1, 5, 1), (at, 1, 6 - at, 5)], width=side, height=side)
        ratings = [
            DrawnRegion(unit, rater, drawn) for unit in "ab" for rater, drawn in enumerate((whole, cut))
        ]
        assert iou_alpha(ratings, rng=np.random.default_rng(0)) is None


def test_box_agreement_without_pairs_is_undefined() -> None:
    alone = [DrawnRegion("u", "r", region([(0, 0, 1, 1)], width=4, height=4))]
    for ratings in ([], alone):
        found = box_agreement(ratings, rng=np.random.default_rng(0))
        assert (found.alpha, found.mean_iou, found.f1) == (None, None, None)
        assert (found.units, found.regions, found.raters) == (0, 0, 0)


@pytest.mark.parametrize(
    "box", [(0, 0, 0, 3), (0, 0, 3, -1), (-1, 0, 2, 2), (3, 0, 2, 2), (0, 3, 2, 2), (0, 0, float("nan"), 2)]
)
def test_boxes_without_area_or_outside_are_refused(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(BoxError, match="no area or leaves its image of 4 × 4"):
        region([box], width=4, height=4)
