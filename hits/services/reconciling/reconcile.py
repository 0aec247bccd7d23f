"""Compare a batch with the marketplace: every assignment, every HIT, every cent.

A comparison copies the assignments (``assignment_sync``) and stores its findings as one row. It changes nothing else:
the page shows remedies for each mismatch, and a person chooses one (``remedies``).
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils import timezone

from hits.domain.jobs import turns
from hits.domain.jobs.turns import TurnOver
from hits.domain.states import UNPUBLISHED_HIT_STATES, AssignmentStatus, HitState, SubmissionMatch
from hits.models import Assignment, Batch, Hit, Job, Reconciliation, TopUp
from hits.mturk.port import Failure, Marketplace, MarketplaceError, RemoteAssignment, RemoteHit
from hits.payments import ledger
from hits.payments.models import EntryType, LedgerEntry
from hits.selectors import reconciliation
from hits.selectors.batches import iterate_in_chunks, list_open_batches
from hits.selectors.console import publishing_batch_ids
from hits.services.collecting import assignment_sync
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.money import postings
from hits.services.publishing.orphan_recovery import LISTING_LAG

logger = logging.getLogger(__name__)

RECONCILE_TASK = "hits.reconcile_batch"
MISSING = "missing"  # live in our rows, and not on the marketplace
WAITING = "waiting"  # on the marketplace, and its publication is unfinished here
SURPLUS = "surplus"  # on the marketplace beside the known HIT, or cancelled here


@dataclass(frozen=True, slots=True)
class Finding:
    """One HIT that differs between both sides; ``hit`` is our row's key, if any. The fields are stored keys."""

    what: str
    hit_id: str
    annotation: str
    hit: int | None = None


@dataclass(slots=True)
class _Comparison:
    """The running result of a comparison over a batch's HITs."""

    hits: int = 0
    failed: int = 0
    cents: int = 0
    findings: list[Finding] = field(default_factory=list)
    last: int = 0

    @classmethod
    def from_resume_point(cls, resume_point: Mapping[str, Any]) -> "_Comparison":
        """Return the result of an earlier turn, or an empty one."""
        values = dict(resume_point.get("look", {}))
        findings = [Finding(**row) for row in values.pop("findings", [])]
        return cls(**values, findings=findings)


