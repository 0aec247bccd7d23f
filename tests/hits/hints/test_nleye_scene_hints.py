"""The hints about scenes: each rule on texts that it should and should not find, and false alarms on good scenes."""

import json
from collections import Counter
from typing import Any

import pytest

from hits.domain.answers.scene_rules import SCENE_TEXTS
from hits.hints.card import MAX_QUOTE, MAX_TEXT, Hint, HintField, HintRule
from hits.hints.scene_drafts import read_scene_draft
from hits.hints.scenes import SCENE_RULES, SceneDraft, find_scene_hints
from tests.support.paths import ROOT

GOOD = json.loads((ROOT / "tests/hits/hints/nleye_good_scenes.json").read_text(encoding="utf-8"))
PREMISE = "A man with a white shirt spills a cup of coffee."
PLAUSIBLE = "The man rubs his shirt under a tap."
IMPLAUSIBLE = "The man rubs his shirt under a tree."


def hints_on(*texts: str, earlier: list[tuple[str, str, str]] | None = None) -> list[Hint]:
    """Return the hints on premise, plausible and implausible hypothesis; missing texts are good ones."""
    given = (*texts, *(PREMISE, PLAUSIBLE, IMPLAUSIBLE)[len(texts) :])
    rows = [dict(zip(SCENE_TEXTS, row, strict=True)) for row in earlier or []]
    return find_scene_hints(SceneDraft(dict(zip(SCENE_TEXTS, given, strict=True)), rows))


def of_rule(rule: HintRule, *texts: str, **more: Any) -> list[Hint]:
    return [hint for hint in hints_on(*texts, **more) if hint.rule is rule]


def test_the_good_scene_of_these_tests_has_no_hint() -> None:
    assert hints_on() == []


@pytest.mark.parametrize(("part", "most"), [("tuning", 2), ("held_out", 7)])
def test_good_scenes_have_few_false_alarms(part: str, most: int) -> None:
    found = [hint for scene in GOOD[part] for hint in hints_on(*scene)]
    assert len(GOOD[part]) == 20
    assert len(found) <= most, Counter(hint.rule for hint in found)


# --- Premise


@pytest.mark.parametrize(
    ("texts", "fields", "both"),
    [
        ((PREMISE, PLAUSIBLE, "An elephant dances on three wooden barrels."), ["implausible"], False),
        ((PREMISE, "A nurse feeds grey pigeons.", "A nurse feeds grey cats."), ["plausible"], True),
        (
            (PREMISE, "A coffee machine drips on a counter.", "A coffee machine shines on a counter."),
            [],
            None,
        ),
        ((PREMISE, "Later, a washing machine spins.", "Later, a lawn sprinkler spins."), [], None),
        ((PREMISE, "Two shirts hang on a line.", "Two towels hang on the line."), [], None),
        ((PREMISE, "A nurse.", "Grey pigeons."), [], None),
        (("", "A nurse feeds grey pigeons.", "A nurse feeds grey cats."), [], None),
    ],
)
def test_hypothesis_that_takes_up_nothing_is_found(
    texts: tuple[str, str, str], fields: list[str], both: bool | None
) -> None:
    found = of_rule(HintRule.PREMISE_UNUSED, *texts)
    assert [hint.field for hint in found] == fields
    assert [hint.params["both"] for hint in found] == ([] if both is None else [both])


def test_words_with_one_root_count_as_repetitions() -> None:
    premise = "A cyclist kneels beside a flat tyre."
    assert of_rule(HintRule.PREMISE_UNUSED, premise, "Sharp glass lies on some cycle lane.", "") == []
    assert of_rule(HintRule.PREMISE_UNUSED, premise, "Sharp glass lies on some narrow lane.", "")


# --- What no picture shows


