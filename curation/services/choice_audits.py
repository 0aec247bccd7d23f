"""Store the audits of question sets, and the reasons for using a set that is over a limit."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import AuditWaiver, QuestionSet
from curation.selectors.choice_audits import audits_over_limit, audits_sha256, current_waiver
from curation.selectors.jobs import AUDIT_CHOICES
from hits.models import Job
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs

MIN_REASON_LENGTH, MAX_REASON_LENGTH = 20, 1000


@transaction.atomic
def store_audits(*, question_set: QuestionSet, audits: dict[str, Any], by: AbstractBaseUser | None) -> None:
    """Store a set's audits; an earlier waiver counts on if they are the same as before."""
    QuestionSet.objects.filter(pk=question_set.pk).update(audits=audits)
    question_set.audits = audits
    audit.record(
        project=question_set.project,
        actor=by,
        action="question_set.audit",
        subject=question_set.pk,
        over=len(audits_over_limit(question_set)),
    )


@transaction.atomic
def waive_audits(*, question_set: QuestionSet, reason: str, by: AbstractBaseUser | None) -> AuditWaiver:
    """Store why a set is used although audits are over a limit. The same reason again returns the first row.

    Raises:
        Refused: the reason is too short or too long.
        Conflict: the set is not audited, or no audit is over a limit.
    """
    locked = QuestionSet.objects.select_for_update().get(pk=question_set.pk)
    reason = " ".join(reason.split())
    if not MIN_REASON_LENGTH <= len(reason) <= MAX_REASON_LENGTH:
        raise Refused(
            f"reason: has {len(reason)} characters; write {MIN_REASON_LENGTH} to {MAX_REASON_LENGTH}, so that others "
            "understand it"
        )
    over = audits_over_limit(locked)
    if not over:
        raise Conflict(f"set {locked.name}: no audit is over a limit; it needs no reason")
    known = current_waiver(locked)
    if known is not None and known.reason == reason:
        return known
    waiver = AuditWaiver.objects.create(
        question_set=locked, audits_sha256=audits_sha256(locked), reason=reason, by_id=by.pk if by else None
    )
    audit.record(
        project=locked.project, actor=by, action="question_set.waive", subject=locked.pk, over=len(over)
    )
    return waiver


def request_choice_audits(
    *, question_set: QuestionSet, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Queue the audits of a question set; for ``queue`` see ``hits.services.jobs.jobs.enqueue``.

    Raises:
        Refused: the set has no questions yet.
        Conflict: its audits are running.
    """
    if not question_set.questions.exclude(choices=[]).exists():
        raise Refused(f"set {question_set.name}: has no questions yet; wait until it is built")
    return jobs.enqueue(
        task=AUDIT_CHOICES,
        title=f"Audit question set {question_set.name}"[:160],
        project=question_set.project,
        by=by,
        exclusive_key=f"choice-audits:{question_set.pk}",
        resumable=True,
        queue=queue,
        set=question_set.pk,
    )
