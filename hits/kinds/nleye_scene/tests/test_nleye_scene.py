"""The rules of nleye_scene: every refusal names its field, and what an answer yields."""

import json
from typing import Any

import pytest

from hits.domain.answers.scene_facets import CATEGORIES, DOMAINS
from hits.domain.answers.scene_rules import SAME_HYPOTHESES
from hits.hints.card import HintRule
from hits.kind import InvalidAnswer, InvalidUnit
from hits.kinds.nleye_scene.kind import KIND, OTHER_CATEGORY, OTHER_DOMAIN, SCENE

UNIT = KIND.parse_unit({"number": 3})
ASKED = KIND.parse_unit({"number": 4, "category": "physical", "domains": ["other"]})


def answer(**change: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "premise": "A dog with muddy paws sits on a doormat.",
        "plausible": "The dog digs a hole in a flower bed.",
        "implausible": "The dog digs a hole in a snowdrift.",
        "category": "physical",
        "direction": "backward",
        "duration": "short",
        "domain": "other",
        "culture": "",
        "why": "Snow leaves no mud.",
    }
    return row | change


def refusal(raw: dict[str, Any], unit: dict[str, Any] = UNIT) -> list[tuple[str, str]]:
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(unit, {}, raw)
    return [(error.field, error.message) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"premise": "  "}, "premise", "is empty: describe what the picture shows"),
        ({"plausible": "…"}, "plausible", "is empty: describe what the picture shows"),
        ({"why": ""}, "why", "is empty: say in one sentence why"),
        ({"implausible": "x" * 401}, "implausible", "has 401 characters: use 400 or fewer"),
        ({"why": "x" * 601}, "why", "has 601 characters: use 600 or fewer"),
        ({"culture": "x" * 81}, "culture", "has 81 characters: use 80 or fewer"),
        ({"premise": "a bell\u0007"}, "premise", "contains the control character U+0007"),
        ({"implausible": "THE dog digs a hole, in a flower bed"}, "implausible", SAME_HYPOTHESES),
        ({"duration": ""}, "duration", "use short or long: only a parallel scene has no duration"),
        ({"direction": "parallel"}, "duration", "leave it out: a parallel scene has no duration"),
        ({"domain": "space"}, "domain", OTHER_DOMAIN),
        ({"category": "moral"}, "category", "Input should be"),
        ({"direction": ""}, "direction", "Input should be"),
        ({"plausible": 3}, "plausible", "Input should be a valid string"),
        ({"language": "en"}, "language", "Extra inputs are not permitted"),
    ],
)
def test_invalid_answer_is_refused_at_its_field(change: dict[str, Any], field: str, message: str) -> None:
    ((found, text),) = refusal(answer(**change))
    assert found == field
    assert message in text


def test_all_problems_of_texts_are_listed() -> None:
    fields = [field for field, _ in refusal(answer(premise="", plausible="", why="", duration=""))]
    assert fields == ["premise", "plausible", "why", "duration"]


def test_category_that_the_unit_asks_for_is_fixed() -> None:
    assert refusal(answer(category="social"), ASKED) == [("category", OTHER_CATEGORY)]
    assert KIND.parse_answer(ASKED, {}, answer())["category"] == "physical"
    for category in CATEGORIES:
        assert KIND.parse_answer(UNIT, {}, answer(category=category))["category"] == category


def test_answer_is_stored_in_its_one_form_and_yields_one_record() -> None:
    raw = answer(
        premise=" A  dog\nsits. ", direction="parallel", category="cultural", culture=" Ja\u0308ger "
    )
    del raw["duration"]
    stored = KIND.parse_answer(UNIT, {}, raw)
    assert (stored["premise"], stored["culture"], stored["duration"]) == ("A dog sits.", "Jäger", "")
    assert KIND.parse_answer(UNIT, {}, stored) == stored
    (record,) = KIND.read_records(UNIT, stored)
    assert (record.type, record.index, record.images, record.bonus) == (SCENE, 1, (), False)
    assert record.fields == stored | {"language": "en"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"number": 0}, "number"),
        ({"category": "moral"}, "category"),
        ({"domains": []}, "domains"),
        ({"domains": ["a", "a"]}, "domains"),
        ({"domains": [""]}, "domains"),
        ({"domains": [" a"]}, "domains"),
        ({"domains": ["a" * 61]}, "domains"),
        ({"domains": ["a\u0007"]}, "domains"),
        ({"image": 3}, "image"),
    ],
)
def test_invalid_unit_is_refused_at_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit({"number": 1} | change)
    assert caught.value.errors[0].field == field


def test_units_offer_the_built_in_domains_and_differ_by_number() -> None:
    assert (UNIT["category"], UNIT["domains"]) == ("", list(DOMAINS))
    assert KIND.unit_key(UNIT) != KIND.unit_key(UNIT | {"number": 5})
    assert KIND.image_ids(UNIT) == []


def test_page_gets_facets_rules_and_a_drawn_order() -> None:
    page = KIND.unit_for_page(ASKED, {}, seed="x")
    assert (page["category"], page["category_text"]) == ("physical", "matter, shape, heat, light and shadow")
    assert [row["value"] for row in page["facets"]["category"]] == list(CATEGORIES)
    assert page["limits"]["characters"]["why"] == 600
    json.dumps(page)
    orders = {tuple(KIND.unit_for_page(UNIT, {}, seed=str(n))["preview"]) for n in range(20)}
    assert orders == {("plausible", "implausible"), ("implausible", "plausible")}


def test_hints_compare_with_earlier_scenes() -> None:
    assert KIND.own_hints(UNIT, {}, answer()) == []
    rules = [hint.rule for hint in KIND.own_hints(UNIT, {}, answer(), [(UNIT, answer())])]
    assert rules == [HintRule.COPIED_SCENE]
    assert KIND.own_hints(UNIT, {}, {"premise": None, "why": 3}) == []


def test_review_shows_differences_facets_and_what_the_hints_find() -> None:
    stored = KIND.parse_answer(UNIT, {}, answer(premise="He says that a dog sits on a doormat."))
    found = KIND.evidence(UNIT, stored)
    for name, marked in (("plausible", "flower bed."), ("implausible", "snowdrift.")):
        assert "".join(part["text"] + part["gap"] for part in found[name]) == stored[name]
        assert [part["text"] for part in found[name] if part["is_marked"]] == [marked]
    assert [(row["label"], row["value"]) for row in found["facets"]] == [
        ("Category", "Physical"), ("Direction", "Backward"), ("Duration", "Short"), ("Domain", "other"),
    ]  # fmt: skip
    checks = KIND.checks(UNIT, {}, stored, active_seconds=30, expected_seconds=360)
    assert [(check.short, check.text) for check in checks if not check.ok] == [
        ("not visible", "Premise: “says” cannot be seen"),
        ("pronoun", "Premise: “He” has no noun before it"),
        ("fast", "Fast: 30 s of active time"),
    ]
    assert len([check for check in checks if check.ok]) == 3
    assert KIND.answer_rows(UNIT, stored)[-1].value == "Snow leaves no mud."
