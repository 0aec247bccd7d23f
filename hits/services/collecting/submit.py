"""Store what a HIT page sends: consent, drafts, answers.

The page knows only marketplace ids in a signed token. A submission is stored here first; it counts after the
marketplace lists its id and hash (see ``assignment_sync``).
"""

import math
import uuid
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from hits import registry
from hits.domain.crashpoints import crash_point
from hits.domain.hashing import canonical_json, content_sha256
from hits.domain.units.arms import least_used_arm
from hits.domain.workers import demographics
from hits.domain.workers.countries import CHANGE_INTERVAL, parse_country_code_or_empty
from hits.hints.hint_report import HintReportError, parse_hint_report
from hits.models import (
    Attempt,
    Declaration,
    Demographics,
    Draft,
    Hit,
    Instructions,
    Participation,
    Project,
    Submission,
    Unit,
    Worker,
)
from hits.selectors.eligibility.arms import live_arms
from hits.selectors.eligibility.attempt_proof import has_attempt_proof
from hits.selectors.eligibility.eligibility import country_refusals, declared_country, hit_refusals
from hits.selectors.eligibility.limits import has_lapsed
from hits.selectors.eligibility.own_work import OWN_WORK_REASON, is_excluded
from hits.selectors.images.images import image_facts_by_id
from hits.selectors.pages import current_consent, has_consented
from hits.selectors.submissions import has_saved_work
from hits.services.collecting.page_keys import PageKey, find_hit
from hits.services.errors import Conflict, ContentTooLarge, Refused

NOT_ELIGIBLE_MESSAGE = gettext_noop("This task is not open to you.")
ALREADY_SEEN_MESSAGE = (
    "You have seen this task before. Each worker sees it once. Return it and take another one."
)
NOT_OPENED_MESSAGE = "This task did not load completely. Reload it."
OTHER_ARM_MESSAGE = "This page belongs to an earlier attempt at this task. Reload the task."
MAX_DRAFT_BYTES = 60_000
MAX_ANSWER_BYTES = 60_000
MAX_ACTIVE_SECONDS = 24 * 3600.0


class NotEligible(Refused):
    """This worker may not do this unit; the page shows the message."""


class DraftConflict(Conflict):
    """Another tab saved a newer draft."""

    def __init__(self, draft: Draft) -> None:
        super().__init__("A newer draft of this task was saved in another tab or window.")
        self.draft = draft


def open_attempt(key: PageKey) -> Attempt:
    """Return this worker's attempt at this assignment, created by the first call; limits count it from now on.

    A returned or expired attempt that is opened again restarts.

    Raises:
        BadToken: unknown HIT.
        NotEligible: the worker may not do this unit, or reached a limit.
    """
    hit = find_hit(key)
    kind = registry.get_kind(hit.unit.batch.kind)
    with transaction.atomic():
        if kind.arms > 1 or kind.is_single_attempt:
            # The second of two simultaneous opens counts the first.
            Unit.objects.select_for_update().get(pk=hit.unit_id)
        worker = _get_or_create_allowed_worker(hit, key)
        known = _find_attempt(hit, key, worker)
        if known is None or has_lapsed(known):
            _refuse_reopening_if_single_attempt(hit, key, worker, ended=known is not None)
            attempt = _begin_attempt(hit, key, worker, restarted=known)
        else:
            attempt = known  # later decisions do not stop an open attempt
        _release_older_attempts(attempt)
        if kind.arms > 1 and (attempt.arm is None or attempt is not known):
            _assign_arm(attempt, kind.arms)
        return attempt


def _refuse_reopening_if_single_attempt(hit: Hit, key: PageKey, worker: Worker, *, ended: bool) -> None:
    """Refuse a unit that the worker opened before, in kinds that show it to a worker only once."""
    if not registry.get_kind(hit.unit.batch.kind).is_single_attempt:
        return
    others = Attempt.objects.filter(hit__unit=hit.unit_id, worker=worker)
    if ended or others.exclude(hit=hit, assignment_id=key.assignment_id).exists():
        _raise_if_refused(hit, [ALREADY_SEEN_MESSAGE])


def _release_older_attempts(attempt: Attempt) -> None:
    """Release others' open attempts at this assignment; its return may have no notification."""
    older = Attempt.objects.filter(hit=attempt.hit_id, assignment_id=attempt.assignment_id, released_at=None)
    older.exclude(pk=attempt.pk).exclude(submissions__isnull=False).update(released_at=attempt.opened_at)


def _assign_arm(attempt: Attempt, arms: int) -> None:
    """Assign the arm with the fewest live attempts. Work begun before arms existed has none."""
    if attempt.arm is None and has_saved_work(attempt):
        return
    unit = attempt.hit.unit
    Attempt.objects.filter(pk=attempt.pk).update(arm=None)  # the worker's own earlier attempt does not count
    attempt.arm = least_used_arm(live_arms(unit), unit.key, arms)
    attempt.save(update_fields=["arm"])


