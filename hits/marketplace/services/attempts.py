"""A worker's side: take a task, give it back, hand it in."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.module_loading import import_string

from hits.domain.mturk_formats.answer_xml import AnswerError, FormAnswer, build_answer, build_form_answer
from hits.marketplace.errors import Refused
from hits.marketplace.models import (
    HIT,
    Assignment,
    Attempt,
    HITType,
    Outcome,
    QuestionKind,
    SlotState,
    Worker,
)
from hits.marketplace.selectors.standing import closures, standing_of

from . import events, lifecycle
from .events import EventType

MAX_ANSWER_BYTES = 262_144
MOST_PASSED_OVER = 50  # HITs that one accept looks at before it says that nothing is left
TOO_LONG = f"The answer is too long: at most {MAX_ANSWER_BYTES // 1024} kB can be submitted."
OWN_FORM = "This task has a form of its own: submit it from the task's page."
NOT_PENDING = "There was a problem submitting your results: this task is not yours to submit any more."


AcceptCheck = Callable[..., tuple[list[str], bool]]
"""``settings.MARKETPLACE_ACCEPT_CHECK``: (worker_id, hit_id, held) to reasons, and whether they go for the group."""


class CountryNeeded(Refused):
    """The worker has declared no country yet: the page offers the form."""


@dataclass(frozen=True)
class Handed:
    """A submission that arrived; ``repeated`` when the same attempt had been handed in before."""

    assignment: Assignment
    repeated: bool


def attempt_secret(attempt: Attempt) -> str:
    """Return the secret in the attempt's turkSubmitTo: 64 hex digits from its nonce, never stored."""
    message = f"attempt:{attempt.nonce}".encode()
    return hmac.new(settings.MTURK_KEYS_SECRET.encode(), message, hashlib.sha256).hexdigest()


def accept_from_group(*, worker: Worker, hit_type: HITType, now: datetime) -> Assignment:
    """Take a free task of a group, or return the one this worker already has open there.

    Raises CountryNeeded before a country is declared, Refused when the group is closed to this worker or
    nothing is left in it.
    """
    lifecycle.sweep_hit_type(hit_type_pk=hit_type.pk, now=now)  # apart: it locks what others wait for
    with transaction.atomic():
        present = _locked(worker)
        mine = Assignment.objects.filter(worker=worker, hit__hit_type=hit_type, state=SlotState.PENDING)
        open_one = mine.first()
        if open_one is not None:
            return open_one
        _check_admitted(present, hit_type, now)
        return _take_one(worker, Assignment.objects.filter(hit__hit_type=hit_type), now)


def accept_hit(*, worker: Worker, hit: HIT, now: datetime) -> Assignment:
    """Take a slot of this very HIT. Raises CountryNeeded, Refused."""
    lifecycle.sweep_hits(hit_pks=[hit.pk], now=now)
    with transaction.atomic():
        _check_admitted(_locked(worker), hit.hit_type, now)
        return _take_one(worker, Assignment.objects.filter(hit=hit), now)


@transaction.atomic
def return_task(*, worker: Worker, assignment_id: str, now: datetime) -> Assignment:
    """Give a task back; its slot is offered again under the same id. Raises Refused when it is not theirs."""
    slot = (
        Assignment.objects.filter(assignment_id=assignment_id, worker=worker, state=SlotState.PENDING)
        .select_related("hit__hit_type")
        .first()
    )
    if slot is None or slot.deadline is None:
        raise Refused("This task is not open, so there is nothing to return.")
    lifecycle.end_attempt(slot_pk=slot.pk, outcome=Outcome.RETURNED, at=now, deadline=slot.deadline)
    return slot


@transaction.atomic
def submit_with_secret(
    *, secret: str, assignment_id: str, fields: list[tuple[str, str]], now: datetime
) -> Handed:
    """Hand in through an attempt's own address. Raises Refused for any attempt but the slot's present one."""
    digest = hashlib.sha256(secret.encode()).hexdigest()
    attempt = _attempts().filter(secret_hash=digest).first()
    if attempt is None or attempt.assignment.assignment_id != assignment_id:
        raise Refused(NOT_PENDING)
    return _hand_in(attempt, lambda: _fields_answer(attempt, fields), now)


