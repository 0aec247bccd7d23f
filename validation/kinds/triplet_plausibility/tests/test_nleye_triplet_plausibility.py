"""Plausibility of image triplets: shapes, what the page is not told, answers, labels, gold and attention checks."""

import json
from typing import Any

import numpy as np
import pytest

from hits.domain.images.image_facts import ImageFacts
from hits.hints.card import HintRule
from hits.kind import InvalidAnswer, InvalidUnit
from validation.domain.judging.quality_check_types import (
    CheckRates,
    CheckRole,
    CheckUnit,
    QualityCheckError,
    RoundUnit,
)
from validation.domain.judging.quality_checks import compare_with_expected, plan_round_units
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.round_material import TripletToJudge
from validation.domain.reports.judgment_files import parse_rating_rows
from validation.kinds.triplet_plausibility.judging import SPEC
from validation.kinds.triplet_plausibility.kind import KIND

SECRET = "sentinel"
TEXTS = {"premise": "A lamp lies broken.", "h1": "A child holds a ball.", "h2": "A child reads."}
WHY = "The ball was thrown indoors and hit the lamp."
WHOLE = {"choice": "h2", "why": WHY, "certainty": "somewhat", "ratings": {"h1": 2, "h2": 5}}


def unit(show: str = "triplet", **more: Any) -> dict[str, Any]:
    images = {
        "triplet": {"premise": 1, "h1": 2, "h2": 3},
        "pair": {"premise": 1, "h2": 3},
        "hypotheses_only": {"h1": 2, "h2": 3},
        "texts": {},
    }[show]
    raw = {
        "item": f"{SECRET}-item",
        "triplet": f"{SECRET}-triplet",
        "show": show,
        "images": images,
        "gold": 1,
    }
    return KIND.parse_unit(raw | ({"texts": TEXTS} if show == "texts" else {}) | more)


def facts(*ids: int) -> dict[int, ImageFacts]:
    """Return images whose every text is a sentinel; only the address and the size may be shown."""
    return {
        n: ImageFacts(
            n,
            f"http://h/media/{n}.png",
            1024,
            1024,
            f"{SECRET}-name.png",
            f"{SECRET}-alt",
            f"{SECRET}-credit",
        )
        for n in ids
    }


IMAGES = facts(1, 2, 3)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"images": {"premise": 1, "h1": 2}}, "images"),
        ({"images": {"h1": 2, "h2": 3}}, "images"),
        ({"images": {"premise": 1, "h1": 2, "h2": 2}}, "images"),
        ({"images": {"premise": 1, "h1": 2, "h2": 3, "h3": 4}}, "images.h3"),
        ({"texts": TEXTS}, "texts"),
        ({"show": "pair"}, "images"),
        ({"show": "pair", "images": {"h1": 2, "h2": 3}}, "images"),
        ({"show": "pair", "images": {"premise": 1}}, "images"),
        ({"show": "hypotheses_only"}, "images"),
        ({"show": "texts", "images": {}}, "texts"),
        ({"show": "texts", "images": {}, "texts": TEXTS | {"h2": " "}}, "texts"),
        ({"show": "texts", "texts": TEXTS}, "images"),
        ({"show": "both"}, "show"),
        ({"gold": 3}, "gold"),
        ({"gold": True}, "gold"),
        ({"item": ""}, "item"),
        ({"triplet": "x" * 65}, "triplet"),
        ({"cannot_tell": 1}, "cannot_tell"),
    ],
)
def test_unit_that_does_not_fit_its_shape_is_refused_by_field(change: dict[str, Any], field: str) -> None:
    raw = {
        "item": "a",
        "triplet": "b",
        "show": "triplet",
        "images": {"premise": 1, "h1": 2, "h2": 3},
        "gold": 1,
    }
    with pytest.raises(InvalidUnit) as caught:
        KIND.parse_unit(raw | change)
    assert [error.field for error in caught.value.errors] == [field]


