"""Copies of questions in which people are named in another way, or words are masked."""

from collections.abc import Sequence
from typing import Any

import pytest

from curation.evaluation.choice_items import ChoiceItem, Stage, StageChoices, StageQuestion, plain_text
from curation.evaluation.perturb import (
    MASK,
    Masking,
    mask_items,
    mask_responses,
    parse_masking,
    perturb_items,
)
from curation.records import InvalidInput

OBJECTS = ("person", "person", "person", "dog")


def _item(question: list[Any], responses: Sequence[list[Any]], label: int | None = 0) -> ChoiceItem:
    texts = tuple(map(plain_text, responses))
    stages = {Stage.ANSWER: StageChoices(texts, label), Stage.RATIONALE: StageChoices(texts, label)}
    right = None if label is None else texts[label]
    return ChoiceItem("q", "i", OBJECTS, plain_text(question), stages, right)


def _changed(item: ChoiceItem, name: str) -> tuple[Any, ...]:
    (found,) = perturb_items([item], name)
    assert found.annot_id == item.annot_id
    assert found.stages[Stage.RATIONALE].responses == found.stages[Stage.ANSWER].responses
    return found.stages[Stage.ANSWER].responses


def test_singular_gives_the_right_response_a_pronoun_and_the_others_the_tag() -> None:
    # The example of the paper's page: "[2] is going into the store", question "Where is [2] going ?".
    item = _item(
        ["Where", "is", [2], "going", "?"],
        [
            [[2], "is", "going", "into", "the", "store", "."],
            [[2], "is", "getting", "into", "a", "carriage", "."],
            [[1], "is", "going", "to", "the", "bathroom", "."],
            [[1], "is", "going", "outside", "with", [2], "."],
        ],
    )
    right, *wrong = _changed(item, "singular")
    assert right == ("He", "is", "going", "into", "the", "store", ".")
    assert wrong[0] == item.stages[Stage.ANSWER].responses[1]
    assert wrong[1] == ((2,), "is", "going", "to", "the", "bathroom", ".")
    assert wrong[2] == item.stages[Stage.ANSWER].responses[3]  # it names two people


@pytest.mark.parametrize(
    ("right", "question", "expected"),
    [
        (["Then", [0], "drops", "her", "bag", "."], ["Why", "is", [0], "?"], "she"),
        (["Then", [0], "drops", "a", "bag", "."], ["Why", "does", [0], "drop", "her", "bag", "?"], "she"),
        (["Then", [0], "drops", "a", "bag", "."], ["Why", "is", [0], "?"], "he"),
    ],
)
def test_singular_takes_the_pronoun_of_the_text(right: list[Any], question: list[Any], expected: str) -> None:
    responses = _changed(_item(question, [right, ["He", "left", "."], ["b"], ["c"]]), "singular")
    assert responses[0][1] == expected
    assert responses[1] == ((0,), "left", ".")


def test_plural_gives_the_right_response_they_and_the_others_the_group() -> None:
    item = _item(
        ["What", "are", [0, 1], "feeling", "?"],
        [
            [[0, 1], "do", "not", "like", "the", "food", "."],
            ["They", "are", "apprehensive", "."],
            [[1, 2], "are", "happy", "."],
            [[0, 1], "feed", [3], "."],
        ],
    )
    responses = _changed(item, "plural")
    assert responses[0][0] == "They"
    assert responses[1] == ((0, 1), "are", "apprehensive", ".")
    assert responses[2] == ((0, 1), "are", "happy", ".")
    assert responses[3] == item.stages[Stage.ANSWER].responses[3]  # it has two tags


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("singular", ["Who", "hits", [0], "and", [1], "?"]),
        ("singular", ["What", "is", [3], "?"]),
        ("plural", ["Are", [0, 3], "friends", "?"]),
        ("plural", ["Is", [0], "here", "?"]),
    ],
)
def test_questions_without_the_person_or_group_are_left_out(name: str, question: list[Any]) -> None:
    assert perturb_items([_item(question, [["a"], ["b"], ["c"], ["d"]])], name) == []


def test_the_changed_answer_stands_before_the_rationales() -> None:
    item = _item(["Why", "does", [0], "run", "?"], [[[0], "is", "late", "."], ["b"], ["c"], ["d"]])
    (found,) = perturb_items([item], "singular")
    assert found.right_answer == ("He", "is", "late", ".")


def test_held_labels_leave_the_responses_as_they_are() -> None:
    item = _item(["Why", "does", [0], "run", "?"], [[[1], "is", "late", "."], ["b"], ["c"], ["d"]], None)
    assert perturb_items([item], "singular") == [item]


def test_unknown_change_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="use singular, plural"):
        perturb_items([], "dual")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mask-top1", Masking(1, False)),
        ("keep-top5", Masking(5, True)),
        ("keep-top0", None),
        ("keep-top-1", None),
        ("singular", None),
    ],
)
def test_names_of_maskings_are_parsed(name: str, expected: Masking | None) -> None:
    assert parse_masking(name) == expected


def test_masking_keeps_or_hides_the_most_telling_tokens() -> None:
    item = _item(["Why", "?"], [["a", [0], "c"], ["d", "e", "f"], ["g"], ["h", "i"]])
    losses = {"a": 0.1, "c": 0.7, "d": 0.2, "e": 0.2, "f": 0.1, "g": 1.0, "h": 0.0, "i": 0.3, (0,): 0.5}

    def token_losses(question: StageQuestion) -> list[list[float]]:
        return [[losses[token] for token in response] for response in question.responses]  # type: ignore[index]

    (masked,) = mask_items([item], token_losses, Masking(1, keep=False))
    assert masked.stages[Stage.ANSWER].responses == (
        ("a", (0,), MASK),
        ("d", MASK, "f"),  # of equal losses the last
        (MASK,),
        ("h", MASK),
    )
    (kept,) = mask_items([item], token_losses, Masking(2, keep=True))
    assert kept.stages[Stage.RATIONALE].responses == ((MASK, (0,), "c"), ("d", "e", MASK), ("g",), ("h", "i"))
    assert kept.right_answer == (MASK, (0,), "c")


def test_masking_wants_a_loss_for_each_token() -> None:
    item = _item(["Why", "?"], [["a", "b"], ["c"], ["d"], ["e"]])
    question = StageQuestion(item, Stage.ANSWER, item.question, item.stages[Stage.ANSWER], 0)
    with pytest.raises(InvalidInput, match="question q: 1 losses for 2 tokens"):
        mask_responses(question, [[1.0], [1.0], [1.0], [1.0]], Masking(1, keep=False))
