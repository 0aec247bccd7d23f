"""Reviews of submissions: what is asked, what the page is not told, and how labels become figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.round_material import RecordToJudge, SubmissionToReview
from validation.domain.reports.judgment_files import parse_rating_rows
from validation.kinds.work_review.advice import clean_advice, count_sentences
from validation.kinds.work_review.judging import SPEC
from validation.kinds.work_review.kind import KIND

SAMPLE = json.loads(json.dumps(KIND.sample()).replace('"photo:1"', "1"))
UNIT, ANSWER = KIND.parse_unit(SAMPLE["unit"]), SAMPLE["answer"]
IMAGES = {1: ImageFacts(1, "http://127.0.0.1:8000/media/1.jpg", 640, 480)}
ADVICE_CASES = json.loads(Path(__file__).with_name("advice_cases.json").read_text("utf-8"))
WORDS = {"few": "words", "long": "sentences"}


def refused(**changes: Any) -> dict[str, str]:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, IMAGES, ANSWER | changes)
    return {error.field: error.message for error in caught.value.errors}


@pytest.mark.parametrize("case", ADVICE_CASES, ids=lambda case: case["text"][:20])
def test_advice_is_judged_by_its_words_and_sentences(case: dict[str, Any]) -> None:
    assert count_sentences(case["text"]) == case["sentences"]
    _, problem = clean_advice(case["text"])
    assert WORDS[case["code"]] in problem if case["code"] else not problem


def test_answer_needs_each_question_once() -> None:
    first, second = ANSWER["triplets"]
    assert KIND.parse_answer(UNIT, IMAGES, ANSWER) == ANSWER
    assert KIND.parse_answer(UNIT, IMAGES, ANSWER | {"triplets": [second, first]}) == ANSWER
    for rows in ([first], [first, first], [first, second, {**second, "triplet": 3}]):
        assert refused(triplets=rows)["triplets"] == "judge each of the 2 questions once"
    assert "advice" in refused(advice="Good work!")
    assert refused(advice=f"{ANSWER['advice']}\u0007") == {
        "advice": "contains the control character U+0007: remove it"
    }
    assert "overall" in refused(overall="fire")
    assert "triplets[0].answer" in refused(triplets=[{**first, "answer": "no"}, second])


def test_page_gets_neither_the_submission_nor_its_records() -> None:
    page = json.dumps(KIND.unit_for_page(UNIT, IMAGES, "seed"))
    assert UNIT["submission"] not in page
    assert not any(row["record"] in page for row in UNIT["triplets"])
    assert "names" not in KIND.unit_for_page(UNIT, IMAGES, "seed")


def test_unit_with_a_foreign_tag_is_refused() -> None:
    rows = [{**UNIT["triplets"][0], "answer": ["See ", {"objects": [3]}]}, UNIT["triplets"][1]]
    with pytest.raises(InvalidUnit, match=r"^triplets: .*triplet 1, answer: segment 2 has the tag 4"):
        KIND.parse_unit(UNIT | {"triplets": rows})


def test_unit_is_a_copy_of_the_submission() -> None:
    records = [
        RecordToJudge(row["record"], number, [1], {**row, "objects_sha256": UNIT["objects_sha256"]})
        for number, row in enumerate(UNIT["triplets"], start=1)
    ]
    shown = {name: UNIT[name] for name in ("image", "objects", "objects_sha256", "captions")}
    source = SubmissionToReview(UNIT["submission"], shown | {"names": ["A. Star"]}, records)
    assert KIND.parse_unit(SPEC.build_unit(source)) == UNIT
    assert SPEC.shown_records(UNIT) == [row["record"] for row in UNIT["triplets"]]


def test_labels_are_of_questions_and_of_the_whole_submission() -> None:
    tables = build_tables([JudgmentRow("work_review", "s", "w1", ANSWER)], SPEC)
    assert list(tables["answer"].item_ids) == [("s", "1"), ("s", "2")]
    assert list(tables["overall"].item_ids) == ["s"]


def test_exported_labels_are_read_back() -> None:
    rows = [
        {"item": f"s/{part}" if part else "s", "dimension": name, "label": label, "rater": "r"}
        for name, part, label in SPEC.labels(ANSWER)
    ]
    (read,) = parse_rating_rows(list(enumerate(rows, start=2)), SPEC)
    assert (read.item, read.answer) == ("s", ANSWER)