@pytest.mark.parametrize("show", ["triplet", "pair", "hypotheses_only"])
def test_page_gets_addresses_and_sizes_only(show: str) -> None:
    shown = unit(show)
    for arm in (0, 1, None):
        page = KIND.unit_for_page(shown, IMAGES, "seed", arm)
        assert SECRET not in json.dumps(page)
        tiles = [page["premise"], *page["slots"]]
        assert [set(tile["image"]) for tile in tiles if tile] == [{"url", "width", "height"}] * len(
            [tile for tile in tiles if tile]
        )
        for change in ({"gold": 2}, {"gold": None}, {"item": "x"}, {"triplet": "y"}):
            assert KIND.unit_for_page(shown | change, IMAGES, "seed", arm) == page, f"depends on {change}"


def test_shape_shows_exactly_its_images() -> None:
    def urls(show: str) -> list[str]:
        page = KIND.unit_for_page(unit(show), IMAGES, "seed", 0)
        return [tile["image"]["url"][-5] for tile in (page["premise"], *page["slots"]) if tile]

    assert urls("triplet") == ["1", "2", "3"]
    assert urls("pair") == ["1", "3"]
    assert urls("hypotheses_only") == ["2", "3"]
    assert KIND.unit_for_page(unit("hypotheses_only"), IMAGES, "seed", 0)["premise"] is None
    assert KIND.image_ids(unit("hypotheses_only")) == [2, 3], "no premise among the images of the unit at all"
    assert KIND.image_ids(unit("texts")) == []
    page = KIND.unit_for_page(unit("texts"), {}, "seed", 1)
    assert [page["premise"]["text"], *(slot["text"] for slot in page["slots"])] == [
        TEXTS["premise"],
        TEXTS["h2"],
        TEXTS["h1"],
    ]


def test_arms_are_as_listed_and_swapped_and_what_is_stored_is_what_is_shown() -> None:
    assert KIND.arms == 2
    for show, orders in (
        ("triplet", (["h1", "h2"], ["h2", "h1"])),
        ("hypotheses_only", (["h1", "h2"], ["h2", "h1"])),
        ("pair", (["h2"], ["h2"])),
    ):
        for arm, order in enumerate(orders):
            page = KIND.unit_for_page(unit(show), IMAGES, "seed", arm)
            assert [slot["id"] for slot in page["slots"]] == order
            assert KIND.shown(unit(show), "seed", arm) == {"order": order}
    drawn = {tuple(KIND.shown(unit(), f"seed {n}", None)["order"]) for n in range(20)}
    assert drawn == {("h1", "h2"), ("h2", "h1")}, "an attempt without an arm has an order of its own"


@pytest.mark.parametrize(
    ("show", "answer"),
    [
        ("triplet", WHOLE),
        ("texts", WHOLE),
        ("hypotheses_only", {"choice": "h1", "certainty": "uncertain"}),
        ("pair", {"ratings": {"h2": 3}}),
    ],
)
def test_answer_has_exactly_what_the_shape_asks_for(show: str, answer: dict[str, Any]) -> None:
    assert KIND.parse_answer(unit(show), IMAGES, answer) == answer
    for name in answer:
        if len(answer) > 1:
            with pytest.raises(InvalidAnswer) as caught:
                KIND.parse_answer(unit(show), IMAGES, {k: v for k, v in answer.items() if k != name})
            # Without a choice and without ratings there is no answer at all.
            expected = "answer" if (show, name) == ("hypotheses_only", "choice") else name
            assert {error.field.partition(".")[0] for error in caught.value.errors} == {expected}


