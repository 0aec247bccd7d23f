"""AnswerKey: scores of answers and the qualification's value."""

from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.domain.mturk_formats.answer_xml import FormAnswer
from hits.domain.mturk_formats.external_question import QuestionError, QuestionInvalid, QuestionNotXml
from hits.marketplace.formats.answer_key import check_answer_key, parse_answer_key, score_answers
from hits.marketplace.formats.question_form import parse_question_form
from tests.support.question_forms import (
    TEST,
    TEST_KEY,
    choice,
    form_xml,
    free_text,
    key_question,
    key_xml,
    question,
)

PERCENT = "<PercentageMapping><MaximumSummedScore>{}</MaximumSummedScore></PercentageMapping>"
SCALE = "<ScaleMapping><SummedScoreMultiplier>{}</SummedScoreMultiplier></ScaleMapping>"


def ranges(*rows: tuple[int, int, int], otherwise: int = 0) -> str:
    held = "".join(
        f"<SummedScoreRange><InclusiveLowerBound>{low}</InclusiveLowerBound>"
        f"<InclusiveUpperBound>{high}</InclusiveUpperBound>"
        f"<QualificationValue>{value}</QualificationValue></SummedScoreRange>"
        for low, high, value in rows
    )
    last = f"<OutOfRangeQualificationValue>{otherwise}</OutOfRangeQualificationValue>"
    return f"<RangeMapping>{held}{last}</RangeMapping>"


def answers(**chosen: str) -> list[FormAnswer]:
    return [FormAnswer(name, None, tuple(filter(None, text.split("+")))) for name, text in chosen.items()]


@pytest.mark.rule(
    "key-exact-selections",
    source="D",
    text="An AnswerOption scores only if exactly its selections were chosen; otherwise DefaultScore applies.",
)
@pytest.mark.parametrize(
    ("chosen", "value"),
    [
        ({"sky": "blue", "fruit": "pear+apple"}, 100),
        ({"sky": "blue", "fruit": "apple"}, 60),
        ({"sky": "blue", "fruit": "apple+pear+chair"}, 60),
        ({"sky": "green", "fruit": "chair"}, -50),
        ({"fruit": "apple+pear"}, 50),
        ({}, 10),
    ],
)
def test_selections_must_match_exactly(chosen: dict[str, str], value: int) -> None:
    assert score_answers(parse_answer_key(TEST_KEY), answers(**chosen)) == value


@pytest.mark.rule(
    "key-mappings",
    source="D",
    text="A value is the total score, a percentage of a maximum, the total times a number, or a "
    "range's value.",
)
@pytest.mark.parametrize(
    ("mapping", "value"),
    [
        ("", 7),
        (PERCENT.format(15), 47),
        (PERCENT.format(7), 100),
        (SCALE.format("3"), 21),
        (SCALE.format("0.5"), 4),
        (SCALE.format("-0.5"), -3),
        (ranges((5, 7, 50), (8, 10, 100)), 50),
        (ranges((7, 7, 1)), 1),
        (ranges((0, 6, 1), (8, 9, 2), otherwise=-4), -4),
    ],
)
def test_mapping_converts_total_score(mapping: str, value: int) -> None:
    key = parse_answer_key(key_xml(key_question("a", {"x": 7}), mapping=mapping))
    assert score_answers(key, answers(a="x")) == value


SELECTIONS = ["p", "q", "r"]
SETS = st.sets(st.sampled_from(SELECTIONS), min_size=1)
QUESTIONS = st.dictionaries(
    st.sampled_from(["one", "two", "three"]),
    st.tuples(
        st.dictionaries(SETS.map(lambda chosen: "+".join(sorted(chosen))), st.integers(-50, 50), min_size=1),
        st.none() | st.integers(-50, 50),
    ),
    min_size=1,
)
MAPPINGS = st.one_of(
    st.none(),
    st.tuples(st.just("percent"), st.integers(1, 200)),
    st.tuples(st.just("scale"), st.integers(-2000, 2000)),
    st.tuples(st.just("range"), st.integers(-60, 60)),
)


def slow_score(questions: dict[str, Any], mapping: Any, chosen: dict[str, set[str]]) -> int:
    """The same rules once more, written for nothing but reading."""
    total = 0
    for name, (options, default) in questions.items():
        points = default or 0
        for option, worth in options.items():
            if set(option.split("+")) == chosen.get(name, set()):
                points = worth
        total += points
    if mapping is None:
        return total
    kind, number = mapping
    if kind == "range":
        return 1 if number <= total <= number + 20 else 2
    exact = Decimal(total) * 100 / number if kind == "percent" else Decimal(total) * number / 1000
    return int(exact.quantize(Decimal(1), ROUND_HALF_UP if exact > 0 else ROUND_HALF_DOWN))