def request_reconciliation(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Queue a comparison.

    Raises:
        Conflict: one is running.
    """
    return jobs.enqueue_for_batch(
        batch=batch,
        task=RECONCILE_TASK,
        title=f"Compare {batch.name} with the marketplace",
        key="reconcile",
        by=by,
    )


def reconcile_batch(
    *,
    batch: Batch,
    marketplace: Marketplace,
    listed: Mapping[str, RemoteHit] | None = None,
    progress: Progress | None = None,
    resume_point: Mapping[str, Any] | None = None,
) -> Reconciliation:
    """Copy all assignments of the batch's live HITs, compare both sides, and store the comparison. Repeatable.

    ``listed`` are the requester's HITs by id, if the caller listed them for several batches; ``resume_point`` is the
    end of an earlier turn.

    Raises:
        TurnOver: in a worker process; the next turn resumes at its resume point.
        Refused: the batch belongs to another marketplace.
        MarketplaceError: the marketplace does not answer.
    """
    refuse_other_environment_or_fees(batch, marketplace)
    earlier = resume_point or {}
    started_at = datetime.fromisoformat(earlier["asked_at"]) if "asked_at" in earlier else timezone.now()
    remote_hits = remote_hits_by_id(marketplace) if listed is None else listed
    comparison = _Comparison.from_resume_point(earlier)
    try:
        _compare_hits(comparison, batch, marketplace, remote_hits, progress)
    except TurnOver as turn_over:
        raise TurnOver({"look": asdict(comparison), "asked_at": started_at.isoformat()}) from turn_over
    comparison.findings += _find_unknown_hits(batch, remote_hits.values())
    comparison.cents += _unknown_held_cents(batch, remote_hits, comparison.findings) + _disposed_spent_cents(
        batch
    )
    Batch.objects.filter(pk=batch.pk).update(synced_at=started_at)
    batch.synced_at = started_at
    sums = ledger.sum_entries(batch=batch)
    matches = dict(
        Assignment.objects.filter(hit__unit__batch=batch)
        .order_by()
        .values_list("match")
        .annotate(Count("id"))
    )
    return Reconciliation.objects.create(
        batch=batch,
        hits=comparison.hits,
        failed=comparison.failed,
        matched=matches.get(SubmissionMatch.MATCHED, 0),
        marketplace_only=matches.get(SubmissionMatch.MARKETPLACE_ONLY, 0),
        mismatch=matches.get(SubmissionMatch.MISMATCH, 0),
        ours_only=reconciliation.lost_submissions(batch).count(),
        cents_ours=sums.held + sums.spent,
        cents_marketplace=comparison.cents,
        findings=[asdict(found) for found in comparison.findings],
    )


def reconcile_open_batches(*, marketplace: Marketplace, resume_point: Mapping[str, Any] | None = None) -> int:
    """Compare every open batch that is not being published, with one listing; return their number.

    Raises:
        TurnOver: in a worker process; the next turn resumes at its resume point.
    """
    earlier = resume_point or {}
    open_batches = list_open_batches(marketplace.environment.name)
    publishing = publishing_batch_ids(open_batches)
    waiting = [row for row in open_batches if row.pk not in publishing and row.pk >= earlier.get("batch", 0)]
    listed = remote_hits_by_id(marketplace) if waiting else {}
    compared = 0
    for batch in waiting:
        try:
            batch_point = earlier.get("at") if batch.pk == earlier.get("batch") else None
            reconcile_batch(batch=batch, marketplace=marketplace, listed=listed, resume_point=batch_point)
        except TurnOver as turn_over:
            raise TurnOver({"batch": batch.pk, "at": turn_over.resume_point}) from turn_over
        except (Refused, MarketplaceError) as error:
            logger.warning("batch %s cannot be compared: %s", batch.pk, error)
            continue
        compared += 1
    return compared


def remote_hits_by_id(marketplace: Marketplace) -> dict[str, RemoteHit]:
    """Return all HITs of the requester by id, all pages."""
    listed = {hit.hit_id: hit for hit in marketplace.list_hits()}
    turns.restart_turn_clock()
    return listed


def _compare_hits(
    comparison: _Comparison,
    batch: Batch,
    marketplace: Marketplace,
    remote_hits: Mapping[str, RemoteHit],
    progress: Progress | None,
) -> None:
    """Continue the comparison HIT by HIT; ``last`` is the last compared one."""
    # A requester's script may have paid bonuses in a batch without bonuses; the ledger has postings of them then.
    posted_bonuses = LedgerEntry.objects.filter(batch=batch, entry=EntryType.BONUS)
    pays_bonuses = (
        bool(batch.bonus_cents) or TopUp.objects.filter(batch=batch).exists() or posted_bonuses.exists()
    )
    hits = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE).select_related("unit__batch__project")
    hits = hits.filter(pk__gt=comparison.last)
    left = hits.count() if progress is not None else 0
    for number, hit in enumerate(iterate_in_chunks(hits), start=1):
        if number > 1:
            turns.end_turn_if_over()
        comparison.hits += 1
        comparison.last = hit.pk
        try:
            # Read the whole list first: the marketplace may answer from the database that we write to.
            listed = list(marketplace.list_assignments(str(hit.hit_id)))
            bonuses = _bonus_cents(batch, hit, marketplace) if pays_bonuses and listed else 0
        except MarketplaceError as error:
            if error.is_retryable:
                raise
            comparison.failed += 1
            if error.failure is Failure.NOT_FOUND and _should_be_listed(hit):
                comparison.findings.append(Finding(MISSING, str(hit.hit_id), hit.annotation, hit.pk))
            continue
        for remote in listed:
            assignment_sync.record_assignment(hit=hit, remote=remote)
        if str(hit.hit_id) not in remote_hits and _is_disposed(hit, marketplace):
            with transaction.atomic():
                postings.post_disposal(hit)
            continue  # _disposed_spent_cents counts its cents
        comparison.cents += bonuses + _assignments_cents(batch, hit, remote_hits.get(str(hit.hit_id)), listed)
        if progress is not None:
            progress.advance_in_turn(number, left)


def _is_disposed(hit: Hit, marketplace: Marketplace) -> bool:
    """Return whether the marketplace (after 120 days) or a script disposed of a live HIT."""
    return marketplace.get_hit(str(hit.hit_id)).status == "Disposed"


def _should_be_listed(hit: Hit) -> bool:
    return hit.attempt_at is None or hit.attempt_at < timezone.now() - LISTING_LAG


def _assignments_cents(
    batch: Batch, hit: Hit, remote: RemoteHit | None, listed: Iterable[RemoteAssignment]
) -> int:
    """Return the cents that the marketplace holds and paid for a HIT's assignments, with fees."""
    slots = hit.max_assignments if remote is None else remote.max_assignments
    rejected = sum(assignment.status == AssignmentStatus.REJECTED for assignment in listed)
    return (slots - rejected) * batch.slot_cents(slots)


def _bonus_cents(batch: Batch, hit: Hit, marketplace: Marketplace) -> int:
    paid = marketplace.list_bonuses_of_hit(str(hit.hit_id))
    return sum(bonus.amount_cents + batch.fees.bonus_fee_cents(bonus.amount_cents) for bonus in paid)


def _find_unknown_hits(batch: Batch, remote_hits: Iterable[RemoteHit]) -> list[Finding]:
    """Return the HITs with this batch's annotation that our rows do not know.

    Only HITs of our own units: another installation on the same account also numbers its batches from 1.
    """
    prefix = f"v1/{batch.environment}/{batch.pk}/"
    annotated = [hit for hit in remote_hits if hit.annotation.startswith(prefix) and hit.status != "Disposed"]
    if not annotated:
        return []
    rows = Hit.objects.filter(unit__batch=batch)
    known = set(rows.exclude(hit_id=None).values_list("hit_id", flat=True))
    unfinished = rows.filter(hit_id=None, state__in=UNPUBLISHED_HIT_STATES)
    waiting = dict(unfinished.values_list("annotation", "pk"))
    given_up = dict(rows.filter(state=HitState.CANCELLED).values_list("annotation", "pk"))
    units = {str(public_id) for public_id in batch.units.values_list("public_id", flat=True)}
    found = []
    for hit in annotated:
        unit = hit.annotation.removeprefix(prefix).split("/", 1)[0]
        if hit.hit_id in known or unit not in units:
            continue
        difference = WAITING if hit.annotation in waiting else SURPLUS
        hit_pk = waiting.pop(hit.annotation, None) or given_up.pop(hit.annotation, None)
        found.append(Finding(difference, hit.hit_id, hit.annotation, hit_pk))
    return found


def _unknown_held_cents(
    batch: Batch, remote_hits: Mapping[str, RemoteHit], findings: Iterable[Finding]
) -> int:
    slots = [remote_hits[row.hit_id].max_assignments for row in findings if row.hit_id in remote_hits]
    return sum(number * batch.slot_cents(number) for number in slots)


def _disposed_spent_cents(batch: Batch) -> int:
    """Return the cents paid for disposed HITs by our ledger, since the marketplace no longer lists them."""
    disposed = Q(assignment__hit__unit__batch=batch, assignment__hit__state=HitState.EXPIRED)
    spent = LedgerEntry.objects.filter(disposed, entry__in=[EntryType.REWARD, EntryType.BONUS, EntryType.FEE])
    return int(spent.order_by().aggregate(total=Sum("amount_cents", default=0))["total"])


def summarize_reconciliation(row: Reconciliation) -> dict[str, Any]:
    """Return a comparison as plain data for a job's result or a command's output."""
    counts = ("hits", "failed", "matched", "marketplace_only", "ours_only", "mismatch")
    names = (*counts, "cents_ours", "cents_marketplace", "findings")
    return {name: getattr(row, name) for name in names}