@pytest.mark.parametrize(
    ("show", "change", "field"),
    [
        ("triplet", {"choice": "equal"}, "choice"),
        ("triplet", {"choice": "first"}, "choice"),
        ("triplet", {"why": " "}, "why"),
        ("triplet", {"why": "\u200b\u2060"}, "why"),
        ("triplet", {"why": "a" * 601}, "why"),
        ("triplet", {"why": "a\x00b"}, "why"),
        ("triplet", {"ratings": {"h1": 2}}, "ratings.h2"),
        ("triplet", {"ratings": {"h1": 0, "h2": 2}}, "ratings.h1"),
        ("triplet", {"ratings": {"h1": 6, "h2": 2}}, "ratings.h1"),
        ("triplet", {"ratings": {"h1": "2", "h2": 2}}, "ratings.h1"),
        ("triplet", {"certainty": "very"}, "certainty"),
        ("pair", {"ratings": {"h1": 2, "h2": 2}}, "ratings.h1"),
        ("pair", {"ratings": {"h1": 2}}, "ratings.h2"),
        ("pair", {"choice": "h2"}, "choice"),
        ("hypotheses_only", {"why": WHY}, "why"),
    ],
)
def test_wrong_answer_is_refused_by_field(show: str, change: dict[str, Any], field: str) -> None:
    whole = {
        "triplet": WHOLE,
        "pair": {"ratings": {"h2": 3}},
        "hypotheses_only": {"choice": "h1", "certainty": "certain"},
    }[show]
    with pytest.raises(InvalidAnswer) as caught:
        KIND.parse_answer(unit(show), IMAGES, whole | change)
    assert field in [error.field for error in caught.value.errors]


def test_equal_is_accepted_where_it_is_offered() -> None:
    offered = unit(cannot_tell=True)
    assert KIND.unit_for_page(offered, IMAGES, "seed", 0)["cannot_tell"] is True
    assert KIND.parse_answer(offered, IMAGES, WHOLE | {"choice": "equal"})["choice"] == "equal"
    assert KIND.unit_for_page(unit("pair", cannot_tell=True), IMAGES, "seed", 0)["cannot_tell"] is False


def test_hints_read_the_reason_of_shapes_that_ask_for_one() -> None:
    def rules(show: str, why: Any) -> list[str]:
        return [hint.rule.value for hint in KIND.own_hints(unit(show), IMAGES, {"why": why})]

    assert rules("triplet", "Image 2 because the ball was thrown at it") == [HintRule.IMAGE_NUMBER]
    assert rules("texts", TEXTS["h1"]) == [HintRule.REPEATS_DESCRIPTION]
    assert rules("triplet", WHY) == rules("triplet", 7) == rules("pair", "Image 2") == []


@pytest.mark.parametrize(
    "answer", [WHOLE, {"choice": "equal", "certainty": "certain"}, {"ratings": {"h1": 4}}]
)
def test_labels_and_answer_are_inverse(answer: dict[str, Any]) -> None:
    labels = {(row.dimension, row.part): row.label for row in SPEC.labels(answer)}
    assert SPEC.build_answer(labels) == answer


def test_exported_labels_are_read_back_and_give_tables_by_hypothesis() -> None:
    answers = [WHOLE, WHOLE | {"choice": "h1", "ratings": {"h1": 4, "h2": 3}}, {"ratings": {"h2": 1}}]
    rows = [JudgmentRow(SPEC.name, "a", f"w{n}", answer) for n, answer in enumerate(answers)]
    tables = build_tables(rows, SPEC)
    assert sorted(map(str, tables["likelihood"].item_ids)) == ["('a', 'h1')", "('a', 'h2')"]
    assert (tables["choice"].size, tables["certainty"].size, tables["likelihood"].size) == (2, 2, 5)
    assert SPEC.ranking_dimension is not None
    assert SPEC.ranking_dimension.name == "likelihood", "certainty orders no hypotheses"
    exported = [
        {"item": f"a/{part}" if part else "a", "dimension": name, "label": label, "rater": f"w{n}"}
        for n, answer in enumerate(answers)
        for name, part, label in SPEC.labels(answer)
    ]
    assert [row.answer for row in parse_rating_rows(list(enumerate(exported, start=2)), SPEC)] == answers


def test_unit_is_built_from_plain_data() -> None:
    source = TripletToJudge(
        id=f"{SECRET}-item",
        triplet_id=f"{SECRET}-triplet",
        show="pair",
        images={"premise": 1, "h2": 3},
        gold=1,
    )
    assert KIND.parse_unit(SPEC.build_unit(source)) == unit("pair")
    assert SPEC.shown_records(unit()) == []
    assert SPEC.subject(unit("pair")) == SPEC.subject(unit("texts")) == f"triplet-{SECRET}-triplet"


