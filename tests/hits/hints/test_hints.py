"""Live hints: each rule says why and quotes the words; nothing that an annotator types makes one fail."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from hits import registry
from hits.domain.answers.pronouns import find_pronouns
from hits.domain.images.geometry import Box
from hits.domain.images.image_facts import ImageFacts
from hits.hints import hint_report, rules, word_lists
from hits.hints.card import MAX_QUOTE, Card, Hint, HintField, HintRule, ImageSize, TextPair
from hits.hints.find_hints import BUDGET_SECONDS, MIN_COSINES, find_hints
from hits.observing import checks
from hits.observing.kind import hint_cards
from hits.observing.pairs import Confidence, ObservationPair

SIZE = ImageSize(640, 480)
ALL = tuple(HintRule)
IMAGE = ImageFacts(1, "http://127.0.0.1:8000/media/1.jpg", 640, 480)
FAMILY = "👩‍👩‍👧"
ODD_TEXTS = [
    "",
    " ",
    "\n\t",
    "!",
    "😀😀",
    "a",
    "她站在那里",
    "הוא עומד שם",
    "\u202eabc\u202c",
    "x" * 600,
    "she " * 150,
    "é́́" * 9,
]


def of_rule(rule: HintRule, card: Card, *others: Card) -> list[Hint]:
    """Return what one rule alone says."""
    return find_hints([card, *others], SIZE, [rule])


def on(text: str, rule: HintRule) -> list[str]:
    """Return the quotes of a rule on an inference."""
    return [hint.quote for hint in of_rule(rule, Card(1, "", text))]


class Near:
    """An encoder that finds every pair as near as told, and remembers what it was asked."""

    def __init__(self, score: float | None) -> None:
        self.score = score
        self.asked: list[TextPair] = []
        self.budgets: list[float] = []

    def score_similarity(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        self.asked += pairs
        self.budgets.append(budget)
        return None if self.score is None else [self.score] * len(pairs)

    score_contradiction = score_similarity


# --- Boxes


def test_no_box_rule_finds_written_card_without_box() -> None:
    (hint,) = of_rule(HintRule.NO_BOX, Card(2, "a cup", "Somebody drinks tea", ()))
    assert (hint.card, hint.field, hint.quote) == (2, HintField.BOXES, "")


@pytest.mark.parametrize(
    "card",
    [
        Card(1, "a cup", "", ()),
        Card(1, "", "Somebody drinks tea", ()),
        Card(1, "  ", "Somebody drinks tea", ()),
        Card(1, "a cup", "Somebody drinks tea", (Box(1, 1, 50, 50),)),
        Card(1, "a cup", "Somebody drinks tea", None),
    ],
)
def test_no_box_rule_ignores_unfinished_cards_and_kinds_without_boxes(card: Card) -> None:
    assert of_rule(HintRule.NO_BOX, card) == []


def test_box_rules_find_too_large_and_too_small_boxes() -> None:
    boxes = (Box(10, 10, 60, 60), Box(0, 0, 640, 440), Box(3, 3, 5, 5))
    card = Card(1, boxes=boxes)
    (large,), (small,) = of_rule(HintRule.BOX_TOO_LARGE, card), of_rule(HintRule.BOX_TOO_SMALL, card)
    assert large.params == {"box": 2, "boxes": 3, "share": round(440 / 480, 6)}
    assert small.params["box"] == 3
    ordinary = Card(1, boxes=(Box(0, 0, 640, 431), Box(0, 0, 8, 7)))
    assert of_rule(HintRule.BOX_TOO_LARGE, ordinary) == of_rule(HintRule.BOX_TOO_SMALL, ordinary) == []
    assert find_hints([card], None, [HintRule.BOX_TOO_LARGE, HintRule.BOX_TOO_SMALL]) == []


# --- Words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She is late", ["She"]),
        ("they saw HIM", ["HIM"]),
        ("it is hers, not his", ["hers", "his"]),
        ("He hurt himself", ["He", "himself"]),
        ("she's tired and he’d know", ["she's", "he’d"]),
        ("‘she’ll’ come", ["she’ll"]),
        ("he/she", ["he", "she"]),
        ("😀 her dog", ["her"]),
    ],
)
def test_pronouns_are_found_as_written(text: str, found: list[str]) -> None:
    assert on(text, HintRule.PRONOUN) == found


@pytest.mark.parametrize(
    "text", ["they them theirs", "the theme here", "shed", "sheriff", "history", "a she-wolf", "hé", "cheher"]
)
def test_words_that_contain_a_pronoun_are_not_pronouns(text: str) -> None:
    assert on(text, HintRule.PRONOUN) == []


def test_pronoun_hint_has_form_and_position() -> None:
    hints = of_rule(HintRule.PRONOUN, Card(3, f"{FAMILY} her coat", "Her coat is new, so is her hat"))
    assert [(h.field, h.quote, h.params["form"]) for h in hints] == [
        (HintField.CLUE, "her", "her"),
        (HintField.INFERENCE, "Her", "her"),
    ]
    assert f"{FAMILY} her coat"[hints[0].start : hints[0].end] == "her"


def test_reviewers_and_hints_find_the_same_pronouns() -> None:
    for text in ["she's late", "the theme", "HERS", "a she-wolf"]:
        pair = ObservationPair(1, "a coat", text, Confidence.LIKELY, (Box(1, 1, 9, 9),))
        assert (
            checks.check_pronouns([pair]).ok == (not find_pronouns(text)) == (not on(text, HintRule.PRONOUN))
        )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What a SHITTY day", ["SHITTY"]),
        ("some a$$hole parked here", ["a$$hole"]),
        ("oh sh1t, he fell", ["sh1t"]),
        ("fuck. Fuck! fucking", ["fuck", "fucking"]),
    ],
)
def test_profanity_is_found(text: str, found: list[str]) -> None:
    assert on(text, HintRule.PROFANITY) == found


@pytest.mark.parametrize(
    "text",
    [
        "They live in Scunthorpe, Penistone or Shitterton",
        "The class will assess the bass in the grass",
        "A cocktail for Dick at the Essex cockpit, a shiitake and a titmouse",
        "They passed cum laude; the pussycat hit it",
        "It costs $3 at 10:30",
    ],
)
def test_innocent_words_are_not_profanity(text: str) -> None:
    assert on(text, HintRule.PROFANITY) == []


def test_profanity_matches_whole_words_only() -> None:
    for word in word_lists.PROFANITY:
        assert on(f"so {word.capitalize()}, then", HintRule.PROFANITY) == [word.capitalize()]
        assert on(f"x{word}x", HintRule.PROFANITY) == []


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("A man is standing.", "A man is standing"),
        ("there is a book on the bed", "there is a book"),
        ("There's an orange cat", "There's an orange"),
        ("Two children are both sitting on a bench", "Two children are both sitting"),
        ("The woman is wearing a red hat", "The woman is wearing"),
        ("A dog next to a tree", "A dog next"),
        ("people standing at a counter", "people standing"),
        ("An old man sits on a wall", "An old man sits"),
        ("A close-up of a pizza", "A close-up of a pizza"),
    ],
)
def test_caption_like_rule_finds_captions(text: str, quote: str) -> None:
    assert on(text, HintRule.CAPTION_LIKE) == [quote]


@pytest.mark.parametrize(
    "text",
    [
        "A man is standing there because the bus is late",
        "A man is holding a phone to call a taxi",
        "The man is not standing by choice",
        "There is a party that has just ended",
        "A child will sit on this chair",
        "Somebody has been sitting here",
        "This is a hotel room",
        "It rained an hour ago",
        "They are celebrating a birthday",
        "The owner of this desk is a programmer",
        "There is someone in the house",
        "a man",
    ],
)
def test_caption_like_rule_ignores_inferences(text: str) -> None:
    assert on(text, HintRule.CAPTION_LIKE) == []


# --- Repetition


def test_repeats_clue_rule_finds_repeated_clue() -> None:
    card = Card(1, "the wet umbrella by the door", "The wet umbrella, by the door!")
    (hint,) = of_rule(HintRule.REPEATS_CLUE, card)
    assert hint.quote == "The wet umbrella, by the door"
    assert hint.params == {"by": "words"}
    assert of_rule(HintRule.REPEATS_CLUE, Card(1, "a wet umbrella", "It rained not long ago")) == []


def test_repeats_other_rule_names_the_earlier_card() -> None:
    first, second = Card(2, "a", "Somebody left the cup there."), Card(4, "b", "somebody left the cup there")
    (hint,) = of_rule(HintRule.REPEATS_OTHER, first, second)
    assert (hint.card, hint.other) == (4, 2)


@pytest.mark.parametrize("text", ["", "  ", "😀", "…"])
def test_texts_without_words_are_not_repetitions(text: str) -> None:
    cards = [Card(1, text, text), Card(2, text, text)]
    assert (
        find_hints(
            cards, SIZE, [HintRule.REPEATS_CLUE, HintRule.REPEATS_OTHER, HintRule.CONTRADICTS], Near(None)
        )
        == []
    )


def test_hint_quotes_first_words_of_a_long_text() -> None:
    text = " ".join(f"word{n}" for n in range(100))
    (hint,) = of_rule(HintRule.REPEATS_CLUE, Card(1, text, f"  {text}"))
    assert hint.quote == " ".join(f"word{n}" for n in range(rules.QUOTED_WORDS))
    assert hint.start == 2
    (endless,) = of_rule(HintRule.REPEATS_CLUE, Card(1, "x" * 600, "x" * 600))
    assert len(endless.quote) == MAX_QUOTE


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The shop will open today", "The shop will not open today"),
        ("The shop won't open today", "The shop will open today, yes"),
        ("It is early in the morning here", "It is early in the evening here"),
        ("The family lives in the city", "The family lives in the countryside"),
    ],
)
def test_denied_inference_is_contradiction_not_repetition(a: str, b: str) -> None:
    cards = [Card(1, "x", a), Card(2, "y", b)]
    near = Near(1.0)
    found = find_hints(cards, SIZE, [HintRule.REPEATS_OTHER, HintRule.CONTRADICTS], near)
    assert [(h.rule, h.card, h.other) for h in found] == [(HintRule.CONTRADICTS, 2, 1)]
    assert near.asked == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("It will rain", "Nobody lives here any more"),
        ("It is morning", "The shop closes in the evening"),
        ("They are not rich", "They are not here"),
    ],
)
def test_contradicts_rule_ignores_other_texts(a: str, b: str) -> None:
    assert find_hints([Card(1, "", a), Card(2, "", b)], SIZE, [HintRule.CONTRADICTS]) == []


# --- Meaning


def test_encoder_gets_undecided_comparisons_in_one_call() -> None:
    cards = [
        Card(1, "wet umbrella", "It rained"),
        Card(2, "same words", "Same words"),
        Card(3, "an empty chair", ""),
        Card(4, "a cup", "It rained."),
    ]
    near = Near(MIN_COSINES[HintRule.REPEATS_OTHER])
    found = find_hints(cards, SIZE, ALL, near)
    assert len(near.budgets) == 1
    assert near.asked == [
        ("It rained", "wet umbrella"),
        ("It rained.", "a cup"),
        ("Same words", "It rained"),
        ("It rained.", "Same words"),
    ]
    by = {(h.rule, h.card, h.other): h.params["by"] for h in found if "by" in h.params}
    assert by[HintRule.REPEATS_CLUE, 2, None] == by[HintRule.REPEATS_OTHER, 4, 1] == "words"
    assert by[HintRule.REPEATS_CLUE, 1, None] == by[HintRule.REPEATS_OTHER, 2, 1] == "meaning"


@pytest.mark.parametrize("score", [None, 0.0, MIN_COSINES[HintRule.REPEATS_CLUE] - 0.01])
def test_missing_and_low_scores_give_no_hint(score: float | None) -> None:
    cards = [Card(1, "a cup", "Tea time", None), Card(2, "a coat", "It is cold", None)]
    assert find_hints(cards, SIZE, ALL, Near(score), Near(score)) == []


def test_budget_covers_all_model_calls() -> None:
    times = iter([0.0, 0.1, 0.25])
    near, model = Near(0.0), Near(0.0)
    find_hints([Card(1, "a", "b c"), Card(2, "d", "e f")], SIZE, ALL, near, model, clock=lambda: next(times))
    assert near.budgets == [pytest.approx(BUDGET_SECONDS - 0.1)]
    assert model.budgets == [pytest.approx(BUDGET_SECONDS - 0.25)]
    late = Near(1.0)
    assert find_hints([Card(1, "a", "b c")], SIZE, ALL, late, budget=0.0) == []
    assert late.asked == []


def test_contradiction_model_is_used_only_with_its_rule() -> None:
    cards = [Card(1, "a", "They are rich"), Card(2, "b", "They can hardly pay the rent")]
    model = Near(0.95)
    assert find_hints(cards, SIZE, [HintRule.PRONOUN], None, model) == []
    (hint,) = find_hints(cards, SIZE, [HintRule.CONTRADICTS], None, model)
    assert (hint.card, hint.other, hint.params["score"]) == (2, 1, 0.95)


# --- Together


def test_hints_are_sorted_by_card_and_rule() -> None:
    cards = [Card(2, "the bitch", "She is standing", ()), Card(1, "a cup", "he left", ())]
    found = find_hints(cards, SIZE, ALL)
    assert [hint.card for hint in found] == sorted(hint.card for hint in found)
    assert [hint.rule for hint in found if hint.card == 2][:3] == [
        HintRule.NO_BOX,
        HintRule.PROFANITY,
        HintRule.PRONOUN,
    ]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_rules_never_fail_and_quotes_match_positions(text: str) -> None:
    cards = [Card(n, text, text, (Box(0, 0, 640, 480),)) for n in (1, 2)]
    for hint in find_hints(cards, SIZE, ALL, Near(1.0), Near(1.0)):
        quoted = {HintField.CLUE: text, HintField.INFERENCE: text, HintField.BOXES: ""}[hint.field]
        assert quoted[hint.start : hint.end] == hint.quote
        assert len(hint.quote) <= MAX_QUOTE
        json.dumps(hint.as_dict(), allow_nan=False)


def test_disabled_rule_gives_no_hint() -> None:
    cards = [Card(1, "her fucking cup", "her fucking cup", ()), Card(2, "x", "her fucking cup", ())]
    for rule in HintRule:
        others = [other for other in HintRule if other is not rule]
        assert rule not in {hint.rule for hint in find_hints(cards, SIZE, others, Near(1.0), Near(1.0))}
    assert find_hints(cards, SIZE, [], Near(1.0), Near(1.0)) == []


# --- Reading a draft


@pytest.mark.parametrize(
    "draft",
    [
        {},
        {"observations": None},
        {"observations": {"index": 1}},
        {"observations": [None, 3, [], {}, {"index": "1"}, {"index": True}, {"index": 0}, {"index": 6}]},
    ],
)
def test_unreadable_draft_has_no_cards(draft: dict[str, Any]) -> None:
    assert hint_cards(draft, IMAGE) == []


def test_readable_parts_of_a_draft_are_read() -> None:
    good = {"left": 1, "top": 1, "width": 9, "height": 9}
    rows = [
        {
            "index": 2,
            "clue": None,
            "inference": 3,
            "boxes": [good, {"left": math.inf}, None, good | {"left": 700}],
        },
        {"index": 1, "clue": "a" * 5000, "boxes": "x"},
    ]
    first, second = hint_cards({"observations": rows}, IMAGE)
    assert (first.index, len(first.clue), first.boxes) == (1, 1000, ())
    assert second == Card(2, "", "", (Box(1, 1, 9, 9),))
    assert hint_cards({"observations": rows}, IMAGE, boxes=False)[1].boxes is None


def test_observation_kind_has_every_rule_and_others_none() -> None:
    kind = registry.get_kind("sherlock_observation")
    assert set(kind.hint_rules) == set(HintRule)
    assert kind.hint_cards({"image": 1}, {1: IMAGE}, {"observations": [{"index": 1, "clue": "x"}]})
    judging = registry.get_kind("observation_review")
    assert (judging.hint_rules, judging.hint_cards({}, {}, {"observations": [{"index": 1}]})) == ((), [])


# --- What the page reports

ROW = {"rule": "pronoun", "card": 1, "field": "clue", "quote": "she", "dismissed": True, "fixed": False}


def test_valid_hint_report_is_returned_unchanged() -> None:
    rows = [ROW] * hint_report.MAX_ROWS
    assert hint_report.parse_hint_report(rows) == rows
    assert hint_report.parse_hint_report([]) == []


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (None, "hints: "),
        ({}, "hints: "),
        ([ROW] * 101, "hints: 101 rows"),
        ([ROW, 3], "hints[1]: "),
        ([{**ROW, "more": 1}], "hints[0]: "),
        ([{key: ROW[key] for key in ROW if key != "fixed"}], "hints[0]: "),
        ([ROW | {"rule": "no_such"}], "hints[0].rule: "),
        ([ROW | {"rule": ["pronoun"]}], "hints[0].rule: "),
        ([ROW | {"card": True}], "hints[0].card: "),
        ([ROW | {"card": 0}], "hints[0].card: "),
        ([ROW | {"field": "worker"}], "hints[0].field: "),
        ([ROW | {"quote": "x" * 201}], "hints[0].quote: "),
        ([ROW | {"quote": None}], "hints[0].quote: "),
        ([ROW | {"dismissed": 1}], "hints[0].dismissed: "),
        ([ROW | {"fixed": "no"}], "hints[0].fixed: "),
    ],
)
def test_invalid_hint_report_is_refused_by_field(raw: Any, message: str) -> None:
    with pytest.raises(hint_report.HintReportError) as caught:
        hint_report.parse_hint_report(raw)
    assert str(caught.value).startswith(message)
