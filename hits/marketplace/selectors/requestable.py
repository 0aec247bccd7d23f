"""Qualification types that a worker may request, with the state of the worker's request."""

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
    """Whether a worker can request a qualification now."""

    OPEN = "open"  # can be requested, or its test taken
    TAKING = "taking"  # the worker is taking the test
    WAITING = "waiting"  # the requester has not decided yet
    LATER = "later"  # can be requested again after the retry delay
    CLOSED = "closed"  # requested before, and a second request is not allowed
    HELD = "held"  # the worker holds it
    BLOCKED = "blocked"  # the requester blocks this worker


@dataclass(frozen=True)
class TypeAvailability:
    """A type's availability for a worker, with their latest request and granted or revoked qualification."""

    qualification_type: QualificationType
    availability: Availability
    request: QualificationRequest | None = None
    qualification: Qualification | None = None
    opens_at: datetime | None = None  # the end of the retry delay

    @property
    def has_test_timed_out(self) -> bool:
        """True if the latest test was not submitted in time."""
        unfinished = self.request is not None and self.request.submitted_at is None
        return unfinished and self.availability is not Availability.TAKING

    @property
    def is_held(self) -> bool:
        """True if the worker holds the qualification now."""
        return self.qualification is not None and self.qualification.status == GrantStatus.GRANTED


def search_types_to_request(worker: Worker, query: str = "") -> QuerySet[QualificationType]:
    """Return requestable types that the worker does not hold, by name; ``query`` searches their texts."""
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
    """Return all requestable types."""
    return QualificationType.objects.filter(_IS_REQUESTABLE).select_related("requester")


def can_be_requested(qualification_type: QualificationType) -> bool:
    """Return whether workers can request a type."""
    return (
        qualification_type.is_requestable
        and qualification_type.status == TypeStatus.ACTIVE
        and qualification_type.deleted_at is None
    )


def find_visible_type(worker: Worker, type_id: str) -> QualificationType | None:
    """Return a type that the worker may view: a requestable one, or one that they requested before."""
    types = QualificationType.objects.select_related("requester").filter(type_id=type_id)
    own_requests = QualificationRequest.objects.filter(qualification_type=OuterRef("pk"), worker=worker)
    return types.filter(_IS_REQUESTABLE | Exists(own_requests)).first()


def list_type_availabilities(
    worker: Worker, types: Iterable[QualificationType], now: datetime
) -> list[TypeAvailability]:
    """Return the availability of the types for a worker, in the same order; three queries in total."""
    listed = list(types)
    requests = QualificationRequest.objects.filter(worker=worker, qualification_type__in=listed)
    latest = {row.qualification_type_id: row for row in requests.order_by("pk")}
    rows = Qualification.objects.filter(worker=worker, qualification_type__in=listed)
    held = {row.qualification_type_id: row for row in rows}
    blocks = WorkerBlock.objects.filter(worker=worker, ended_at=None)
    blocking_requesters = set(blocks.values_list("requester_id", flat=True))
    return [
        _build_row(row, latest.get(row.pk), held.get(row.pk), row.requester_id in blocking_requesters, now)
        for row in listed
    ]


def get_type_availability(
    worker: Worker, qualification_type: QualificationType, now: datetime
) -> TypeAvailability:
    """Return the availability of one type for a worker."""
    return list_type_availabilities(worker, [qualification_type], now)[0]


def _build_row(
    qualification_type: QualificationType,
    request: QualificationRequest | None,
    qualification: Qualification | None,
    is_blocked: bool,
    now: datetime,
) -> TypeAvailability:
    availability, opens_at = _decide_availability(qualification_type, request, qualification, now)
    if not can_be_requested(qualification_type) and availability in {Availability.OPEN, Availability.LATER}:
        availability, opens_at = Availability.CLOSED, None
    # A test started before a block may be finished, as with tasks.
    if is_blocked and availability in {Availability.OPEN, Availability.LATER}:
        availability, opens_at = Availability.BLOCKED, None
    return TypeAvailability(qualification_type, availability, request, qualification, opens_at)


def _decide_availability(
    qualification_type: QualificationType,
    request: QualificationRequest | None,
    qualification: Qualification | None,
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
    is_held = qualification is not None and qualification.status == GrantStatus.GRANTED
    # A holder may try for a better value if the test can be taken again.
    if is_held and (not qualification_type.test or qualification_type.retry_delay_seconds is None):
        return Availability.HELD, None
    delay_start = _retry_delay_start(request, qualification)
    if delay_start is None:
        return Availability.OPEN, None
    if qualification_type.retry_delay_seconds is None:
        return Availability.CLOSED, None
    opens_at = delay_start + timedelta(seconds=qualification_type.retry_delay_seconds)
    return (Availability.OPEN, None) if opens_at <= now else (Availability.LATER, opens_at)


def _retry_delay_start(
    request: QualificationRequest | None, qualification: Qualification | None
) -> datetime | None:
    """Return when the retry delay began: at the latest request or revocation."""
    times = []
    if request is not None:
        times.append(request.submitted_at or request.started_at)
    if qualification is not None and qualification.status == GrantStatus.REVOKED:
        times.append(qualification.changed_at)
    return max(times, default=None)
