"""A person's remedies for mismatches. Each remedy is stored once, with its author and reason.

Unmatched work stays unmatched, paid or not: it is never judged, exported or made into records.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from hits.domain.states import BatchState, HitState, MismatchRemedy, ReviewVerdict, SubmissionMatch
from hits.models import Assignment, Batch, Decision, Hit, Job, Resolution, Submission
from hits.mturk.port import Failure, Marketplace, MarketplaceError, RemoteHit
from hits.selectors import reconciliation
from hits.services import audit
from hits.services.batches import lifecycle
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Conflict, Refused
from hits.services.launching.request_token import build_requester_annotation, build_token
from hits.services.money import postings
from hits.services.publishing import orphan_recovery
from hits.services.reconciling.reconcile import MISSING, SURPLUS
from hits.services.reviewing import review
from hits.services.typed_values import require_reason

MAX_NOTE = 1000
_VERDICT_BY_REMEDY = {
    MismatchRemedy.APPROVE: ReviewVerdict.APPROVE,
    MismatchRemedy.REJECT: ReviewVerdict.REJECT,
}


def resolve_assignment(
    *, assignment: Assignment, remedy: MismatchRemedy, note: str, by: AbstractBaseUser | None
) -> tuple[Resolution, Decision | None]:
    """Store the remedy for an unmatched assignment with its calls; ``review.settle_decision`` makes the calls.

    ``note`` is the reason; the worker reads that of a rejection.

    Raises:
        Refused: no reason, a matched assignment, or an unsuitable remedy.
        Conflict: a person or auto-approval decided on it already.
    """
    note = _clean_note(note)
    if assignment.match == SubmissionMatch.MATCHED:
        raise Refused("This assignment matches now: decide on it in the review queue.")
    if remedy is MismatchRemedy.COMPENSATE:
        raise Refused(
            "remedy: the marketplace lists this assignment, so approve it instead of compensating for it"
        )
    try:
        with transaction.atomic():
            resolution = Resolution.objects.create(
                assignment=assignment, remedy=remedy, note=note, decided_by_id=by.pk if by else None
            )
            verdict = _VERDICT_BY_REMEDY.get(remedy)
            decision = None
            if verdict is not None:
                feedback = note if verdict is ReviewVerdict.REJECT else ""
                decision = review.decide_assignment(
                    assignment=assignment, verdict=verdict, by=by, feedback=feedback, resolution=resolution
                )
            _record_event(assignment.hit.unit.batch, by, remedy, assignment.pk)
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this assignment just now.") from error
    return resolution, decision


def close_without_payment(*, submission: Submission, note: str, by: AbstractBaseUser | None) -> Resolution:
    """Store the decision that a lost submission is neither paid nor compensated.

    Raises:
        Refused: no reason, or the submission may still arrive.
        Conflict: a decision on it exists.
    """
    note = _clean_note(note)
    if Resolution.objects.filter(submission__attempt=submission.attempt_id).exists():
        raise Conflict("This submission has a decision already.")
    if not reconciliation.is_lost_and_undecided(submission):
        raise Refused("The marketplace may still list this submission. Compare again later.")
    try:
        with transaction.atomic():
            resolution = Resolution.objects.create(
                submission=submission,
                remedy=MismatchRemedy.KEEP,
                note=note,
                decided_by_id=by.pk if by else None,
            )
            _record_event(submission.attempt.hit.unit.batch, by, MismatchRemedy.KEEP, submission.pk)
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this submission just now.") from error
    return resolution


def republish_hit(*, hit: Hit, by: AbstractBaseUser | None) -> Job:
    """Publish a HIT again that the marketplace lost and that has no submissions.

    The hold in our ledger stays, for the new HIT.

    Raises:
        Refused: the latest comparison does not miss it, it has submissions, or the batch is closed.
        Conflict: the batch is being published.
    """
    batch = hit.unit.batch
    _refuse_unless_missing(hit)
    if hit.assignments.exists():
        raise Refused("This task has submissions, so it cannot be published again. Give it up instead.")
    if batch.state not in {BatchState.LAUNCHING, BatchState.LIVE}:
        raise Refused(f"{batch.name} is {batch.state}: it cannot be published.")
    generation = hit.generation + 1
    with transaction.atomic():
        changed = Hit.objects.filter(pk=hit.pk, state=HitState.LIVE, hit_id=hit.hit_id).update(
            state=HitState.PLANNED,
            hit_id=None,
            attempt_at=None,
            expires_at=None,
            generation=generation,
            token=build_token(batch, hit.unit, hit.slice, generation),
            annotation=build_requester_annotation(batch, hit.unit, hit.slice, generation),
        )
        if not changed:
            raise Conflict("Somebody else repaired this task just now.")
        _record_event(batch, by, "begin_anew", hit.pk)
        return lifecycle.request_publication(batch=batch, by=by)


@transaction.atomic
def write_off_hit(*, hit: Hit, by: AbstractBaseUser | None) -> None:
    """Write off a HIT that the marketplace lost: no worker can take it, and its hold is released.

    Raises:
        Refused: the latest comparison does not miss it. Conflict: somebody repaired it already.
    """
    _refuse_unless_missing(hit)
    if not Hit.objects.filter(pk=hit.pk, state=HitState.LIVE, hit_id=hit.hit_id).update(
        state=HitState.EXPIRED
    ):
        raise Conflict("Somebody else repaired this task just now.")
    postings.post_release_of_unused_assignments(hit)
    _record_event(hit.unit.batch, by, "give_up", hit.pk)


def expire_surplus_hit(
    *, batch: Batch, hit_id: str, marketplace: Marketplace, by: AbstractBaseUser | None
) -> None:
    """Expire a HIT that our rows do not know, and dispose of it if no worker took it. Repeatable.

    A HIT that we cancelled becomes live again instead: its work is synced and paid, and its batch closes afterwards.
    Submissions of other HITs stay on the marketplace and have to be decided there.

    Raises:
        Refused: the latest comparison does not name it, or the marketplace refused.
    """
    refuse_other_environment_or_fees(batch, marketplace)
    if (SURPLUS, hit_id) not in _latest_findings(batch):
        raise Refused("The latest comparison does not name this HIT. Compare again.")
    _record_event(batch, by, "expire_surplus", hit_id)
    try:
        if _restore_hit_if_cancelled(batch, marketplace.get_hit(hit_id)):
            return  # closing the batch expires it
        marketplace.expire(hit_id)
        marketplace.delete_hit(hit_id)
    except MarketplaceError as error:
        if error.failure is Failure.WRONG_STATE:
            return  # expired, and a worker has it or submitted it
        raise Refused(f"HIT {hit_id}: the marketplace refused to expire it: {error}") from error


def _restore_hit_if_cancelled(batch: Batch, remote: RemoteHit) -> bool:
    cancelled = Hit.objects.filter(
        unit__batch=batch, annotation=remote.annotation, state=HitState.CANCELLED
    ).first()
    return cancelled is not None and orphan_recovery.mark_hit_live(batch, cancelled, remote)


def _refuse_unless_missing(hit: Hit) -> None:
    if (MISSING, str(hit.hit_id)) not in _latest_findings(hit.unit.batch):
        raise Refused("The latest comparison found this HIT on the marketplace. Compare again.")


def _latest_findings(batch: Batch) -> set[tuple[str, str]]:
    latest = reconciliation.latest_reconciliation(batch)
    return {(row["what"], row["hit_id"]) for row in latest.findings} if latest is not None else set()


def _clean_note(note: str) -> str:
    return require_reason("note", note.strip(), MAX_NOTE, ", for the record")


def _record_event(batch: Batch, by: AbstractBaseUser | None, action: str, subject: object) -> None:
    audit.record(
        project=batch.project, actor=by, action=f"reconcile.{action}", subject=subject, batch=batch.pk
    )
