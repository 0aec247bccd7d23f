"""How workers get a qualification: what Create- and UpdateQualificationType say of tests and automatic grants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hits.domain.mturk_formats.external_question import (
    QuestionError,
    QuestionInvalid,
    QuestionNotXml,
    QuestionTooLong,
)
from hits.marketplace.errors import ApiError, invalid
from hits.marketplace.formats.answer_key import check_fits, parse_answer_key
from hits.marketplace.formats.question_form import parse_new_form
from hits.marketplace.models import QualificationType
from hits.marketplace.services.accounts import PLATFORM_NAME
from hits.marketplace.services.qualifications import Terms

from .registry import Call
from .rules import INT32, check_int32, check_range

YEAR = 31_536_000
_RETRY, _DURATION = "RetryDelayInSeconds", "TestDurationInSeconds"


def read_terms(call: Call, params: dict[str, Any]) -> Terms:
    """Return the terms of a new type. Raises ApiError for a test that cannot be shown or scored."""
    return _applied(Terms(is_decided_by_hand=_by_hand(call)), params)


def changed_terms(call: Call, kind: QualificationType, params: dict[str, Any]) -> Terms:
    """Return a type's terms after an update: what is absent stays, but a new Test without a key has none."""
    present = Terms(
        test=kind.test,
        answer_key=kind.answer_key,
        test_seconds=kind.test_seconds,
        retry_delay_seconds=kind.retry_delay_seconds,
        is_auto_granted=kind.is_auto_granted,
        auto_granted_value=kind.auto_granted_value,
        is_decided_by_hand=_by_hand(call),
    )
    return _applied(present, params)


def _by_hand(call: Call) -> bool:
    # As on Amazon, workers may ask for any type. Only the platform's own pools are decided by rounds and review: a
    # request for one of them would wait for ever, since nobody reads it.
    return call.requester.name != PLATFORM_NAME


def _applied(terms: Terms, params: dict[str, Any]) -> Terms:
    terms = _test(terms, params)
    if _RETRY in params:
        check_range(_RETRY, params[_RETRY], 0, INT32 - 1)
        terms = replace(terms, retry_delay_seconds=params[_RETRY])
    if "AutoGranted" in params:
        terms = replace(terms, is_auto_granted=params["AutoGranted"])
    if "AutoGrantedValue" in params:
        check_int32("AutoGrantedValue", params["AutoGrantedValue"])
        terms = replace(terms, auto_granted_value=params["AutoGrantedValue"])
    if terms.test and terms.is_auto_granted:
        raise invalid(
            "AutoGranted cannot be true for a QualificationType with a Test: leave one of them out."
        )
    return terms


def _test(terms: Terms, params: dict[str, Any]) -> Terms:
    test, key = params.get("Test", ""), params.get("AnswerKey", "")
    if not test:
        if params.get("AnswerKey"):
            raise invalid("AnswerKey needs a Test in the same call.")
        if _DURATION in params:  # a Test needs it; by itself it is taken, and means nothing
            check_range(_DURATION, params[_DURATION], 0, YEAR)
        return terms
    if _DURATION not in params:
        raise invalid(f"A Test needs {_DURATION}.")
    check_range(_DURATION, params[_DURATION], 1, YEAR)
    _check_test(test, key)
    return replace(terms, test=test, answer_key=key, test_seconds=params[_DURATION])


def _check_test(test: str, key: str) -> None:
    try:
        form = parse_new_form(test)
    except (QuestionTooLong, QuestionNotXml, QuestionInvalid) as error:
        raise _refusal("Test", error) from None
    if not key:
        return
    try:
        check_fits(parse_answer_key(key), form)
    except (QuestionTooLong, QuestionNotXml, QuestionInvalid) as error:
        raise _refusal("AnswerKey", error) from None


def _refusal(name: str, error: QuestionError) -> ApiError:
    codes: dict[type[QuestionError], str] = {
        QuestionTooLong: "InvalidParameterValue",
        QuestionNotXml: "XMLParseError",
        QuestionInvalid: "XMLValidationError",
    }
    return invalid(f"{name}: {error}", codes[type(error)])