def _get_or_begin_attempt(key: PageKey) -> Attempt:
    """Return a page's attempt, created by the first call. An old tab never reopens an ended attempt."""
    hit = find_hit(key)
    with transaction.atomic():
        worker = _get_or_create_allowed_worker(hit, key)
        return _find_attempt(hit, key, worker) or _begin_attempt(hit, key, worker)


def _get_attempt_to_save(key: PageKey) -> Attempt:
    """Return the attempt to save or submit; in kinds with arms, ``open_attempt`` has assigned its arm."""
    attempt = _get_or_begin_attempt(key)
    needs_arm = registry.get_kind(attempt.hit.unit.batch.kind).arms > 1 and attempt.arm is None
    if needs_arm and not has_saved_work(attempt):
        raise Refused(NOT_OPENED_MESSAGE)
    if key.arm is not None and key.arm != attempt.arm:
        raise Refused(OTHER_ARM_MESSAGE)  # the answer would be stored under another arm
    return attempt


def _get_or_create_allowed_worker(hit: Hit, key: PageKey) -> Worker:
    worker, _ = Worker.objects.get_or_create(environment=hit.environment, worker_id=key.worker_id)
    if is_excluded(worker, hit.unit):
        _raise_if_refused(hit, [OWN_WORK_REASON])
    return worker


def _find_attempt(hit: Hit, key: PageKey, worker: Worker) -> Attempt | None:
    rows = Attempt.objects.select_related("hit__unit__batch__project", "worker")
    return rows.filter(hit=hit, assignment_id=key.assignment_id, worker=worker).first()


def _begin_attempt(hit: Hit, key: PageKey, worker: Worker, *, restarted: Attempt | None = None) -> Attempt:
    _raise_if_refused(hit, hit_refusals(worker, hit))
    attempt, _ = Attempt.objects.get_or_create(hit=hit, assignment_id=key.assignment_id, worker=worker)
    if restarted is not None:
        attempt.opened_at, attempt.released_at = timezone.now(), None
        attempt.save(update_fields=["opened_at", "released_at"])
    return attempt


def _lock_worker(worker: Worker) -> None:
    """Lock the worker's row, so that the second of two simultaneous requests counts the first.

    (On PostgreSQL. On SQLite a writing transaction has the database alone.)
    """
    Worker.objects.select_for_update().get(pk=worker.pk)


def _raise_if_refused(hit: Hit, reasons: list[str]) -> None:
    """Raise NotEligible with the reasons, or with a general message if the worker is not proven."""
    if reasons:
        shown_reasons = reasons if has_attempt_proof(hit.environment) else [NOT_ELIGIBLE_MESSAGE]
        raise NotEligible(
            " ".join([*(gettext(reason) for reason in shown_reasons), gettext("Please return this task.")])
        )


def record_consent(
    *, key: PageKey, version: int, country: str = "", demographics_answers: Any = None
) -> None:
    """Record a worker's consent to the project's current text, with country and demographics. Repeatable.

    ``country`` is an ISO 3166-1 code. Country and optional demographics are accepted only on our own marketplace,
    where the page proves the worker; earlier answers stay.

    Raises:
        Conflict: the text has changed since the page was loaded.
        Refused: an unknown country, or an answer that the form does not offer.
        NotEligible: the tasks are not open in that country.
    """
    code = parse_country_code_or_empty(country)
    if country.strip() and not code:
        raise Refused("country: choose one from the list")
    try:
        answers = demographics.parse_demographics(demographics_answers or {})
    except demographics.DemographicsError as error:
        raise Refused(f"about me: {error}") from error
    attempt = _get_or_begin_attempt(key)
    batch = attempt.hit.unit.batch
    consent = current_consent(batch.project)
    if (consent.version if consent else 0) != version:
        raise Conflict("The text has changed since you opened this page. Reload it and read it again.")
    with transaction.atomic():
        if consent is not None:
            Participation.objects.get_or_create(
                worker=attempt.worker, consent=consent, defaults={"project": batch.project}
            )
        _lock_worker(attempt.worker)  # two tabs take turns
        is_proven = has_attempt_proof(batch.environment)
        if is_proven and code:
            _record_country_unless_recent(attempt.worker, batch.project, code)
        if is_proven and answers:
            Demographics.objects.get_or_create(
                project=batch.project, worker=attempt.worker, defaults={"answers": answers}
            )
    _raise_if_refused(attempt.hit, country_refusals(attempt.worker, batch))


def _record_country_unless_recent(worker: Worker, project: Project, country: str) -> None:
    """Record the country, unless a recent declaration exists; the caller does not learn which."""
    latest = Declaration.objects.filter(worker=worker, project=project).last()
    if latest is None or (
        latest.country != country and latest.declared_at + CHANGE_INTERVAL <= timezone.now()
    ):
        Declaration.objects.create(project=project, worker=worker, country=country)