@given(QUESTIONS, MAPPINGS, st.dictionaries(st.sampled_from(["one", "two", "three", "four"]), SETS))
def test_score_equals_independent_model(
    questions: dict[str, Any], mapping: Any, chosen: dict[str, set[str]]
) -> None:
    written = ""
    if mapping is not None:
        kind, number = mapping
        written = {
            "percent": PERCENT.format(number),
            "scale": SCALE.format(Decimal(number) / 1000),
            "range": ranges((number, number + 20, 1), otherwise=2),
        }[kind]
    xml = key_xml(*(key_question(name, *row) for name, row in questions.items()), mapping=written)
    given_answers = [FormAnswer(name, None, tuple(rows)) for name, rows in chosen.items()]
    assert score_answers(parse_answer_key(xml), given_answers) == slow_score(questions, mapping, chosen)


def test_score_stays_within_32_bits() -> None:
    huge = key_xml(key_question("a", {"x": 2**31 - 1}), key_question("b", {"x": 2**31 - 1}))
    assert score_answers(parse_answer_key(huge), answers(a="x", b="x")) == 2**31 - 1
    tiny = key_xml(key_question("a", {"x": 1 - 2**31}), mapping=SCALE.format("1000"))
    assert score_answers(parse_answer_key(tiny), answers(a="x")) == -(2**31)


@pytest.mark.parametrize(
    ("xml", "error", "words"),
    [
        ("<AnswerKey", QuestionNotXml, "not plain XML"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><AnswerKey/>', QuestionNotXml, "not plain XML"),
        ("<AnswerKey/>", QuestionInvalid, "schema 2005-10-01"),
        (key_xml(), QuestionInvalid, "at least one Question"),
        (key_xml(key_question("a", {})), QuestionInvalid, "AnswerOption"),
        (key_xml(key_question("a", {"x": 1}) * 2), QuestionInvalid, "'a' twice"),
        (key_xml(key_question("a", {"x+y": 1, "y+x": 2})), QuestionInvalid, "two AnswerOptions"),
        (key_xml(key_question("a", {"x": 1}), mapping="<Other/>"), QuestionInvalid, "cannot hold Other"),
        (
            key_xml(key_question("a", {"x": 1}), mapping=PERCENT.format(0)),
            QuestionInvalid,
            "MaximumSummedScore",
        ),
        (key_xml(key_question("a", {"x": 1}), mapping=SCALE.format("1e9")), QuestionInvalid, "Multiplier"),
        (
            key_xml(key_question("a", {"x": 1}), mapping=ranges((1, 5, 1), (5, 9, 2))),
            QuestionInvalid,
            "overlap at 5",
        ),
        (
            key_xml(key_question("a", {"x": 1}), mapping=ranges((5, 1, 1))),
            QuestionInvalid,
            "the lower bound 5 above 1",
        ),
        (key_xml(key_question("a", {"x": 1}), mapping=ranges()), QuestionInvalid, "SummedScoreRange"),
    ],
)
def test_bad_answer_key_error_names_element(xml: str, error: type[QuestionError], words: str) -> None:
    with pytest.raises(error, match=words):
        parse_answer_key(xml)


@pytest.mark.rule(
    "key-no-free-text",
    source="D",
    text="A test with an AnswerKey has no free-text question and no OtherSelection.",
)
@pytest.mark.parametrize(
    ("test", "key", "words"),
    [
        (TEST, key_xml(key_question("sea", {"blue": 1})), "'sea' is not in the Test"),
        (TEST, key_xml(key_question("sky", {"red": 1})), "'red'"),
        (
            form_xml(question("a", choice("x")), question("b", free_text())),
            key_xml(key_question("a", {"x": 1})),
            "'b'",
        ),
        (
            form_xml(question("a", choice("x", other="<OtherSelection/>"))),
            key_xml(key_question("a", {"x": 1})),
            "OtherSelection",
        ),
    ],
)
def test_answer_key_must_fit_its_test(test: str, key: str, words: str) -> None:
    with pytest.raises(QuestionInvalid, match=words):
        check_answer_key(parse_answer_key(key), parse_question_form(test))
    check_answer_key(parse_answer_key(TEST_KEY), parse_question_form(TEST))
