"""A worker's actions: accept a task, return it, submit it."""

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
from hits.marketplace.errors import ActionRefused
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
from hits.marketplace.selectors.worker_profile import find_closures, load_worker_profile

from . import events, lifecycle
from .events import EventType

MAX_ANSWER_BYTES = 262_144
MAX_SKIPPED_HITS = 50  # HITs that one accept may skip before it reports that nothing is left
ANSWER_TOO_LONG = f"The answer is too long: at most {MAX_ANSWER_BYTES // 1024} kB can be submitted."
FORM_ONLY = "This task has its own form: submit it from the task's page."
NOT_PENDING = "There was a problem submitting your results: you can no longer submit this task."


AcceptCheck = Callable[..., tuple[list[str], bool]]
"""``MARKETPLACE_ACCEPT_CHECK`` of settings: (worker_id, hit_id, taken_hit_ids) to (reasons, closes_group)."""


class CountryRequired(ActionRefused):
    """The worker has not declared a country yet; the page shows the form."""


@dataclass(frozen=True)
class SubmissionReceipt:
    """A stored submission; ``is_repeated`` if the same attempt was submitted before."""

    assignment: Assignment
    is_repeated: bool


def attempt_secret(attempt: Attempt) -> str:
    """Return the secret in the attempt's turkSubmitTo: 64 hex digits from its nonce, never stored."""
    message = f"attempt:{attempt.nonce}".encode()
    return hmac.new(settings.MTURK_KEYS_SECRET.encode(), message, hashlib.sha256).hexdigest()


def accept_or_resume_from_group(*, worker: Worker, hit_type: HITType, now: datetime) -> Assignment:
    """Accept a free task of a group, or return the task that this worker already has open there.

    Raises CountryRequired before a country is declared, and ActionRefused if the group is closed to this worker or
    has no free task.
    """
    # In its own transaction: its locks make other calls wait.
    lifecycle.apply_due_changes_of_hit_type(hit_type_pk=hit_type.pk, now=now)
    with transaction.atomic():
        locked_worker = _lock_worker(worker)
        own_slots = Assignment.objects.filter(worker=worker, hit__hit_type=hit_type, state=SlotState.PENDING)
        open_slot = own_slots.first()
        if open_slot is not None:
            return open_slot
        _check_worker_eligibility(locked_worker, hit_type, now)
        return _claim_first_free_slot(worker, Assignment.objects.filter(hit__hit_type=hit_type), now)


def accept_hit(*, worker: Worker, hit: HIT, now: datetime) -> Assignment:
    """Accept a slot of this HIT. Raises CountryRequired, ActionRefused."""
    lifecycle.apply_due_changes_of_hits(hit_pks=[hit.pk], now=now)
    with transaction.atomic():
        _check_worker_eligibility(_lock_worker(worker), hit.hit_type, now)
        return _claim_first_free_slot(worker, Assignment.objects.filter(hit=hit), now)


@transaction.atomic
def return_task(*, worker: Worker, assignment_id: str, now: datetime) -> Assignment:
    """Return a task; its slot is offered again under the same id. Raises ActionRefused if it is not the worker's."""
    slot = (
        Assignment.objects.filter(assignment_id=assignment_id, worker=worker, state=SlotState.PENDING)
        .select_related("hit__hit_type")
        .first()
    )
    if slot is None or slot.deadline is None:
        raise ActionRefused("This task is not open, so there is nothing to return.")
    lifecycle.end_attempt_if_open(slot_pk=slot.pk, outcome=Outcome.RETURNED, at=now, deadline=slot.deadline)
    return slot


@transaction.atomic
def submit_with_secret(
    *, secret: str, assignment_id: str, fields: list[tuple[str, str]], now: datetime
) -> SubmissionReceipt:
    """Submit through an attempt's own URL. Raises ActionRefused unless it is the slot's current attempt."""
    digest = hashlib.sha256(secret.encode()).hexdigest()
    attempt = _attempt_rows().filter(secret_hash=digest).first()
    if attempt is None or attempt.assignment.assignment_id != assignment_id:
        raise ActionRefused(NOT_PENDING)
    return _submit(attempt, lambda: _build_fields_answer(attempt, fields), now)


