"""Hints about questions, answers and rationales with object tags."""

from typing import Any

import pytest

from hits.hints.card import Hint, HintRule
from hits.hints.triplet_drafts import read_triplet_card
from hits.hints.triplets import TRIPLET_RULES, TripletCard, TripletPage, find_triplet_hints

NAMES = ["person", "person", "dog"]
PAGE = TripletPage(NAMES, shares=[0.3, 0.2, 0.0005], avoided=["Brad Pitt", "Fight Club"])


def tag(*objects: int) -> dict[str, list[int]]:
    return {"objects": list(objects)}


def card(index: int = 1, likelihood: str | None = None, **texts: Any) -> TripletCard:
    """Return a card; texts that are not given are empty."""
    kept = texts.pop("kept", {})
    whole = {"question": [], "answer": [], "rationale": []} | texts
    return TripletCard(index, whole, likelihood, kept)


def found(*cards: TripletCard, page: TripletPage = PAGE) -> list[tuple[HintRule, str, str]]:
    return [(hint.rule, str(hint.field), hint.quote) for hint in find_triplet_hints(cards, page)]


def test_every_rule_belongs_to_the_page() -> None:
    assert set(TRIPLET_RULES) <= set(HintRule)
    assert len(set(TRIPLET_RULES)) == len(TRIPLET_RULES) == 9


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"answer": ["It is 3 of them"]}, [(HintRule.BARE_NUMBER, "answer", "3")]),
        ({"answer": ["It is 3 o'clock"], "kept": {"answer": frozenset("3")}}, []),
        ({"answer": ["At 10:30, 4 dogs, 2.5 of 3rd, 1-2"]}, []),
        ({"rationale": ["It is brad pitt again"]}, [(HintRule.GIVEN_NAME, "rationale", "brad pitt")]),
        ({"rationale": ["The pitt bull barks"]}, []),
        (
            {"answer": ["They want to leave"], "rationale": ["They want to leave now"]},
            [(HintRule.REPEATS_ANSWER, "rationale", "They want to leave now")],
        ),
        (
            {"question": ["What is ", tag(0), " wearing today?"]},
            [(HintRule.PLAIN_QUESTION, "question", "What is person 1 wearing")],
        ),
        ({"question": ["How many dogs bark?"]}, [(HintRule.PLAIN_QUESTION, "question", "How many")]),
        ({"question": ["Why is ", tag(0), " wearing a coat inside?"]}, []),
        (
            {"answer": ["He likes the man on the left."]},
            [(HintRule.REFERRING_EXPRESSION, "answer", "the man on the left")],
        ),
        (
            {"answer": ["The old woman in a red dress sings."]},
            [(HintRule.REFERRING_EXPRESSION, "answer", "The old woman in a red")],
        ),
        ({"answer": ["The woman is late, and the man knows it."]}, []),
        (
            {"question": ["What will happen next here?"]},
            [(HintRule.GENERIC_QUESTION, "question", "What will happen next here?")],
        ),
        ({"question": ["What will happen to ", tag(0), " next?"]}, []),
        ({"question": ["Will the train leave?"]}, []),
        ({"rationale": ["Near ", tag(0, 2), " it is dark"]}, [(HintRule.SMALL_OBJECT, "rationale", "dog 3")]),
    ],
)
def test_rule_finds_its_words(texts: dict[str, Any], expected: list[Any]) -> None:
    assert found(card(**texts)) == expected


def test_quote_is_a_part_of_the_displayed_text() -> None:
    (hint,) = find_triplet_hints([card(answer=[tag(0, 1), " has 2 of them"])], PAGE)
    shown = "person 1 and person 2 has 2 of them"
    assert shown[hint.start : hint.end] == hint.quote == "2"


def test_copied_question_names_the_other_card_or_an_earlier_task() -> None:
    question = ["Why does ", tag(0), " look at the door?"]
    same = find_triplet_hints([card(1, question=question), card(2, question=question)], PAGE)
    assert [(hint.rule, hint.card, hint.other) for hint in same] == [(HintRule.COPIED_QUESTION, 2, 1)]
    page = TripletPage(NAMES, PAGE.shares, earlier_questions=["Other", "Why does person 1 look at the door?"])
    (hint,) = find_triplet_hints([card(question=question)], page)
    assert (hint.rule, hint.other) == (HintRule.COPIED_QUESTION, None)


def test_only_unlikely_answers_get_one_hint() -> None:
    def hints(*likelihoods: str | None) -> list[Hint]:
        cards = [card(number, likelihood) for number, likelihood in enumerate(likelihoods, start=1)]
        return find_triplet_hints(cards, PAGE)

    assert [(hint.rule, hint.card) for hint in hints("unlikely", "unlikely", None)] == [
        (HintRule.ALL_UNLIKELY, 2)
    ]
    assert hints("unlikely", "possible") == hints(None) == []


def test_draft_card_is_read_as_far_as_it_can_be() -> None:
    row = {
        "question": ["Why ", tag(0)],
        "answer": [tag(9)],
        "rationale": 5,
        "likelihood": "surely",
        "kept": {"answer": ["3", 4], "question": "3"},
    }
    read = read_triplet_card(2, row, len(NAMES))
    assert read.texts == {"question": ["Why ", tag(0)], "answer": [], "rationale": []}
    assert (read.index, read.likelihood, read.kept_numbers) == (2, None, {"answer": frozenset({"3"})})