@transaction.atomic
def submit_signed_in(
    *, worker: Worker, assignment_id: str, fields: list[tuple[str, str]], now: datetime
) -> Handed:
    """Hand in through the bare address: only for the signed-in worker's own present attempt."""
    attempt = _own_attempt(worker, assignment_id)
    return _hand_in(attempt, lambda: _fields_answer(attempt, fields), now)


@transaction.atomic
def submit_form(*, worker: Worker, assignment_id: str, answers: list[FormAnswer], now: datetime) -> Handed:
    """Hand in a QuestionForm's checked answers for the signed-in worker's own present attempt. Raises Refused."""
    attempt = _own_attempt(worker, assignment_id)
    if attempt.assignment.hit.question_kind != QuestionKind.FORM:
        raise Refused(NOT_PENDING)
    return _hand_in(attempt, lambda: _short_enough(build_form_answer(answers)), now)


def _own_attempt(worker: Worker, assignment_id: str) -> Attempt:
    attempt = (
        _attempts()
        .filter(worker=worker, assignment__assignment_id=assignment_id)
        .filter(outcome__in=[Outcome.WORKING, Outcome.SUBMITTED])
        .order_by("-pk")
        .first()
    )
    if attempt is None:
        raise Refused(NOT_PENDING)
    return attempt


def _locked(worker: Worker) -> Worker:
    """Return the worker as they are now, the row held until the transaction ends.

    PostgreSQL: one accept at a time per worker, so that a double click takes one task. (SQLite: always so.)
    ``no_key``: entries of the ledger, which refer to the worker, need not wait.
    """
    return Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)


def _check_admitted(worker: Worker, hit_type: HITType, now: datetime) -> None:
    """Refuse a worker to whom the group is closed, by the rows as the accepting transaction sees them."""
    if not worker.country:
        raise CountryNeeded("Say which country you work from before you take your first task.")
    closure = closures(standing_of(worker, now), [hit_type]).get(hit_type.pk)
    if closure is not None:
        raise Refused(f"“{hit_type.title}” is closed to you. {closure.sentence}")


def _attempts() -> QuerySet[Attempt]:
    return Attempt.objects.select_related("assignment__hit__hit_type", "worker")


def _take_one(worker: Worker, slots: QuerySet[Assignment], now: datetime) -> Assignment:
    """Claim the first free slot, of HITs that this worker gave back before only when there is no other.

    They had a reason to give it back, and the next one may suit them. A HIT that its requester's rules keep from this
    worker is passed over; a rule that goes for the whole group ends the search.
    """
    gave_back = Exists(Attempt.objects.filter(worker=worker, assignment__hit=OuterRef("hit")))
    said: list[str] = []
    for offered in (slots.exclude(gave_back), slots.filter(gave_back)):
        passed: set[int] = set()
        while len(passed) < MOST_PASSED_OVER:
            slot = _free_slot(worker, offered.exclude(hit__in=passed), now)
            if slot is None:
                break
            reasons, is_for_all = _requester_refuses(worker, slot)
            if not reasons:
                if _claim(slot, worker, now):
                    return slot
                break
            if is_for_all:
                raise Refused(" ".join(reasons))
            said = said or reasons
            passed.add(slot.hit_id)
    raise Refused(" ".join(said) or "There is no task of this kind left for you right now.")


def _requester_refuses(worker: Worker, slot: Assignment) -> tuple[list[str], bool]:
    """Ask the requester's own rules within the accepting transaction: of two accepts at once one sees the other."""
    mine = Assignment.objects.filter(worker=worker, state__in=[SlotState.PENDING, SlotState.SUBMITTED])
    held = list(mine.values_list("hit__hit_id", flat=True))
    check: AcceptCheck = import_string(settings.MARKETPLACE_ACCEPT_CHECK)
    return check(worker_id=worker.worker_id, hit_id=slot.hit.hit_id, held=held)


