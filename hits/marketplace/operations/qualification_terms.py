"""Read how workers get a qualification: the test and grant parameters of Create- and UpdateQualificationType."""

from dataclasses import replace
from typing import Any

from hits.domain.mturk_formats.external_question import QuestionError
from hits.marketplace.errors import validation_error
from hits.marketplace.formats.answer_key import check_answer_key, parse_answer_key
from hits.marketplace.formats.question_form import parse_new_form
from hits.marketplace.models import QualificationType
from hits.marketplace.services.accounts import PLATFORM_NAME
from hits.marketplace.services.qualifications import QualificationTerms

from .limits import INT32, check_int32, check_range
from .registry import Call

YEAR_SECONDS = 31_536_000
_RETRY, _DURATION = "RetryDelayInSeconds", "TestDurationInSeconds"


def read_terms(call: Call, params: dict[str, Any]) -> QualificationTerms:
    """Return the terms of a new type. Raises ApiError for a test that cannot be shown or scored."""
    return _apply_params(QualificationTerms(is_decided_by_hand=_decides_requests_by_hand(call)), params)


def read_changed_terms(
    call: Call, qualification_type: QualificationType, params: dict[str, Any]
) -> QualificationTerms:
    """Return a type's terms after an update. Absent parameters stay; a new Test without a key removes the key."""
    current = QualificationTerms(
        test=qualification_type.test,
        answer_key=qualification_type.answer_key,
        test_seconds=qualification_type.test_seconds,
        retry_delay_seconds=qualification_type.retry_delay_seconds,
        is_auto_granted=qualification_type.is_auto_granted,
        auto_granted_value=qualification_type.auto_granted_value,
        is_decided_by_hand=_decides_requests_by_hand(call),
    )
    return _apply_params(current, params)


def _decides_requests_by_hand(call: Call) -> bool:
    # As on Amazon, workers may request any type. But the platform's own qualifications are granted in rounds and
    # reviews: nobody would read a request for one of them.
    return call.requester.name != PLATFORM_NAME


def _apply_params(terms: QualificationTerms, params: dict[str, Any]) -> QualificationTerms:
    terms = _apply_test(terms, params)
    if _RETRY in params:
        check_range(_RETRY, params[_RETRY], 0, INT32 - 1)
        terms = replace(terms, retry_delay_seconds=params[_RETRY])
    if "AutoGranted" in params:
        terms = replace(terms, is_auto_granted=params["AutoGranted"])
    if "AutoGrantedValue" in params:
        check_int32("AutoGrantedValue", params["AutoGrantedValue"])
        terms = replace(terms, auto_granted_value=params["AutoGrantedValue"])
    if terms.test and terms.is_auto_granted:
        raise validation_error(
            "AutoGranted cannot be true for a QualificationType with a Test: leave one of them out."
        )
    return terms


def _apply_test(terms: QualificationTerms, params: dict[str, Any]) -> QualificationTerms:
    test, key = params.get("Test", ""), params.get("AnswerKey", "")
    if not test:
        if params.get("AnswerKey"):
            raise validation_error("AnswerKey needs a Test in the same call.")
        if _DURATION in params:  # only a Test needs it; alone it is accepted and ignored
            check_range(_DURATION, params[_DURATION], 0, YEAR_SECONDS)
        return terms
    if _DURATION not in params:
        raise validation_error(f"A Test needs {_DURATION}.")
    check_range(_DURATION, params[_DURATION], 1, YEAR_SECONDS)
    _check_test(test, key)
    return replace(terms, test=test, answer_key=key, test_seconds=params[_DURATION])


def _check_test(test: str, key: str) -> None:
    try:
        form = parse_new_form(test)
    except QuestionError as error:
        raise validation_error(f"Test: {error}", error.api_code) from None
    if not key:
        return
    try:
        check_answer_key(parse_answer_key(key), form)
    except QuestionError as error:
        raise validation_error(f"AnswerKey: {error}", error.api_code) from None
