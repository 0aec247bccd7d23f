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

_IN_USE = Q(is_requestable=True, status=TypeStatus.ACTIVE, deleted_at__isnull=True)


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
class Requestable:
    """A type as it stands with a worker. ``request`` is their latest; ``opens`` says when they may ask again."""

    kind: QualificationType
    availability: Availability
    request: QualificationRequest | None = None
    held: Qualification | None = None
    opens: datetime | None = None

    @property
    def has_run_out(self) -> bool:
        """True when the latest test was not handed in before its time was over."""
        unfinished = self.request is not None and self.request.submitted_at is None
        return unfinished and self.availability is not Availability.TAKING

    @property
    def is_held(self) -> bool:
        """True for what the worker holds now."""
        return self.held is not None and self.held.status == GrantStatus.GRANTED


def types_on_offer(worker: Worker, query: str = "") -> QuerySet[QualificationType]:
    """Return the types that the worker does not hold and could ask for, by name; ``query`` filters by their texts."""
    held = Qualification.objects.filter(
        qualification_type=OuterRef("pk"), worker=worker, status=GrantStatus.GRANTED
    )
    blocks = WorkerBlock.objects.filter(worker=worker, ended_at=None, requester=OuterRef("requester"))
    kinds = in_use().filter(~Exists(held), ~Exists(blocks))
    if query:
        kinds = kinds.filter(
            Q(name__icontains=query)
            | Q(description__icontains=query)
            | Q(keywords__icontains=query)
            | Q(requester__name__icontains=query)
        )
    return kinds.order_by("name", "pk")


def in_use() -> QuerySet[QualificationType]:
    """Return all types that somebody can ask for."""
    return QualificationType.objects.filter(_IN_USE).select_related("requester")


def is_in_use(kind: QualificationType) -> bool:
    """Return whether somebody can ask for a type."""
    return kind.is_requestable and kind.status == TypeStatus.ACTIVE and kind.deleted_at is None


def visible_type(worker: Worker, type_id: str) -> QualificationType | None:
    """Return a type that the worker may look at: one in use, or one that they asked for when it was."""
    kinds = QualificationType.objects.select_related("requester").filter(type_id=type_id)
    asked = QualificationRequest.objects.filter(qualification_type=OuterRef("pk"), worker=worker)
    return kinds.filter(_IN_USE | Exists(asked)).first()


def requestables(worker: Worker, kinds: Iterable[QualificationType], now: datetime) -> list[Requestable]:
    """Return how the types stand with a worker, in their order; three queries however many there are."""
    listed = list(kinds)
    requests = QualificationRequest.objects.filter(worker=worker, qualification_type__in=listed).order_by(
        "pk"
    )
    latest = {row.qualification_type_id: row for row in requests}
    rows = Qualification.objects.filter(worker=worker, qualification_type__in=listed)
    held = {row.qualification_type_id: row for row in rows}
    blocks = WorkerBlock.objects.filter(worker=worker, ended_at=None)
    blocking = set(blocks.values_list("requester_id", flat=True))
    return [
        _standing(kind, latest.get(kind.pk), held.get(kind.pk), kind.requester_id in blocking, now)
        for kind in listed
    ]


def requestable(worker: Worker, kind: QualificationType, now: datetime) -> Requestable:
    """Return how one type stands with a worker."""
    return requestables(worker, [kind], now)[0]


def _standing(
    kind: QualificationType,
    request: QualificationRequest | None,
    held: Qualification | None,
    is_blocked: bool,
    now: datetime,
) -> Requestable:
    availability, opens = _availability(kind, request, held, now)
    if not is_in_use(kind) and availability in {Availability.OPEN, Availability.LATER}:
        availability, opens = Availability.CLOSED, None
    # What was begun before a block may be finished, as with tasks.
    if is_blocked and availability in {Availability.OPEN, Availability.LATER}:
        availability, opens = Availability.BLOCKED, None
    return Requestable(kind, availability, request, held, opens)


def _availability(
    kind: QualificationType,
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
    has_it = held is not None and held.status == GrantStatus.GRANTED
    # Who holds it may try for a better value, where there is a test to be taken again.
    if has_it and (not kind.test or kind.retry_delay_seconds is None):
        return Availability.HELD, None
    since = _last(request, held)
    if since is None:
        return Availability.OPEN, None
    if kind.retry_delay_seconds is None:
        return Availability.CLOSED, None
    opens = since + timedelta(seconds=kind.retry_delay_seconds)
    return (Availability.OPEN, None) if opens <= now else (Availability.LATER, opens)


def _last(request: QualificationRequest | None, held: Qualification | None) -> datetime | None:
    """Return when the retry delay began: at the latest request, or when the qualification was taken away."""
    times = []
    if request is not None:
        times.append(request.submitted_at or request.started_at)
    if held is not None and held.status == GrantStatus.REVOKED:
        times.append(held.changed_at)
    return max(times, default=None)
