"""Create, change, extend, expire and dispose of HITs."""

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
from hits.marketplace.errors import ApiError
from hits.marketplace.models import (
    HIT,
    Assignment,
    HITLayout,
    HITType,
    QuestionKind,
    Requester,
    SlotState,
)
from hits.marketplace.selectors.lifecycle import find_stale_hits

from . import events, ledger
from .events import EventType

MIN_HIGHER_FEE_ASSIGNMENTS = 10
DISPOSE_AFTER = timedelta(days=120)
DISPOSE_BATCH_SIZE = 500


@dataclass(frozen=True)
class HITTypeParams:
    """The values that HITs of one group share. Times in seconds, money in cents."""

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
class HostedPage:
    """A question whose page the marketplace shows: HTML or a form. Height in CSS pixels; 0: the site chooses."""

    kind: QuestionKind
    frame_height: int = 0
    layout: HITLayout | None = None


@dataclass(frozen=True)
class HITParams:
    """The values that one HIT adds to its type."""

    question_xml: str
    question: ExternalQuestion | HostedPage
    lifetime_seconds: int
    max_assignments: int
    annotation: str | None


def current_fee_schedule() -> FeeSchedule:
    """Return the fee schedule that settings name."""
    return fee_schedule(settings.MARKETPLACE_FEE_SCHEDULE)


@transaction.atomic
def register_hit_type(*, requester: Requester, params: HITTypeParams, now: datetime) -> HITType:
    """Return the requester's HIT type with these values; the first call creates it."""
    hit_type, _ = HITType.objects.get_or_create(
        requester=requester, params_hash=params.digest(), defaults={**asdict(params), "created_at": now}
    )
    return hit_type


@transaction.atomic
def create_hit(*, hit_type: HITType, params: HITParams, now: datetime) -> HIT:
    """Create a HIT with its slots and hold their full cost. Raises ledger.InsufficientFunds."""
    hit = HIT.objects.create(
        requester=hit_type.requester,
        hit_type=hit_type,
        question=params.question_xml,
        frame_height=params.question.frame_height,
        **_question_fields(params.question),
        annotation=params.annotation,
        max_assignments=params.max_assignments,
        reward_cents=hit_type.reward_cents,
        fee_cents=slot_fee_cents(hit_type, params.max_assignments),
        created_at=now,
        expires_at=now + timedelta(seconds=params.lifetime_seconds),
    )
    ledger.hold(hit=hit, cents=hit.slot_cents * params.max_assignments, at=now)
    Assignment.objects.bulk_create(Assignment(hit=hit) for _ in range(params.max_assignments))
    events.queue_event_if_subscribed(EventType.HIT_CREATED, hit=hit, at=now)
    return hit


def _question_fields(page: ExternalQuestion | HostedPage) -> dict[str, Any]:
    if isinstance(page, HostedPage):
        return {"question_kind": page.kind, "layout": page.layout}
    return {"question_kind": QuestionKind.EXTERNAL, "question_url": page.url}


@transaction.atomic
def add_assignments(*, hit: HIT, count: int, now: datetime) -> None:
    """Add slots to a HIT and hold their cost. Raises ApiError for an increase to ten or more (another fee)."""
    hit = lock_hit_row(hit.pk)
    if hit.max_assignments < MIN_HIGHER_FEE_ASSIGNMENTS <= hit.max_assignments + count:
        raise ApiError(
            "InvalidMaximumAssignmentsIncrease",
            "A HIT created with fewer than 10 assignments cannot be extended to 10 or more.",
        )
    ledger.hold(hit=hit, cents=hit.slot_cents * count, at=now)
    HIT.objects.filter(pk=hit.pk).update(max_assignments=F("max_assignments") + count, is_reviewing=False)
    Assignment.objects.bulk_create(Assignment(hit=hit) for _ in range(count))
    events.record_extension(hit=hit, at=now)