@pytest.mark.parametrize(
    ("text", "sense", "quote"),
    [
        ("The man says hello to a waiter.", "words", "says"),
        ("The man asks for a cloth.", "words", "asks"),
        ("The man tells a joke about coffee.", "words", "tells"),
        ("The man thinks of the stain.", "thoughts", "thinks"),
        ("The man feels guilty.", "thoughts", "feels guilty"),
        ("The man plans to wash the shirt.", "thoughts", "plans to"),
        ("The man is aware of the stain.", "thoughts", "is aware"),
        ("The shirt smells of coffee.", "smells", "smells"),
        ("The kitchen stinks.", "smells", "stinks"),
        ("The soup tastes salty.", "smells", "tastes"),
        ("The man hears a siren.", "sounds", "hears"),
        ("The phone rings on the table.", "sounds", "phone rings"),
        ("Loud music comes from the room.", "sounds", "Loud"),
        ("The man wears Nike shoes.", "names", "Nike"),
        ("Emma wipes the table.", "names", "Emma"),
        ("Mr. Smith wipes the table.", "names", "Mr. Smith"),
        ("A dog named Rex licks the floor.", "names", "named Rex"),
        ("A can of Coca-Cola stands on the table.", "names", "Coca-Cola"),
    ],
)
def test_what_no_picture_shows_is_quoted(text: str, sense: str, quote: str) -> None:
    for position, name in enumerate(SCENE_TEXTS):
        texts = [PREMISE, PLAUSIBLE, IMPLAUSIBLE]
        texts[position] = text
        (hint,) = of_rule(HintRule.NOT_VISIBLE, *texts)
        assert (hint.params["sense"], hint.quote, hint.field, hint.card) == (
            sense, quote, HintField(name), position + 1,
        )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "A woman smells a red rose.",
        "The cook tastes the soup with a wooden spoon.",
        "A doctor feels the forehead of a child.",
        "A boy in a felt hat shouts with an open mouth.",
        "A sign that says “wet floor” stands in the hall.",
        "Two women talk at a window.",
        "A man answers the phone.",
        "A man with headphones listens to music.",
        "The hands of a thoughtful statue hold a book.",
        "A girl wears gold rings.",
        "A floor plan hangs on the wall.",
        "A nightingale sits near a rose in April.",
        "The Eiffel Tower stands behind Japanese tourists at Christmas.",
        "A pumpkin with a carved face stands on a porch at Halloween.",
        "A jean jacket, a will, a bill and a mark lie on a desk.",
        "An unknown knowledgeable man.",
    ],
)
def test_visible_content_is_not_found(text: str) -> None:
    assert of_rule(HintRule.NOT_VISIBLE, text) == []


# --- Differences


@pytest.mark.parametrize(
    ("first", "second", "places"),
    [
        ("The boy eats soup in the kitchen.", "The girl eats soup in the garden.", 2),
        ("An old man with a hat feeds two ducks.", "An old man with a cap feeds three ducks at night.", 3),
        ("The man rubs his shirt under a tap.", "The man rubs his shirt under a tree.", None),
        ("The man rubs his shirt.", "The man rubs the shirt and smiles at a waiter.", None),
        ("A woman puts on her hat at the door.", "A woman takes off her hat at the door.", None),
        ("A cat sleeps near the fire.", "The cat sleeps near a fire on the roof.", None),
        ("Children swim in a lake at noon.", "Somebody repairs the roof of a barn.", None),
        ("The man", "A boy sits", None),
        ("", "", None),
    ],
)
def test_several_differences_are_counted(first: str, second: str, places: int | None) -> None:
    found = of_rule(HintRule.SEVERAL_DIFFERENCES, PREMISE, first, second)
    assert [hint.params["places"] for hint in found] == ([] if places is None else [places])
    assert [(hint.card, hint.quote) for hint in found] == [(3, "")] * len(found)


# --- Copies


