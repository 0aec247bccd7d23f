"""The rules of likert_comparison."""

from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.kinds.likert_comparison.kind import KIND

CANDIDATES = [{"id": f"{n:032x}", "inference": f"Statement {n}."} for n in range(10)]
UNIT = {
    "image": 7,
    "boxes": [{"left": 1, "top": 2, "width": 30, "height": 20}],
    "clue": None,
    "reference": None,
    "candidates": CANDIDATES,
    "per_page": 10,
    "set": "3",
}
IMAGES = {7: ImageFacts(id=7, url="http://127.0.0.1:8000/media/x.png", width=64, height=48)}


def answer() -> dict[str, Any]:
    return {"ratings": [{"candidate": c["id"], "rating": 1 + n % 3} for n, c in enumerate(CANDIDATES)]}


def test_unit_is_unchanged_and_options_are_optional() -> None:
    assert KIND.parse_unit(UNIT) == UNIT
    plain = {k: v for k, v in UNIT.items() if k not in {"clue", "reference", "per_page"}}
    assert KIND.parse_unit(plain) == UNIT
    chosen = UNIT | {"clue": "a boat", "reference": "They row home.", "per_page": 5}
    assert KIND.parse_unit(chosen) == chosen


def test_unit_without_options_has_a_page() -> None:
    old = {k: v for k, v in UNIT.items() if k not in {"reference", "per_page"}}
    assert KIND.unit_for_page(old, IMAGES, "seed") == KIND.unit_for_page(UNIT, IMAGES, "seed")
    assert KIND.unit_for_page(UNIT, IMAGES, "seed")["per_page"] == 10


def test_page_has_the_options_but_not_the_set() -> None:
    page = KIND.unit_for_page(UNIT | {"reference": "They row home.", "per_page": 5}, IMAGES, "seed")
    assert (page["reference"], page["per_page"]) == ("They row home.", 5)
    assert set(page) == {"image", "boxes", "clue", "reference", "per_page", "candidates"}


def test_region_is_the_units_boxes() -> None:
    (box,) = KIND.region(UNIT)
    assert (box.left, box.top, box.width, box.height) == (1, 2, 30, 20)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"candidates": CANDIDATES[:1]}, "candidates"),
        ({"candidates": CANDIDATES + CANDIDATES[:1]}, "candidates"),
        ({"set": ""}, "set"),
        ({"boxes": []}, "boxes"),
        ({"per_page": 7}, "per_page"),
        ({"reference": 3}, "reference"),
    ],
)
def test_bad_units_are_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(UNIT | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_order_is_stable_for_a_seed_and_differs_between_seeds() -> None:
    orders = {
        seed: tuple(c["id"] for c in KIND.unit_for_page(UNIT, IMAGES, seed)["candidates"])
        for seed in ("assignment-1", "assignment-2", "assignment-3")
    }
    again = tuple(c["id"] for c in KIND.unit_for_page(UNIT, IMAGES, "assignment-1")["candidates"])
    assert again == orders["assignment-1"]
    assert len(set(orders.values())) > 1
    assert all(sorted(order) == sorted(c["id"] for c in CANDIDATES) for order in orders.values())
    assert UNIT["candidates"] == CANDIDATES, "the unit itself is left as it was"


@pytest.mark.parametrize("seed", ["assignment-1", "assignment-2", "3ASG"])
def test_stored_order_is_the_pages_order(seed: str) -> None:
    order = [c["id"] for c in KIND.unit_for_page(UNIT, IMAGES, seed)["candidates"]]
    assert KIND.shown(UNIT, seed) == {"order": order}
    assert order != [c["id"] for c in CANDIDATES], "a seed that moves nothing would prove nothing"


def test_answers_are_stored_in_the_sets_order() -> None:
    raw = answer()
    raw["ratings"].reverse()
    assert KIND.parse_answer(UNIT, IMAGES, raw) == answer()


def test_missing_rating_is_refused_with_counts() -> None:
    raw = answer()
    raw["ratings"].pop()
    with pytest.raises(InvalidAnswer, match="1 of 10 statements have no rating"):
        KIND.parse_answer(UNIT, IMAGES, raw)


def test_a_foreign_and_a_repeated_candidate_are_refused() -> None:
    raw = answer()
    raw["ratings"][0]["candidate"] = "f" * 32
    raw["ratings"][1]["candidate"] = CANDIDATES[2]["id"]
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, raw)
    message = str(caught.value)
    assert "ratings[0].candidate" in message
    assert "is rated 2 times" in message


@pytest.mark.parametrize("rating", [0, 4, 2.0, "2", True, None])
def test_ratings_are_1_2_or_3(rating: Any) -> None:
    raw = answer()
    raw["ratings"][4]["rating"] = rating
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, raw)
    assert caught.value.errors[0].field == "ratings[4].rating"


def test_two_workers_a_set() -> None:
    assert KIND.redundancy == 2
    assert KIND.reward_cents == 55
