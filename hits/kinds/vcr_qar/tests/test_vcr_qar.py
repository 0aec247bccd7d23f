"""The rules of vcr_qar: every refusal names its field, and what an answer yields."""

import copy
from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.domain.tagged_text import display_text
from hits.hints.card import HintRule
from hits.kind import InvalidAnswer, InvalidUnit
from hits.kinds.vcr_qar.kind import INTEREST, KIND, TRIPLET

SHA256 = "ab" * 32
BOX = {"left": 10, "top": 10, "width": 200, "height": 300}
UNIT = {
    "image": 1,
    "objects": [
        {"name": "person", "box": BOX, "polygons": [[[10, 10], [200, 10], [100, 300]]]},
        {"name": "person", "box": BOX, "polygons": []},
        {"name": "cup", "box": {"left": 5, "top": 5, "width": 6, "height": 6}, "polygons": []},
    ],
    "objects_sha256": SHA256,
    "captions": ["They wait."],
    "names": ["Brad Pitt"],
}
IMAGES = {1: ImageFacts(1, "http://127.0.0.1:8000/1.jpg", 640, 480)}


def tag(*objects: int) -> dict[str, list[int]]:
    return {"objects": list(objects)}


def triplet(**change: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question": ["Why does ", tag(0), " look at ", tag(1), "?"],
        "answer": [tag(0), " waits for an answer."],
        "rationale": ["They stand close and ", tag(1), " looks away."],
        "likelihood": "likely",
    }
    return row | change


def answer(*triplets: dict[str, Any], **change: Any) -> dict[str, Any]:
    return {"triplets": list(triplets) or [triplet()], "interest": 1, "objects_sha256": SHA256} | change


def refusal(raw: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, raw)
    return [(error.field, error.message) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        (answer(triplet(question=["Why ", tag(0), "?"])), "triplets[0].question", "has 2 words: use 4"),
        (answer(triplet(answer=["Because"])), "triplets[0].answer", "the answer has 1 word: use 3 or more"),
        (answer(triplet(rationale=[])), "triplets[0].rationale", "has 0 words: use 5 or more"),
        (answer(triplet(rationale=["word " * 81])), "triplets[0].rationale", "has 81 words: use 80 or fewer"),
        (answer(triplet(answer=["a b " + "c" * 400])), "triplets[0].answer", "has 404 characters: use 400"),
        (answer(triplet(answer=["It is ", tag(7)])), "triplets[0].answer", "the tag 8, but the image has 3"),
        (answer(triplet(answer=["It is bad\u0007"])), "triplets[0].answer", "control character U+0007"),
        (answer(triplet(), triplet(answer=[])), "triplets[1].answer", "has 0 words"),
        (answer(objects_sha256="cd" * 32), "objects_sha256", "another unit's object list"),
        (
            answer(
                triplet(
                    question=["Why do they look away?"],
                    answer=["They are sad."],
                    rationale=["I know it " * 3],
                )
            ),
            "triplets",
            "mention at least one object of the photo",
        ),
        (
            answer(
                *[
                    triplet(
                        question=["Why so sad today?"], answer=["They are."] * 2, rationale=["So it is. " * 3]
                    )
                ]
                * 3
            ),
            "triplets",
            "mention 3 more objects of the photo",
        ),
    ],
)
def test_invalid_answer_is_refused_at_its_field(raw: dict[str, Any], field: str, message: str) -> None:
    found = [text for name, text in refusal(raw) if name == field]
    assert found
    assert message in found[0]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"triplets": []}, "triplets"),
        ({"triplets": [triplet()] * 4}, "triplets"),
        ({"triplets": [triplet(likelihood="certain")]}, "triplets[0].likelihood"),
        ({"triplets": [triplet(question=[tag()])]}, "triplets[0].question[0]"),
        ({"interest": 2}, "interest"),
        ({"interest": True}, "interest"),
    ],
)
def test_answer_outside_the_schema_is_refused(change: dict[str, Any], field: str) -> None:
    assert refusal(answer() | change)[0][0].startswith(field)