def test_copy_of_an_earlier_scene_is_found() -> None:
    other = ("A snowman stands in the sun.", "A puddle with a carrot.", "A snowman with a carrot.")
    changed = (PREMISE.replace("white", "blue"), PLAUSIBLE, IMPLAUSIBLE)
    for copy in ((PREMISE, PLAUSIBLE, IMPLAUSIBLE), changed, (PREMISE.upper(), *other[1:])):
        (hint,) = of_rule(HintRule.COPIED_SCENE, earlier=[other, copy])
        assert (hint.card, hint.quote) == (1, "A man with a white shirt spills a")
    assert of_rule(HintRule.COPIED_SCENE, earlier=[other]) == []
    assert of_rule(HintRule.COPIED_SCENE, "A man.", "", "", earlier=[("A man.", "", "")]) == []


# --- Length


def test_more_than_forty_words_are_too_many() -> None:
    assert of_rule(HintRule.TOO_MANY_WORDS, "cat " * 40) == []
    (hint,) = of_rule(HintRule.TOO_MANY_WORDS, PREMISE, "cat " * 41)
    assert (hint.card, hint.quote, hint.params) == (2, "", {"most": 40})


# --- Pronouns


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("He slips on the floor.", "He"),
        ("Slowly, she opens the door.", "she"),
        ("When they leave, the lights go out.", "they"),
        ("Her hand holds a ring.", "Her"),
        ("It lies on the floor.", "It"),
        ("Now it's broken.", "it's"),
        ("Under its leaves sits a frog.", "its"),
        ("The man looks at his watch.", None),
        ("Two boys run. They laugh.", None),
        ("Children play while it rains.", None),
        ("It is raining on the street.", None),
        ("It’s a dark night over the city.", None),
        ("It is raining and he runs.", "he"),
        ("A he-goat eats.", None),
        ("", None),
    ],
)
def test_pronoun_without_a_noun_before_it_is_quoted(text: str, quote: str | None) -> None:
    found = of_rule(HintRule.UNCLEAR_PRONOUN, text)
    assert [hint.quote for hint in found] == ([] if quote is None else [quote])


# --- All rules


def test_every_rule_was_seen_and_hints_are_in_the_order_of_texts() -> None:
    long = "He says that he thinks of Emma, " + "and of a very long day " * 10
    hypotheses = ("A nurse feeds grey pigeons in a park.", "A boy feeds grey cats in a park.")
    found = hints_on(long, *hypotheses, earlier=[(long, "", "")])
    assert {hint.rule for hint in found} == set(SCENE_RULES)
    assert [hint.card for hint in found] == sorted(hint.card for hint in found)
    ranks = [SCENE_RULES.index(hint.rule) for hint in found if hint.card == 1]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "…!?", "he", "says", "\x00\ud800", "日本 says 日本", "<b>he</b> & “she”"),
        *("é" * 900, "it " * 300, "Dr. X" * 180),
    ],
)
def test_rules_never_fail_and_quotes_are_parts_of_their_text(text: str) -> None:
    for texts in ((text, text, text), (PREMISE, text, IMPLAUSIBLE), (text, PLAUSIBLE, text)):
        for hint in hints_on(*texts, earlier=[(text, text, text)]):
            own = texts[hint.card - 1]
            assert own[hint.start : hint.end] == hint.quote
            assert len(hint.quote) <= MAX_QUOTE
            json.dumps(hint.as_dict(), allow_nan=False)


@pytest.mark.parametrize("raw", [{}, {"premise": 3, "plausible": None, "implausible": ["a"]}])
def test_unreadable_draft_has_no_texts(raw: dict[str, Any]) -> None:
    draft = read_scene_draft(raw, [raw] * 60)
    assert draft.texts == dict.fromkeys(SCENE_TEXTS, "")
    assert len(draft.earlier) == 50
    assert find_scene_hints(draft) == []


def test_long_draft_is_cut() -> None:
    draft = read_scene_draft({"premise": "a" * (MAX_TEXT + 5)})
    assert len(draft.texts["premise"]) == MAX_TEXT
