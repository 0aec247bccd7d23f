"""Take in what a HIT page sends: consent, drafts, answers.

The page knows only marketplace ids, carried in a signed token. A submission is stored here first; it
counts only once the marketplace shows its id and hash (see ``collect``).
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
from hits.domain.units.arms import next_arm
from hits.domain.workers import demographics
from hits.domain.workers.countries import CHANGE_AFTER, code_of
from hits.hints.shown import BadReport, parse_shown
from hits.models import (
    Attempt,
    ConsentText,
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
from hits.selectors.eligibility.attempt_proof import has_proof
from hits.selectors.eligibility.eligibility import declared_country, elsewhere, why_not_this
from hits.selectors.eligibility.limits import has_ended
from hits.selectors.images.images import facts_of
from hits.selectors.pages import OWN_WORK, agreed, current_consent
from hits.selectors.submissions import has_begun_work
from hits.services.collecting.page_keys import PageKey, find_hit
from hits.services.errors import Conflict, Refused, TooLarge

CLOSED = gettext_noop("This task is not open to you.")
SEEN_BEFORE = "You have seen this task before, and nobody sees it twice. Return it and take another one."
NOT_OPENED = "This page is not open yet. Reload the task."
OTHER_ORDER = "This page is of an earlier try at this task. Reload the task."
MAX_DRAFT_BYTES = 60_000
MAX_ANSWER_BYTES = 60_000
MAX_ACTIVE_SECONDS = 24 * 3600.0


class NotEligible(Refused):
    """This worker may not do this unit; the message is shown to them."""


class AnotherTab(Conflict):
    """A newer draft was saved from another tab."""

    def __init__(self, draft: Draft) -> None:
        super().__init__("This task was changed in another tab or window since.")
        self.draft = draft


def open_attempt(key: PageKey) -> Attempt:
    """Return this worker's attempt at this assignment, made at the first call; it counts as in hand from now on.

    One that was returned or ran out of time, and is opened again, begins anew.

    Raises:
        BadToken: unknown HIT.
        NotEligible: the worker may not do this unit, or has no room for it.
    """
    hit = find_hit(key)
    kind = registry.get(hit.unit.batch.kind)
    with transaction.atomic():
        if kind.arms > 1 or kind.once:
            # Of two that open at once, one counts the other.
            Unit.objects.select_for_update().get(pk=hit.unit_id)
        worker = _worker_of(hit, key)
        known = _known_attempt(hit, key, worker)
        if known is None or has_ended(known):
            _refuse_second_look(hit, key, worker, ended=known is not None)
            attempt = _begin(hit, key, worker, again=known)
        else:
            attempt = known  # what was begun may be finished, whatever was decided since
        _end_older(attempt)
        if kind.arms > 1 and (attempt.arm is None or attempt is not known):
            _give_arm(attempt, kind.arms)
        return attempt


def _refuse_second_look(hit: Hit, key: PageKey, worker: Worker, *, ended: bool) -> None:
    """Refuse a unit that the worker opened before, in kinds that are shown to somebody once."""
    if not registry.get(hit.unit.batch.kind).once:
        return
    others = Attempt.objects.filter(hit__unit=hit.unit_id, worker=worker)
    if ended or others.exclude(hit=hit, assignment_id=key.assignment_id).exists():
        _refuse(hit, [SEEN_BEFORE])


def _end_older(attempt: Attempt) -> None:
    """End what others began at this slot: it was handed out anew, although its return was told late or never."""
    older = Attempt.objects.filter(hit=attempt.hit_id, assignment_id=attempt.assignment_id, released_at=None)
    older.exclude(pk=attempt.pk).exclude(submissions__isnull=False).update(released_at=attempt.opened_at)


def _give_arm(attempt: Attempt, arms: int) -> None:
    """Give the arm that fewest live attempts have. Work that was begun before there were arms goes on without."""
    if attempt.arm is None and has_begun_work(attempt):
        return
    unit = attempt.hit.unit
    Attempt.objects.filter(pk=attempt.pk).update(arm=None)  # an earlier try of one's own counts no more
    attempt.arm = next_arm(live_arms(unit), unit.key, arms)
    attempt.save(update_fields=["arm"])


def _attempt_at(key: PageKey) -> Attempt:
    """Return the attempt that a page works on. An old tab's work never takes up again what has ended."""
    hit = find_hit(key)
    with transaction.atomic():
        worker = _worker_of(hit, key)
        return _known_attempt(hit, key, worker) or _begin(hit, key, worker)


