"""Answer applicants: the outcome with its reason, the pay, the standing, the pool of the qualified.

Some applicants at a time, what is decided about them is committed together: outcome, approval and its payment's
call, standing, grant. Then the calls are made. An outcome stands once per submission, so that a repeated or a
killed job writes nothing twice, and what it left unpaid is taken up again.
"""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from hits.domain.crashpoints import crash_point
from hits.domain.jobs import turns
from hits.domain.states import OPEN_CALL_STATES, Verdict, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Decision, Job, Worker
from hits.mturk.port import Marketplace
from hits.services import audit
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.reviewing import review
from hits.services.workers import qualifications
from validation.domain.qualification.outcome import passes, reason
from validation.domain.qualification.worker_status import Standing
from validation.models import GradingOutcome, QualificationRound, StandingChange
from validation.selectors.grading import grades_of
from validation.selectors.rounds import Applicant, applicants_of, rule_of
from validation.selectors.worker_status import Place, standings
from validation.services import notices
from validation.services.worker_status import change_standing

ANSWER_TASK = "validation.answer_applicants"
TOGETHER = 50
PASSED = "You passed the qualification task."


@dataclass(frozen=True, slots=True)
class Answered:
    """What answering came to. ``outstanding`` are answered, and not paid yet."""

    passed: int
    declined: int
    outstanding: int


def request_answers(*, found: QualificationRound, by: AbstractBaseUser | None) -> Job:
    """Queue the answers to everybody who is completely graded.

    Raises:
        Conflict: answers are under way already, or nobody is ready.
    """
    if not _ready(found):
        raise Conflict("Nobody is ready to be answered: every pair needs its grades, and a fail its reason.")
    return jobs.enqueue(
        task=ANSWER_TASK,
        title=f"Answer the applicants of {found.batch.name}"[:160],
        project=found.batch.project,
        by=by,
        exclusive_key=f"answer:{found.pk}",
        batch=found.batch_id,
        round=found.pk,
        by_id=by.pk if by else None,
    )


def answer_applicants(
    *,
    found: QualificationRound,
    by: AbstractBaseUser | None,
    marketplace: Marketplace,
    progress: Progress | None = None,
) -> Answered:
    """Answer, pay and, who passed, qualify everybody who is ready; repeatable.

    Raises:
        Refused: the round belongs to another marketplace; nothing was decided.
        TurnOver: in a worker; the rest waits for the next turn.
    """
    refuse_other_marketplace(found.batch, marketplace)
    ready = [applicant.first.submission for applicant in _ready(found)]
    counts = progress.tally if progress is not None else {}
    for name in ("passed", "declined"):
        counts.setdefault(name, 0)
    done = 0
    for start in range(0, len(ready), TOGETHER):
        wanted = ready[start : start + TOGETHER]
        outcomes = _decide(found, wanted, by)
        counts["passed"] += sum(outcome.passed for outcome in outcomes)
        counts["declined"] += sum(not outcome.passed for outcome in outcomes)
        crash_point("answer.after_decision")
        for decision in _unpaid(found).filter(assignment__submission__in=wanted):
            _pay(decision, marketplace)
            done += 1
            if progress is not None:
                progress.step(done, len(ready))
            turns.rest()
    # Also what an earlier run or turn left, or the marketplace would not take a moment ago.
    before = progress.place.get("after", 0) if progress is not None else 0
    counts.setdefault("outstanding", 0)
    for decision in _unpaid(found).filter(pk__gt=before):
        counts["outstanding"] += not _pay(decision, marketplace)
        turns.rest(after=decision.pk)
    return Answered(**counts)


def _ready(found: QualificationRound) -> list[Applicant]:
    return [a for a in applicants_of(found, grades_of(found)) if a.state == "ready"]


