"""Multiple-choice questions: orders, what the page is not told, the tick of a pilot, labels and the truth."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.round_material import ChoiceToShow, QuestionToAnswer
from validation.domain.reports.dimension_report import dimension_figures
from validation.domain.reports.judgment_files import parse_rating_rows
from validation.kinds.vcr_choice.judging import CHOICE, SPEC
from validation.kinds.vcr_choice.kind import KIND

SAMPLE = json.loads(json.dumps(KIND.sample()).replace('"photo:1"', "1"))
PILOT = KIND.parse_unit(SAMPLE["unit"])
UNIT = PILOT | {"several_allowed": False}
IMAGES = {1: ImageFacts(1, "http://127.0.0.1:8000/media/1.jpg", 640, 480)}


def test_each_choice_stands_once_at_each_place_and_once_before_each_other() -> None:
    orders = [KIND.shown(UNIT, "seed", arm)["order"] for arm in range(KIND.arms)]
    for column in zip(*orders, strict=True):
        assert sorted(column) == [0, 1, 2, 3]
    after = Counter((first, second) for order in orders for first, second in pairwise(order))
    assert set(after.values()) == {1}
    assert len(after) == 12
    page = KIND.unit_for_page(UNIT, IMAGES, "seed", 2)
    assert [row["index"] for row in page["choices"]] == orders[2]
    assert [row["text"] for row in page["choices"]] == [UNIT["choices"][index]["text"] for index in orders[2]]


def test_page_gets_neither_the_label_nor_the_records() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed", 0)
    assert "label" not in page
    assert not any(row["record"] in json.dumps(page) for row in UNIT["choices"])
    relabelled = KIND.unit_for_page(UNIT | {"label": 3}, IMAGES, "seed", 0)
    assert relabelled == page, "nothing on the page depends on the label"


def test_tick_is_kept_in_a_pilot_and_refused_in_other_rounds() -> None:
    assert KIND.parse_answer(PILOT, IMAGES, {"choice": 2, "several": True}) == {"choice": 2, "several": True}
    assert KIND.parse_answer(UNIT, IMAGES, {"choice": 2}) == {"choice": 2}
    with pytest.raises(InvalidAnswer, match="several: this task asks for one choice"):
        KIND.parse_answer(UNIT, IMAGES, {"choice": 2, "several": True})
    for choice in (-1, 4, "1", None):
        with pytest.raises(InvalidAnswer, match="choice"):
            KIND.parse_answer(UNIT, IMAGES, {"choice": choice})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"stage": "rationale"}, "answer"),
        ({"answer": ["They wait."]}, "answer"),
        ({"label": 4}, "label"),
        ({"question": [{"objects": [3]}]}, "question"),
        ({"question": [" "]}, "question"),
        ({"choices": UNIT["choices"][:3]}, "choices"),
        ({"choices": [*UNIT["choices"][:3], {"text": [{"objects": [9]}], "record": "x"}]}, "choices"),
    ],
)
def test_wrong_unit_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(UNIT | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_unit_of_a_question_names_the_records_that_it_shows() -> None:
    source = QuestionToAnswer(
        id=UNIT["item"],
        record_id=UNIT["triplet"],
        stage="answer",
        image_id=1,
        objects=UNIT["objects"],
        question=UNIT["question"],
        choices=[ChoiceToShow(row["text"], row["record"]) for row in UNIT["choices"]],
        label=1,
    )
    assert KIND.parse_unit(SPEC.build_unit(source)) == UNIT
    assert SPEC.shown_records(UNIT) == ["c" * 32, "d" * 32, "e" * 32, "f" * 32]


def test_truth_is_compared_with_the_choice_alone() -> None:
    assert SPEC.truth(UNIT) == {"": "1"}
    assert SPEC.truth_labels({"choice": 1, "several": True}) == {"": "1"}
    assert SPEC.chance(SPEC.truth(UNIT)) == 0.25


def test_figures_are_nominal_and_exported_labels_are_read_back() -> None:
    answers = [{"choice": 1}, {"choice": 1, "several": False}, {"choice": 3, "several": True}]
    rows = [JudgmentRow("vcr_choice", "a", f"w{n}", answer) for n, answer in enumerate(answers)]
    rows += [JudgmentRow("vcr_choice", "b", f"w{n}", {"choice": 0}) for n in range(3)]
    tables = build_tables(rows, SPEC)
    found = dimension_figures(CHOICE, tables["choice"])
    assert set(found["coefficients"]) == {"alpha_nominal", "fleiss", "percent"}
    assert found["mean"] is None
    assert tables["several"].size == 2, "who was not asked has no label"
    exported = [
        {"item": "a", "dimension": name, "label": label, "rater": f"w{n}"}
        for n, answer in enumerate(answers)
        for name, _, label in SPEC.labels(answer)
    ]
    read = parse_rating_rows(list(enumerate(exported, start=2)), SPEC)
    assert [row.answer for row in read] == answers
