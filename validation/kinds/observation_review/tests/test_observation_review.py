"""The rules of observation_review."""

from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.kinds.observation_review.kind import KIND

UNIT = {
    "image": 7,
    "observation": "0123456789abcdef" * 2,
    "obs_index": 2,
    "boxes": [{"left": 1, "top": 2, "width": 30, "height": 20}],
    "clue": "a wet umbrella",
    "inference": "It rained a short while ago.",
    "confidence": 3,
}
IMAGES = {7: ImageFacts(id=7, url="http://127.0.0.1:8000/media/x.png", width=64, height=48, alt="A street")}
GOOD = {"boxes": "mostly", "reasonable": "un", "interesting": "caption_like"}


def test_unit_is_unchanged() -> None:
    assert KIND.parse_unit(UNIT) == UNIT
    assert KIND.image_ids(UNIT) == [7]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"observation": "not-an-id"}, "observation"),
        ({"boxes": []}, "boxes"),
        ({"boxes": [{"left": 0, "top": 0, "width": 0, "height": 4}]}, "boxes[0].width"),
        ({"confidence": 4}, "confidence"),
        ({"author": "W1"}, "author"),
    ],
)
def test_bad_units_are_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(UNIT | change)
    assert field in [error.field for error in caught.value.errors]


def test_page_shows_the_pair_and_nothing_about_its_author() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed")
    assert page["image"] == {
        "id": 7,
        "url": "http://127.0.0.1:8000/media/x.png",
        "width": 64,
        "height": 48,
        "alt": "A street",
        "credit": "",
    }
    assert page["boxes"] == UNIT["boxes"]
    assert {"observation", "worker", "author"}.isdisjoint(page)


def test_answer_is_stored_as_strings() -> None:
    tidy = KIND.parse_answer(UNIT, IMAGES, GOOD)
    assert tidy == GOOD
    assert {type(value) for value in tidy.values()} == {str}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"boxes": "mostly", "reasonable": "highly"}, "interesting"),
        (GOOD | {"boxes": "off"}, "boxes"),
        (GOOD | {"reasonable": 1}, "reasonable"),
        (GOOD | {"interesting": ["very"]}, "interesting"),
        (GOOD | {"comment": "hm"}, "comment"),
        ([], "answer"),
    ],
)
def test_bad_answers_name_the_field(raw: Any, field: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, raw)
    assert field in [error.field for error in caught.value.errors]


def test_three_workers_and_no_bonus() -> None:
    assert KIND.redundancy == 3
    assert KIND.bonus_items(GOOD) == 0
    assert KIND.records(UNIT, GOOD) == []
