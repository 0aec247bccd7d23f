"""Quotas of categories and times: the table, the options of a launch, and their spread over its units."""

import random
from collections import Counter

import pytest

from curation.image_triplets.quotas import ANY, build_quota_table, parse_quotas, spread_quotas
from curation.records import InvalidInput
from hits.domain.answers.scene_facets import CATEGORIES, DIRECTIONS, PARALLEL, TEMPORAL_CELLS

KEPT = [
    *[("physical", "forward", "short")] * 3,
    ("physical", "parallel", ""),
    ("physical", "parallel", "short"),  # published rows give parallel scenes a duration
    ("cultural", "backward", "long"),
]


def test_table_counts_targets_kept_and_missing() -> None:
    targets = {
        "physical": {"forward-short": 5, PARALLEL: 1},
        "cultural": {ANY: 4},
        "social": {ANY: 2, "forward-long": 3},
    }
    table = build_quota_table(KEPT, targets)
    by_category = {row.category: row for row in table.rows}
    assert list(by_category) == list(CATEGORIES)
    physical = by_category["physical"]
    assert [(cell.cell, cell.kept, cell.target, cell.missing) for cell in physical.cells] == [
        ("forward-short", 3, 5, 2), ("forward-long", 0, None, 0), ("backward-short", 0, None, 0),
        ("backward-long", 0, None, 0), ("parallel", 2, 1, 0),
    ]  # fmt: skip
    assert (physical.total.kept, physical.total.target, physical.total.missing) == (5, 6, 1)
    cultural = by_category["cultural"].total
    assert (cultural.kept, cultural.target, cultural.missing) == (1, 4, 3)
    assert by_category["social"].total.target == 3, "the cells ask for more than the category"
    assert by_category["logical"].total.target is None
    assert [(cell.kept, cell.target) for cell in table.total.cells] == [
        (3, 5),
        (0, 3),
        (0, None),
        (1, None),
        (2, 1),
    ]
    assert (table.total.total.kept, table.total.total.target) == (6, 13)
    assert table.missing_by_category == {"physical": 1, "social": 3, "cultural": 3}


def test_table_of_random_scenes_has_the_sums_of_its_cells() -> None:
    pick = random.Random(1)
    kept = [
        (category, direction, "" if direction == PARALLEL else pick.choice(["short", "long"]))
        for category, direction in zip(
            pick.choices(CATEGORIES, k=300), pick.choices(DIRECTIONS, k=300), strict=True
        )
    ]
    table = build_quota_table(kept)
    counts = Counter(kept)
    for row in table.rows:
        for cell in row.cells:
            direction, _, duration = cell.cell.partition("-")
            assert cell.kept == counts[row.category, direction, duration]
    assert sum(row.total.kept for row in table.rows) == table.total.total.kept == 300
    assert sum(cell.kept for cell in table.total.cells) == 300
    assert table.total.total.target is None


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"moral": {ANY: 1}}, "quota: 'moral' is no category; use physical, "),
        ({"social": {"sideways": 1}}, "quota social: 'sideways' is no temporal cell; use forward-short, "),
        ({"social": {ANY: -1}}, "quota social : -1 is no whole number from 0 to 1,000,000"),
        ({"social": {"parallel": True}}, "quota social parallel: True is no whole number"),
    ],
)
def test_wrong_targets_are_refused(targets: dict[str, dict[str, int]], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        build_quota_table([], targets)
    assert str(caught.value).startswith(message)


def test_options_of_quotas_are_read() -> None:
    assert parse_quotas([]) == {}
    assert parse_quotas(["emotional=20", " Social = 3 "]) == {"emotional": 20, "social": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["emotional"], "quota 'emotional': has no number; write CATEGORY=N, for instance physical=20"),
        (
            ["moral=3"],
            "quota 'moral=3': 'moral' is no category; use physical, functional, logical, emotional, ",
        ),
        (["social=0"], "quota 'social=0': write a whole number from 1 to 1,000,000 after the ="),
        (["social=-3"], "quota 'social=-3': write a whole number"),
        (["social=two"], "quota 'social=two': write a whole number"),
        (["social=²"], "quota 'social=²': write a whole number"),
        (["social=99999999999"], "quota 'social=99999999999': write a whole number"),
        (["social=3", "social=4"], "quota 'social=4': social has a quota already; give one number"),
    ],
)
def test_wrong_options_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_quotas(options)
    assert str(caught.value).startswith(message)


def test_units_have_the_quotas_at_even_distances() -> None:
    order = spread_quotas(12, {"emotional": 3, "social": 1})
    assert Counter(order) == {ANY: 8, "emotional": 3, "social": 1}
    assert [index for index, category in enumerate(order) if category == "emotional"] == [1, 5, 10]
    assert spread_quotas(3, {}) == [ANY] * 3
    assert spread_quotas(2, {"cultural": 2}) == ["cultural"] * 2


def test_every_start_of_a_launch_has_its_share() -> None:
    pick = random.Random(2)
    for _ in range(100):
        quotas = {category: pick.randint(1, 20) for category in pick.sample(CATEGORIES, pick.randint(0, 6))}
        count = sum(quotas.values()) + pick.randint(0, 30) or 1
        order = spread_quotas(count, quotas)
        assert Counter(order) == Counter({ANY: count - sum(quotas.values())} | quotas) - Counter()
        for category, number in quotas.items():
            for length in range(1, count + 1):
                # Each category is at its middle of equal stretches, moved by at most one place for each other one.
                assert abs(order[:length].count(category) - number * length / count) <= 1 + len(quotas) / 2


def test_more_quotas_than_units_are_refused() -> None:
    with pytest.raises(
        InvalidInput, match="they ask for 9 scenes and the launch has 8; raise the count or lower"
    ):
        spread_quotas(8, {"social": 5, "logical": 4})


def test_temporal_cells_are_five() -> None:
    assert len(TEMPORAL_CELLS) == len(build_quota_table([]).total.cells) == 5