def _working_attempt(key: PageKey) -> Attempt:
    """Return the attempt whose work is saved or handed in: of kinds with arms, ``open`` gave it one before."""
    attempt = _attempt_at(key)
    needs_arm = registry.get(attempt.hit.unit.batch.kind).arms > 1 and attempt.arm is None
    if needs_arm and not has_begun_work(attempt):
        raise Refused(NOT_OPENED)
    if key.arm is not None and key.arm != attempt.arm:
        raise Refused(OTHER_ORDER)  # what it says would be kept as said of another order
    return attempt


def _worker_of(hit: Hit, key: PageKey) -> Worker:
    worker, _ = Worker.objects.get_or_create(environment=hit.environment, worker_id=key.worker_id)
    if hit.unit.excluded_workers.filter(pk=worker.pk).exists():
        _refuse(hit, [OWN_WORK])
    return worker


def _known_attempt(hit: Hit, key: PageKey, worker: Worker) -> Attempt | None:
    rows = Attempt.objects.select_related("hit__unit__batch__project", "worker")
    return rows.filter(hit=hit, assignment_id=key.assignment_id, worker=worker).first()


def _begin(hit: Hit, key: PageKey, worker: Worker, *, again: Attempt | None = None) -> Attempt:
    _refuse(hit, why_not_this(worker, hit))
    attempt, _ = Attempt.objects.get_or_create(hit=hit, assignment_id=key.assignment_id, worker=worker)
    if again is not None:
        attempt.opened_at, attempt.released_at = timezone.now(), None
        attempt.save(update_fields=["opened_at", "released_at"])
    return attempt


def _one_at_a_time(worker: Worker) -> None:
    """Hold the worker's row: of two tasks that are accepted at once, the second one then counts the first.

    (PostgreSQL. On SQLite a transaction that writes has the database to itself anyway.)
    """
    Worker.objects.select_for_update().get(pk=worker.pk)


def _refuse(hit: Hit, reasons: list[str]) -> None:
    """Say why, where the page proved who asks; elsewhere that it is so."""
    if reasons:
        said = reasons if has_proof(hit.environment) else [CLOSED]
        raise NotEligible(
            " ".join([*(gettext(reason) for reason in said), gettext("Please return this task.")])
        )


def agree(*, key: PageKey, version: int, country: str = "", about_me: Any = None) -> None:
    """Record that the worker agrees to the project's present consent text, and where they work from; repeatable.

    ``country`` is an ISO 3166-1 code, asked for once a project; ``about_me`` are the optional demographics. Both are
    taken on our own marketplace alone, where the page proved who speaks; what was said before stands.

    Raises:
        Conflict: the text changed since the page was loaded.
        Refused: no such country, or an answer that the form does not offer.
        NotEligible: the tasks are not open in that country.
    """
    code = code_of(country)
    if country.strip() and not code:
        raise Refused("country: choose one from the list")
    try:
        answers = demographics.parse(about_me or {})
    except demographics.DemographicsError as error:
        raise Refused(f"about me: {error}") from error
    attempt = _attempt_at(key)
    batch = attempt.hit.unit.batch
    consent = current_consent(batch.project)
    if (consent.version if consent else 0) != version:
        raise Conflict("The text has changed since you opened this page. Reload it and read it again.")
    with transaction.atomic():
        if consent is not None:
            _participate(attempt.worker, consent)
        _one_at_a_time(attempt.worker)  # of two tabs, one after the other
        believed = has_proof(batch.environment)
        if believed and code:
            _declare(attempt.worker, batch.project, code)
        if believed and answers:
            Demographics.objects.get_or_create(
                project=batch.project, worker=attempt.worker, defaults={"answers": answers}
            )
    _refuse(attempt.hit, elsewhere(attempt.worker, batch))


def _declare(worker: Worker, project: Project, country: str) -> None:
    """Write the country down, unless one stands. What stands is not told, and so neither is that it stands."""
    latest = Declaration.objects.filter(worker=worker, project=project).last()
    if latest is None or (latest.country != country and latest.declared_at + CHANGE_AFTER <= timezone.now()):
        Declaration.objects.create(project=project, worker=worker, country=country)


def _participate(worker: Worker, consent: ConsentText) -> None:
    if Participation.objects.filter(worker=worker, consent=consent).exists():
        return
    try:
        with transaction.atomic():
            Participation.objects.create(project_id=consent.project_id, worker=worker, consent=consent)
    except IntegrityError:
        return  # a second click got there first; the agreement stands


