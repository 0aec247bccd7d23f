"""Ask the marketplace what was submitted, and match it with what our pages stored.

The marketplace's list is the truth about who submitted what. A submission of ours counts only when
its id and sha256 stand in the answer of that very assignment and worker (ruling 11).
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
from hits.domain.mturk_formats.answer_xml import AnswerError, submission_fields
from hits.domain.states import AssignmentStatus, HitState, Match
from hits.models import Assignment, Batch, Hit, Submission, Worker
from hits.mturk.port import Marketplace, MarketplaceError, RemoteAssignment
from hits.selectors.batches import one_by_one
from hits.services.collecting.records import collect_records
from hits.services.environment import refuse_other_marketplace
from hits.services.money import postings

logger = logging.getLogger(__name__)
# A rejection may be overridden by an approval, which is final.
_IN_ORDER = [AssignmentStatus.SUBMITTED, AssignmentStatus.REJECTED, AssignmentStatus.APPROVED]


@dataclass(frozen=True, slots=True)
class Collected:
    """What one look at the marketplace found. ``unmatched`` need a person's eyes.

    ``failed`` HITs could not be looked at, for instance because the marketplace no longer has them.
    """

    hits: int
    new: int
    matched: int
    unmatched: int
    failed: int = 0


def sync_batch(
    *, batch: Batch, marketplace: Marketplace, place: Mapping[str, Any] | None = None
) -> Collected:
    """Copy the batch's assignments from the marketplace; repeatable, and safe beside itself.

    One HIT that cannot be looked at does not keep the others waiting. ``place`` is where an earlier turn ended.

    Raises:
        TurnOver: in a worker; its place is where to go on.
        Refused: the batch belongs to another marketplace.
        MarketplaceError: the marketplace does not answer.
    """
    refuse_other_marketplace(batch, marketplace)
    # What is said of time that was over needs the beginning: what comes in meanwhile may be missed.
    before = place or {}
    asked_at = datetime.fromisoformat(before["asked_at"]) if "asked_at" in before else timezone.now()
    counts = {"hits": 0, "new": 0, "matched": 0, "unmatched": 0, "failed": 0} | before.get("counts", {})
    hits = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE, pk__gt=before.get("hit", 0))
    last = 0
    for hit in one_by_one(hits.select_related("unit__batch__project")):
        if not hit.hit_id or _complete(hit):
            continue
        if last:
            turns.rest(hit=last, asked_at=asked_at.isoformat(), counts=counts)
        last = hit.pk
        counts["hits"] += 1
        try:
            found = sync_hit(hit=hit, marketplace=marketplace)
        except MarketplaceError as error:
            if error.retry:
                raise
            logger.warning("HIT %s of batch %s cannot be looked at: %s", hit.hit_id, batch.pk, error)
            counts["failed"] += 1
            continue
        for assignment, new in found:
            counts["new"] += new
            matched = assignment.match == Match.MATCHED
            counts["matched"] += matched
            counts["unmatched"] += not matched
    Batch.objects.filter(pk=batch.pk).update(synced_at=asked_at)
    return Collected(**counts)


def sync_hit(*, hit: Hit, marketplace: Marketplace) -> list[tuple[Assignment, bool]]:
    """Copy one HIT's assignments; each comes with whether it is new."""
    # The list is read to its end first: the marketplace may answer from the database that we write to.
    shown = list(marketplace.list_assignments(str(hit.hit_id)))
    return [record_assignment(hit=hit, remote=remote) for remote in shown]


def _complete(hit: Hit) -> bool:
    """Every slot is decided, so the marketplace has nothing new to say about this HIT."""
    decided = hit.assignments.exclude(status=AssignmentStatus.SUBMITTED).count()
    return decided >= hit.max_assignments


@transaction.atomic
def record_assignment(*, hit: Hit, remote: RemoteAssignment) -> tuple[Assignment, bool]:
    """Write down one assignment as the marketplace shows it; return it with whether it is new."""
    worker, _ = Worker.objects.get_or_create(environment=hit.environment, worker_id=remote.worker_id)
    match, submission = _find_submission(hit, worker, remote)
    known = Assignment.objects.select_for_update().filter(hit=hit, assignment_id=remote.assignment_id).first()
    assignment, new = Assignment.objects.update_or_create(
        hit=hit,
        assignment_id=remote.assignment_id,
        defaults={
            "worker": worker,
            "status": _newer(known.status, remote.status) if known is not None else remote.status,
            "match": match,
            "submission": submission,
            "answer_xml": remote.answer_xml,
            "accepted_at": remote.accepted_at,
            "submitted_at": remote.submitted_at,
            "auto_approves_at": remote.auto_approves_at,
            "synced_at": timezone.now(),
        },
    )
    assignment.hit = hit  # with its batch at hand
    if submission is not None and assignment.record_error is None:
        collect_records(assignment)
    _write_ledger(assignment)
    return assignment, new


def _newer(known: str, shown: str) -> str:
    """Return the later of two states: a list that was read before a decision must not undo it."""
    return max(known, shown, key=lambda status: _IN_ORDER.index(AssignmentStatus(status)))


def _find_submission(hit: Hit, worker: Worker, remote: RemoteAssignment) -> tuple[Match, Submission | None]:
    try:
        fields = submission_fields(remote.answer_xml, ("submission_id", "sha256"))
        submission_id = uuid.UUID(fields["submission_id"])
    except (AnswerError, ValueError):
        return Match.MARKETPLACE_ONLY, None
    found = Submission.objects.select_related("attempt").filter(pk=submission_id).first()
    if found is None:
        return Match.MARKETPLACE_ONLY, None
    attempt = found.attempt
    same = (
        attempt.hit_id == hit.pk
        and attempt.assignment_id == remote.assignment_id
        and attempt.worker_id == worker.pk
        and found.sha256 == fields["sha256"]
    )
    return (Match.MATCHED, found) if same else (Match.MISMATCH, None)


def _write_ledger(assignment: Assignment) -> None:
    """Mirror what the marketplace did with the held reward, auto-approval included."""
    if assignment.status == AssignmentStatus.APPROVED:
        postings.book_reward(assignment)
    elif assignment.status == AssignmentStatus.REJECTED:
        postings.book_rejection(assignment)
