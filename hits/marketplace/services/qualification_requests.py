"""Workers request qualifications and take their tests; requesters accept and reject requests."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from hits.domain.mturk_formats.answer_xml import FormAnswer, build_form_answer
from hits.marketplace.errors import ActionRefused, ApiError
from hits.marketplace.formats.answer_key import parse_answer_key, score_answers
from hits.marketplace.models import QualificationRequest, QualificationType, RequestState, Worker
from hits.marketplace.selectors.requestable import Availability, find_requestable_types, get_type_availability

from . import qualifications
from .attempts import MAX_ANSWER_BYTES

NOT_REQUESTABLE = "You cannot request this qualification right now."
NO_TEST = "You have no test to submit here."
ANSWERS_TOO_LONG = "The answers are too long: at most 256 kB can be submitted."


@transaction.atomic
def request_qualification(
    *, worker: Worker, qualification_type: QualificationType, now: datetime
) -> QualificationRequest:
    """Request a qualification: grant it if it is auto-granted, start its test, or queue the request.

    A request that is open already (its test is running, or it is undecided) is returned instead. Raises ActionRefused
    if the worker cannot request the qualification.
    """
    # One request at a time per worker, so that a double click creates one. (An accept locks the same row.)
    locked_worker = Worker.objects.select_for_update().get(pk=worker.pk)
    requestable_type = find_requestable_types().filter(pk=qualification_type.pk).first()
    if requestable_type is None:
        raise ActionRefused(NOT_REQUESTABLE)
    current = get_type_availability(locked_worker, requestable_type, now)
    if current.availability in {Availability.TAKING, Availability.WAITING} and current.request:
        return current.request
    if current.availability is not Availability.OPEN:
        raise ActionRefused(NOT_REQUESTABLE)
    _close_expired_test(locked_worker, requestable_type)
    request = QualificationRequest(qualification_type=requestable_type, worker=locked_worker, started_at=now)
    if requestable_type.test:
        request.state, request.test = RequestState.TAKING, requestable_type.test
        request.deadline = now + timedelta(seconds=requestable_type.test_seconds or 0)
        request.save()
        return request
    request.submitted_at = now
    value = requestable_type.auto_granted_value if requestable_type.is_auto_granted else None
    return _grant_or_queue(request, value, now)


@transaction.atomic
def submit_test(
    *, worker: Worker, request_id: str, answers: Sequence[FormAnswer], now: datetime
) -> QualificationRequest:
    """Submit a test: with an answer key it is scored and granted immediately, without one it waits.

    After the deadline the request becomes EXPIRED and the answers are not stored. A second submission returns the
    first. Raises ActionRefused for another worker's request.
    """
    locked_worker = Worker.objects.select_for_update().get(pk=worker.pk)
    rows = QualificationRequest.objects.select_related("qualification_type__requester")
    request = rows.filter(worker=locked_worker, request_id=request_id).exclude(test="").first()
    if request is None:
        raise ActionRefused(NO_TEST)
    if request.state != RequestState.TAKING:
        return request
    if request.deadline is None or request.deadline <= now:
        request.state = RequestState.EXPIRED
        request.save(update_fields=["state"])
        return request
    request.answer = build_form_answer(answers)
    if len(request.answer.encode()) > MAX_ANSWER_BYTES:
        raise ActionRefused(ANSWERS_TOO_LONG)
    request.submitted_at = now
    # If the test was replaced meanwhile, its key is gone: the requester decides.
    key = request.qualification_type.answer_key if _has_current_test(request) else ""
    request.score = score_answers(parse_answer_key(key), answers) if key else None
    return _grant_or_queue(request, request.score, now)


@transaction.atomic
def accept_request(*, request: QualificationRequest, value: int, now: datetime) -> None:
    """Grant the request with a value. Raises ApiError if it is decided already."""
    _decide_request(request, RequestState.GRANTED, "", now)
    qualifications.grant_qualification(
        qualification_type=request.qualification_type, worker=request.worker, value=value, now=now
    )


@transaction.atomic
def reject_request(*, request: QualificationRequest, reason: str, now: datetime) -> None:
    """Reject a request with a reason that the worker reads; a held qualification stays. Raises ApiError."""
    _decide_request(request, RequestState.REJECTED, reason, now)


def _grant_or_queue(request: QualificationRequest, value: int | None, now: datetime) -> QualificationRequest:
    """Grant a request with its value, or queue it for the requester if there is no value."""
    if value is None:
        request.state = RequestState.PENDING
        request.save()
        return request
    request.state, request.decided_at = RequestState.GRANTED, now
    request.save()
    qualifications.grant_qualification(
        qualification_type=request.qualification_type, worker=request.worker, value=value, now=now
    )
    return request


def _has_current_test(request: QualificationRequest) -> bool:
    return request.test == request.qualification_type.test


def _close_expired_test(worker: Worker, qualification_type: QualificationType) -> None:
    """Close an expired test, so that another request can be open."""
    QualificationRequest.objects.filter(
        worker=worker, qualification_type=qualification_type, state=RequestState.TAKING
    ).update(state=RequestState.EXPIRED)


def _decide_request(request: QualificationRequest, state: RequestState, reason: str, now: datetime) -> None:
    # On PostgreSQL two decisions may run concurrently: the row count shows which one came first.
    decided = QualificationRequest.objects.filter(pk=request.pk, state=RequestState.PENDING).update(
        state=state, decided_at=now, reason=reason
    )
    if not decided:
        raise ApiError(
            "InvalidQualificationRequestState",
            f"QualificationRequest {request.request_id} is decided already. "
            "This operation can be called with a status of: Submitted",
        )
    request.refresh_from_db()
