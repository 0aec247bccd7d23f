"""The rules of localization_match."""

from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.kinds.localization_match.kind import KIND

REGIONS = [f"{n:016x}" for n in range(1, 8)]
INFERENCES = [f"{n:016x}" for n in range(101, 108)]
IMAGES = {7: ImageFacts(id=7, url="http://127.0.0.1:8000/media/x.png", width=64, height=48)}


def unit(size: int = 4) -> dict[str, Any]:
    return {
        "set": "one",
        "image": 7,
        "regions": [
            {"id": key, "boxes": [{"left": n, "top": 1, "width": 9, "height": 9}]}
            for n, key in enumerate(REGIONS[:size])
        ],
        "inferences": [{"id": key, "text": f"Statement {n}"} for n, key in enumerate(INFERENCES[:size])],
        "truth": dict(zip(INFERENCES[:size], reversed(REGIONS[:size]), strict=True)),
    }


def answer(size: int = 4) -> dict[str, Any]:
    return {"matches": [{"inference": one, "region": region} for one, region in unit(size)["truth"].items()]}


def test_unit_is_unchanged() -> None:
    assert KIND.parse_unit(unit()) == unit()


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"regions": unit(2)["regions"], "inferences": unit(2)["inferences"]}, ["regions", "inferences"]),
        ({"regions": unit(3)["regions"]}, ["truth"]),
        ({"inferences": unit(3)["inferences"]}, ["truth"]),
        ({"regions": [unit()["regions"][0]] * 4}, ["regions"]),
        ({"truth": dict.fromkeys(INFERENCES[:4], REGIONS[0])}, ["truth"]),
        ({"truth": {}}, ["truth"]),
        ({"set": ""}, ["set"]),
    ],
)
def test_bad_units_are_refused(change: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(unit() | change)
    assert [error.field for error in caught.value.errors] == fields


def test_the_page_gets_no_truth_and_letters_in_the_order_shown() -> None:
    page = KIND.unit_for_page(unit(7), IMAGES, "assignment")
    assert set(page) == {"image", "regions", "inferences"}
    assert [row["letter"] for row in page["regions"]] == list("ABCDEFG")
    assert [row["colour"] for row in page["regions"]] == [1, 2, 3, 4, 5, 1, 2]
    boxes = {row["id"]: row["boxes"] for row in unit(7)["regions"]}
    assert all(row["boxes"] == boxes[row["id"]] for row in page["regions"])
    shown = KIND.shown(unit(7), "assignment")
    assert [row["id"] for row in page["regions"]] == shown["regions"]
    assert [row["id"] for row in page["inferences"]] == shown["inferences"]


def test_orders_are_stable_for_a_seed_differ_between_seeds_and_from_one_another() -> None:
    assert KIND.shown(unit(7), "a") == KIND.shown(unit(7), "a")
    orders = [KIND.shown(unit(7), str(seed)) for seed in range(20)]
    assert len({tuple(order["regions"]) for order in orders}) > 10
    places = [
        [
            [REGIONS.index(key) for key in order["regions"]],
            [INFERENCES.index(key) for key in order["inferences"]],
        ]
        for order in orders
    ]
    assert any(regions != inferences for regions, inferences in places)


def test_page_order_does_not_depend_on_unit_order() -> None:
    turned = unit() | {"regions": unit()["regions"][::-1], "inferences": unit()["inferences"][::-1]}
    assert KIND.shown(turned, "a") == KIND.shown(unit(), "a")


def test_complete_answer_is_stored_in_the_units_order() -> None:
    raw = {"matches": answer()["matches"][::-1]}
    assert KIND.parse_answer(unit(), IMAGES, raw) == answer()


@pytest.mark.parametrize(
    ("at", "change", "message"),
    [
        (0, {"inference": "f" * 16}, "matches[0].inference: 'ffffffffffffffff' is not part of this task"),
        (1, {"region": "f" * 16}, "matches[1].region: 'ffffffffffffffff' is not part of this task"),
        (0, {"region": REGIONS[0]}, f"marked part {REGIONS[0]} is used 2 times"),
        (0, {"inference": INFERENCES[1]}, f"statement {INFERENCES[1]} is used 2 times"),
        (0, {"inference": INFERENCES[1]}, "1 of 4 statements have no marked part"),
    ],
)
def test_answer_that_is_not_one_to_one_is_refused(at: int, change: dict[str, str], message: str) -> None:
    raw = answer()
    raw["matches"][at] |= change
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(unit(), IMAGES, raw)
    assert message in str(caught.value)


def test_incomplete_answer_is_refused_with_the_missing_count() -> None:
    with pytest.raises(InvalidAnswer, match="3 of 4 statements have no marked part"):
        KIND.parse_answer(unit(), IMAGES, {"matches": answer()["matches"][:1]})


def test_the_pay_is_at_least_fifteen_dollars_an_hour() -> None:
    assert KIND.reward_cents * 3600 / KIND.expected_seconds >= 1500
