"""Copy a batch's assignments from the marketplace, and match them with the submissions that our pages stored.

The marketplace's list decides who submitted what. A stored submission counts if the answer of the same assignment and
worker holds its id and SHA-256; everything else is unmatched and waits for a person.
"""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from hits.domain.jobs import turns
from hits.domain.mturk_formats.answer_xml import AnswerError, extract_fields
from hits.domain.states import AssignmentStatus, HitState, SubmissionMatch
from hits.models import Assignment, Batch, Hit, Submission, Worker
from hits.mturk.port import Marketplace, MarketplaceError, RemoteAssignment
from hits.selectors.batches import iterate_in_chunks
from hits.services.collecting.records import store_records_if_missing
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.money import postings

logger = logging.getLogger(__name__)
# A rejection may be overridden by an approval, which is final.
_STATUS_ORDER = [AssignmentStatus.SUBMITTED, AssignmentStatus.REJECTED, AssignmentStatus.APPROVED]


@dataclass(frozen=True, slots=True)
class SyncCounts:
    """The counts of one sync. A person has to check ``unmatched`` assignments.

    ``failed`` HITs could not be read, for example because the marketplace no longer has them.
    """

    hits: int
    new: int
    matched: int
    unmatched: int
    failed: int = 0


def sync_batch(
    *, batch: Batch, marketplace: Marketplace, resume_point: Mapping[str, Any] | None = None
) -> SyncCounts:
    """Copy the batch's assignments from the marketplace. Repeatable, safe in parallel.

    One unreadable HIT does not delay the others. ``resume_point`` is the end of an earlier turn.

    Raises:
        TurnOver: in a worker process; the next turn resumes at its resume point.
        Refused: the batch belongs to another marketplace.
        MarketplaceError: the marketplace does not answer.
    """
    refuse_other_environment_or_fees(batch, marketplace)
    # ``synced_at`` is the start, since this sync may miss what arrives during it.
    earlier = resume_point or {}
    started_at = datetime.fromisoformat(earlier["asked_at"]) if "asked_at" in earlier else timezone.now()
    counts = {"hits": 0, "new": 0, "matched": 0, "unmatched": 0, "failed": 0} | earlier.get("counts", {})
    hits = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE, pk__gt=earlier.get("hit", 0))
    last = 0
    for hit in iterate_in_chunks(hits.select_related("unit__batch__project")):
        if not hit.hit_id or _all_assignments_decided(hit):
            continue
        if last:
            turns.end_turn_if_over(hit=last, asked_at=started_at.isoformat(), counts=counts)
        last = hit.pk
        counts["hits"] += 1
        try:
            found = sync_hit(hit=hit, marketplace=marketplace)
        except MarketplaceError as error:
            if error.is_retryable:
                raise
            logger.warning("HIT %s of batch %s cannot be read: %s", hit.hit_id, batch.pk, error)
            counts["failed"] += 1
            continue
        for assignment, new in found:
            counts["new"] += new
            matched = assignment.match == SubmissionMatch.MATCHED
            counts["matched"] += matched
            counts["unmatched"] += not matched
    Batch.objects.filter(pk=batch.pk).update(synced_at=started_at)
    return SyncCounts(**counts)


def sync_hit(*, hit: Hit, marketplace: Marketplace) -> list[tuple[Assignment, bool]]:
    """Copy one HIT's assignments; return each with whether it is new."""
    # Read the whole list first: the marketplace may answer from the database that we write to.
    listed = list(marketplace.list_assignments(str(hit.hit_id)))
    return [record_assignment(hit=hit, remote=remote) for remote in listed]


def _all_assignments_decided(hit: Hit) -> bool:
    """Return whether every assignment of the HIT is decided, so that nothing new can come."""
    decided = hit.assignments.exclude(status=AssignmentStatus.SUBMITTED).count()
    return decided >= hit.max_assignments


@transaction.atomic
def record_assignment(*, hit: Hit, remote: RemoteAssignment) -> tuple[Assignment, bool]:
    """Store one assignment as the marketplace lists it; return it with whether it is new."""
    worker, _ = Worker.objects.get_or_create(environment=hit.environment, worker_id=remote.worker_id)
    match, submission = _match_submission(hit, worker, remote)
    known = Assignment.objects.select_for_update().filter(hit=hit, assignment_id=remote.assignment_id).first()
    assignment, new = Assignment.objects.update_or_create(
        hit=hit,
        assignment_id=remote.assignment_id,
        defaults={
            "worker": worker,
            "status": _later_status(known.status, remote.status) if known is not None else remote.status,
            "match": match,
            "submission": submission,
            "answer_xml": remote.answer_xml,
            "accepted_at": remote.accepted_at,
            "submitted_at": remote.submitted_at,
            "auto_approves_at": remote.auto_approves_at,
            "synced_at": timezone.now(),
        },
    )
    assignment.hit = hit  # with its batch loaded
    if submission is not None and assignment.record_error is None:
        store_records_if_missing(assignment)
    _post_to_ledger(assignment)
    return assignment, new


def _later_status(known: str, remote: str) -> str:
    """Return the later of two states, since a list that was read before a decision must not undo it."""
    return max(known, remote, key=lambda status: _STATUS_ORDER.index(AssignmentStatus(status)))


def _match_submission(
    hit: Hit, worker: Worker, remote: RemoteAssignment
) -> tuple[SubmissionMatch, Submission | None]:
    try:
        fields = extract_fields(remote.answer_xml, ("submission_id", "sha256"))
        submission_id = uuid.UUID(fields["submission_id"])
    except (AnswerError, ValueError):
        return SubmissionMatch.MARKETPLACE_ONLY, None
    found = Submission.objects.select_related("attempt").filter(pk=submission_id).first()
    if found is None:
        return SubmissionMatch.MARKETPLACE_ONLY, None
    attempt = found.attempt
    is_same = (
        attempt.hit_id == hit.pk
        and attempt.assignment_id == remote.assignment_id
        and attempt.worker_id == worker.pk
        and found.sha256 == fields["sha256"]
    )
    return (SubmissionMatch.MATCHED, found) if is_same else (SubmissionMatch.MISMATCH, None)


def _post_to_ledger(assignment: Assignment) -> None:
    """Post the marketplace's decision about the held reward; auto-approvals count too."""
    if assignment.status == AssignmentStatus.APPROVED:
        postings.post_reward(assignment)
    elif assignment.status == AssignmentStatus.REJECTED:
        postings.post_rejection(assignment)
