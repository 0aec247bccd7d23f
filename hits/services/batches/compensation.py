"""Pay one worker for work that our page stored and the marketplace does not list.

No assignment exists that could be approved, so the worker gets a HIT of their own: it requires a qualification value
that only this worker has. It pays what the lost work would have paid, and is approved when it is submitted.
"""

import logging

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from hits import registry
from hits.domain.jobs import turns
from hits.domain.money.usd import format_dollars
from hits.domain.states import (
    AssignmentStatus,
    MismatchRemedy,
    Purpose,
    ReviewVerdict,
    SubmissionMatch,
    WorkerAction,
)
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator, GuardedActions
from hits.models import Assignment, Batch, Resolution, Submission
from hits.mturk.environments import current_environment
from hits.mturk.port import Marketplace
from hits.selectors.eligibility.eligibility import worker_holdings
from hits.selectors.reconciliation import is_lost_and_undecided, owed_cents
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import Eligibility, LaunchTerms, PlannedRequirement
from hits.services.reviewing import review
from hits.services.workers.qualifications import decide_on_worker

logger = logging.getLogger(__name__)
KIND = "compensation"


def compensate_submission(
    *,
    submission: Submission,
    note: str,
    by: AbstractBaseUser | None,
    confirmed_cents: int | None = None,
) -> Resolution:
    """Launch the task that pays the worker of a lost submission, once, and notify the worker.

    ``note`` is the reason for the record. ``confirmed_cents`` is the typed cost, if one is required.

    Raises:
        Refused: not lost, no reason, a blocked worker, another marketplace, over a cap, too little funds.
        Conflict: a decision on it exists.
    """
    batch, worker = submission.attempt.hit.unit.batch, submission.attempt.worker
    _check_can_compensate(submission, note)
    kind = registry.get_kind(KIND)
    task, stored = registry.get_kind(submission.kind).title, f"{submission.received_at:%-d %B %Y, %H:%M} UTC"
    cents = owed_cents(submission)
    only_worker = PlannedRequirement(
        Pool.COMPENSATION, Comparator.EQUAL_TO, (worker.pk,), GuardedActions.DISCOVER
    )
    try:
        with transaction.atomic():
            decide_on_worker(
                project=batch.project,
                worker=worker,
                action=WorkerAction.GRANT,
                pool=Pool.COMPENSATION,
                value=worker.pk,
                reason=f"You did “{task}” on {stored}, and your answer was lost. The task “{kind.title}” is "
                "only for you: it appears in your list within a few minutes and "
                f"pays {format_dollars(cents)}.",
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
                terms=LaunchTerms(
                    reward_cents=cents,
                    redundancy=1,
                    confirmed_cents=confirmed_cents,
                    eligibility=Eligibility(requirements=(only_worker,)),
                ),
                provenance={"compensates": str(submission.pk), "batch": batch.pk},
                idempotency_key=f"compensation:{submission.pk}",
            )
            return _write_resolution(submission, note, by, launched)
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this submission just now.") from error


def _check_can_compensate(submission: Submission, note: str) -> None:
    hit, worker = submission.attempt.hit, submission.attempt.worker
    if not note.strip():
        raise Refused("note: write the reason, for the record")
    if Resolution.objects.filter(submission__attempt=submission.attempt_id).exists():
        raise Conflict("This submission has a decision already.")
    if not is_lost_and_undecided(submission):
        raise Refused(
            "The marketplace may still list this submission: at the last check, the worker’s allowed time plus "
            "one hour was not over, or the submission arrived in the meantime. Compare again later."
        )
    if worker_holdings(worker, hit.unit.batch.project).block is not None:
        raise Refused(f"{worker} is blocked and sees no tasks on the marketplace: lift the block first.")
    if current_environment().name != hit.environment:
        raise Refused(
            f"This work was done on the marketplace {hit.environment}, but MTURK_ENDPOINT now names "
            f"{current_environment().name}: set MTURK_ENDPOINT back to compensate for this work."
        )


def _write_resolution(
    submission: Submission, note: str, by: AbstractBaseUser | None, compensation: Batch
) -> Resolution:
    resolution = Resolution.objects.create(
        submission=submission,
        remedy=MismatchRemedy.COMPENSATE,
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


def approve_submitted_compensations(*, marketplace: Marketplace) -> int:
    """Approve and pay the submitted compensations; return their number. Repeatable."""
    waiting = Assignment.objects.filter(
        hit__environment=marketplace.environment.name,
        hit__unit__batch__kind__in=registry.kinds_with_purpose(Purpose.COMPENSATING),
        status=AssignmentStatus.SUBMITTED,
        match=SubmissionMatch.MATCHED,
        decisions=None,
    )
    approved = 0
    for assignment in waiting.select_related("hit__unit__batch__project", "worker", "submission"):
        try:
            decision = review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=None)
            review.settle_decision(decision=decision, marketplace=marketplace)
        except Refused as error:
            # The sweep repeats decided calls that are outstanding.
            logger.warning("compensation %s is not paid yet: %s", assignment.pk, error)
        approved += 1
        turns.end_turn_if_over()
    return approved