def test_answer_is_stored_in_its_one_form() -> None:
    raw = answer(triplet(question=["  Why   do", " ", tag(1, 0, 1), "  wait?  "]))
    stored = KIND.parse_answer(UNIT, IMAGES, raw)
    assert stored["triplets"][0]["question"] == ["Why do ", tag(0, 1), " wait?"]
    assert KIND.parse_answer(UNIT, IMAGES, stored) == stored


def test_records_are_the_triplets_and_the_verdict() -> None:
    stored = KIND.parse_answer(UNIT, IMAGES, answer(triplet(), triplet(likelihood="unlikely")))
    assert KIND.bonus_items(stored) == 1
    records = KIND.read_records(UNIT, stored)
    assert [(row.type, row.index, row.bonus, row.images) for row in records] == [
        (TRIPLET, 1, False, (1,)),
        (TRIPLET, 2, True, (1,)),
        (INTEREST, 4, False, (1,)),
    ]
    assert records[1].fields == triplet(likelihood="unlikely") | {"objects_sha256": SHA256}
    assert records[2].fields == {"verdict": 1, "objects_sha256": SHA256}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"objects": []}, "objects"),
        ({"objects_sha256": "short"}, "objects_sha256"),
        ({"captions": ["a"] * 4}, "captions"),
        ({"captions": ["a" * 301]}, "captions[0]"),
        ({"objects": [{"name": "", "box": BOX, "polygons": []}]}, "objects[0].name"),
    ],
)
def test_invalid_unit_is_refused_at_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(UNIT | change)
    assert caught.value.errors[0].field == field


def test_page_gets_neither_the_names_nor_more_than_the_object_list() -> None:
    shown = KIND.unit_for_page(UNIT, IMAGES, seed="x")
    assert "Brad Pitt" not in str(shown)
    assert [found["name"] for found in shown["objects"]] == ["person", "person", "cup"]
    assert shown["limits"]["words"] == {"question": [4, 40], "answer": [3, 40], "rationale": [5, 80]}


def test_hints_compare_with_the_page_and_with_earlier_answers() -> None:
    draft = answer(triplet(), triplet())
    rules = [(hint.rule, hint.card, hint.other) for hint in KIND.own_hints(UNIT, IMAGES, draft)]
    assert rules == [(HintRule.COPIED_QUESTION, 2, 1)]
    other = copy.deepcopy(UNIT)
    earlier = [(other, answer())]
    rules = [(hint.rule, hint.card, hint.other) for hint in KIND.own_hints(UNIT, IMAGES, answer(), earlier)]
    assert rules == [(HintRule.COPIED_QUESTION, 1, None)]


@pytest.mark.parametrize("draft", [{}, {"triplets": 3}, {"triplets": [None, {"question": 5}, {"kept": []}]}])
def test_unreadable_draft_has_no_hints(draft: dict[str, Any]) -> None:
    assert KIND.own_hints(UNIT, IMAGES, draft) == []


def test_review_shows_the_texts_and_what_the_hints_find() -> None:
    stored = KIND.parse_answer(UNIT, IMAGES, answer(triplet(rationale=[tag(0), " waits for an answer."])))
    (row,) = KIND.answer_rows(UNIT, stored)
    assert row.label == "Why does person 1 look at person 2?"
    checks = KIND.checks(UNIT, IMAGES, stored, active_seconds=10, expected_seconds=65)
    assert [check.short for check in checks if not check.ok] == ["repeats", "fast"]
    names = KIND.evidence(UNIT, stored)["objects"]
    assert display_text(stored["triplets"][0]["answer"], names) == "person 1 waits for an answer."
    assert [mark["index"] for mark in KIND.marks(UNIT, stored)] == [1, 2, 3]