def save_draft(*, key: PageKey, content: Any, revision: int) -> Draft:
    """Keep unfinished work; ``revision`` is the one that the page last saw.

    Raises:
        TooLarge: over 60 kB of JSON.
        AnotherTab: somebody saved a newer revision; it is on the exception.
    """
    if not isinstance(content, dict):
        raise Refused("content: send the draft as an object")
    if len(canonical_json(content)) > MAX_DRAFT_BYTES:
        raise TooLarge(f"content: over {MAX_DRAFT_BYTES // 1000} kB; shorten the texts")
    attempt = _working_attempt(key)
    now = timezone.now()
    # One conditional UPDATE: of two tabs that save at once, one is told of the other.
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
    raise AnotherTab(existing)


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

    ``instructions`` is the version's row that the page showed, ``None`` the kind's own text. ``hints`` are the live
    hints that were shown and what became of them; they are no part of the answer or its hash.

    Raises:
        hits.kind.InvalidAnswer: the kind's rules are broken; every field is named.
        Conflict: the uuid was used for other content.
        NotEligible, BadToken, TooLarge, Refused: see their messages.
    """
    if len(canonical_json(answer)) > MAX_ANSWER_BYTES:
        raise TooLarge(f"answer: over {MAX_ANSWER_BYTES // 1000} kB; shorten the texts")
    told = _shown_hints(hints)
    attempt = _working_attempt(key)
    unit = attempt.hit.unit
    kind = registry.get(unit.batch.kind)
    images = facts_of(kind.image_ids(unit.payload))
    tidy = kind.parse_answer(unit.payload, images, answer)
    digest = content_sha256({"unit": str(unit.public_id), "assignment": key.assignment_id, "answer": tidy})
    known = Submission.objects.filter(client_uuid=client_uuid).first()
    if known is None:
        # Asked of new work alone: what was stored keeps its id, whatever was published since.
        _check_terms(attempt, active_seconds, simulated)
        try:
            with transaction.atomic():
                known = Submission.objects.create(
                    attempt=attempt,
                    client_uuid=client_uuid,
                    kind=kind.name,
                    kind_version=unit.batch.kind_version,
                    answer=tidy,
                    sha256=digest,
                    images=_fingerprints(unit),
                    active_seconds=round(active_seconds, 3),
                    simulated=simulated,
                    hints=told,
                    shown=_page_shown(attempt),
                    instructions=_seen(instructions, unit),
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


def _page_shown(attempt: Attempt) -> dict[str, Any] | None:
    """Return what the attempt's page showed differently from others', with its arm; none means nothing."""
    unit = attempt.hit.unit
    shown = registry.get(unit.batch.kind).shown(unit.payload, attempt.assignment_id, attempt.arm)
    arm = {} if attempt.arm is None else {"arm": attempt.arm}
    return {**arm, **shown} or None


def _shown_hints(raw: Any) -> list[dict[str, Any]]:
    try:
        return parse_shown(list(raw) if isinstance(raw, tuple) else raw)
    except BadReport as error:
        raise Refused(str(error)) from error


def _check_terms(attempt: Attempt, active_seconds: float, simulated: bool) -> None:
    batch = attempt.hit.unit.batch
    asks_country = has_proof(batch.environment) and not declared_country(attempt.worker, batch.project)
    if asks_country or not agreed(attempt.worker, batch.project):
        raise NotEligible("Read and accept the consent text, and say where you work from, first.")
    _refuse(attempt.hit, elsewhere(attempt.worker, batch))
    if not math.isfinite(active_seconds) or not 0 <= active_seconds <= MAX_ACTIVE_SECONDS:
        raise Refused("active_seconds: use a number of seconds from 0 to 86,400")
    if simulated and not batch.project.is_rehearsal:
        raise Refused("simulated: only a rehearsal project takes simulated answers")


def _seen(instructions: int | None, unit: Unit) -> Instructions | None:
    if instructions is None:
        return None
    batch = unit.batch
    found = Instructions.objects.filter(pk=instructions, project=batch.project_id, kind=batch.kind).first()
    if found is None:
        raise Refused("instructions: this version is not one of this task's. Reload the task.")
    return found


def _fingerprints(unit: Unit) -> list[dict[str, Any]]:
    return [dict(row) for row in unit.images.order_by("pk").values("id", "sha256", "width", "height")]