def _free_slot(worker: Worker, slots: QuerySet[Assignment], now: datetime) -> Assignment | None:
    """Return the first free slot, it and its HIT held until the transaction ends (PostgreSQL).

    Whoever expires the HIT, disposes of it or changes its type holds its row meanwhile, and so does another
    accept. Such HITs are passed over at first, so that a crowd in one group does not queue for its first HIT;
    only when nothing else is left is it worth waiting for how they end.
    """
    free = (
        slots.filter(state=SlotState.OPEN, hit__expires_at__gt=now, hit__disposed_at=None)
        .exclude(hit__assignments__worker=worker)
        .select_related("hit__hit_type")
        .order_by("hit_id", "pk")
    )
    held = ("self", "hit")
    return (
        free.select_for_update(no_key=True, of=held, skip_locked=True).first()
        or free.select_for_update(no_key=True, of=held).first()
    )


def _claim(slot: Assignment, worker: Worker, now: datetime) -> bool:
    deadline = now + timedelta(seconds=slot.hit.hit_type.assignment_seconds)
    taken = {"state": SlotState.PENDING, "worker": worker, "accepted_at": now, "deadline": deadline}
    if not Assignment.objects.filter(pk=slot.pk, state=SlotState.OPEN).update(**taken):
        return False
    for name, value in taken.items():
        setattr(slot, name, value)
    _open_attempt(slot, worker, now, deadline)
    events.tell(EventType.ASSIGNMENT_ACCEPTED, hit=slot.hit, at=now, assignment=slot)
    return True


def _open_attempt(slot: Assignment, worker: Worker, now: datetime, deadline: datetime) -> None:
    attempt = Attempt(
        assignment=slot, worker=worker, nonce=secrets.token_hex(32), accepted_at=now, deadline=deadline
    )
    attempt.secret_hash = hashlib.sha256(attempt_secret(attempt).encode()).hexdigest()
    attempt.save()


def _hand_in(attempt: Attempt, read_answer: Callable[[], str], now: datetime) -> Handed:
    slot = attempt.assignment
    if attempt.outcome == Outcome.SUBMITTED:
        return Handed(assignment=slot, repeated=True)  # a double click or a reload: nothing is overwritten
    if attempt.outcome != Outcome.WORKING:
        raise Refused(NOT_PENDING)
    if attempt.deadline <= now:
        raise Refused("The time for this task ran out before it was submitted, so it could not be taken.")
    answer = read_answer()
    auto = now + timedelta(seconds=slot.hit.hit_type.auto_approval_seconds)
    claimed = Assignment.objects.filter(
        pk=slot.pk, state=SlotState.PENDING, worker=attempt.worker, deadline=attempt.deadline
    ).update(state=SlotState.SUBMITTED, submitted_at=now, auto_approval_at=auto, answer=answer)
    if not claimed:
        # On PostgreSQL two presses run side by side: the later one waits here and finds the work done.
        attempt.refresh_from_db(fields=["outcome"])
        if attempt.outcome != Outcome.SUBMITTED:
            raise Refused(NOT_PENDING)
        slot.refresh_from_db()
        return Handed(assignment=slot, repeated=True)
    Attempt.objects.filter(pk=attempt.pk).update(outcome=Outcome.SUBMITTED, ended_at=now)
    events.tell(EventType.ASSIGNMENT_SUBMITTED, hit=slot.hit, at=now, assignment=slot)
    slot.refresh_from_db()
    return Handed(assignment=slot, repeated=False)


def _fields_answer(attempt: Attempt, fields: list[tuple[str, str]]) -> str:
    if attempt.assignment.hit.question_kind == QuestionKind.FORM:
        raise Refused(OWN_FORM)  # nothing gets past the checks of the form
    try:
        return _short_enough(build_answer(fields))
    except AnswerError as error:
        raise Refused(f"There was a problem submitting your results: {error}") from None


def _short_enough(answer: str) -> str:
    if len(answer.encode()) > MAX_ANSWER_BYTES:
        raise Refused(TOO_LONG)
    return answer
