"""A person's remedies for what does not match. Each is written down once, with who and why, and stays.

Whatever is paid: unmatched work never becomes matched, so it enters no judging, no export and no observation.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from hits.domain.states import BatchState, HitState, Match, Remedy, Verdict
from hits.models import Assignment, Batch, Decision, Hit, Job, Resolution, Submission
from hits.mturk.port import Failure, Marketplace, MarketplaceError, RemoteHit
from hits.payments import ledger
from hits.payments.models import Entry
from hits.selectors import reconciliation
from hits.services import audit
from hits.services.batches import lifecycle
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Conflict, Refused
from hits.services.launching.request_token import annotation, create_token
from hits.services.publishing import orphan_recovery
from hits.services.reconciling.reconcile import MISSING, SURPLUS
from hits.services.reviewing import review

MAX_NOTE = 1000
_VERDICTS = {Remedy.APPROVE: Verdict.APPROVE, Remedy.REJECT: Verdict.REJECT}


def resolve_assignment(
    *, assignment: Assignment, remedy: Remedy, note: str, by: AbstractBaseUser | None
) -> tuple[Resolution, Decision | None]:
    """Write down what becomes of an assignment that does not match, with the calls that it needs.

    Nothing leaves yet: see ``review.settle``. ``note`` is the reason; of a rejection the worker reads it.

    Raises:
        Refused: no reason, it does match, or a remedy that is none for it.
        Conflict: somebody or the marketplace's clock decided on it already.
    """
    note = _checked(note)
    if assignment.match == Match.MATCHED:
        raise Refused("This assignment matches by now: decide on it at the review desk.")
    if remedy is Remedy.COMPENSATE:
        raise Refused("remedy: the marketplace shows this assignment, so approve it instead of compensating")
    try:
        with transaction.atomic():
            resolution = _written(remedy, note, by, assignment=assignment)
            verdict = _VERDICTS.get(remedy)
            decision = None
            if verdict is not None:
                feedback = note if verdict is Verdict.REJECT else ""
                decision = review.decide(
                    assignment=assignment, verdict=verdict, by=by, feedback=feedback, resolved=resolution
                )
            _tell_the_trail(assignment.hit.unit.batch, by, remedy, assignment.pk)
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this assignment just now.") from error
    return resolution, decision


def keep_submission(*, submission: Submission, note: str, by: AbstractBaseUser | None) -> Resolution:
    """Write down that a submission which never got through is kept as it is, and not paid.

    Raises:
        Refused: no reason, or it may still get through.
        Conflict: somebody decided on it already.
    """
    note = _checked(note)
    if Resolution.objects.filter(submission__attempt=submission.attempt_id).exists():
        raise Conflict("This submission was decided on already.")
    if not reconciliation.is_lost(submission):
        raise Refused("The marketplace may still show this submission. Compare again later.")
    try:
        with transaction.atomic():
            resolution = _written(Remedy.KEEP, note, by, submission=submission)
            _tell_the_trail(submission.attempt.hit.unit.batch, by, Remedy.KEEP, submission.pk)
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this submission just now.") from error
    return resolution


def begin_anew(*, hit: Hit, by: AbstractBaseUser | None) -> Job:
    """Publish a HIT again that the marketplace has lost; nothing may have come in for it.

    What our ledger holds for it stays held, now for the new one.

    Raises:
        Refused: the latest comparison does not miss it, work came in, or the batch is closed.
        Conflict: the batch is being published.
    """
    batch = hit.unit.batch
    _check_missing(hit)
    if hit.assignments.exists():
        raise Refused("Work came in for this task, so it cannot begin anew. Give it up instead.")
    if batch.state not in {BatchState.LAUNCHING, BatchState.LIVE}:
        raise Refused(f"{batch.name} is {batch.state}: nothing is published in it any more.")
    generation = hit.generation + 1
    with transaction.atomic():
        changed = Hit.objects.filter(pk=hit.pk, state=HitState.LIVE, hit_id=hit.hit_id).update(
            state=HitState.PLANNED,
            hit_id=None,
            attempt_at=None,
            expires_at=None,
            generation=generation,
            token=create_token(batch, hit.unit, hit.part, generation),
            annotation=annotation(batch, hit.unit, hit.part, generation),
        )
        if not changed:
            raise Conflict("Somebody else mended this task just now.")
        _tell_the_trail(batch, by, "begin_anew", hit.pk)
        return lifecycle.resume_publish(batch=batch, by=by)


@transaction.atomic
def give_up(*, hit: Hit, by: AbstractBaseUser | None) -> None:
    """Write a HIT off that the marketplace has lost: nobody can take it, and what was held for it is free.

    Raises:
        Refused: the latest comparison does not miss it. Conflict: somebody mended it already.
    """
    _check_missing(hit)
    batch = hit.unit.batch
    if not Hit.objects.filter(pk=hit.pk, state=HitState.LIVE, hit_id=hit.hit_id).update(
        state=HitState.EXPIRED
    ):
        raise Conflict("Somebody else mended this task just now.")
    untaken = hit.max_assignments - hit.assignments.count()
    ledger.write(
        entry=Entry.RELEASE,
        amount_cents=untaken * batch.slot_cents(hit.max_assignments),
        key=f"release:dispose:{hit.pk}",
        batch=batch,
    )
    _tell_the_trail(batch, by, "give_up", hit.pk)


def expire_surplus(
    *, batch: Batch, hit_id: str, marketplace: Marketplace, by: AbstractBaseUser | None
) -> None:
    """Take a HIT that our rows do not know from the marketplace: expire it, and dispose of it if nobody took it.

    One that we gave up is taken up again first: its work is looked at and paid as any other, and its batch closes
    when that is done. Of any other, what workers handed in stays on the marketplace, to be decided on there.
    Repeatable.

    Raises:
        Refused: the latest comparison does not name it, or the marketplace refused.
    """
    refuse_other_marketplace(batch, marketplace)
    if (SURPLUS, hit_id) not in _found(batch):
        raise Refused("The latest comparison does not name this HIT. Compare again.")
    _tell_the_trail(batch, by, "expire_surplus", hit_id)
    try:
        if _taken_up(batch, marketplace.get_hit(hit_id)):
            return  # closing the batch expires it
        marketplace.expire(hit_id)
        marketplace.delete_hit(hit_id)
    except MarketplaceError as error:
        if error.failure is Failure.WRONG_STATE:
            return  # expired, and somebody has it in hand or handed it in
        raise Refused(f"HIT {hit_id}: the marketplace refused to expire it: {error}") from error


def _taken_up(batch: Batch, remote: RemoteHit) -> bool:
    given_up = Hit.objects.filter(
        unit__batch=batch, annotation=remote.annotation, state=HitState.CANCELLED
    ).first()
    return given_up is not None and orphan_recovery.went_live(batch, given_up, remote)


def _check_missing(hit: Hit) -> None:
    if (MISSING, str(hit.hit_id)) not in _found(hit.unit.batch):
        raise Refused("The latest comparison found this HIT on the marketplace. Compare again.")


def _found(batch: Batch) -> set[tuple[str, str]]:
    latest = reconciliation.latest(batch)
    return {(row["what"], row["hit_id"]) for row in latest.findings} if latest is not None else set()


def _checked(note: str) -> str:
    note = note.strip()
    if not note:
        raise Refused("note: say why, for the record")
    if len(note) > MAX_NOTE:
        raise Refused(f"note: has {len(note)} characters; use {MAX_NOTE} or fewer")
    return note


def _written(
    remedy: Remedy,
    note: str,
    by: AbstractBaseUser | None,
    *,
    assignment: Assignment | None = None,
    submission: Submission | None = None,
) -> Resolution:
    return Resolution.objects.create(
        assignment=assignment,
        submission=submission,
        remedy=remedy,
        note=note,
        decided_by_id=by.pk if by else None,
    )


def _tell_the_trail(batch: Batch, by: AbstractBaseUser | None, what: str, subject: object) -> None:
    audit.record(project=batch.project, actor=by, action=f"reconcile.{what}", subject=subject, batch=batch.pk)
