"""Read a model's reply: its choice, its score or its grade. Sentences are never interpreted.

A value counts if a JSON object anywhere in the reply has it, or if the reply is the bare value. "Image 1 is less
likely" would be misread, so whatever else a reply says is no answer. Several objects must have the same value.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from curation.evaluation.nleye_explanations import GRADES
from curation.evaluation.nleye_key import ChoiceCode
from hits.domain.storable import storable_text

PARSER_VERSION = "1"
"""Of these rules; it stands beside figures. Change it with them."""
REFUSED_FINISH = "content_filter"
CUT_FINISH = "length"
SCORE_RANGE = (1.0, 10.0)
MAX_OBJECTS = 1000  # opening braces that are tried, so that a hostile reply costs no time
CHOICE, SCORE, GRADE, EXPLANATION = "choice", "score", "grade", "explanation"

_BARE_CHOICE_PATTERN = re.compile(
    r"(?:(?:image|picture|hypothesis|option|choice|answer)\s*:?\s*)?([12])\s*\.?", re.IGNORECASE
)
_BARE_NUMBER_PATTERN = re.compile(
    r"(?:(?:score|rating|grade)\s*:?\s*)?(-?\d+(?:\.\d+)?)\s*\.?", re.IGNORECASE
)
_CHOICES: dict[Any, ChoiceCode] = {
    1: ChoiceCode.FIRST,
    2: ChoiceCode.SECOND,
    "1": ChoiceCode.FIRST,
    "2": ChoiceCode.SECOND,
    "equal": ChoiceCode.EQUAL,
    "none": ChoiceCode.NONE,
}


@dataclass(frozen=True, slots=True)
class ReadReply:
    """What a reply chose, or why no choice could be read; and its explanation, if it has one."""

    code: ChoiceCode
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class ReadNumber:
    """The score or grade of a reply; without one, ``reason`` is ``refused`` or ``unparseable``."""

    value: float | None
    reason: str = ""
    explanation: str = ""


def read_choice(text: str, finish: str = "stop") -> ReadReply:
    """Return the choice of a reply: 1, 2, "equal" or "none" under the key ``choice``, or a bare 1 or 2.

    Args:
        finish: why the model stopped. After a content filter the answer is refused; a reply that was cut is unread.
    """
    failure = _failure(finish)
    if failure is not None:
        return ReadReply(failure)
    found = _find_values(text, CHOICE)
    if found.values:
        codes = {_choice_code(value) for value in found.values}
        code = codes.pop() if len(codes) == 1 else ChoiceCode.UNPARSEABLE
        return ReadReply(code, found.explanation)
    bare = _BARE_CHOICE_PATTERN.fullmatch(text.strip())
    return ReadReply(_CHOICES[bare[1]] if bare else ChoiceCode.UNPARSEABLE)


def read_score(
    text: str, finish: str = "stop", *, score_range: tuple[float, float] = SCORE_RANGE
) -> ReadNumber:
    """Return the score of a reply: a number within the range under the key ``score``, or the bare number."""
    low, high = score_range
    return _read_number(text, finish, SCORE, lambda value: low <= value <= high)


def read_grade(text: str, finish: str = "stop") -> ReadNumber:
    """Return the grade of a judge's reply: 0, 1 or 2 under the key ``grade``, or the bare number."""
    return _read_number(text, finish, GRADE, lambda value: value in GRADES)


def settle_codes(codes: Sequence[ChoiceCode]) -> ChoiceCode:
    """Return the answer that counts of several to one question: the first that could be read, else the first.

    Without answers it is missing.
    """
    return next((code for code in codes if code.choice), codes[0] if codes else ChoiceCode.MISSING)


@dataclass(frozen=True, slots=True)
class _FoundValues:
    values: tuple[Any, ...]
    explanation: str


def _failure(finish: str) -> ChoiceCode | None:
    return {REFUSED_FINISH: ChoiceCode.REFUSED, CUT_FINISH: ChoiceCode.UNPARSEABLE}.get(finish)


def _choice_code(value: Any) -> ChoiceCode:
    """Return the code of a JSON value; true is not 1, and 1.0 is not written by a model that was asked for 1."""
    if isinstance(value, str):
        value = value.strip().lower()
    return (
        _CHOICES.get(value, ChoiceCode.UNPARSEABLE) if type(value) in {int, str} else ChoiceCode.UNPARSEABLE
    )


def _read_number(text: str, finish: str, field: str, is_allowed: Callable[[float], bool]) -> ReadNumber:
    failure = _failure(finish)
    if failure is not None:
        return ReadNumber(None, failure.reason)
    found = _find_values(text, field)
    bare = None if found.values else _BARE_NUMBER_PATTERN.fullmatch(text.strip())
    numbers = {_number(value) for value in ((bare[1],) if bare else found.values)}
    value = numbers.pop() if len(numbers) == 1 else None
    if value is None or not is_allowed(value):
        return ReadNumber(None, ChoiceCode.UNPARSEABLE.reason, found.explanation)
    return ReadNumber(value, "", found.explanation)


def _number(value: Any) -> float | None:
    """Return a JSON number, or a number in a string; None for another value."""
    if isinstance(value, str):
        match = _BARE_NUMBER_PATTERN.fullmatch(value.strip())
        return float(match[1]) if match else None
    if type(value) not in {int, float}:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _find_values(text: str, field: str) -> _FoundValues:
    """Return the values of a field in all JSON objects of a reply, at any depth, and the first explanation."""
    values: list[Any] = []
    explanations: list[str] = []
    for pairs in _iterate_objects(text):
        values += [value for name, value in pairs if name == field]
        explanations += [value for name, value in pairs if name == EXPLANATION and isinstance(value, str)]
    explanation = storable_text(explanations[0]).strip() if explanations else ""
    return _FoundValues(tuple(values), explanation)


def _iterate_objects(text: str) -> Iterator[list[tuple[str, Any]]]:
    """Yield the fields of each complete JSON object of a text, repeated ones too; inner objects first."""
    objects: list[list[tuple[str, Any]]] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        objects.append(pairs)
        return dict(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=note)
    start = text.find("{")
    for _ in range(MAX_OBJECTS):
        if start < 0:
            return
        objects.clear()
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield from objects
        start = text.find("{", end)
