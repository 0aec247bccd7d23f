"""Qualifications that a worker may ask for: where each stands with them, and when it can be asked for again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q, QuerySet

from hits.marketplace.models import (
    GrantStatus,
    Qualification,
    QualificationRequest,
    QualificationType,
    RequestState,
    TypeStatus,
    Worker,
    WorkerBlock,
)

_IS_REQUESTABLE = Q(is_requestable=True, status=TypeStatus.ACTIVE, deleted_at__isnull=True)


class Availability(StrEnum):
    """What a worker can do about a qualification now."""

    OPEN = "open"  # ask, or take the test
    TAKING = "taking"  # the test's clock is running
    WAITING = "waiting"  # for the requester
    LATER = "later"  # again, once the retry delay is over
    CLOSED = "closed"  # asked for before, and its requester takes no second request
    HELD = "held"  # nothing to ask for
    BLOCKED = "blocked"  # the requester gives this worker no new work


@dataclass(frozen=True)
class RequestableType:
    """A type as it stands with a worker. ``request`` is their latest; ``opens_at`` says when they may ask again."""

    qualification_type: QualificationType
    availability: Availability
    request: QualificationRequest | None = None
    held: Qualification | None = None
    opens_at: datetime | None = None

    @property
    def has_timed_out(self) -> bool:
        """True when the latest test was not handed in before its time was over."""
        unfinished = self.request is not None and self.request.submitted_at is None
        return unfinished and self.availability is not Availability.TAKING

    @property
    def is_held(self) -> bool:
        """True for what the worker holds now."""
        return self.held is not None and self.held.status == GrantStatus.GRANTED


def find_offered_types(worker: Worker, query: str = "") -> QuerySet[QualificationType]:
    """Return the types that the worker does not hold and could ask for, by name; ``query`` filters by their texts."""
    held = Qualification.objects.filter(
        qualification_type=OuterRef("pk"), worker=worker, status=GrantStatus.GRANTED
    )
    blocks = WorkerBlock.objects.filter(worker=worker, ended_at=None, requester=OuterRef("requester"))
    types = find_requestable_types().filter(~Exists(held), ~Exists(blocks))
    if query:
        types = types.filter(
            Q(name__icontains=query)
            | Q(description__icontains=query)
            | Q(keywords__icontains=query)
            | Q(requester__name__icontains=query)
        )
    return types.order_by("name", "pk")


def find_requestable_types() -> QuerySet[QualificationType]:
    """Return all types that somebody can ask for."""
    return QualificationType.objects.filter(_IS_REQUESTABLE).select_related("requester")


def can_be_requested(qualification_type: QualificationType) -> bool:
    """Return whether somebody can ask for a type."""
    return (
        qualification_type.is_requestable
        and qualification_type.status == TypeStatus.ACTIVE
        and qualification_type.deleted_at is None
    )


def find_visible_type(worker: Worker, type_id: str) -> QualificationType | None:
    """Return a type that the worker may look at: one in use, or one that they asked for when it was."""
    types = QualificationType.objects.select_related("requester").filter(type_id=type_id)
    own_requests = QualificationRequest.objects.filter(qualification_type=OuterRef("pk"), worker=worker)
    return types.filter(_IS_REQUESTABLE | Exists(own_requests)).first()


def list_requestable_types(
    worker: Worker, types: Iterable[QualificationType], now: datetime
) -> list[RequestableType]:
    """Return how the types stand with a worker, in their order; three queries however many there are."""
    listed = list(types)
    requests = QualificationRequest.objects.filter(worker=worker, qualification_type__in=listed).order_by(
        "pk"
    )
    latest = {row.qualification_type_id: row for row in requests}
    rows = Qualification.objects.filter(worker=worker, qualification_type__in=listed)
    held = {row.qualification_type_id: row for row in rows}
    blocks = WorkerBlock.objects.filter(worker=worker, ended_at=None)
    blocking_requesters = set(blocks.values_list("requester_id", flat=True))
    return [
        _build_requestable_type(
            qualification_type,
            latest.get(qualification_type.pk),
            held.get(qualification_type.pk),
            qualification_type.requester_id in blocking_requesters,
            now,
        )
        for qualification_type in listed
    ]


def get_requestable_type(
    worker: Worker, qualification_type: QualificationType, now: datetime
) -> RequestableType:
    """Return how one type stands with a worker."""
    return list_requestable_types(worker, [qualification_type], now)[0]


def _build_requestable_type(
    qualification_type: QualificationType,
    request: QualificationRequest | None,
    held: Qualification | None,
    is_blocked: bool,
    now: datetime,
) -> RequestableType:
    availability, opens_at = _decide_availability(qualification_type, request, held, now)
    if not can_be_requested(qualification_type) and availability in {Availability.OPEN, Availability.LATER}:
        availability, opens_at = Availability.CLOSED, None
    # What was begun before a block may be finished, as with tasks.
    if is_blocked and availability in {Availability.OPEN, Availability.LATER}:
        availability, opens_at = Availability.BLOCKED, None
    return RequestableType(qualification_type, availability, request, held, opens_at)


def _decide_availability(
    qualification_type: QualificationType,
    request: QualificationRequest | None,
    held: Qualification | None,
    now: datetime,
) -> tuple[Availability, datetime | None]:
    if request is not None and request.state == RequestState.PENDING:
        return Availability.WAITING, None
    if (
        request is not None
        and request.state == RequestState.TAKING
        and request.deadline
        and request.deadline > now
    ):
        return Availability.TAKING, None
    is_held = held is not None and held.status == GrantStatus.GRANTED
    # Who holds it may try for a better value, where there is a test to be taken again.
    if is_held and (not qualification_type.test or qualification_type.retry_delay_seconds is None):
        return Availability.HELD, None
    delay_start = _retry_delay_start(request, held)
    if delay_start is None:
        return Availability.OPEN, None
    if qualification_type.retry_delay_seconds is None:
        return Availability.CLOSED, None
    opens_at = delay_start + timedelta(seconds=qualification_type.retry_delay_seconds)
    return (Availability.OPEN, None) if opens_at <= now else (Availability.LATER, opens_at)


def _retry_delay_start(request: QualificationRequest | None, held: Qualification | None) -> datetime | None:
    """Return when the retry delay began: at the latest request, or when the qualification was taken away."""
    times = []
    if request is not None:
        times.append(request.submitted_at or request.started_at)
    if held is not None and held.status == GrantStatus.REVOKED:
        times.append(held.changed_at)
    return max(times, default=None)
