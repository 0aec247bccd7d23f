"""The rules of scene_review: refusals, the order of the hypotheses, and what no page gives away."""

import json
from typing import Any

import numpy as np
import pytest

from hits.kind import InvalidAnswer, InvalidUnit
from validation.domain.judging.quality_check_types import CheckRates, QualityCheckError, RoundUnit
from validation.domain.judging.quality_checks import plan_round_units
from validation.domain.judging.round_material import SceneToReview
from validation.domain.judging.spec import Material
from validation.domain.judging.spec_problems import find_problems
from validation.kinds.scene_review.judging import LIKE, SPEC
from validation.kinds.scene_review.kind import KIND, MISSING_LIKE, SPARE_LIKE

ITEM = "ab" * 16
SOURCE = SceneToReview(ITEM, "A dog with muddy paws sits.", "It digs in a flower bed.", "It digs in snow.")
UNIT = KIND.parse_unit(SPEC.build_unit(SOURCE))


def answer(**change: Any) -> dict[str, Any]:
    return {"plausible": "b", "needs_premise": "yes", "drawable": "no", "seen": "no", "like": ""} | change


def refusal(raw: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(UNIT, {}, raw)
    return [(error.field, error.message) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"seen": "yes"}, "like", MISSING_LIKE),
        ({"seen": "yes", "like": "  \n"}, "like", MISSING_LIKE),
        ({"like": "a film"}, "like", SPARE_LIKE),
        ({"seen": "yes", "like": "x" * 201}, "like", "has 201 characters: use 200 or fewer"),
        ({"seen": "yes", "like": "a\u0007"}, "like", "contains the control character U+0007"),
        ({"plausible": "1"}, "plausible", "Input should be 'a', 'b' or 'cannot_tell'"),
        ({"needs_premise": True}, "needs_premise", "Input should be 'yes' or 'no'"),
        ({"drawable": None}, "drawable", "Input should be 'yes' or 'no'"),
        ({"certain": "yes"}, "certain", "Extra inputs are not permitted"),
    ],
)
def test_invalid_answer_is_refused_at_its_field(change: dict[str, Any], field: str, message: str) -> None:
    ((found, text),) = refusal(answer(**change))
    assert found == field
    assert message in text


def test_answer_is_stored_in_its_one_form() -> None:
    assert KIND.parse_answer(UNIT, {}, answer()) == answer()
    seen = KIND.parse_answer(UNIT, {}, answer(seen="yes", like="  a\n film "))
    assert seen == answer(seen="yes", like="a film")
    without = {name: label for name, label in answer().items() if name != "like"}
    assert KIND.parse_answer(UNIT, {}, without) == answer()


@pytest.mark.parametrize("change", [{"premise": ""}, {"a": "x" * 401}, {"item": ""}, {"plausible": "a"}])
def test_invalid_unit_is_refused_at_its_field(change: dict[str, str]) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(UNIT | change)
    assert [error.field for error in caught.value.errors] == list(change)


def test_arms_are_the_two_orders_and_are_stored() -> None:
    for arm, order in ((0, ["a", "b"]), (1, ["b", "a"])):
        page = KIND.unit_for_page(UNIT, {}, seed="x", arm=arm)
        assert [row["id"] for row in page["hypotheses"]] == order
        assert [row["text"] for row in page["hypotheses"]] == [UNIT[name] for name in order]
        assert KIND.shown(UNIT, "x", arm) == {"order": order}
    assert {tuple(KIND.shown(UNIT, str(n))["order"]) for n in range(20)} == {("a", "b"), ("b", "a")}
    for n in range(20):
        rows = KIND.unit_for_page(UNIT, {}, seed=str(n))["hypotheses"]
        assert [row["id"] for row in rows] == KIND.shown(UNIT, str(n))["order"]


def test_page_gets_the_texts_and_nothing_else_of_the_scene() -> None:
    page = KIND.unit_for_page(UNIT, {}, seed="x", arm=0)
    assert set(page) == {"premise", "hypotheses", "max_like"}
    assert ITEM not in json.dumps(page)
    assert set(UNIT) == {"item", "premise", "a", "b", "scene"}, "a unit has no label that could leak"


def test_spec_reads_answers_and_builds_them() -> None:
    assert find_problems(SPEC) == []
    assert SPEC.material is Material.SCENES
    assert [row.dimension for row in SPEC.labels(answer())] == [
        "plausible", "needs_premise", "drawable", "seen",
    ]  # fmt: skip
    seen = answer(seen="yes", like="a film")
    labels = {(row.dimension, row.part): row.label for row in SPEC.labels(seen)}
    assert SPEC.build_answer(labels) == seen
    assert {row.name: row.favourable for row in SPEC.deciding_dimensions} == {
        "needs_premise": {"yes"}, "drawable": {"yes"}, "seen": {"no"},
    }  # fmt: skip
    assert LIKE.is_optional
    assert "like" not in SPEC.allowed_labels(UNIT)


def test_author_of_a_record_with_the_items_id_is_known_to_the_launch() -> None:
    assert SPEC.shown_records(UNIT) == [ITEM]


def test_attention_checks_are_refused() -> None:
    units = [RoundUnit(str(n), UNIT | {"item": str(n), "premise": f"Premise {n}"}) for n in range(3)]
    with pytest.raises(QualityCheckError, match="there are none for scene_review; use 0"):
        plan_round_units(units, [], CheckRates(attention=50), np.random.default_rng(1), SPEC)


def test_summary_names_the_shares() -> None:
    share = {"share": {"percent": 66.66}}
    figures = {
        "dimensions": {"needs_premise": share, "drawable": share, "seen": {"share": {"percent": 100.0}}}
    }
    assert SPEC.summary(figures) == (
        "Of the scenes, 66.7% need their premise, 66.7% can be drawn, and 100.0% are new to most judges."
    )
    assert SPEC.summary({"dimensions": {}}) == ""


def test_staff_read_the_choice_by_its_name() -> None:
    rows = {row.label: row.value for row in KIND.answer_rows(UNIT, answer(seen="yes", like="a film"))}
    assert rows == {
        "More plausible": "hypothesis b", "Needs the premise": "yes", "Can be drawn": "no", "Seen before": "yes",
        "Like": "a film",
    }  # fmt: skip
    assert "Hypothesis a: It digs in a flower bed." in SPEC.item_view(UNIT).texts[""]