def _decide(
    found: QualificationRound, wanted: Sequence[uuid.UUID], by: AbstractBaseUser | None
) -> list[GradingOutcome]:
    """Write down everything about some applicants, all or nothing; whoever was answered meanwhile is left out."""
    with suppress(IntegrityError), transaction.atomic():
        # Locked before the grades are read: what an outcome counts is what stands beside it.
        list(Assignment.objects.select_for_update().filter(submission__in=wanted).order_by("pk"))
        ready = [applicant for applicant in _ready(found) if applicant.first.submission in set(wanted)]
        outcomes = [_answer(found, applicant, by) for applicant in ready]
        _qualify(found, [a for a, o in zip(ready, outcomes, strict=True) if o.passed], by)
        return outcomes
    return []  # another process answered one of them a moment ago, and so all of them


def _answer(found: QualificationRound, applicant: Applicant, by: AbstractBaseUser | None) -> GradingOutcome:
    rule, score, assignment = rule_of(found), applicant.score, applicant.assignment
    assert assignment.submission is not None
    outcome = GradingOutcome.objects.create(
        submission=assignment.submission,
        passed=passes(score, rule),
        reasonable=score.reasonable,
        graded=score.graded,
        exam_right=score.exam.right,
        exam_asked=score.exam.asked,
        rule=rule.as_row(),
        reason=reason(score, rule, applicant.remarks),
        decided_by_id=by.pk if by else None,
    )
    # Approved already, on the review desk or by the marketplace's clock: then it is paid, too.
    with suppress(Conflict):
        review.decide(assignment=assignment, verdict=Verdict.APPROVE, by=by, feedback=outcome.reason)
    notices.plan_result(assignment=assignment, outcome=outcome)
    audit.record(
        project=found.batch.project,
        actor=by,
        action="applicant.pass" if outcome.passed else "applicant.decline",
        subject=assignment.pk,
        reasonable=outcome.reasonable,
    )
    _change_standing(found, assignment.worker, outcome, by)
    return outcome


def _change_standing(
    found: QualificationRound, worker: Worker, outcome: GradingOutcome, by: AbstractBaseUser | None
) -> None:
    """Let the standing follow, unless something weightier was decided about the worker before."""
    project = found.batch.project
    rows = StandingChange.objects.filter(project=project, worker=worker).order_by("-pk")
    latest = rows.values_list("standing", flat=True).first()
    if latest not in {None, Standing.DECLINED}:
        return
    standing = Standing.QUALIFIED if outcome.passed else Standing.DECLINED
    with suppress(Conflict):
        change_standing(project=project, worker=worker, standing=standing, reason=outcome.reason, by=by)


def _qualify(found: QualificationRound, passed: Sequence[Applicant], by: AbstractBaseUser | None) -> None:
    """Grant the pool of the qualified; nobody who was de-qualified or blocked comes back in this way.

    The qualification is worth the round's score, the number of reasonable pairs, so that a later batch can ask for
    more than the pass mark.
    """
    project = found.batch.project
    workers = [applicant.assignment.worker for applicant in passed]
    places = standings(project, only=[worker.pk for worker in workers])
    shut = {Standing.DEQUALIFIED, Standing.BLOCKED}
    qualifications.decide_about_many(
        project=project,
        workers=[worker for worker in workers if places.get(worker.pk, Place()).standing not in shut],
        action=WorkerAction.GRANT,
        pool=Pool.QUALIFIED,
        reason=PASSED,
        by=by,
        values={applicant.assignment.worker.pk: applicant.score.reasonable for applicant in passed},
    )


def _unpaid(found: QualificationRound) -> "QuerySet[Decision]":
    waiting = Decision.objects.filter(
        assignment__hit__unit__batch=found.batch_id,
        calls__state__in=OPEN_CALL_STATES,
    ).distinct()
    return waiting.select_related("assignment__hit__unit__batch", "assignment__worker").order_by("pk")


def _pay(decision: Decision, marketplace: Marketplace) -> bool:
    """Carry a decision out; return whether that is done. What is not is shown on the batch's page, and repeated."""
    try:
        return review.settle(decision=decision, marketplace=marketplace)
    except Refused:
        return False
