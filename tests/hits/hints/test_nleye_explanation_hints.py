"""Hints about explanations: what each rule finds, what it leaves alone, and where its quote stands."""

import pytest

from hits.hints.card import HintField, HintRule
from hits.hints.explanations import EXPLANATION_RULES, find_explanation_hints


def found(text: str, **more: list[str]) -> dict[str, str]:
    """Return the quote of each hint by rule, after checking that it is where it says."""
    hints = find_explanation_hints(text, **more)
    for hint in hints:
        assert hint.rule in EXPLANATION_RULES
        assert (hint.card, hint.field) == (1, HintField.EXPLANATION)
        assert text[hint.start : hint.end] == hint.quote != ""
    return {hint.rule.value: hint.quote for hint in hints}


GOOD = [
    "Usually clouds mean rain, and whoever has to go out takes an umbrella along.",
    "The ball was thrown indoors and hit the lamp.",
    "A baby that lost its pacifier cries until somebody finds it.",
    "People blow out the candles after the song, so the cake is eaten next.",
    "The green light was on, so the cars had right of way.",
    "He dressed in the colours of his team because the match was about to begin.",
    "Two friends meet for the first time in years and hug.",
]


@pytest.mark.parametrize("text", GOOD)
def test_story_gets_no_hint(text: str) -> None:
    assert found(text) == {}


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Image 1 follows because the ball was thrown", "Image 1"),
        ("The second image is likelier, since rain makes people wet", "second image"),
        ("Because of the rain, hypothesis two is right", "hypothesis two"),
        ("After the fall the left picture is what happens", "left picture"),
        ("So option 2 happens after the party", "option 2"),
    ],
)
def test_number_of_an_image_is_found(text: str, quote: str) -> None:
    assert found(text)[HintRule.IMAGE_NUMBER] == quote


def test_other_numbers_are_left_alone() -> None:
    assert HintRule.IMAGE_NUMBER not in found(
        "They waited 2 hours, and then one of the two images of the saint fell"
    )


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The floor has the same colour in both", "colour"),
        ("Both show a similar kitchen with tiles", "similar"),
        ("The wallpaper matches the stroller in both", "wallpaper"),
        ("The style of both drawings is the same", "style"),
        ("It looks more realistic than the other", "looks more realistic"),
    ],
)
def test_looks_without_a_story_are_found(text: str, quote: str) -> None:
    assert found(text)[HintRule.ONLY_LOOKS] == quote
    assert HintRule.ONLY_LOOKS not in found(f"{text}, because somebody painted it afterwards")


def test_description_is_found_by_its_form_or_by_its_words() -> None:
    assert found("A child is holding a big ball") == {HintRule.REPEATS_DESCRIPTION: "A child is holding"}
    text = "the kid has a ball near the broken lamp"
    assert found(text) == {}
    assert list(found(text, descriptions=["", "The kid has a ball, near the broken lamp."])) == [
        HintRule.REPEATS_DESCRIPTION
    ]


def test_few_words_and_swearing_are_found() -> None:
    assert found("The ball hit it") == {HintRule.TOO_FEW_WORDS: "The ball hit it"}
    assert HintRule.TOO_FEW_WORDS not in found("The ball hit the lamp")
    assert found("So that asshole child threw the ball indoors") == {HintRule.PROFANITY: "asshole"}
    assert find_explanation_hints("  ") == []


def test_long_text_is_cut_before_it_is_read() -> None:
    assert len(find_explanation_hints("word " * 5000 + "image 1")) == 0