def save_draft(*, key: PageKey, content: Any, revision: int) -> Draft:
    """Save unfinished work; ``revision`` is the last one that the page saw.

    Raises:
        ContentTooLarge: over 60 kB of JSON.
        DraftConflict: another tab saved a newer revision, which the exception holds.
    """
    if not isinstance(content, dict):
        raise Refused("content: send the draft as an object")
    if len(canonical_json(content)) > MAX_DRAFT_BYTES:
        raise ContentTooLarge(f"content: over {MAX_DRAFT_BYTES // 1000} kB; shorten the texts")
    attempt = _get_attempt_to_save(key)
    now = timezone.now()
    # One conditional UPDATE: the second of two simultaneous saves gets a conflict.
    if Draft.objects.filter(attempt=attempt, revision=revision).update(
        content=content, revision=revision + 1, saved_at=now
    ):
        return Draft.objects.get(attempt=attempt)
    existing = Draft.objects.filter(attempt=attempt).first()
    if existing is None:
        try:
            with transaction.atomic():
                return Draft.objects.create(attempt=attempt, content=content, revision=1, saved_at=now)
        except IntegrityError:
            existing = Draft.objects.get(attempt=attempt)
    raise DraftConflict(existing)


def store_submission(
    *,
    key: PageKey,
    client_uuid: uuid.UUID,
    answer: Any,
    active_seconds: float,
    simulated: bool = False,
    instructions: int | None = None,
    hints: Any = (),
) -> tuple[Submission, bool]:
    """Check and store an answer; return it with whether it is new. The same content again is the same row.

    ``instructions`` is the shown version's key, ``None`` for the built-in text. ``hints`` reports the shown live
    hints; it is no part of the answer or its hash.

    Raises:
        hits.kind.InvalidAnswer: the answer breaks the kind's rules; each field is named.
        Conflict: the uuid was used for other content.
        NotEligible, BadToken, ContentTooLarge, Refused: see their messages.
    """
    if len(canonical_json(answer)) > MAX_ANSWER_BYTES:
        raise ContentTooLarge(f"answer: over {MAX_ANSWER_BYTES // 1000} kB; shorten the texts")
    shown_hints = _parse_hints(hints)
    attempt = _get_attempt_to_save(key)
    unit = attempt.hit.unit
    kind = registry.get_kind(unit.batch.kind)
    images = image_facts_by_id(kind.image_ids(unit.payload))
    cleaned = kind.parse_answer(unit.payload, images, answer)
    digest = content_sha256({"unit": str(unit.public_id), "assignment": key.assignment_id, "answer": cleaned})
    known = Submission.objects.filter(client_uuid=client_uuid).first()
    if known is None:
        # Only new answers are checked: a repeated one returns its id whatever has changed.
        _check_new_submission(attempt, active_seconds, simulated)
        try:
            with transaction.atomic():
                known = Submission.objects.create(
                    attempt=attempt,
                    client_uuid=client_uuid,
                    kind=kind.name,
                    kind_version=unit.batch.kind_version,
                    answer=cleaned,
                    sha256=digest,
                    images=list(unit.images.order_by("pk").values("id", "sha256", "width", "height")),
                    active_seconds=round(active_seconds, 3),
                    simulated=simulated,
                    hints=shown_hints,
                    shown=_page_variation(attempt),
                    instructions=_find_instructions(instructions, unit),
                )
            crash_point("submit.after_store")
            return known, True
        except IntegrityError:
            known = Submission.objects.get(client_uuid=client_uuid)
    if known.attempt_id != attempt.pk or known.sha256 != digest:
        raise Conflict(
            "This submission was sent before with other content. Reload the task and submit again."
        )
    return known, False


def _page_variation(attempt: Attempt) -> dict[str, Any] | None:
    """Return how the attempt's page differed from others', with its arm; none means no difference."""
    unit = attempt.hit.unit
    variation = registry.get_kind(unit.batch.kind).shown(unit.payload, attempt.assignment_id, attempt.arm)
    arm = {} if attempt.arm is None else {"arm": attempt.arm}
    return {**arm, **variation} or None


def _parse_hints(raw: Any) -> list[dict[str, Any]]:
    try:
        return parse_hint_report(list(raw) if isinstance(raw, tuple) else raw)
    except HintReportError as error:
        raise Refused(str(error)) from error


def _check_new_submission(attempt: Attempt, active_seconds: float, simulated: bool) -> None:
    batch = attempt.hit.unit.batch
    asks_country = has_attempt_proof(batch.environment) and not declared_country(
        attempt.worker, batch.project
    )
    if asks_country or not has_consented(attempt.worker, batch.project):
        raise NotEligible(
            "First read and accept the consent text, and choose the country that you work from."
        )
    _raise_if_refused(attempt.hit, country_refusals(attempt.worker, batch))
    if not math.isfinite(active_seconds) or not 0 <= active_seconds <= MAX_ACTIVE_SECONDS:
        raise Refused("active_seconds: use a number of seconds from 0 to 86,400")
    if simulated and not batch.project.is_rehearsal:
        raise Refused("simulated: only a rehearsal project takes simulated answers")


def _find_instructions(instructions: int | None, unit: Unit) -> Instructions | None:
    if instructions is None:
        return None
    batch = unit.batch
    found = Instructions.objects.filter(pk=instructions, project=batch.project_id, kind=batch.kind).first()
    if found is None:
        raise Refused("instructions: this version is not one of this task's. Reload the task.")
    return found
