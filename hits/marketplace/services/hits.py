"""Making, extending, expiring and disposing of HITs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from hits.domain.external_question import ExternalQuestion
from hits.domain.money import FeeSchedule, fee_schedule
from hits.marketplace.models import HIT, Assignment, HITType, Requester, SlotState

from . import ledger

MASTERS_QUALIFICATIONS = frozenset({"2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"})
TEN_ASSIGNMENTS = 10


class CrossesTenAssignments(Exception):
    """A HIT made with fewer than ten assignments cannot grow to ten or more (its fee would change)."""


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
class HITParams:
    """What a single HIT adds to its type."""

    question_xml: str
    question: ExternalQuestion
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
    masters = any(
        rule.get("QualificationTypeId") in MASTERS_QUALIFICATIONS
        for rule in hit_type.qualification_requirements
    )
    fee = current_fees().fee_cents(hit_type.reward_cents, params.max_assignments, masters=masters)
    hit = HIT.objects.create(
        requester=hit_type.requester,
        hit_type=hit_type,
        question=params.question_xml,
        question_url=params.question.url,
        frame_height=params.question.frame_height,
        annotation=params.annotation,
        max_assignments=params.max_assignments,
        reward_cents=hit_type.reward_cents,
        fee_cents=fee,
        created_at=now,
        expires_at=now + timedelta(seconds=params.lifetime_seconds),
    )
    ledger.hold(hit=hit, cents=hit.slot_cents * params.max_assignments, at=now)
    Assignment.objects.bulk_create(Assignment(hit=hit) for _ in range(params.max_assignments))
    return hit


@transaction.atomic
def add_assignments(*, hit: HIT, count: int, now: datetime) -> None:
    """Add slots to a HIT and hold their cost. Raises CrossesTenAssignments, ledger.InsufficientFunds."""
    if hit.max_assignments < TEN_ASSIGNMENTS <= hit.max_assignments + count:
        raise CrossesTenAssignments
    ledger.hold(hit=hit, cents=hit.slot_cents * count, at=now)
    HIT.objects.filter(pk=hit.pk).update(max_assignments=F("max_assignments") + count, is_reviewing=False)
    Assignment.objects.bulk_create(Assignment(hit=hit) for _ in range(count))


@transaction.atomic
def set_expiration(*, hit: HIT, expires_at: datetime) -> None:
    """Move the end of a HIT's offer. Tasks that are being worked on keep their own deadline."""
    HIT.objects.filter(pk=hit.pk).update(expires_at=expires_at)


@transaction.atomic
def set_reviewing(*, hit: HIT, reviewing: bool) -> None:
    """Mark a reviewable HIT as being reviewed, or take the mark away."""
    HIT.objects.filter(pk=hit.pk).update(is_reviewing=reviewing)


@transaction.atomic
def dispose(*, hit: HIT, now: datetime) -> None:
    """Close a HIT for good and release what was held for slots nobody took (caller checked its status)."""
    if not HIT.objects.filter(pk=hit.pk, disposed_at=None).update(disposed_at=now):
        return
    untaken = Assignment.objects.filter(hit=hit, state=SlotState.OPEN).count()
    ledger.release(hit=hit, cents=hit.slot_cents * untaken, at=now)
