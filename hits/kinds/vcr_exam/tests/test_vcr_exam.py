"""The rules of vcr_exam: choices, one triplet, the score, and what stays on the server."""

from typing import Any

import pytest

from hits.domain.answers.exam import ExamScore
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import InvalidAnswer, InvalidUnit
from hits.kinds.vcr_exam.kind import KIND
from hits.kinds.vcr_exam.questions import DRAWINGS, QUESTIONS

SHA256 = "ab" * 32
UNIT = {
    "image": 1,
    "objects": [{"name": "person", "box": {"left": 1, "top": 1, "width": 99, "height": 99}, "polygons": []}],
    "objects_sha256": SHA256,
    "captions": [],
    "names": [],
    "questions": [dict(row) for row in QUESTIONS],
}
IMAGES = {1: ImageFacts(1, "http://127.0.0.1:8000/1.jpg", 640, 480)}
TRIPLET = {
    "question": ["Why does ", {"objects": [0]}, " wave?"],
    "answer": ["The bus leaves now."],
    "rationale": ["People wave to drivers whom they know."],
    "likelihood": "likely",
}


def answer(*, wrong: int = 0, **change: Any) -> dict[str, Any]:
    exam = [
        {"question": row["id"], "choice": (row["right"] + (number < wrong)) % len(row["choices"])}
        for number, row in enumerate(QUESTIONS)
    ]
    return {"exam": exam, "triplet": TRIPLET, "objects_sha256": SHA256} | change


def refused_fields(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, raw)
    return [error.field for error in caught.value.errors]


def test_built_in_questions_are_a_valid_exam() -> None:
    unit = KIND.parse_unit(UNIT)
    assert len(unit["questions"]) == len(QUESTIONS) == 10
    assert KIND.exam_rule.exam_needed(len(QUESTIONS)) == 8
    assert KIND.exam_rule.exam_needed(3) == 3, "80 % of three are three"
    assert all(row["picture"] in {"", *DRAWINGS} for row in unit["questions"])
    assert len({row["right"] for row in unit["questions"]}) > 2, "no choice is always right"


@pytest.mark.parametrize("wrong", [0, 2, 10])
def test_exam_counts_the_right_choices(wrong: int) -> None:
    stored = KIND.parse_answer(UNIT, IMAGES, answer(wrong=wrong))
    assert KIND.exam_score(UNIT, stored) == ExamScore(right=10 - wrong, total=10)


def test_people_grade_the_triplet_with_its_objects() -> None:
    (item,) = KIND.gradable_items(UNIT, KIND.parse_answer(UNIT, IMAGES, answer()))
    assert dict(item.texts)["Question"] == "Why does person 1 wave?"
    assert (item.note_label, item.note) == ("Likelihood", "likely")
    assert [mark["label"] for mark in item.marks] == ["Person"]
    assert item.question


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (answer(exam=[]), "exam"),
        (answer(exam=[*answer()["exam"], {"question": "mentions", "choice": 0}]), "exam[10].question"),
        (answer(triplet=TRIPLET | {"question": ["Why?"]}), "triplet.question"),
        (answer(triplet=TRIPLET | {"question": ["Why do they wave?"]}), "triplet"),
        (answer(triplet=TRIPLET | {"answer": ["It is ", {"objects": [4]}]}), "triplet.answer"),
        (answer(objects_sha256="cd" * 32), "objects_sha256"),
    ],
)
def test_invalid_answer_is_refused_at_its_field(raw: dict[str, Any], field: str) -> None:
    assert field in refused_fields(raw)


def test_unknown_drawing_is_refused() -> None:
    with pytest.raises(InvalidUnit, match="picture"):
        KIND.parse_unit(UNIT | {"questions": [{**QUESTIONS[0], "picture": "elsewhere"}]})


def test_page_does_not_get_the_right_choices() -> None:
    shown = KIND.unit_for_page(UNIT, IMAGES, seed="x")
    assert not any("right" in row for row in shown["questions"])
    assert shown["questions"][0]["picture"]["path"] == "vcr_exam/bus.svg"
    assert shown["questions"][-1]["picture"] is None


def test_exam_qualifies_for_the_family_and_collects_nothing() -> None:
    assert (KIND.purpose, KIND.families) == (Purpose.QUALIFYING, {"vcr"})
    assert KIND.records(UNIT, answer()) == []


def test_hints_are_about_the_written_triplet() -> None:
    draft = answer(triplet=TRIPLET | {"question": ["What is going on here?"]})
    assert [(hint.rule.value, hint.card) for hint in KIND.own_hints(UNIT, IMAGES, draft)] == [
        ("generic_question", 1)
    ]
    assert KIND.own_hints(UNIT, IMAGES, {"triplet": 3}) == []
