"""Gold explanations: units, what the page marks, answers, the record, hints."""

from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.hints.card import HintRule
from hits.kind import InvalidAnswer, InvalidUnit
from hits.kinds.nleye_explanation_writing.kind import KIND

RAW: dict[str, Any] = {
    "triplet": "t1",
    "images": {"premise": 1, "h1": 2, "h2": 3},
    "gold": 2,
    "texts": {
        "premise": "A lamp lies broken.",
        "h1": "A child reads a book.",
        "h2": "A child holds a red ball.",
    },
}
UNIT = KIND.parse_unit(RAW)
IMAGES = {
    n: ImageFacts(n, f"http://h/media/{n}.png", 512, 512, "name.png", "alt", "credit") for n in (1, 2, 3)
}
ANSWER: dict[str, Any] = {
    "explanation": "A ball thrown indoors knocks things over.",
    "category": "physical",
    "direction": "backward",
    "duration": "short",
    "alignment": {"premise": "yes", "h1": "partly", "h2": "no"},
    "note": "",
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gold": 0}, "gold"),
        ({"gold": True}, "gold"),
        ({"texts": {"premise": "a", "h1": "b"}}, "texts.h2"),
        ({"images": {"premise": 1, "h1": 1, "h2": 3}}, "images"),
    ],
)
def test_wrong_unit_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(RAW | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_page_marks_the_gold_hypothesis_and_has_the_texts() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed")
    assert [(slot["id"], slot["is_right"]) for slot in page["slots"]] == [("h1", False), ("h2", True)]
    assert [row["text"] for row in page["texts"]] == list(RAW["texts"].values())
    assert set(page["premise"]["image"]) == {"url", "width", "height"}
    assert KIND.reveals == ("triplet", "scene")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"duration": ""}, "duration"),
        ({"direction": "parallel"}, "duration"),
        ({"category": "magic"}, "category"),
        ({"explanation": "  "}, "explanation"),
        ({"explanation": "\u200b \ufeff"}, "explanation"),
        ({"explanation": "a" * 601}, "explanation"),
        ({"note": "a" * 301}, "note"),
        ({"alignment": {"premise": "yes", "h1": "yes"}}, "alignment.h2"),
        ({"alignment": ANSWER["alignment"] | {"h1": "maybe"}}, "alignment.h1"),
    ],
)
def test_wrong_answer_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, ANSWER | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_answer_becomes_one_record_with_the_three_images() -> None:
    given = ANSWER | {"explanation": " A ball  thrown indoors\nknocks things over. "}
    assert KIND.parse_answer(UNIT, IMAGES, given) == ANSWER
    parallel = ANSWER | {"direction": "parallel", "duration": ""}
    assert KIND.parse_answer(UNIT, IMAGES, parallel) == parallel
    (record,) = KIND.read_records(UNIT, ANSWER)
    assert (record.type, record.index, record.images) == ("nleye_explanation", 1, (1, 2, 3))
    assert record.fields == {"triplet": "t1", **ANSWER}


def test_hint_knows_the_texts_of_the_images() -> None:
    def rules(text: Any) -> list[str]:
        return [hint.rule.value for hint in KIND.own_hints(UNIT, IMAGES, {"explanation": text})]

    assert rules("A child holds a red ball.") == [HintRule.REPEATS_DESCRIPTION]
    assert rules(ANSWER["explanation"]) == rules(None) == []
