"""Compare a batch with what the marketplace shows: every assignment, every HIT, every cent.

A look copies the assignments (``collect``) and writes down what it found as one row. It mends nothing by itself: what
does not match is shown with its remedies, and a person chooses (``resolve``).
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
from hits.domain.states import UNPUBLISHED_HIT_STATES, AssignmentStatus, HitState, Match
from hits.models import Assignment, Batch, Hit, Job, Reconciliation, TopUp
from hits.mturk.port import Failure, Marketplace, MarketplaceError, RemoteAssignment, RemoteHit
from hits.payments import ledger
from hits.payments.models import Entry, LedgerEntry
from hits.selectors import reconciliation
from hits.selectors.batches import one_by_one, open_batches
from hits.selectors.console import being_published
from hits.services.collecting import collect
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.money import postings
from hits.services.publishing.orphan_recovery import LAG

logger = logging.getLogger(__name__)

RECONCILE_TASK = "hits.reconcile_batch"
MISSING = "missing"  # live by our rows, and not on the marketplace
WAITING = "waiting"  # on the marketplace, and its publication was never finished here
SURPLUS = "surplus"  # on the marketplace beside the one that we know, or given up here


@dataclass(frozen=True, slots=True)
class Finding:
    """One HIT on which the two sides disagree; ``hit`` is our row, where there is one."""

    what: str
    hit_id: str
    annotation: str
    hit: int | None = None


@dataclass(slots=True)
class _Look:
    """What one walk over a batch's HITs comes to."""

    hits: int = 0
    failed: int = 0
    cents: int = 0
    findings: list[Finding] = field(default_factory=list)
    last: int = 0

    @classmethod
    def from_place(cls, place: Mapping[str, Any]) -> "_Look":
        """Return what an earlier turn had, or the beginning."""
        so_far = dict(place.get("look", {}))
        findings = [Finding(**row) for row in so_far.pop("findings", [])]
        return cls(**so_far, findings=findings)


