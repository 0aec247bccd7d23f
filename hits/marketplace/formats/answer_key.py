"""AnswerKey (schema 2005-10-01): computes the qualification's value from the answers to its test."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from xml.etree.ElementTree import Element

from hits.domain.mturk_formats.answer_xml import FormAnswer
from hits.domain.mturk_formats.external_question import QuestionInvalid

from .question_form import INT32, Choice, Question, QuestionForm
from .xml_reader import (
    find_only_child,
    get_identifier,
    iter_children,
    optional_text,
    parse_whole_number,
    read_root,
    required_identifier,
    required_text,
)

VERSIONS = ("2005-10-01",)
_DECIMAL_PATTERN = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{1,12})?")
_MAPPING_TAGS = ("PercentageMapping", "ScaleMapping", "RangeMapping")


@dataclass(frozen=True)
class ScoredQuestion:
    """The score of each exact set of selections of a question; other answers get the default."""

    identifier: str
    scores: Mapping[frozenset[str], int]
    default: int = 0


@dataclass(frozen=True)
class PercentageMapping:
    """Maps the total score to whole per cent of a maximum."""

    maximum: int

    def value(self, total: int) -> int:
        """Return the qualification's value for a total score."""
        return _round_half_up(Fraction(100 * total, self.maximum))


@dataclass(frozen=True)
class ScaleMapping:
    """Multiplies the total score and rounds to a whole number."""

    multiplier: Fraction

    def value(self, total: int) -> int:
        """Return the qualification's value for a total score."""
        return _round_half_up(total * self.multiplier)


@dataclass(frozen=True)
class RangeMapping:
    """Maps ranges of the total score to values: ``(low, high, value)``, both bounds included."""

    ranges: tuple[tuple[int, int, int], ...]
    out_of_range_value: int

    def value(self, total: int) -> int:
        """Return the qualification's value for a total score."""
        for low, high, value in self.ranges:
            if low <= total <= high:
                return value
        return self.out_of_range_value


@dataclass(frozen=True)
class AnswerKey:
    """The scores of every question and the mapping of the total. Without a mapping the total is the value."""

    questions: tuple[ScoredQuestion, ...]
    mapping: PercentageMapping | ScaleMapping | RangeMapping | None = None


def parse_answer_key(xml: str) -> AnswerKey:
    """Parse an AnswerKey. Raises QuestionTooLong, QuestionNotXml or QuestionInvalid, which names the element."""
    root = read_root(xml, "AnswerKey", VERSIONS)
    questions: dict[str, ScoredQuestion] = {}
    for child in iter_children(root, "Question", "QualificationValueMapping"):
        if child.tag != "Question":
            continue
        question = _parse_question(child)
        if question.identifier in questions:
            raise QuestionInvalid(f"The AnswerKey has the question {question.identifier[:80]!r} twice.")
        questions[question.identifier] = question
    if not questions:
        raise QuestionInvalid("The AnswerKey needs at least one Question.")
    mapping = find_only_child(root, "QualificationValueMapping")
    return AnswerKey(tuple(questions.values()), None if mapping is None else _parse_mapping(mapping))


def check_answer_key(key: AnswerKey, form: QuestionForm) -> None:
    """Check that a key can score a test: the test has no free text, and the key uses only the test's selections.

    Raises QuestionInvalid, which names the question.
    """
    questions = {question.identifier: question for question in form.questions}
    for question in form.questions:
        if not isinstance(question.answer, Choice) or question.answer.other is not None:
            raise QuestionInvalid(
                f"A test with an AnswerKey can have multiple-choice questions only, without OtherSelection: "
                f"question {question.identifier[:80]!r} has a text field. Leave out the AnswerKey and "
                "accept or reject the requests yourself, or use selections only."
            )
    for row in key.questions:
        if row.identifier not in questions:
            raise QuestionInvalid(f"The AnswerKey's question {row.identifier[:80]!r} is not in the Test.")
        _check_selections(row, questions[row.identifier])


