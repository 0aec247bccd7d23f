"""Workers ask for qualifications and take their tests; requesters accept and reject."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from hits.domain.mturk_formats.answer_xml import FormAnswer, build_form_answer
from hits.marketplace.errors import Refused
from hits.marketplace.formats.answer_key import parse_answer_key, score
from hits.marketplace.models import QualificationRequest, QualificationType, RequestState, Worker
from hits.marketplace.selectors.requestable import Availability, in_use, requestable

from . import qualifications
from .attempts import MAX_ANSWER_BYTES

NOT_OPEN = "This qualification cannot be asked for right now."
NO_TEST = "There is no test of yours to hand in here."
TOO_LONG = "The answers are too long: at most 256 kB can be handed in."


class AlreadyDecided(Exception):
    """The request was accepted or rejected before, or its test was never handed in."""


@transaction.atomic
def ask(*, worker: Worker, kind: QualificationType, now: datetime) -> QualificationRequest:
    """Ask for a qualification: what is granted by itself is granted, a test starts, anything else waits.

    Asking again while the test's clock runs or the requester has not decided returns the request that is open.
    Raises Refused when the qualification cannot be asked for.
    """
    # One request at a time per worker, so that a double click asks once. (The row that an accept locks, too.)
    present = Worker.objects.select_for_update().get(pk=worker.pk)
    offered = in_use().filter(pk=kind.pk).first()
    if offered is None:
        raise Refused(NOT_OPEN)
    standing = requestable(present, offered, now)
    if standing.availability in {Availability.TAKING, Availability.WAITING} and standing.request:
        return standing.request
    if standing.availability is not Availability.OPEN:
        raise Refused(NOT_OPEN)
    _expire(present, offered)
    request = QualificationRequest(qualification_type=offered, worker=present, started_at=now)
    if offered.test:
        request.state, request.test = RequestState.TAKING, offered.test
        request.deadline = now + timedelta(seconds=offered.test_seconds or 0)
        request.save()
        return request
    request.submitted_at = now
    return _settle(request, offered.auto_granted_value if offered.is_auto_granted else None, now)


@transaction.atomic
def hand_in(
    *, worker: Worker, request_id: str, answers: Sequence[FormAnswer], now: datetime
) -> QualificationRequest:
    """Hand in a test: with an answer key it is scored and granted at once, without one it waits.

    After the deadline the request's state says that time ran out, and the answers are not taken. Handing in twice
    returns the first. Raises Refused for a request that is not theirs.
    """
    present = Worker.objects.select_for_update().get(pk=worker.pk)
    rows = QualificationRequest.objects.select_related("qualification_type__requester")
    request = rows.filter(worker=present, request_id=request_id).exclude(test="").first()
    if request is None:
        raise Refused(NO_TEST)
    if request.state != RequestState.TAKING:
        return request
    if request.deadline is None or request.deadline <= now:
        request.state = RequestState.EXPIRED
        request.save(update_fields=["state"])
        return request
    request.answer = build_form_answer(answers)
    if len(request.answer.encode()) > MAX_ANSWER_BYTES:
        raise Refused(TOO_LONG)
    request.submitted_at = now
    # A test that was replaced meanwhile has lost its key with it: the requester decides.
    key = request.qualification_type.answer_key if _is_current(request) else ""
    request.score = score(parse_answer_key(key), answers) if key else None
    return _settle(request, request.score, now)


@transaction.atomic
def accept(*, request: QualificationRequest, value: int, now: datetime) -> None:
    """Grant what was asked for, at a value. Raises AlreadyDecided."""
    _decide(request, RequestState.GRANTED, "", now)
    qualifications.grant(kind=request.qualification_type, worker=request.worker, value=value, now=now)


@transaction.atomic
def reject(*, request: QualificationRequest, reason: str, now: datetime) -> None:
    """Turn a request down with a reason that the worker reads; what they hold stays. Raises AlreadyDecided."""
    _decide(request, RequestState.REJECTED, reason, now)


def _settle(request: QualificationRequest, value: int | None, now: datetime) -> QualificationRequest:
    """Grant a request at its value, or let it wait for its requester when there is none."""
    if value is None:
        request.state = RequestState.PENDING
        request.save()
        return request
    request.state, request.decided_at = RequestState.GRANTED, now
    request.save()
    qualifications.grant(kind=request.qualification_type, worker=request.worker, value=value, now=now)
    return request


def _is_current(request: QualificationRequest) -> bool:
    return request.test == request.qualification_type.test


def _expire(worker: Worker, kind: QualificationType) -> None:
    """Close the test whose time is over, so that another request can be open."""
    QualificationRequest.objects.filter(
        worker=worker, qualification_type=kind, state=RequestState.TAKING
    ).update(state=RequestState.EXPIRED)


def _decide(request: QualificationRequest, state: RequestState, reason: str, now: datetime) -> None:
    # On PostgreSQL two decisions may run side by side: the row count tells which one came first.
    decided = QualificationRequest.objects.filter(pk=request.pk, state=RequestState.PENDING).update(
        state=state, decided_at=now, reason=reason
    )
    if not decided:
        raise AlreadyDecided
    request.refresh_from_db()
