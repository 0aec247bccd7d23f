"""Making, changing, extending, expiring and disposing of HITs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from hits.domain.jobs import turns
from hits.domain.money.fees import FeeSchedule, fee_schedule
from hits.domain.mturk_formats.external_question import ExternalQuestion
from hits.domain.workers.requirements import MASTERS_IDS, Comparator
from hits.marketplace.models import (
    HIT,
    Assignment,
    HITLayout,
    HITType,
    QuestionKind,
    Requester,
    SlotState,
)
from hits.marketplace.selectors.lifecycle import stale_hits

from . import events, ledger
from .events import EventType

TEN_ASSIGNMENTS = 10
DISPOSED_AFTER = timedelta(days=120)
DISPOSED_AT_ONCE = 500


class CrossesTenAssignments(Exception):
    """A HIT made with fewer than ten assignments cannot grow to ten or more (its fee would change)."""


class WorkAtTheOldPrice(Exception):
    """Somebody took a task of the HIT for the pay that it has, so it cannot be given another."""


@dataclass(frozen=True)
class TypeParams:
    """What makes two HITs belong to one group. Seconds, cents."""

    title: str
    description: str
    keywords: str
    reward_cents: int
    assignment_seconds: int
    auto_approval_seconds: int
    qualification_requirements: list[dict[str, Any]] = field(default_factory=list)

    def digest(self) -> str:
        """Return a hash of all values: equal values give the same HIT type id."""
        canonical = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class OwnPage:
    """A question whose page the marketplace shows itself: HTML or a form. Height in CSS pixels, 0 for any."""

    kind: QuestionKind
    frame_height: int = 0
    layout: HITLayout | None = None


@dataclass(frozen=True)
class HITParams:
    """What a single HIT adds to its type."""

    question_xml: str
    question: ExternalQuestion | OwnPage
    lifetime_seconds: int
    max_assignments: int
    annotation: str | None


def current_fees() -> FeeSchedule:
    """Return the fee schedule that settings name."""
    return fee_schedule(settings.MARKETPLACE_FEE_SCHEDULE)


@transaction.atomic
def register_hit_type(*, requester: Requester, params: TypeParams, now: datetime) -> HITType:
    """Return the requester's HIT type with these values, making it at the first call."""
    hit_type, _ = HITType.objects.get_or_create(
        requester=requester, params_hash=params.digest(), defaults={**asdict(params), "created_at": now}
    )
    return hit_type


@transaction.atomic
def create_hit(*, hit_type: HITType, params: HITParams, now: datetime) -> HIT:
    """Make a HIT with its slots and hold what all of them may cost. Raises ledger.InsufficientFunds."""
    hit = HIT.objects.create(
        requester=hit_type.requester,
        hit_type=hit_type,
        question=params.question_xml,
        frame_height=params.question.frame_height,
        **_page_fields(params.question),
        annotation=params.annotation,
        max_assignments=params.max_assignments,
        reward_cents=hit_type.reward_cents,
        fee_cents=slot_fee_cents(hit_type, params.max_assignments),
        created_at=now,
        expires_at=now + timedelta(seconds=params.lifetime_seconds),
    )
    ledger.hold(hit=hit, cents=hit.slot_cents * params.max_assignments, at=now)
    Assignment.objects.bulk_create(Assignment(hit=hit) for _ in range(params.max_assignments))
    events.tell(EventType.HIT_CREATED, hit=hit, at=now)
    return hit


def _page_fields(page: ExternalQuestion | OwnPage) -> dict[str, Any]:
    if isinstance(page, OwnPage):
        return {"question_kind": page.kind, "layout": page.layout}
    return {"question_kind": QuestionKind.EXTERNAL, "question_url": page.url}


@transaction.atomic
def add_assignments(*, hit: HIT, count: int, now: datetime) -> None:
    """Add slots to a HIT and hold their cost. Raises CrossesTenAssignments, ledger.InsufficientFunds."""
    hit = locked(hit.pk)
    if hit.max_assignments < TEN_ASSIGNMENTS <= hit.max_assignments + count:
        raise CrossesTenAssignments
    ledger.hold(hit=hit, cents=hit.slot_cents * count, at=now)
    HIT.objects.filter(pk=hit.pk).update(max_assignments=F("max_assignments") + count, is_reviewing=False)
    Assignment.objects.bulk_create(Assignment(hit=hit) for _ in range(count))
    events.tell_extended(hit=hit, at=now)