def score_answers(key: AnswerKey, answers: Iterable[FormAnswer]) -> int:
    """Return the qualification's value for the answers, limited to 32 bits."""
    selections = {answer.question: frozenset(answer.selections) for answer in answers}
    total = sum(
        question.scores.get(selections.get(question.identifier, frozenset()), question.default)
        for question in key.questions
    )
    value = total if key.mapping is None else key.mapping.value(total)
    return max(-INT32 - 1, min(value, INT32))


def _check_selections(row: ScoredQuestion, question: Question) -> None:
    offered = {selection.identifier for selection in question.answer.selections}  # type: ignore[union-attr]
    for chosen in row.scores:
        for identifier in sorted(chosen - offered):
            raise QuestionInvalid(
                f"The AnswerKey's question {row.identifier[:80]!r} names the selection {identifier[:80]!r}, "
                "which the Test does not offer."
            )


def _parse_question(element: Element) -> ScoredQuestion:
    identifier = required_identifier(element, "QuestionIdentifier")
    scores: dict[frozenset[str], int] = {}
    for child in iter_children(element, "QuestionIdentifier", "AnswerOption", "DefaultScore"):
        if child.tag != "AnswerOption":
            continue
        parts = list(iter_children(child, "SelectionIdentifier", "AnswerScore"))
        names = frozenset(get_identifier(part) for part in parts if part.tag == "SelectionIdentifier")
        if not names:
            raise QuestionInvalid(
                f"An AnswerOption of question {identifier[:80]!r} needs a SelectionIdentifier."
            )
        if names in scores:
            raise QuestionInvalid(
                f"Question {identifier[:80]!r} has two AnswerOptions for the same selections."
            )
        scores[names] = parse_whole_number(required_text(child, "AnswerScore"), "AnswerScore", -INT32, INT32)
    if not scores:
        raise QuestionInvalid(f"Question {identifier[:80]!r} of the AnswerKey needs an AnswerOption.")
    default = parse_whole_number(optional_text(element, "DefaultScore", "0"), "DefaultScore", -INT32, INT32)
    return ScoredQuestion(identifier, scores, default)


def _parse_mapping(element: Element) -> PercentageMapping | ScaleMapping | RangeMapping:
    choices = list(iter_children(element, *_MAPPING_TAGS))
    if len(choices) != 1:
        raise QuestionInvalid(f"QualificationValueMapping needs one of {', '.join(_MAPPING_TAGS)}.")
    choice = choices[0]
    if choice.tag == "PercentageMapping":
        text = required_text(choice, "MaximumSummedScore")
        return PercentageMapping(parse_whole_number(text, "MaximumSummedScore", 1, INT32))
    if choice.tag == "ScaleMapping":
        text = required_text(choice, "SummedScoreMultiplier")
        if not _DECIMAL_PATTERN.fullmatch(text):
            raise QuestionInvalid(f"SummedScoreMultiplier must be a decimal number, got {text[:40]!r}.")
        return ScaleMapping(Fraction(text))
    return _parse_ranges(choice)


def _parse_ranges(element: Element) -> RangeMapping:
    names = ("InclusiveLowerBound", "InclusiveUpperBound", "QualificationValue")
    rows = []
    for child in iter_children(element, "SummedScoreRange", "OutOfRangeQualificationValue"):
        if child.tag == "SummedScoreRange":
            low, high, value = (
                parse_whole_number(required_text(child, name), name, -INT32, INT32) for name in names
            )
            if low > high:
                raise QuestionInvalid(f"A SummedScoreRange has the lower bound {low} above {high}.")
            rows.append((low, high, value))
    ordered = sorted(rows)
    for before, after in pairwise(ordered):
        if after[0] <= before[1]:
            raise QuestionInvalid(f"Two SummedScoreRanges overlap at {after[0]}; ranges may not overlap.")
    if not rows:
        raise QuestionInvalid("RangeMapping needs a SummedScoreRange.")
    text = required_text(element, "OutOfRangeQualificationValue")
    out_of_range_value = parse_whole_number(text, "OutOfRangeQualificationValue", -INT32, INT32)
    return RangeMapping(tuple(rows), out_of_range_value)


def _round_half_up(number: Fraction) -> int:
    """Return the nearest whole number; halves are rounded up."""
    return math.floor(number + Fraction(1, 2))
