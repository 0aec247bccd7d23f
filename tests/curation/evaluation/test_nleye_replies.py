"""Replies of models: what counts as a choice, a score or a grade, and what is never read into a sentence."""

import json

import pytest

from curation.evaluation.nleye_key import ChoiceCode
from curation.evaluation.nleye_replies import (
    MAX_OBJECTS,
    ReadNumber,
    ReadReply,
    read_choice,
    read_grade,
    read_score,
    settle_codes,
)

UNREAD = ChoiceCode.UNPARSEABLE


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"choice": 1}', ChoiceCode.FIRST),
        ('{"choice": "2"}', ChoiceCode.SECOND),
        ('{"choice": " Equal "}', ChoiceCode.EQUAL),
        ('{"choice": "none"}', ChoiceCode.NONE),
        ('I compare both. {"result": {"choice": 2}} Done.', ChoiceCode.SECOND),
        ('{"choice": 1} and again {"choice": 1}', ChoiceCode.FIRST),
        ('{"choice": 1} or rather {"choice": 2}', UNREAD),
        ('{"choice": 1, "choice": 2}', UNREAD),
        ('{"choice": 3} {"choice": 1}', UNREAD),
        ('[{"choice": 2}]', ChoiceCode.SECOND),
        ('{broken {"choice": 2}', ChoiceCode.SECOND),
        ('{"choice": 1.0}', UNREAD),
        ('{"choice": null}', UNREAD),
        ('{"choice": NaN}', UNREAD),
        ('{"choice": [1]}', UNREAD),
        ('{"choice": false}', UNREAD),
        ('{"Choice": 1}', UNREAD),
        ("1", ChoiceCode.FIRST),
        (" image 2. ", ChoiceCode.SECOND),
        ("Answer: 1", ChoiceCode.FIRST),
        ("12", UNREAD),
        ("0", UNREAD),
        ("not 1", UNREAD),
        ("1 or 2", UNREAD),
        ("Image 1 is less likely", UNREAD),
        ("equal", UNREAD),
        ("{" * 5000, UNREAD),
        ('{"choice": ' * 3000, UNREAD),
        ("[" * 100_000, UNREAD),
    ],
)
def test_choices(text: str, code: ChoiceCode) -> None:
    assert read_choice(text).code is code


def test_the_finish_reason_wins_over_the_text() -> None:
    assert read_choice('{"choice": 1}', "content_filter").code is ChoiceCode.REFUSED
    assert read_choice('{"choice": 1}', "length").code is UNREAD


def test_the_explanation_is_the_text_of_the_object() -> None:
    assert read_choice('{"choice": 2, "explanation": " The floor is wet. "}') == ReadReply(
        ChoiceCode.SECOND, "The floor is wet."
    )
    assert read_choice('{"choice": 2, "explanation": 7}').explanation == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"score": 7}', 7.0),
        ('{"score": "7.5"}', 7.5),
        ("Score: 10", 10.0),
        ("3.", 3.0),
        ('{"score": 11}', None),
        ('{"score": 0}', None),
        ('{"score": true}', None),
        ('{"score": NaN}', None),
        ('{"score": Infinity}', None),
        ('{"score": 1e999}', None),
        ('{"score": ' + "9" * 400 + "}", None),
        ('{"score": ' + "9" * 5000 + "}", None),
        ('{"score": 3} {"score": 4}', None),
        ("about 7 of 10", None),
        ("7/10", None),
    ],
)
def test_scores(text: str, value: float | None) -> None:
    found = read_score(text)
    assert found.value == value
    assert found.reason == ("" if value is not None else "unparseable")


def test_scores_of_another_scale() -> None:
    assert read_score('{"score": 0.25}', score_range=(0.0, 1.0)).value == 0.25
    assert read_score("-3", score_range=(-5.0, 5.0)).value == -3
    assert read_score('{"score": 5}', "content_filter") == ReadNumber(None, "refused")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"grade": 2, "explanation": "x"}', 2),
        ("Grade: 0", 0),
        ("1", 1),
        ('{"grade": 3}', None),
        ("1.5", None),
    ],
)
def test_grades(text: str, value: int | None) -> None:
    assert read_grade(text).value == value


def test_the_first_answer_that_could_be_read_counts() -> None:
    refused, second, first = ChoiceCode.REFUSED, ChoiceCode.SECOND, ChoiceCode.FIRST
    assert settle_codes([UNREAD, second, first]) is second
    assert settle_codes([ChoiceCode.EQUAL, first]) is ChoiceCode.EQUAL
    assert settle_codes([refused, UNREAD]) is refused
    assert settle_codes([]) is ChoiceCode.MISSING


def test_a_hostile_reply_is_tried_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []
    decode = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, text: str, start: int) -> tuple[object, int]:
        starts.append(start)
        return decode(self, text, start)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert read_choice('{"a":' * (MAX_OBJECTS * 2)).code is UNREAD
    assert len(starts) == MAX_OBJECTS
