"""Decide about the applicants of a qualification round: outcome and reason, pay, worker status, qualification.

The decisions about a chunk of applicants are committed together: outcome, approval with its payment call, status,
grant. Then the marketplace calls are made. A submission has one outcome, so a repeated or killed job writes nothing
twice; the next run settles unpaid decisions.
"""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from hits import registry
from hits.domain.crashpoints import crash_point
from hits.domain.jobs import turns
from hits.domain.states import OPEN_CALL_STATES, ReviewVerdict, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Decision, Job, Worker
from hits.mturk.port import Marketplace
from hits.services import audit
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.reviewing import review
from hits.services.workers import qualifications
from validation.domain.qualification.outcome import describe_outcome, has_passed
from validation.domain.qualification.worker_status import WorkerStatus
from validation.models import GradingOutcome, QualificationRound, StatusChange
from validation.selectors.grading import load_grades
from validation.selectors.rounds import GradedSubmission, list_submissions, pass_rule, training_kind
from validation.selectors.worker_status import CurrentStatus, current_statuses
from validation.services import notices
from validation.services.worker_status import change_worker_status

ANSWER_TASK = "validation.answer_applicants"
APPLICANTS_CHUNK_SIZE = 50
PASSED_REASON = "You passed the qualification task."


@dataclass(frozen=True, slots=True)
class ApplicantDecisions:
    """The counts of one run. ``outstanding`` applicants are decided but not yet paid."""

    passed: int
    declined: int
    outstanding: int


def request_applicant_decisions(
    *, qualification_round: QualificationRound, by: AbstractBaseUser | None
) -> Job:
    """Queue the decisions about all completely graded applicants.

    Raises:
        Conflict: a job is queued or running already, or no applicant is ready.
    """
    if not _ready_applicants(qualification_round):
        item, _ = registry.get_kind(qualification_round.batch.kind).record_word
        raise Conflict(
            f"No applicant is ready: every {item} needs all its grades, "
            "and an applicant who does not pass needs a note."
        )
    return jobs.enqueue(
        task=ANSWER_TASK,
        title=f"Decide about the applicants of {qualification_round.batch.name}"[:160],
        project=qualification_round.batch.project,
        by=by,
        exclusive_key=f"answer:{qualification_round.pk}",
        batch=qualification_round.batch_id,
        round=qualification_round.pk,
        by_id=by.pk if by else None,
    )


def decide_applicants(
    *,
    qualification_round: QualificationRound,
    by: AbstractBaseUser | None,
    marketplace: Marketplace,
    progress: Progress | None = None,
) -> ApplicantDecisions:
    """Decide about all ready applicants, pay them, and grant the qualification to those who passed; repeatable.

    Raises:
        Refused: the round belongs to another marketplace; nothing was decided.
        TurnOver: the job's turn in a worker process is over; the next turn continues.
    """
    refuse_other_environment_or_fees(qualification_round.batch, marketplace)
    submissions = [applicant.first_key.submission for applicant in _ready_applicants(qualification_round)]
    counts = progress.counts if progress is not None else {}
    for name in ("passed", "declined"):
        counts.setdefault(name, 0)
    paid = 0
    for start in range(0, len(submissions), APPLICANTS_CHUNK_SIZE):
        chunk = submissions[start : start + APPLICANTS_CHUNK_SIZE]
        outcomes = _decide_chunk(qualification_round, chunk, by)
        counts["passed"] += sum(outcome.passed for outcome in outcomes)
        counts["declined"] += sum(not outcome.passed for outcome in outcomes)
        crash_point("answer.after_decision")
        for decision in _unpaid_decisions(qualification_round).filter(assignment__submission__in=chunk):
            _settle_payment(decision, marketplace)
            paid += 1
            if progress is not None:
                progress.advance_in_turn(paid, len(submissions))
            turns.end_turn_if_over()
    # Settle the outstanding calls of earlier runs and turns too.
    last_settled_pk = progress.resume_point.get("after", 0) if progress is not None else 0
    counts.setdefault("outstanding", 0)
    for decision in _unpaid_decisions(qualification_round).filter(pk__gt=last_settled_pk):
        counts["outstanding"] += not _settle_payment(decision, marketplace)
        turns.end_turn_if_over(after=decision.pk)
    return ApplicantDecisions(**counts)


def _ready_applicants(qualification_round: QualificationRound) -> list[GradedSubmission]:
    return [
        applicant
        for applicant in list_submissions(qualification_round, load_grades(qualification_round))
        if applicant.state == "ready"
    ]