@transaction.atomic
def submit_signed_in(
    *, worker: Worker, assignment_id: str, fields: list[tuple[str, str]], now: datetime
) -> SubmissionReceipt:
    """Submit through the URL without a secret: only the signed-in worker's own current attempt."""
    attempt = _find_own_attempt(worker, assignment_id)
    return _submit(attempt, lambda: _build_fields_answer(attempt, fields), now)


@transaction.atomic
def submit_form(
    *, worker: Worker, assignment_id: str, answers: list[FormAnswer], now: datetime
) -> SubmissionReceipt:
    """Submit a QuestionForm's checked answers for the worker's own current attempt. Raises ActionRefused."""
    attempt = _find_own_attempt(worker, assignment_id)
    if attempt.assignment.hit.question_kind != QuestionKind.FORM:
        raise ActionRefused(NOT_PENDING)
    return _submit(attempt, lambda: _answer_within_limit(build_form_answer(answers)), now)


def _find_own_attempt(worker: Worker, assignment_id: str) -> Attempt:
    attempt = (
        _attempt_rows()
        .filter(worker=worker, assignment__assignment_id=assignment_id)
        .filter(outcome__in=[Outcome.WORKING, Outcome.SUBMITTED])
        .order_by("-pk")
        .first()
    )
    if attempt is None:
        raise ActionRefused(NOT_PENDING)
    return attempt


def _lock_worker(worker: Worker) -> Worker:
    """Return the current row of the worker, locked until the transaction ends.

    PostgreSQL: one accept at a time per worker, so that a double click takes one task. (SQLite does so anyway.)
    ``no_key``: ledger entries, which refer to the worker, need not wait.
    """
    return Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)


def _check_worker_eligibility(worker: Worker, hit_type: HITType, now: datetime) -> None:
    """Raise ActionRefused if the group is closed to the worker. Called inside the transaction of the accept."""
    if not worker.country:
        raise CountryRequired("Enter the country you work from before you take your first task.")
    closure = find_closures(load_worker_profile(worker, now), [hit_type]).get(hit_type.pk)
    if closure is not None:
        raise ActionRefused(f"“{hit_type.title}” is closed to you. {closure.message}")


def _attempt_rows() -> QuerySet[Attempt]:
    return Attempt.objects.select_related("assignment__hit__hit_type", "worker")


def _claim_first_free_slot(worker: Worker, slots: QuerySet[Assignment], now: datetime) -> Assignment:
    """Claim the first free slot. HITs that this worker returned before come last.

    The worker had a reason to return them, and the next HIT may suit better. A HIT that its requester's rules close
    to this worker is skipped; a rule about the whole group ends the search.
    """
    has_returned = Exists(Attempt.objects.filter(worker=worker, assignment__hit=OuterRef("hit")))
    first_reasons: list[str] = []
    for candidates in (slots.exclude(has_returned), slots.filter(has_returned)):
        skipped: set[int] = set()
        while len(skipped) < MAX_SKIPPED_HITS:
            slot = _find_free_slot(worker, candidates.exclude(hit__in=skipped), now)
            if slot is None:
                break
            reasons, closes_group = _apply_requester_rules(worker, slot)
            if not reasons:
                if _claim_slot_if_open(slot, worker, now):
                    return slot
                break
            if closes_group:
                raise ActionRefused(" ".join(reasons))
            first_reasons = first_reasons or reasons
            skipped.add(slot.hit_id)
    raise ActionRefused(" ".join(first_reasons) or "No task of this kind is left for you right now.")


def _apply_requester_rules(worker: Worker, slot: Assignment) -> tuple[list[str], bool]:
    """Apply the requester's own rules in the accepting transaction, so that concurrent accepts see each other."""
    own_slots = Assignment.objects.filter(worker=worker, state__in=[SlotState.PENDING, SlotState.SUBMITTED])
    taken_hit_ids = list(own_slots.values_list("hit__hit_id", flat=True))
    check: AcceptCheck = import_string(settings.MARKETPLACE_ACCEPT_CHECK)
    return check(worker_id=worker.worker_id, hit_id=slot.hit.hit_id, taken_hit_ids=taken_hit_ids)


