"""Send a sample of submissions to reviewers, send their advice to the authors, and choose who reviews.

Nothing here changes a worker's status: reviews feed worker rules, which only propose (``worker_rules``).
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.states import AssignmentStatus, WorkerAction
from hits.domain.workers.notices import MAX_TEXT
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Batch, Job, Project, Record, Worker, WorkerDecision
from hits.selectors import records as collected
from hits.selectors.eligibility.eligibility import pool_worker_ids
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.launch import PlannedUnit, find_launched_batch_and_job
from hits.services.launching.terms import LaunchTerms
from hits.services.workers.qualifications import decide_on_workers
from validation.domain.judging.round_material import RecordToJudge, SubmissionToReview
from validation.domain.judging.sampling import MAX_SEED
from validation.domain.judging.work_samples import DEFAULT_EVERY, MAX_EVERY, is_sampled
from validation.selectors import work_digest
from validation.selectors import work_reviews as selectors
from validation.services import notices
from validation.services.judging import RoundPlan, launch_judging_units

SEED_RANGE = 1_000_000_000  # random seeds are below this


@dataclass(frozen=True, slots=True)
class WorkReviewLaunch:
    """A launched round; ``batch`` is ``None`` if no new submission is in the sample of ``candidates`` new ones."""

    batch: Batch | None
    job: Job | None
    sampled: int
    candidates: int
    every: int
    seed: int


def launch_work_review(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    every: int = DEFAULT_EVERY,
    seed: int | None = None,
    name: str = "",
    terms: LaunchTerms | None = None,
    idempotency_key: str = "",
) -> WorkReviewLaunch:
    """Send the new submissions of one HIT in ``every`` to reviewers, never their author.

    A submission is sent once, so a repeated call launches only submissions that arrived meanwhile. Every round is for
    holders of the qualification ``work-reviewers`` alone.

    Args:
        seed: of the sample; by default the project's last one, or a new random one, which workers cannot guess.
        terms: pay and redundancy; by default the kind's own.
        idempotency_key: a repeated request with the same key returns the first batch.

    Raises:
        Refused: ``every`` or ``seed`` is out of range, or the launch is not possible.
    """
    if not 1 <= every <= MAX_EVERY:
        raise Refused(f"every: {every} is not offered; use 1 (all) to {MAX_EVERY}")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise Refused(f"seed: {seed} is not offered; use 0 to {MAX_SEED}")
    with transaction.atomic():
        # Locks the project, so that a parallel launch does not send the same submissions.
        Project.objects.select_for_update().get(pk=project.pk)
        used_seed = default_seed(project) if seed is None else seed
        existing = find_launched_batch_and_job(project=project, idempotency_key=idempotency_key)
        if existing is not None:
            batch, job = existing
            sampled = batch.units.count()
            return WorkReviewLaunch(batch, job, sampled, sampled, every, used_seed)
        candidates = list(selectors.reviewable_assignments(project))
        sample = [row for row in candidates if is_sampled(used_seed, row.hit.hit_id or "", every)]
        if not sample:
            return WorkReviewLaunch(None, None, 0, len(candidates), every, used_seed)
        batch, job = launch_judging_units(
            project=project,
            kind=selectors.submission_spec().name,
            units=_plan_units(sample),
            plan=RoundPlan(),
            name=name or f"Review of {len(sample)} submission{'' if len(sample) == 1 else 's'}",
            by=by,
            terms=replace(terms or LaunchTerms(), eligibility=build_eligibility(pool=Pool.WORK_REVIEWERS)),
            provenance={"every": every, "seed": used_seed, "candidates": len(candidates)},
            idempotency_key=idempotency_key,
        )
    return WorkReviewLaunch(batch, job, len(sample), len(candidates), every, used_seed)


def default_seed(project: Project) -> int:
    """Return the seed of the project's last sample, or a new random one."""
    last = selectors.last_seed(project)
    return secrets.randbelow(SEED_RANGE) if last is None else last


def count_sample(project: Project, *, every: int, seed: int) -> tuple[int, int]:
    """Return how many new submissions are in the sample, and how many new ones there are."""
    hit_ids = list(selectors.reviewable_assignments(project).values_list("hit__hit_id", flat=True))
    return sum(is_sampled(seed, hit_id or "", every) for hit_id in hit_ids), len(hit_ids)


