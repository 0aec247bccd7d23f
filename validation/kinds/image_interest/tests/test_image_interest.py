"""The rules of image_interest."""

from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.kinds.image_interest.judging import SPEC
from validation.kinds.image_interest.kind import KIND

UNIT = {"set": "first", "images": [7, 3, 9]}
IMAGES = {
    n: ImageFacts(n, f"http://127.0.0.1:8000/media/{n}.jpg", 640, 360, name="secret.jpg") for n in (3, 7, 9)
}


def answer(*rows: tuple[int, Any]) -> dict[str, Any]:
    return {"verdicts": [{"image": image, "verdict": verdict} for image, verdict in rows]}


def test_plan_units_many_photos_gives_sets_of_twenty() -> None:
    units = KIND.plan_units(range(1, 46))
    assert [len(unit["images"]) for unit in units] == [20, 20, 5]
    assert [image for unit in units for image in unit["images"]] == list(range(1, 46))
    assert len({unit["set"] for unit in units}) == 3
    assert KIND.plan_units(range(1, 21)) == units[:1], "the set's id hangs on its photos alone"
    assert all(KIND.parse_unit(unit) == unit for unit in units)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"images": []}, "images"),
        ({"images": list(range(21))}, "images"),
        ({"images": [1, 1]}, "images"),
        ({"set": ""}, "set"),
    ],
)
def test_parse_unit_bad_field_is_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(UNIT | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_unit_for_page_shows_images_in_order_without_names() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed")
    assert [image["id"] for image in page["images"]] == [7, 3, 9]
    assert set(page) == {"images"}
    assert "secret" not in str(page)


def test_parse_answer_any_order_is_stored_in_the_units_order() -> None:
    given = answer((9, 0), (3, -1), (7, 1))
    assert KIND.parse_answer(UNIT, IMAGES, given) == answer((7, 1), (3, -1), (9, 0))


@pytest.mark.parametrize(
    ("rows", "field", "message"),
    [
        ([(7, 1), (3, 0)], "verdicts", "1 of 3 photos have no verdict"),
        ([], "verdicts", "3 of 3 photos"),
        ([(7, 1), (3, 0), (9, 0), (8, 1)], "verdicts[3].image", "image 8 is not part of this task"),
        ([(7, 1), (3, 0), (9, 0), (9, 1)], "verdicts", "image 9 is judged 2 times"),
        ([(7, 2), (3, 0), (9, 0)], "verdicts[0].verdict", "less than or equal to 1"),
        ([(7, None), (3, 0), (9, 0)], "verdicts[0].verdict", "valid integer"),
        ([(7, True), (3, 0), (9, 0)], "verdicts[0].verdict", "valid integer"),
    ],
)
def test_parse_answer_bad_verdicts_are_refused(rows: list[tuple[int, Any]], field: str, message: str) -> None:
    with pytest.raises(InvalidAnswer, match=message) as caught:
        KIND.parse_answer(UNIT, IMAGES, answer(*rows))
    assert field in [error.field for error in caught.value.errors]


def test_spec_labels_and_answer_are_inverse() -> None:
    given = answer((7, 1), (3, -1), (9, 0))
    labels = {(row.dimension, row.part): row.label for row in SPEC.labels(given)}
    assert labels == {("verdict", "7"): 1, ("verdict", "3"): -1, ("verdict", "9"): 0}
    assert SPEC.build_answer(labels) == given


def test_spec_gold_of_another_size_is_left_out() -> None:
    adapt = SPEC.gold_adapter([UNIT])
    assert adapt({"set": "gold", "images": [1, 2, 3]}) == {"set": "gold", "images": [1, 2, 3]}
    assert adapt({"set": "gold", "images": [1, 2]}) is None


def test_pay_and_scale_are_those_of_the_task() -> None:
    assert (KIND.reward_cents, KIND.expected_seconds) == (14, 40)
    assert SPEC.dimensions[0].labels == (-1, 0, 1)
