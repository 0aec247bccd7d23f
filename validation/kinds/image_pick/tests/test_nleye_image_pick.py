"""Picked images: units, orders, what the page is not told, answers, labels."""

import json
from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.round_material import CandidatesToPick
from validation.domain.reports.judgment_files import parse_rating_rows
from validation.kinds.image_pick.judging import SPEC
from validation.kinds.image_pick.kind import KIND, slot_name

RAW: dict[str, Any] = {
    "item": "sentinel-item",
    "role": "a",
    "text": "A child holds a ball.",
    "premise_image": 1,
    "candidates": [5, 6, 7],
}
UNIT = KIND.parse_unit(RAW)
PREMISE = KIND.parse_unit(RAW | {"role": "premise", "premise_image": None})
IMAGES = {
    n: ImageFacts(n, f"http://h/media/{n}.png", 512, 512, "sentinel.png", "sentinel-alt", "sentinel-credit")
    for n in (1, 5, 6, 7)
}
PICKED = {"best": 6, "none": False, "shows_all": "yes", "same": "no", "broken": "no"}
NONE = {"best": None, "none": True, "shows_all": None, "same": None, "broken": None}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"role": "c"}, "role"),
        ({"role": "premise"}, "premise_image"),
        ({"premise_image": None}, "premise_image"),
        ({"premise_image": 6}, "candidates"),
        ({"candidates": [5]}, "candidates"),
        ({"candidates": list(range(10, 19))}, "candidates"),
        ({"candidates": [5, 5]}, "candidates"),
        ({"text": ""}, "text"),
    ],
)
def test_wrong_unit_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(RAW | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_orders_are_mirrored_stored_and_shown() -> None:
    orders = [KIND.shown(UNIT, "seed", arm)["order"] for arm in (0, 1)]
    assert orders[0] == orders[1][::-1]
    assert sorted(orders[0]) == [5, 6, 7]
    for arm, order in enumerate(orders):
        page = KIND.unit_for_page(UNIT, IMAGES, "seed", arm)
        assert [slot["id"] for slot in page["slots"]] == [slot_name(UNIT, key) for key in order]
        assert [slot["image"]["url"] for slot in page["slots"]] == [IMAGES[key].url for key in order]


def test_page_gets_text_addresses_and_sizes_only() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed", 0)
    assert "sentinel" not in json.dumps(page)
    assert set(page["slots"][0]["image"]) == {"url", "width", "height"}
    assert KIND.unit_for_page(UNIT | {"role": "b"}, IMAGES, "seed", 0) == page, "a and b look the same"
    assert page["asked"] == ["shows_all", "same", "broken"]
    premise = KIND.unit_for_page(PREMISE, IMAGES, "seed", 0)
    assert premise["premise"] is None
    assert premise["asked"] == ["shows_all", "broken"]


def test_a_slots_name_does_not_give_away_the_order_of_drawing() -> None:
    names = [slot["id"] for slot in KIND.unit_for_page(UNIT, IMAGES, "seed", 0)["slots"]]
    assert all(len(name) == 16 and not name.isdecimal() for name in names)
    other = KIND.unit_for_page(UNIT | {"item": "another-item"}, IMAGES, "seed", 0)
    assert not set(names) & {slot["id"] for slot in other["slots"]}
    for key in UNIT["candidates"]:
        assert KIND.parse_answer(UNIT, IMAGES, PICKED | {"best": slot_name(UNIT, key)})["best"] == key


@pytest.mark.parametrize(
    ("unit", "answer"),
    [(UNIT, PICKED), (UNIT, NONE), (PREMISE, PICKED | {"same": None}), (PREMISE, NONE)],
)
def test_answer_is_kept_and_is_the_inverse_of_its_labels(
    unit: dict[str, Any], answer: dict[str, Any]
) -> None:
    given = {name: value for name, value in answer.items() if value is not None}
    assert KIND.parse_answer(unit, IMAGES, given) == answer
    labels = {(row.dimension, row.part): row.label for row in SPEC.labels(answer)}
    assert SPEC.build_answer(labels) == answer


@pytest.mark.parametrize(
    ("unit", "answer", "field"),
    [
        (UNIT, {"none": False}, "answer"),
        (UNIT, PICKED | {"none": True}, "answer"),
        (UNIT, PICKED | {"best": 1}, "best"),
        (UNIT, PICKED | {"best": 99}, "best"),
        (UNIT, PICKED | {"best": "6"}, "best"),
        (UNIT, PICKED | {"best": True}, "best"),
        (UNIT, PICKED | {"same": None}, "same"),
        (UNIT, PICKED | {"broken": "maybe"}, "broken"),
        (UNIT, NONE | {"broken": "yes"}, "broken"),
        (PREMISE, PICKED, "same"),
    ],
)
def test_wrong_answer_is_refused_by_field(unit: dict[str, Any], answer: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(unit, IMAGES, answer)
    assert [error.field for error in caught.value.errors] == [field]


def test_labels_are_the_units_images_and_none() -> None:
    answers = [PICKED, PICKED | {"best": 7}, NONE]
    rows = [JudgmentRow(SPEC.name, "a", f"w{n}", answer) for n, answer in enumerate(answers)]
    tables = build_tables(rows, SPEC)
    assert list(tables["best"].scale) == ["6", "7", "none"]
    assert (tables["best"].size, tables["same"].size) == (3, 2), "who picks none is not asked more"
    exported = [
        {"item": "a", "dimension": name, "label": label, "rater": f"w{n}"}
        for n, answer in enumerate(answers)
        for name, _, label in SPEC.labels(answer)
    ]
    assert [row.answer for row in parse_rating_rows(list(enumerate(exported, start=2)), SPEC)] == answers


def test_unit_is_built_from_plain_data_and_images_have_numbers() -> None:
    source = CandidatesToPick(
        id="sentinel-item", role="a", text=RAW["text"], premise_image=1, candidates=[5, 6, 7]
    )
    assert KIND.parse_unit(SPEC.build_unit(source)) == UNIT
    assert SPEC.item_view(UNIT).images == (1, 5, 6, 7)
    assert SPEC.item_view(UNIT).numbers == {"1": 1, "5": 2, "6": 3, "7": 4}
    assert KIND.answer_rows(UNIT, PICKED)[0].value == "candidate 2 of 3"
    assert KIND.image_ids(UNIT) == [1, 5, 6, 7]
    assert KIND.image_ids(PREMISE) == [5, 6, 7]