@transaction.atomic
def change_hit_type(*, hit: HIT, hit_type: HITType, now: datetime) -> None:
    """Give a HIT another type, and change the money held for its slots to the new price.

    Raises ApiError if the price changes and a slot was taken already, and ledger.InsufficientFunds.
    Workers with a task in progress keep their deadline.
    """
    hit = lock_hit_row(hit.pk)
    states = list(Assignment.objects.filter(hit=hit).values_list("state", flat=True))
    fee = slot_fee_cents(hit_type, hit.max_assignments)
    extra_cents = hit_type.reward_cents + fee - hit.slot_cents
    is_other_price = (hit_type.reward_cents, fee) != (hit.reward_cents, hit.fee_cents)
    if is_other_price and any(state != SlotState.OPEN for state in states):
        raise ApiError(
            "InvalidHITState",
            "Workers took tasks of this HIT for its current reward, so its new type must have the same reward "
            "and fee. Expire it and create another HIT.",
        )
    if extra_cents > 0:
        ledger.hold(hit=hit, cents=extra_cents * len(states), at=now)
    elif extra_cents < 0:
        ledger.release(hit=hit, cents=-extra_cents * len(states), at=now)
    HIT.objects.filter(pk=hit.pk).update(hit_type=hit_type, reward_cents=hit_type.reward_cents, fee_cents=fee)


def slot_fee_cents(hit_type: HITType, max_assignments: int) -> int:
    """Return the fee per slot of a new HIT of this type."""
    requires_masters = any(
        row["QualificationTypeId"] in MASTERS_IDS and row["Comparator"] != Comparator.DOES_NOT_EXIST
        for row in hit_type.qualification_requirements
    )
    return current_fee_schedule().fee_cents(hit_type.reward_cents, max_assignments, masters=requires_masters)


@transaction.atomic
def expire_hit(*, hit: HIT, now: datetime) -> None:
    """End a HIT's offer now, unless it has ended. Tasks in progress keep their own deadline."""
    HIT.objects.filter(pk=hit.pk, expires_at__gt=now).update(expires_at=now)


@transaction.atomic
def extend_hit(*, hit: HIT, expires_at: datetime) -> None:
    """Extend a HIT's offer. A HIT in review is open for work again."""
    HIT.objects.filter(pk=hit.pk).update(expires_at=expires_at, is_reviewing=False)


@transaction.atomic
def set_reviewing(*, hit: HIT, reviewing: bool) -> None:
    """Mark a Reviewable HIT as Reviewing, or remove the mark."""
    HIT.objects.filter(pk=hit.pk).update(is_reviewing=reviewing)


@transaction.atomic
def dispose_hit(*, hit: HIT, now: datetime) -> None:
    """Close a HIT permanently and release the money held for free slots (the caller has checked its status)."""
    hit = lock_hit_row(hit.pk)
    if hit.disposed_at is None:
        events.record_expired_before_disposal(hit=hit, now=now)
    if not HIT.objects.filter(pk=hit.pk, disposed_at=None).update(disposed_at=now):
        return
    open_count = Assignment.objects.filter(hit=hit, state=SlotState.OPEN).count()
    ledger.release(hit=hit, cents=hit.slot_cents * open_count, at=now)
    events.queue_event_if_subscribed(EventType.HIT_DISPOSED, hit=hit, at=now)


def dispose_stale_hits(*, now: datetime, limit: int = DISPOSE_BATCH_SIZE) -> int:
    """Dispose of HITs that were Reviewable for 120 days with nothing to decide; return how many.

    Each HIT has its own transaction, which checks again, so that a HIT extended meanwhile stays.
    """
    idle_since = now - DISPOSE_AFTER
    due = find_stale_hits(idle_since).order_by("pk")
    disposed_count = 0
    for pk in due.values_list("pk", flat=True)[:limit]:
        disposed_count += _dispose_if_stale(pk, idle_since, now)
        turns.end_turn_if_over()
    return disposed_count


@transaction.atomic
def _dispose_if_stale(hit_pk: int, idle_since: datetime, now: datetime) -> bool:
    hit = lock_hit_row(hit_pk)
    if not find_stale_hits(idle_since).filter(pk=hit_pk).exists():
        return False
    dispose_hit(hit=hit, now=now)
    return True


def lock_hit_row(hit_pk: int) -> HIT:
    """Return the current row of the HIT, locked until the transaction ends.

    On PostgreSQL two calls about one HIT, and accepts of its tasks, then run one after the other. So the held money
    always matches its price and slots. (SQLite has one writer at a time.) ``no_key``: ledger entries, which refer to
    the HIT, need not wait.
    """
    rows = HIT.objects.select_for_update(of=("self",), no_key=True).select_related("requester", "hit_type")
    return rows.get(pk=hit_pk)