def _find_free_slot(worker: Worker, slots: QuerySet[Assignment], now: datetime) -> Assignment | None:
    """Return the first free slot; lock it and its HIT until the transaction ends (PostgreSQL).

    A call that expires, disposes or changes the HIT locks its row too, and so does another accept. Locked HITs are
    skipped first, so that many workers in one group do not all wait for its first HIT. If no other HIT is left, the
    accept waits for them.
    """
    free = (
        slots.filter(state=SlotState.OPEN, hit__expires_at__gt=now, hit__disposed_at=None)
        .exclude(hit__assignments__worker=worker)
        .select_related("hit__hit_type")
        .order_by("hit_id", "pk")
    )
    locked_tables = ("self", "hit")
    return (
        free.select_for_update(no_key=True, of=locked_tables, skip_locked=True).first()
        or free.select_for_update(no_key=True, of=locked_tables).first()
    )


def _claim_slot_if_open(slot: Assignment, worker: Worker, now: datetime) -> bool:
    deadline = now + timedelta(seconds=slot.hit.hit_type.assignment_seconds)
    changes = {"state": SlotState.PENDING, "worker": worker, "accepted_at": now, "deadline": deadline}
    if not Assignment.objects.filter(pk=slot.pk, state=SlotState.OPEN).update(**changes):
        return False
    for name, value in changes.items():
        setattr(slot, name, value)
    _create_attempt(slot, worker, now, deadline)
    events.queue_event_if_subscribed(EventType.ASSIGNMENT_ACCEPTED, hit=slot.hit, at=now, assignment=slot)
    return True


def _create_attempt(slot: Assignment, worker: Worker, now: datetime, deadline: datetime) -> None:
    attempt = Attempt(
        assignment=slot, worker=worker, nonce=secrets.token_hex(32), accepted_at=now, deadline=deadline
    )
    attempt.secret_hash = hashlib.sha256(attempt_secret(attempt).encode()).hexdigest()
    attempt.save()


def _submit(attempt: Attempt, read_answer: Callable[[], str], now: datetime) -> SubmissionReceipt:
    slot = attempt.assignment
    if attempt.outcome == Outcome.SUBMITTED:
        # A double click or a reload: nothing is overwritten.
        return SubmissionReceipt(assignment=slot, is_repeated=True)
    if attempt.outcome != Outcome.WORKING:
        raise ActionRefused(NOT_PENDING)
    if attempt.deadline <= now:
        raise ActionRefused("The time for this task ran out before you submitted it.")
    answer = read_answer()
    auto_approval_at = now + timedelta(seconds=slot.hit.hit_type.auto_approval_seconds)
    claimed = Assignment.objects.filter(
        pk=slot.pk, state=SlotState.PENDING, worker=attempt.worker, deadline=attempt.deadline
    ).update(state=SlotState.SUBMITTED, submitted_at=now, auto_approval_at=auto_approval_at, answer=answer)
    if not claimed:
        # On PostgreSQL two submissions run concurrently: the later one waits here and finds the first one.
        attempt.refresh_from_db(fields=["outcome"])
        if attempt.outcome != Outcome.SUBMITTED:
            raise ActionRefused(NOT_PENDING)
        slot.refresh_from_db()
        return SubmissionReceipt(assignment=slot, is_repeated=True)
    Attempt.objects.filter(pk=attempt.pk).update(outcome=Outcome.SUBMITTED, ended_at=now)
    events.queue_event_if_subscribed(EventType.ASSIGNMENT_SUBMITTED, hit=slot.hit, at=now, assignment=slot)
    slot.refresh_from_db()
    return SubmissionReceipt(assignment=slot, is_repeated=False)


def _build_fields_answer(attempt: Attempt, fields: list[tuple[str, str]]) -> str:
    if attempt.assignment.hit.question_kind == QuestionKind.FORM:
        raise ActionRefused(FORM_ONLY)  # the form's checks must not be bypassed
    try:
        return _answer_within_limit(build_answer(fields))
    except AnswerError as error:
        raise ActionRefused(f"There was a problem submitting your results: {error}") from None


def _answer_within_limit(answer: str) -> str:
    if len(answer.encode()) > MAX_ANSWER_BYTES:
        raise ActionRefused(ANSWER_TOO_LONG)
    return answer
