"""Explanations to tick: units, orders, what the page is not told, answers, labels, decoys."""

import json
from typing import Any

import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer, InvalidUnit
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.round_material import ExplanationsToJudge, ExplanationToShow
from validation.domain.reports.judgment_files import parse_rating_rows
from validation.kinds.explanation_selection.judging import SPEC
from validation.kinds.explanation_selection.kind import KIND

TEXTS = {
    "e1": "The ball hit the lamp.",
    "e2": "The floors match.",
    "e3": "Children play.",
    "e4": "It will rain.",
}
RAW: dict[str, Any] = {
    "item": "sentinel-item",
    "triplet": "sentinel-triplet",
    "images": {"premise": 1, "h1": 2, "h2": 3},
    "right": "h2",
    "explanations": [{"id": key, "text": text} for key, text in TEXTS.items()],
    "decoys": ["e2"],
    "decoy_triplet": "sentinel-decoy-triplet",
    "decoy_scene": "sentinel-decoy-scene",
}
UNIT = KIND.parse_unit(RAW)
IMAGES = {
    n: ImageFacts(n, f"http://h/media/{n}.png", 512, 512, "sentinel.png", "sentinel-alt", "sentinel-credit")
    for n in (1, 2, 3)
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"images": {"premise": 1, "h1": 2}}, "images.h2"),
        ({"images": {"premise": 1, "h1": 2, "h2": 2}}, "images"),
        ({"right": "premise"}, "right"),
        ({"explanations": RAW["explanations"][:1], "decoys": []}, "explanations"),
        ({"explanations": [{"id": f"e{n}", "text": f"text {n}"} for n in range(11)]}, "explanations"),
        ({"explanations": [RAW["explanations"][0]] * 2, "decoys": []}, "explanations"),
        (
            {
                "explanations": [{"id": "a", "text": "It rains."}, {"id": "b", "text": "it  Rains."}],
                "decoys": [],
            },
            "explanations",
        ),
        ({"decoys": ["e9"]}, "decoys"),
    ],
)
def test_wrong_unit_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(RAW | change)
    assert [error.field for error in caught.value.errors] == [field]


def test_second_order_is_the_mirror_of_the_first_and_is_stored() -> None:
    orders = [KIND.shown(UNIT, "seed", arm)["order"] for arm in (0, 1)]
    assert orders[0] == orders[1][::-1]
    assert sorted(orders[0]) == list(TEXTS)
    for arm, order in enumerate(orders):
        page = KIND.unit_for_page(UNIT, IMAGES, "seed", arm)
        assert [row["id"] for row in page["explanations"]] == order
        assert {row["id"]: row["text"] for row in page["explanations"]} == TEXTS
    firsts = {tuple(KIND.shown(UNIT | {"item": f"i{n}"}, "seed", 0)["order"]) for n in range(30)}
    assert len(firsts) > 5, "the first order is drawn for each item"


def test_page_marks_the_right_image_and_reveals_nothing_else() -> None:
    page = KIND.unit_for_page(UNIT, IMAGES, "seed", 0)
    assert "sentinel" not in json.dumps(page)
    assert [(slot["id"], slot["is_right"]) for slot in page["slots"]] == [("h1", False), ("h2", True)]
    assert KIND.unit_for_page(UNIT | {"decoys": []}, IMAGES, "seed", 0) == page, "decoys look like all others"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (
            {"valid": ["e3", "e1"], "none": False},
            {"valid": ["e1", "e3"], "none": False, "not_valid": ["e2", "e4"]},
        ),
        ({"valid": [], "none": True}, {"valid": [], "none": True, "not_valid": ["e1", "e2", "e3", "e4"]}),
        (
            {"valid": ["e4"], "none": False, "not_valid": ["e3", "e2", "e1"]},
            {"valid": ["e4"], "none": False, "not_valid": ["e1", "e2", "e3"]},
        ),
    ],
)
def test_answer_is_stored_with_what_was_not_ticked(given: dict[str, Any], stored: dict[str, Any]) -> None:
    assert KIND.parse_answer(UNIT, IMAGES, given) == stored
    assert KIND.parse_answer(UNIT, IMAGES, stored) == stored
    labels = {(row.dimension, row.part): row.label for row in SPEC.labels(stored)}
    assert SPEC.build_answer(labels) == stored
    assert labels == {("valid", key): "yes" if key in stored["valid"] else "no" for key in TEXTS}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"valid": [], "none": False}, "tick each valid explanation"),
        ({"valid": ["e1"], "none": True}, "exclude each other"),
        ({"valid": ["e1", "e9"], "none": False}, "'e9' is not one of this task's texts"),
        ({"valid": ["e1", "e1"], "none": False}, "is listed twice"),
        ({"valid": ["e1"], "none": False, "not_valid": ["e2"]}, "list each text that is not ticked"),
        ({"none": True}, "Field required"),
    ],
)
def test_ambiguous_answer_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidAnswer, match=words):
        KIND.parse_answer(UNIT, IMAGES, given)


def test_votes_are_counted_by_explanation_and_exported_labels_are_read_back() -> None:
    ticked: list[list[str]] = [["e1"], ["e1", "e3"], []]
    answers = [KIND.parse_answer(UNIT, IMAGES, {"valid": row, "none": not row}) for row in ticked]
    rows = [JudgmentRow(SPEC.name, "a", f"w{n}", answer) for n, answer in enumerate(answers)]
    table = build_tables(rows, SPEC)["valid"]
    counts = dict(zip(table.item_ids, table.label_counts().tolist(), strict=True))
    assert counts == {("a", "e1"): [1, 2], ("a", "e2"): [3, 0], ("a", "e3"): [2, 1], ("a", "e4"): [3, 0]}
    exported = [
        {"item": f"a/{part}", "dimension": name, "label": label, "rater": f"w{n}"}
        for n, answer in enumerate(answers)
        for name, part, label in SPEC.labels(answer)
    ]
    read = [row.answer for row in parse_rating_rows(list(enumerate(exported, start=2)), SPEC)]
    assert [KIND.parse_answer(UNIT, IMAGES, answer) for answer in read] == answers


def test_reviewer_sees_whether_a_decoy_was_ticked() -> None:
    def checks(unit: dict[str, Any], valid: list[str]) -> list[bool]:
        answer = KIND.parse_answer(UNIT, IMAGES, {"valid": valid, "none": False})
        found = KIND.checks(unit, IMAGES, answer, active_seconds=100.0, expected_seconds=120)
        return [check.ok for check in found]

    assert checks(UNIT, ["e1", "e2"]) == [True, False]
    assert checks(UNIT, ["e1"]) == [True, True]
    assert checks(UNIT | {"decoys": []}, ["e1", "e2"]) == [True]


def test_unit_is_built_from_plain_data() -> None:
    source = ExplanationsToJudge(
        id="sentinel-item",
        triplet_id="sentinel-triplet",
        images=RAW["images"],
        right="h2",
        explanations=[ExplanationToShow(key, text) for key, text in TEXTS.items()],
        decoys=["e2"],
        decoy_triplet_id="sentinel-decoy-triplet",
        decoy_scene_id="sentinel-decoy-scene",
    )
    assert KIND.parse_unit(SPEC.build_unit(source)) == UNIT
    assert SPEC.item_view(UNIT).texts == TEXTS
    assert SPEC.item_view(UNIT).images == (1, 2, 3)
