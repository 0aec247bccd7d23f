"""The rules of sherlock_qualification: every refusal names its field, and the exam's key stays on the server."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from hits.domain.answers.exam import ExamScore
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.hints.card import HintRule
from hits.kind import InvalidAnswer, InvalidUnit
from hits.kinds.sherlock_qualification.kind import KIND, count_sentences

QUESTIONS = [
    {
        "id": "caption",
        "text": "What is a caption?",
        "choices": ["A thought", "What a camera records"],
        "right": 1,
    },
    {
        "id": "pay",
        "text": "Is an honest attempt paid?",
        "choices": ["Yes", "No", "Only if I qualify"],
        "right": 0,
    },
]
UNIT = {"images": [7, 9, 8], "questions": QUESTIONS}
IMAGES = {
    n: ImageFacts(id=n, url=f"http://127.0.0.1:8000/media/{n}.png", width=64, height=48, name=f"film-{n}.png")
    for n in (7, 8, 9)
}


def pair(salt: str, confidence: int = 2) -> dict[str, Any]:
    return {
        "clue": f"the cup {salt} on the table",
        "inference": f"Somebody {salt} left a while ago.",
        "confidence": confidence,
    }


def answer() -> dict[str, Any]:
    return {
        "images": [
            {
                "image": image,
                "description": "A kitchen in the morning. Nobody is in it.",
                "pairs": [pair(f"{image}{n}", n) for n in (1, 2, 3)],
            }
            for image in (7, 9, 8)
        ],
        "exam": [{"question": "caption", "choice": 1}, {"question": "pay", "choice": 2}],
    }


def error_fields(raw: Any, unit: dict[str, Any] | None = None) -> list[str]:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(unit or UNIT, IMAGES, raw)
    assert all(error.message for error in caught.value.errors)
    return [error.field for error in caught.value.errors]


def test_unit_is_valid_with_and_without_exam() -> None:
    assert KIND.parse_unit(UNIT) == UNIT
    assert KIND.parse_unit({"images": [7, 9, 8]}) == {"images": [7, 9, 8], "questions": []}
    assert KIND.image_ids(UNIT) == [7, 9, 8]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"images": [7, 8]}, "images"),
        ({"images": [7, 8, 9, 10]}, "images"),
        ({"images": [7, 8, 7]}, "images"),
        ({"images": [7, 8, "9"]}, "images[2]"),
        ({"questions": [QUESTIONS[0], QUESTIONS[0]]}, "questions"),
        ({"questions": [QUESTIONS[0] | {"right": 2}]}, "questions[0]"),
        ({"questions": [QUESTIONS[0] | {"right": -1}]}, "questions[0].right"),
        ({"questions": [QUESTIONS[0] | {"choices": ["one"]}]}, "questions[0].choices"),
        ({"questions": [QUESTIONS[0] | {"choices": list("abcdefg")}]}, "questions[0].choices"),
        ({"questions": [QUESTIONS[0] | {"choices": ["Yes", "yes "]}]}, "questions[0].choices"),
        ({"questions": [QUESTIONS[0] | {"choices": ["Yes", " "]}]}, "questions[0].choices"),
        ({"questions": [QUESTIONS[0] | {"text": ""}]}, "questions[0].text"),
        ({"questions": [QUESTIONS[0] | {"id": "a b"}]}, "questions[0].id"),
        ({"key": "x"}, "key"),
    ],
)
def test_invalid_units_are_reported_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(UNIT | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_unit_for_page_hides_the_right_choice() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed")
    assert "right" not in json.dumps(page)
    assert [photo["id"] for photo in page["photos"]] == [7, 9, 8]
    assert "film-7" not in json.dumps(page), "a file's name could give away where a picture is from"
    assert [question["choices"] for question in page["questions"]] == [row["choices"] for row in QUESTIONS]
    other = copy.deepcopy(UNIT)
    other["questions"][0]["right"], other["questions"][1]["right"] = 0, 2
    assert KIND.unit_for_page(other, IMAGES, "seed") == page, "the page must not depend on the key in any way"


def test_answer_accepts_wrong_choices() -> None:
    raw = answer()
    for choice in (0, 1, 2):
        raw["exam"][1]["choice"] = choice
        assert KIND.parse_answer(UNIT, IMAGES, raw)["exam"][1] == {"question": "pay", "choice": choice}


def test_answer_is_normalized_in_the_units_order() -> None:
    raw = answer()
    raw["images"][0]["description"] = "  A kitchen \n in the   morning.  "
    raw["images"].reverse()
    raw["exam"].reverse()
    tidy = KIND.parse_answer(UNIT, IMAGES, raw)
    assert [photo["image"] for photo in tidy["images"]] == [7, 9, 8]
    assert tidy["images"][0]["description"] == "A kitchen in the morning."
    assert [row["question"] for row in tidy["exam"]] == ["caption", "pay"]


def test_answer_without_exam_is_valid() -> None:
    raw = answer()
    del raw["exam"]
    unit = {"images": [7, 9, 8], "questions": []}
    assert KIND.parse_answer(unit, IMAGES, raw)["exam"] == []
    assert KIND.exam_score(unit, raw | {"exam": []}) == ExamScore(0, 0)


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *way, last, value = path

    def change(raw: Any) -> None:
        for step in way:
            raw = raw[step]
        raw[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (_set("images", 0, "description", ""), "images[0].description"),
        (_set("images", 0, "description", "   "), "images[0].description"),
        (_set("images", 1, "description", "x" * 401), "images[1].description"),
        (
            _set("images", 1, "description", "One thing here. Then another. Then more."),
            "images[1].description",
        ),
        (_set("images", 1, "description", "with a \x07 bell"), "images[1].description"),
        (_set("images", 2, "description", None), "images[2].description"),
        (_set("images", 0, "pairs", 1, "clue", ""), "images[0].pairs[1].clue"),
        (_set("images", 0, "pairs", 1, "clue", "x" * 301), "images[0].pairs[1].clue"),
        (_set("images", 2, "pairs", 2, "inference", " "), "images[2].pairs[2].inference"),
        (_set("images", 2, "pairs", 2, "inference", "x" * 601), "images[2].pairs[2].inference"),
        (_set("images", 2, "pairs", 0, "confidence", 0), "images[2].pairs[0].confidence"),
        (_set("images", 2, "pairs", 0, "confidence", 4), "images[2].pairs[0].confidence"),
        (_set("images", 2, "pairs", 0, "confidence", "2"), "images[2].pairs[0].confidence"),
        (_set("images", 2, "pairs", 0, "boxes", []), "images[2].pairs[0].boxes"),
        (_set("exam", 0, "choice", 2), "exam[0].choice"),
        (_set("exam", 0, "choice", -1), "exam[0].choice"),
        (_set("exam", 0, "choice", True), "exam[0].choice"),
        (_set("note", "hello"), "note"),
    ],
)
def test_every_error_names_its_field(change: Callable[[dict[str, Any]], None], field: str) -> None:
    raw = answer()
    change(raw)
    assert error_fields(raw) == [field]


def test_three_pairs_of_each_photo_are_required() -> None:
    for count in (2, 4):
        raw = answer()
        raw["images"][1]["pairs"] = [pair(str(n)) for n in range(count)]
        assert error_fields(raw) == ["images[1].pairs"]


def test_each_photo_is_required_once() -> None:
    raw = answer()
    raw["images"].pop()
    assert error_fields(raw) == ["images"]
    raw["images"].append(raw["images"][0])
    assert error_fields(raw) == ["images[2].image", "images"]
    raw["images"][2] = raw["images"][1] | {"image": 1}
    assert error_fields(raw) == ["images[2].image", "images"]


def test_each_question_is_required_once() -> None:
    raw = answer()
    raw["exam"].pop()
    assert error_fields(raw) == ["exam"]
    raw["exam"].append(raw["exam"][0])
    assert error_fields(raw) == ["exam[1].question", "exam"]
    raw["exam"][1] = {"question": "age", "choice": 0}
    assert error_fields(raw) == ["exam[1].question", "exam"]
    with pytest.raises(InvalidAnswer, match="1 of 2 questions have no answer"):
        KIND.parse_answer(UNIT, IMAGES, raw)


def test_all_errors_are_reported_together() -> None:
    raw = answer()
    raw["images"][0]["description"] = ""
    raw["images"][0]["pairs"][0]["clue"] = ""
    raw["exam"] = []
    assert error_fields(raw) == ["images[0].description", "images[0].pairs[0].clue", "exam"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("A street", 1),
        ("A street.", 1),
        ("A street in winter. Two people wait.", 2),
        ("Who waits? Two people! Snow falls.", 3),
        ("Mr. Smith waits at 3 p.m. at St. Mary's", 1),
        ("Wait... what is that", 2),
        ("It costs 3.50 in 2021. Then more.", 2),
        ("They say “Stop.” Nobody stops.", 2),
    ],
)
def test_sentences_are_counted_in_the_workers_favour(text: str, count: int) -> None:
    assert count_sentences(text) == count


def test_nine_pairs_are_graded_in_the_order_of_the_page() -> None:
    pairs = KIND.gradable_items(UNIT, answer())
    assert [row.item for row in pairs] == list(range(9))
    assert [(row.image, row.number) for row in pairs] == [
        (image, n) for image in (7, 9, 8) for n in (1, 2, 3)
    ]
    assert pairs[4].texts[0] == ("I spy", "the cup 92 on the table")
    assert pairs[4].note == "likely"
    assert KIND.records(UNIT, answer()) == [], "nothing of it goes into a dataset"


def test_the_exam_is_scored_by_the_unit() -> None:
    assert KIND.exam_score(UNIT, answer()) == ExamScore(right=1, total=2)
    assert KIND.exam_score(UNIT, answer() | {"exam": []}) == ExamScore(right=0, total=2)


def test_terms() -> None:
    assert KIND.purpose is Purpose.QUALIFYING
    assert (KIND.reward_cents, KIND.expected_seconds, KIND.duration_seconds) == (200, 480, 2700)
    assert KIND.redundancy == 9
    assert KIND.bonus_items(answer()) == 0


def test_hint_cards_are_numbered_over_the_photos_and_have_no_boxes() -> None:
    draft = answer()
    draft["images"][1]["pairs"][0] = {"clue": "a cup", "inference": 5}
    draft["images"][2]["pairs"] = "nonsense"
    cards = KIND.hint_cards(UNIT, IMAGES, draft)
    assert [card.index for card in cards] == [1, 2, 3, 4, 5, 6]
    assert all(card.boxes is None for card in cards)
    assert (cards[3].clue, cards[3].inference) == ("a cup", "")
    assert HintRule.NO_BOX not in KIND.hint_rules
    assert HintRule.CONTRADICTS not in KIND.hint_rules


@pytest.mark.parametrize("draft", [{}, {"images": 3}, {"images": [None, 4, {"image": 99}, {}]}])
def test_hint_cards_of_an_unreadable_draft(draft: dict[str, Any]) -> None:
    assert KIND.hint_cards(UNIT, IMAGES, draft) == []


def test_two_worked_examples_with_drawings() -> None:
    assert len(KIND.examples) == 2
    assert all(row["weak"] and row["good"] and row["why"] and row["alt"] for row in KIND.examples)
