"""Pay one worker for work that our page has and the marketplace does not show.

There is no assignment that could be approved, so the worker gets a HIT of their own: only they hold the value of the
qualification that it requires. It pays what the lost work would have paid, and is approved as soon as it comes in.
"""

import logging

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from hits import registry
from hits.domain.jobs import turns
from hits.domain.money.usd import format_dollars
from hits.domain.states import AssignmentStatus, Match, Purpose, Remedy, Verdict, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator, Guards
from hits.models import Assignment, Batch, Resolution, Submission
from hits.mturk.environments import current
from hits.mturk.port import Marketplace
from hits.selectors.eligibility.eligibility import held_by
from hits.selectors.reconciliation import is_lost, owed_cents
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import Access, Condition, Terms
from hits.services.reviewing import review
from hits.services.workers.qualifications import decide_about

logger = logging.getLogger(__name__)
KIND = "compensation"


def compensate(
    *,
    submission: Submission,
    note: str,
    by: AbstractBaseUser | None,
    confirmed_cents: int | None = None,
) -> Resolution:
    """Launch the task that pays for a lost submission, for its worker alone, and tell them; once a submission.

    ``note`` says why, for the record. ``confirmed_cents`` is the typed cost, where one is asked for.

    Raises:
        Refused: it is not lost, no reason, a blocked worker, another marketplace, a cap, missing funds.
        Conflict: somebody decided about it already.
    """
    batch, worker = submission.attempt.hit.unit.batch, submission.attempt.worker
    _check(submission, note)
    kind = registry.get(KIND)
    task, stored = registry.get(submission.kind).title, f"{submission.received_at:%-d %B %Y, %H:%M} UTC"
    owed = owed_cents(submission)
    alone = Condition(Pool.COMPENSATION, Comparator.EQUAL_TO, (worker.pk,), Guards.DISCOVER)
    try:
        with transaction.atomic():
            decide_about(
                project=batch.project,
                worker=worker,
                action=WorkerAction.GRANT,
                pool=Pool.COMPENSATION,
                value=worker.pk,
                reason=f"You did “{task}” on {stored}, and your answer did not get through. “{kind.title}” is for "
                f"you alone: it is in your list within a few minutes and pays {format_dollars(owed)}.",
                by=by,
            )
            launched, _ = launch_batch(
                project=batch.project,
                kind_name=KIND,
                name=f"Compensation for {worker}",
                units=[
                    PlannedUnit(
                        key=str(submission.pk),
                        payload={"submission": str(submission.pk), "task": task, "stored": stored},
                    )
                ],
                by=by,
                terms=Terms(
                    reward_cents=owed,
                    opinions=1,
                    confirmed_cents=confirmed_cents,
                    access=Access(conditions=(alone,)),
                ),
                provenance={"compensates": str(submission.pk), "batch": batch.pk},
                once=f"compensation:{submission.pk}",
            )
            return _resolve(submission, note, by, launched)
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this submission just now.") from error


def _check(submission: Submission, note: str) -> None:
    hit, worker = submission.attempt.hit, submission.attempt.worker
    if not note.strip():
        raise Refused("note: say why, for the record")
    if Resolution.objects.filter(submission__attempt=submission.attempt_id).exists():
        raise Conflict("This submission was decided on already.")
    if not is_lost(submission):
        raise Refused(
            "The marketplace may still show this submission: its time and an hour are not over, or it has it by now. "
            "Compare again later."
        )
    if held_by(worker, hit.unit.batch.project).blocked is not None:
        raise Refused(f"{worker} is blocked, so the marketplace shows them no task: lift the block first.")
    if current().name != hit.environment:
        raise Refused(
            f"This work was done on the marketplace {hit.environment}, and MTURK_ENDPOINT now means "
            f"{current().name}: set it back to compensate for it."
        )


def _resolve(
    submission: Submission, note: str, by: AbstractBaseUser | None, compensation: Batch
) -> Resolution:
    resolution = Resolution.objects.create(
        submission=submission,
        remedy=Remedy.COMPENSATE,
        note=note.strip()[:1000],
        compensation=compensation,
        decided_by_id=by.pk if by else None,
    )
    audit.record(
        project=compensation.project,
        actor=by,
        action="reconcile.compensate",
        subject=submission.pk,
        batch=compensation.pk,
    )
    return resolution


def approve_handed_in(*, marketplace: Marketplace) -> int:
    """Approve and pay the compensations that came in; return how many. Repeatable."""
    waiting = Assignment.objects.filter(
        hit__environment=marketplace.environment.name,
        hit__unit__batch__kind__in=registry.with_purpose(Purpose.COMPENSATING),
        status=AssignmentStatus.SUBMITTED,
        match=Match.MATCHED,
        decisions=None,
    )
    approved = 0
    for assignment in waiting.select_related("hit__unit__batch__project", "worker", "submission"):
        try:
            decision = review.decide(assignment=assignment, verdict=Verdict.APPROVE, by=None)
            review.settle(decision=decision, marketplace=marketplace)
        except Refused as error:
            # What was decided and not carried out is repeated with all other outstanding calls.
            logger.warning("compensation %s is not paid yet: %s", assignment.pk, error)
        approved += 1
        turns.rest()
    return approved