def request_reconciliation(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Queue a comparison.

    Raises:
        Conflict: one is under way.
    """
    return jobs.enqueue(
        task=RECONCILE_TASK,
        title=f"Compare {batch.name} with the marketplace"[:160],
        project=batch.project,
        by=by,
        exclusive_key=f"reconcile:{batch.pk}",
        batch=batch.pk,
    )


def reconcile_batch(
    *,
    batch: Batch,
    marketplace: Marketplace,
    listed: Mapping[str, RemoteHit] | None = None,
    progress: Progress | None = None,
    place: Mapping[str, Any] | None = None,
) -> Reconciliation:
    """Copy all assignments of the batch's live HITs, compare both sides, and write the comparison down. Repeatable.

    ``listed`` are the requester's HITs by id, where they were listed for several batches at once; ``place`` is where
    an earlier turn ended.

    Raises:
        TurnOver: in a worker; its place is where to go on.
        Refused: the batch belongs to another marketplace.
        MarketplaceError: the marketplace does not answer.
    """
    refuse_other_marketplace(batch, marketplace)
    before = place or {}
    asked_at = datetime.fromisoformat(before["asked_at"]) if "asked_at" in before else timezone.now()
    there = list_hits(marketplace) if listed is None else listed
    look = _Look.from_place(before)
    try:
        _walk(look, batch, marketplace, there, progress)
    except TurnOver as over:
        raise TurnOver({"look": asdict(look), "asked_at": asked_at.isoformat()}) from over
    look.findings += _unknown(batch, there.values())
    look.cents += _held_unknown(batch, there, look.findings) + _spent_on_disposed(batch)
    Batch.objects.filter(pk=batch.pk).update(synced_at=asked_at)
    batch.synced_at = asked_at
    sums = ledger.totals(batch=batch)
    matches = dict(
        Assignment.objects.filter(hit__unit__batch=batch)
        .order_by()
        .values_list("match")
        .annotate(Count("id"))
    )
    return Reconciliation.objects.create(
        batch=batch,
        hits=look.hits,
        failed=look.failed,
        matched=matches.get(Match.MATCHED, 0),
        marketplace_only=matches.get(Match.MARKETPLACE_ONLY, 0),
        mismatch=matches.get(Match.MISMATCH, 0),
        ours_only=reconciliation.lost_submissions(batch).count(),
        cents_ours=sums.held + sums.spent,
        cents_marketplace=look.cents,
        findings=[asdict(found) for found in look.findings],
    )


def reconcile_open(*, marketplace: Marketplace, place: Mapping[str, Any] | None = None) -> int:
    """Compare every open batch that is not being published; return how many. One listing serves them all.

    Raises:
        TurnOver: in a worker; its ``place`` is where to go on.
    """
    before = place or {}
    here = [row for row in open_batches() if row.environment == marketplace.environment.name]
    busy = being_published(here)
    waiting = sorted(
        (row for row in here if row.pk not in busy and row.pk >= before.get("batch", 0)),
        key=lambda row: row.pk,
    )
    listed = list_hits(marketplace) if waiting else {}
    compared = 0
    for batch in waiting:
        try:
            own = before.get("at") if batch.pk == before.get("batch") else None
            reconcile_batch(batch=batch, marketplace=marketplace, listed=listed, place=own)
        except TurnOver as over:
            raise TurnOver({"batch": batch.pk, "at": over.place}) from over
        except (Refused, MarketplaceError) as error:
            logger.warning("batch %s cannot be compared: %s", batch.pk, error)
            continue
        compared += 1
    return compared


def list_hits(marketplace: Marketplace) -> dict[str, RemoteHit]:
    """Return all HITs of the requester by id, all pages."""
    listed = {hit.hit_id: hit for hit in marketplace.list_hits()}
    turns.start_over()
    return listed


def _walk(
    look: _Look,
    batch: Batch,
    marketplace: Marketplace,
    there: Mapping[str, RemoteHit],
    progress: Progress | None,
) -> None:
    """Go on with the look, HIT by HIT; ``last`` is the one that it came to."""
    # A script of the requester's may have sent some where the batch offers none; then they were booked.
    booked = LedgerEntry.objects.filter(batch=batch, entry=Entry.BONUS)
    pays_bonuses = bool(batch.bonus_cents) or TopUp.objects.filter(batch=batch).exists() or booked.exists()
    hits = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE).select_related("unit__batch__project")
    hits = hits.filter(pk__gt=look.last)
    left = hits.count() if progress is not None else 0
    for number, hit in enumerate(one_by_one(hits), start=1):
        if number > 1:
            turns.rest()
        look.hits += 1
        look.last = hit.pk
        try:
            # Read to its end first: the marketplace may answer from the database that we write to.
            shown = list(marketplace.list_assignments(str(hit.hit_id)))
            bonuses = _bonus_cents(batch, hit, marketplace) if pays_bonuses and shown else 0
        except MarketplaceError as error:
            if error.retry:
                raise
            look.failed += 1
            if error.failure is Failure.NOT_FOUND and _should_be_shown(hit):
                look.findings.append(Finding(MISSING, str(hit.hit_id), hit.annotation, hit.pk))
            continue
        for remote in shown:
            collect.record_assignment(hit=hit, remote=remote)
        if str(hit.hit_id) not in there and _is_disposed(hit, marketplace):
            with transaction.atomic():
                postings.book_disposal(hit)
            continue  # its cents are counted with those of all that is disposed of
        look.cents += bonuses + _slots_cents(batch, hit, there.get(str(hit.hit_id)), shown)
        if progress is not None:
            progress.step(number, left)


def _is_disposed(hit: Hit, marketplace: Marketplace) -> bool:
    """Tell whether the marketplace disposed of a live HIT itself (after 120 days), or a script did."""
    return marketplace.get_hit(str(hit.hit_id)).status == "Disposed"


def _should_be_shown(hit: Hit) -> bool:
    return hit.attempt_at is None or hit.attempt_at < timezone.now() - LAG


def _slots_cents(batch: Batch, hit: Hit, remote: RemoteHit | None, shown: Iterable[RemoteAssignment]) -> int:
    """Return what the marketplace holds and has paid for a HIT's assignments, fees included."""
    slots = hit.max_assignments if remote is None else remote.max_assignments
    rejected = sum(assignment.status == AssignmentStatus.REJECTED for assignment in shown)
    return (slots - rejected) * batch.slot_cents(slots)


def _bonus_cents(batch: Batch, hit: Hit, marketplace: Marketplace) -> int:
    paid = marketplace.list_bonuses_of_hit(str(hit.hit_id))
    return sum(bonus.amount_cents + batch.fees.bonus_fee_cents(bonus.amount_cents) for bonus in paid)


def _unknown(batch: Batch, there: Iterable[RemoteHit]) -> list[Finding]:
    """Return the HITs that carry this batch's annotation and are not the ones that our rows know.

    Only those of our own units: another installation on the same account counts its batches from 1 too.
    """
    prefix = f"v1/{batch.environment}/{batch.pk}/"
    carrying = [hit for hit in there if hit.annotation.startswith(prefix) and hit.status != "Disposed"]
    if not carrying:
        return []
    rows = Hit.objects.filter(unit__batch=batch)
    known = set(rows.exclude(hit_id=None).values_list("hit_id", flat=True))
    unfinished = rows.filter(hit_id=None, state__in=UNPUBLISHED_HIT_STATES)
    waiting = dict(unfinished.values_list("annotation", "pk"))
    given_up = dict(rows.filter(state=HitState.CANCELLED).values_list("annotation", "pk"))
    units = {str(public_id) for public_id in batch.units.values_list("public_id", flat=True)}
    found = []
    for hit in carrying:
        unit = hit.annotation.removeprefix(prefix).split("/", 1)[0]
        if hit.hit_id in known or unit not in units:
            continue
        what = WAITING if hit.annotation in waiting else SURPLUS
        ours = waiting.pop(hit.annotation, None) or given_up.pop(hit.annotation, None)
        found.append(Finding(what, hit.hit_id, hit.annotation, ours))
    return found


def _held_unknown(batch: Batch, there: Mapping[str, RemoteHit], findings: Iterable[Finding]) -> int:
    slots = [there[row.hit_id].max_assignments for row in findings if row.hit_id in there]
    return sum(number * batch.slot_cents(number) for number in slots)


def _spent_on_disposed(batch: Batch) -> int:
    """Return what was paid for HITs that the marketplace no longer lists; it cannot be asked about them."""
    gone = Q(assignment__hit__unit__batch=batch, assignment__hit__state=HitState.EXPIRED)
    spent = LedgerEntry.objects.filter(gone, entry__in=[Entry.REWARD, Entry.BONUS, Entry.FEE])
    return int(spent.order_by().aggregate(total=Sum("amount_cents", default=0))["total"])


def summary(row: Reconciliation) -> dict[str, Any]:
    """Return a comparison as plain data, for a job's result or a command's output."""
    names = ("hits", "failed", "matched", "marketplace_only", "ours_only", "mismatch")
    return {name: getattr(row, name) for name in names} | {
        "cents_ours": row.cents_ours,
        "cents_marketplace": row.cents_marketplace,
        "findings": row.findings,
    }