def _plan_units(assignments: Sequence[Assignment]) -> list[PlannedUnit]:
    records = selectors.records_by_submission(assignments)
    images = collected.image_ids_by_record([row for rows in records.values() for row in rows])
    return [
        _plan_unit(row, records.get(row.submission_id, []), images)
        for row in assignments
        if row.submission_id
    ]


def _plan_unit(
    assignment: Assignment, rows: Sequence[Record], images: dict[int, tuple[int, ...]]
) -> PlannedUnit:
    assert assignment.submission_id is not None
    key = selectors.submission_key(assignment.submission_id)
    records = [RecordToJudge(row.instance_id, row.index, images[row.pk], row.fields) for row in rows]
    source = SubmissionToReview(key, assignment.hit.unit.payload, records)
    return PlannedUnit(key, selectors.submission_spec().build_unit(source), [assignment.worker])


def plan_advice_notices(*, project: Project | None = None) -> int:
    """Plan a message to the author for each approved review; return their number. Repeatable.

    The message has the advice alone: neither the reviewer, nor the labels, nor the overall verdict. The outbox makes
    the calls, and repeats them after a failure. It waits until the author's work is decided, because a marketplace
    delivers messages only to workers whose work the requester has decided about.
    """
    reviews = selectors.reviews_with_unsent_advice(project)
    by_project: dict[int, list[Assignment]] = {}
    for review in reviews:
        by_project.setdefault(review.hit.unit.batch.project_id, []).append(review)
    planned = 0
    for rows in by_project.values():
        reviewed = selectors.assignments_by_key(
            rows[0].hit.unit.batch.project, [row.hit.unit.key for row in rows]
        )
        for review in rows:
            work = reviewed.get(review.hit.unit.key)
            if work is not None and work.status != AssignmentStatus.SUBMITTED:
                planned += notices.plan_advice_notice(work=work, review=review)
    return planned


def set_reviewer(
    *, project: Project, worker: Worker, is_reviewer: bool, reason: str, by: AbstractBaseUser | None
) -> tuple[WorkerDecision, Job]:
    """Grant or take back the qualification ``work-reviewers``, and queue the marketplace's call.

    Raises:
        Refused: no reason. Conflict: the worker holds it already, or does not.
    """
    with transaction.atomic():
        Worker.objects.select_for_update().get(pk=worker.pk)
        holds = worker.pk in pool_worker_ids(project, Pool.WORK_REVIEWERS)
        if holds == is_reviewer:
            raise Conflict(f"{worker} {'reviews already' if holds else 'does not review'}.")
        decisions, job = decide_on_workers(
            project=project,
            workers=[worker],
            action=WorkerAction.GRANT if is_reviewer else WorkerAction.REVOKE,
            pool=Pool.WORK_REVIEWERS,
            reason=reason,
            by=by,
        )
    assert job is not None
    return decisions[0], job


def send_digest(
    *, project: Project, worker: Worker, window: int, text: str, by: AbstractBaseUser | None
) -> None:
    """Plan a digest's text as a message to the worker, once for a window.

    Raises:
        Refused: the text is empty or too long, or the worker submitted nothing in the window that is decided.
        Conflict: it was sent already.
    """
    cleaned = text.strip()
    if not 1 <= len(cleaned) <= MAX_TEXT:
        raise Refused(f"text: has {len(cleaned)} characters; write 1 to {MAX_TEXT}")
    decided = [
        row
        for row in work_digest.digest_assignments(project, window, worker)
        if row.status != AssignmentStatus.SUBMITTED
    ]
    if not decided:
        raise Refused(
            f"digest: no submission of {worker} in these 48 hours is decided; decide about one first"
        )
    key = work_digest.digest_key(project, worker, window)
    with transaction.atomic():
        if not notices.plan_digest_notice(assignment=decided[-1], key=key, text=cleaned):
            raise Conflict(f"The digest of {worker} for these 48 hours was sent already.")
        audit.record(project=project, actor=by, action="digest.send", subject=worker.pk, window=window)