@transaction.atomic
def change_type(*, hit: HIT, hit_type: HITType, now: datetime) -> None:
    """Give a HIT another type's values; what is held for its slots follows to the cent.

    Raises WorkAtTheOldPrice when a slot would cost something else and one was taken already,
    ledger.InsufficientFunds. Whoever is working keeps their deadline.
    """
    hit = locked(hit.pk)
    states = list(Assignment.objects.filter(hit=hit).values_list("state", flat=True))
    fee = slot_fee_cents(hit_type, hit.max_assignments)
    more = hit_type.reward_cents + fee - hit.slot_cents
    other_price = (hit_type.reward_cents, fee) != (hit.reward_cents, hit.fee_cents)
    if other_price and any(state != SlotState.OPEN for state in states):
        raise WorkAtTheOldPrice
    if more > 0:
        ledger.hold(hit=hit, cents=more * len(states), at=now)
    elif more < 0:
        ledger.release(hit=hit, cents=-more * len(states), at=now)
    HIT.objects.filter(pk=hit.pk).update(hit_type=hit_type, reward_cents=hit_type.reward_cents, fee_cents=fee)


def slot_fee_cents(hit_type: HITType, max_assignments: int) -> int:
    """Return the fee for one slot of a HIT of this type made now."""
    masters = any(
        row["QualificationTypeId"] in MASTERS_IDS and row["Comparator"] != Comparator.DOES_NOT_EXIST
        for row in hit_type.qualification_requirements
    )
    return current_fees().fee_cents(hit_type.reward_cents, max_assignments, masters=masters)


@transaction.atomic
def expire(*, hit: HIT, now: datetime) -> None:
    """End a HIT's offer now, if it has not ended. Tasks that are being worked on keep their own deadline."""
    HIT.objects.filter(pk=hit.pk, expires_at__gt=now).update(expires_at=now)


@transaction.atomic
def prolong(*, hit: HIT, expires_at: datetime) -> None:
    """Move the end of a HIT's offer on. What was being reviewed is open for work again."""
    HIT.objects.filter(pk=hit.pk).update(expires_at=expires_at, is_reviewing=False)


@transaction.atomic
def set_reviewing(*, hit: HIT, reviewing: bool) -> None:
    """Mark a reviewable HIT as being reviewed, or take the mark away."""
    HIT.objects.filter(pk=hit.pk).update(is_reviewing=reviewing)


@transaction.atomic
def dispose(*, hit: HIT, now: datetime) -> None:
    """Close a HIT for good and release what was held for slots nobody took (caller checked its status)."""
    hit = locked(hit.pk)
    if hit.disposed_at is None:
        events.tell_expired_before(hit=hit, now=now)
    if not HIT.objects.filter(pk=hit.pk, disposed_at=None).update(disposed_at=now):
        return
    untaken = Assignment.objects.filter(hit=hit, state=SlotState.OPEN).count()
    ledger.release(hit=hit, cents=hit.slot_cents * untaken, at=now)
    events.tell(EventType.HIT_DISPOSED, hit=hit, at=now)


def dispose_stale(*, now: datetime, limit: int = DISPOSED_AT_ONCE) -> int:
    """Dispose of HITs that have been reviewable for 120 days with nothing left to decide; return how many.

    Each in a transaction of its own which looks again, so that one prolonged a moment ago stays.
    """
    idle_since = now - DISPOSED_AFTER
    due = stale_hits(idle_since).order_by("pk")
    done = 0
    for pk in due.values_list("pk", flat=True)[:limit]:
        done += _dispose_if_stale(pk, idle_since, now)
        turns.rest()
    return done


@transaction.atomic
def _dispose_if_stale(pk: int, idle_since: datetime, now: datetime) -> bool:
    hit = locked(pk)
    if not stale_hits(idle_since).filter(pk=pk).exists():
        return False
    dispose(hit=hit, now=now)
    return True


def locked(pk: int) -> HIT:
    """Return the HIT as it is now, its row held until the transaction ends.

    On PostgreSQL two calls about one HIT, and the accepts of its tasks, then run one after the other, so that what is
    held always fits its price and its slots. (SQLite has one writer at a time anyway.) ``no_key``: entries of the
    ledger, which refer to the HIT, need not wait.
    """
    rows = HIT.objects.select_for_update(of=("self",), no_key=True).select_related("requester", "hit_type")
    return rows.get(pk=pk)