def _decide_chunk(
    qualification_round: QualificationRound, submissions: Sequence[uuid.UUID], by: AbstractBaseUser | None
) -> list[GradingOutcome]:
    """Write all decisions about some applicants, or none; applicants decided by another process are left out."""
    with suppress(IntegrityError), transaction.atomic():
        # Locked before the grades are read, so that an outcome counts the stored grades.
        list(Assignment.objects.select_for_update().filter(submission__in=submissions).order_by("pk"))
        ready = [
            applicant
            for applicant in _ready_applicants(qualification_round)
            if applicant.first_key.submission in set(submissions)
        ]
        outcomes = [_decide_applicant(qualification_round, applicant, by) for applicant in ready]
        _grant_qualification(
            qualification_round,
            [applicant for applicant, outcome in zip(ready, outcomes, strict=True) if outcome.passed],
            by,
        )
        return outcomes
    return []  # another process has decided about this chunk


def _decide_applicant(
    qualification_round: QualificationRound, applicant: GradedSubmission, by: AbstractBaseUser | None
) -> GradingOutcome:
    rule, score, assignment = pass_rule(qualification_round), applicant.score, applicant.assignment
    kind = registry.get_kind(qualification_round.batch.kind)
    project = qualification_round.batch.project
    assert assignment.submission is not None
    outcome = GradingOutcome.objects.create(
        submission=assignment.submission,
        passed=has_passed(score, rule),
        reasonable=score.reasonable,
        graded=score.graded,
        exam_right=score.exam.right,
        exam_asked=score.exam.total,
        rule=rule.as_row(),
        reason=describe_outcome(
            score,
            rule,
            applicant.remarks,
            noun=kind.record_word,
            has_training=training_kind(project) is not None,
        ),
        decided_by_id=by.pk if by else None,
    )
    # A Conflict means that the assignment is approved already, in the review queue or automatically, and so paid.
    with suppress(Conflict):
        review.decide_assignment(
            assignment=assignment, verdict=ReviewVerdict.APPROVE, by=by, feedback=outcome.reason
        )
    notices.plan_result_notice(assignment=assignment, outcome=outcome)
    audit.record(
        project=qualification_round.batch.project,
        actor=by,
        action="applicant.pass" if outcome.passed else "applicant.decline",
        subject=assignment.pk,
        reasonable=outcome.reasonable,
    )
    _update_status_if_undecided(qualification_round, assignment.worker, outcome, by)
    return outcome


def _update_status_if_undecided(
    qualification_round: QualificationRound,
    worker: Worker,
    outcome: GradingOutcome,
    by: AbstractBaseUser | None,
) -> None:
    """Set the worker's status, unless a status other than declined was decided before."""
    project = qualification_round.batch.project
    rows = StatusChange.objects.filter(project=project, worker=worker).order_by("-pk")
    latest = rows.values_list("status", flat=True).first()
    if latest not in {None, WorkerStatus.DECLINED}:
        return
    status = WorkerStatus.QUALIFIED if outcome.passed else WorkerStatus.DECLINED
    with suppress(Conflict):
        change_worker_status(project=project, worker=worker, status=status, reason=outcome.reason, by=by)


def _grant_qualification(
    qualification_round: QualificationRound, passed: Sequence[GradedSubmission], by: AbstractBaseUser | None
) -> None:
    """Grant the pool of qualified workers, except to de-qualified and blocked workers.

    The qualification's value is the number of reasonable pairs, so a later batch can require more than the pass mark.
    """
    project = qualification_round.batch.project
    workers = [applicant.assignment.worker for applicant in passed]
    statuses = current_statuses(project, workers=[worker.pk for worker in workers])
    barred = {WorkerStatus.DEQUALIFIED, WorkerStatus.BLOCKED}
    qualifications.decide_on_workers(
        project=project,
        workers=[
            worker for worker in workers if statuses.get(worker.pk, CurrentStatus()).status not in barred
        ],
        action=WorkerAction.GRANT,
        pool=Pool.QUALIFIED,
        reason=PASSED_REASON,
        by=by,
        values={applicant.assignment.worker.pk: applicant.score.reasonable for applicant in passed},
    )


def _unpaid_decisions(qualification_round: QualificationRound) -> "QuerySet[Decision]":
    decisions = Decision.objects.filter(
        assignment__hit__unit__batch=qualification_round.batch_id,
        calls__state__in=OPEN_CALL_STATES,
    ).distinct()
    return decisions.select_related("assignment__hit__unit__batch", "assignment__worker").order_by("pk")


def _settle_payment(decision: Decision, marketplace: Marketplace) -> bool:
    """Make the calls of a decision; return whether they are done. The batch's page shows outstanding calls."""
    try:
        return review.settle_decision(decision=decision, marketplace=marketplace)
    except Refused:
        return False
