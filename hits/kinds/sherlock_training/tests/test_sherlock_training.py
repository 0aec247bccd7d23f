"""The rules of sherlock_training: a collecting task of three cards that is no part of a dataset."""

from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import InvalidAnswer, InvalidUnit
from hits.kinds.sherlock_training.kind import KIND
from tests.support.answers import observation, observations

UNIT = {"image": 7}
IMAGES = {7: ImageFacts(id=7, url="http://127.0.0.1:8000/media/7.png", width=64, height=48)}


def error_fields(raw: Any) -> list[str]:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, raw)
    return [error.field for error in caught.value.errors]


def test_terms() -> None:
    assert KIND.purpose is Purpose.TRAINING
    assert (KIND.reward_cents, KIND.bonus_cents, KIND.max_bonus_items) == (190, 0, 0)
    assert (KIND.expected_seconds, KIND.duration_seconds) == (450, 2700)


def test_the_page_has_three_cards_and_no_bonus() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed")
    assert page["cards"] == [{"index": index, "bonus": False} for index in (1, 2, 3)]
    assert page["required"] == 3


def test_three_observations_are_accepted() -> None:
    tidy = KIND.parse_answer(UNIT, IMAGES, observations())
    assert [row["index"] for row in tidy["observations"]] == [1, 2, 3]
    assert [pair.bonus for pair in KIND.records(UNIT, tidy)] == [False] * 3


def test_two_or_four_observations_are_refused() -> None:
    assert error_fields(observations(2)) == ["observations"]
    assert error_fields(observations(4)) == ["observations"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"clue": ""}, "observations[1].clue"),
        ({"inference": "x" * 601}, "observations[1].inference"),
        ({"confidence": 5}, "observations[1].confidence"),
        ({"boxes": []}, "observations[1].boxes"),
        ({"boxes": [{"left": 60, "top": 0, "width": 10, "height": 5}]}, "observations[1].boxes[0]"),
    ],
)
def test_every_error_names_its_field(change: dict[str, Any], field: str) -> None:
    raw = {"observations": [observation(1), observation(2) | change, observation(3)]}
    assert error_fields(raw) == [field]


def test_a_unit_is_one_image() -> None:
    assert KIND.parse_unit(UNIT) == UNIT
    with pytest.raises(InvalidUnit):
        KIND.parse_unit({"images": [1, 2, 3]})


def test_hint_cards_have_their_boxes() -> None:
    cards = KIND.hint_cards(UNIT, IMAGES, observations())
    assert [len(card.boxes or ()) for card in cards] == [1, 1, 1]