def test_gold_items_are_of_the_rounds_shape_and_expect_choices_and_likelihoods() -> None:
    adapt = SPEC.gold_adapter([unit(), unit()])
    assert adapt(unit(cannot_tell=True)) == unit()
    assert adapt(unit("pair")) is None
    allowed = SPEC.allowed_labels(unit())
    assert allowed == {
        "choice": ["h1", "h2"],
        "h1/likelihood": [1, 2, 3, 4, 5],
        "h2/likelihood": [1, 2, 3, 4, 5],
    }
    assert SPEC.allowed_labels(unit("pair")) == {"h2/likelihood": [1, 2, 3, 4, 5]}
    assert SPEC.allowed_labels(unit("hypotheses_only", cannot_tell=True)) == {"choice": ["h1", "h2", "equal"]}
    assert SPEC.gold_question(unit(), "h2/likelihood") == "Hypothesis 2"
    expected = {"choice": ["h2"], "h1/likelihood": [1, 2]}
    assert compare_with_expected(WHOLE, expected, SPEC).passed
    assert not compare_with_expected(WHOLE | {"choice": "h1"}, expected, SPEC).passed


def own_units(count: int) -> list[RoundUnit]:
    """Return the units of a round: triplet n has the images 10n, 10n + 1 and 10n + 2, and gold 1 or 2 in turn."""
    images = {n: {"premise": 10 * n, "h1": 10 * n + 1, "h2": 10 * n + 2} for n in range(1, count + 1)}
    return [
        RoundUnit(
            f"k{n}",
            unit(item=f"k{n}", triplet=f"t{n}", images=images[n], gold=1 + n % 2),
            frozenset({n}),
        )
        for n in images
    ]


def attention(own: list[RoundUnit], donors: list[RoundUnit], seed: int = 1) -> list[CheckUnit]:
    mixed = plan_round_units(own, [], CheckRates(attention=50), np.random.default_rng(seed), SPEC, donors)
    return [row for row in mixed if isinstance(row, CheckUnit) and row.role is CheckRole.ATTENTION]


@pytest.mark.parametrize("outside", [False, True])
def test_attention_check_replaces_the_implausible_hypothesis_alone(outside: bool) -> None:
    own = own_units(12)
    foreign_unit = unit(item="o", triplet="o", images={"premise": 900, "h1": 901, "h2": 902})
    donors = [RoundUnit("outside", foreign_unit, frozenset({99}))] if outside else []
    hosts = {row.payload["images"]["premise"]: row.payload for row in own}
    checks = attention(own, donors)
    assert len(checks) == 6
    for check in checks:
        host = hosts[check.payload["images"]["premise"]]
        right, wrong = ("h1", "h2") if host["gold"] == 1 else ("h2", "h1")
        assert check.expected == {"choice": [right]}
        assert check.payload["images"][right] == host["images"][right], "the right answer is still there"
        foreign = check.payload["images"][wrong]
        assert foreign not in host["images"].values()
        assert foreign in ({901, 902} if outside else {10 * n + k for n in range(1, 13) for k in (1, 2)})
        assert check.payload["item"] == check.key != host["item"]
        assert check.payload["triplet"] == host["triplet"], "its worker gets nothing else of this triplet"
        assert check.original_key == (None if outside else f"k{foreign // 10}")
        assert (99 in check.authors) == outside
        assert KIND.parse_unit(check.payload) == check.payload
        assert compare_with_expected(WHOLE | {"choice": right}, check.expected, SPEC).passed
        assert not compare_with_expected(WHOLE | {"choice": wrong}, check.expected, SPEC).passed


def test_attention_check_needs_the_shape_triplet_and_gold() -> None:
    for own, words in (
        ([RoundUnit(row.key, {**row.payload, "gold": None}) for row in own_units(2)], "has no gold"),
        ([RoundUnit(f"p{n}", unit("pair", triplet=f"t{n}")) for n in (1, 2)], "the shape pair has none"),
    ):
        with pytest.raises(QualityCheckError, match=words):
            attention(own, [])
