"""Where a worker stands: what they hold, what was decided about their work, who gives them none.

The number of queries is the same however many qualifications, requirements or groups there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from hits.domain.workers.requirements import (
    ADULT,
    MASTERS_IDS,
    NUMBER_APPROVED,
    PERCENT_ABANDONED,
    PERCENT_APPROVED,
    PERCENT_REJECTED,
    PERCENT_RETURNED,
    PERCENT_SUBMITTED,
    Guards,
    Holdings,
    unmet,
)
from hits.marketplace import wording
from hits.marketplace.models import (
    Assignment,
    Attempt,
    GrantStatus,
    HITType,
    Outcome,
    Qualification,
    QualificationType,
    SlotState,
    Worker,
    WorkerBlock,
)

from .requestable import is_in_use

ALL = 100


@dataclass(frozen=True)
class Standing:
    """A worker's own facts. ``qualifications`` holds what was taken away, too, by public type id."""

    holdings: Holdings
    qualifications: Mapping[str, Qualification]
    blocks: Mapping[int, WorkerBlock]
    approved: int
    decided: int

    @property
    def rejected(self) -> int:
        """Rejected submissions."""
        return self.decided - self.approved

    @property
    def percent_approved(self) -> int:
        """The computed share, in whole per cent, rounded down."""
        return self.holdings.values[PERCENT_APPROVED]

    @property
    def is_adult(self) -> bool:
        """True when the worker has declared to be 18 or older."""
        return ADULT in self.holdings.values


@dataclass(frozen=True)
class Closure:
    """Why a group is closed to a worker, and from what the strictest unmet condition keeps them."""

    reasons: tuple[wording.Reason, ...]
    guards: Guards

    @property
    def is_hidden(self) -> bool:
        """True when the group is not even listed."""
        return self.guards is Guards.DISCOVER

    @property
    def bars_preview(self) -> bool:
        """True when the task may not be looked at either."""
        return self.guards is not Guards.ACCEPT

    @property
    def needs_country(self) -> bool:
        """True when declaring a country may open the group."""
        return any(reason.needs_country for reason in self.reasons)

    @property
    def sentence(self) -> str:
        """All reasons as one text."""
        return " ".join(reason.sentence for reason in self.reasons)


def standing_of(worker: Worker, now: datetime) -> Standing:
    """Return where a worker stands now."""
    rows = Qualification.objects.filter(worker=worker).select_related("qualification_type__requester")
    qualifications = {row.qualification_type.type_id: row for row in rows}
    blocks = WorkerBlock.objects.filter(worker=worker, ended_at=None).select_related("requester")
    approved, rejected = _decided(worker, now)
    values = {
        type_id: row.value for type_id, row in qualifications.items() if row.status == GrantStatus.GRANTED
    }
    for type_id in MASTERS_IDS:
        if type_id in values:
            values |= dict.fromkeys(MASTERS_IDS, values[type_id])
    values[NUMBER_APPROVED] = approved
    values[PERCENT_APPROVED] = _percent(approved, approved + rejected, of_nothing=ALL)
    values[PERCENT_REJECTED] = _percent(rejected, approved + rejected, of_nothing=0)
    values |= _ended_percents(worker, now)
    return Standing(
        holdings=Holdings(values=values, country=worker.country, subdivision=worker.subdivision),
        qualifications=qualifications,
        blocks={row.requester_id: row for row in blocks},
        approved=approved,
        decided=approved + rejected,
    )


def closures(standing: Standing, hit_types: Iterable[HITType]) -> dict[int, Closure]:
    """Return by pk those of the HIT types that are closed to the worker, each with all its reasons."""
    missing = {kind: unmet(kind.requirements, standing.holdings) for kind in hit_types}
    needed = {requirement.type_id for rows in missing.values() for requirement in rows}
    facts = wording.Facts(
        values=standing.holdings.values,
        country=standing.holdings.country,
        subdivision=standing.holdings.subdivision,
        approved=standing.approved,
        decided=standing.decided,
        named=_named(standing, needed),
    )
    found = {}
    for kind, rows in missing.items():
        reasons = [wording.reason_for(requirement, facts) for requirement in rows]
        guards = [requirement.guards for requirement in rows]
        block = standing.blocks.get(kind.requester_id)
        if block is not None:
            reasons.insert(0, wording.blocked(block.requester.name, block.at, block.reason))
            guards.append(Guards.PREVIEW)
        if reasons:
            found[kind.pk] = Closure(tuple(reasons), max(guards, key=list(Guards).index))
    return found


def _decided(worker: Worker, now: datetime) -> tuple[int, int]:
    """Count approved and rejected work of all requesters; what is due for approval counts as approved."""
    approved = Q(state=SlotState.APPROVED) | Q(state=SlotState.SUBMITTED, auto_approval_at__lte=now)
    counts = Assignment.objects.filter(worker=worker).aggregate(
        approved=Count("pk", filter=approved), rejected=Count("pk", filter=Q(state=SlotState.REJECTED))
    )
    return counts["approved"], counts["rejected"]


def _ended_percents(worker: Worker, now: datetime) -> dict[str, int]:
    """Return how the tasks that the worker took ended, in per cent. A task in hand has not ended yet."""
    late = Q(outcome=Outcome.WORKING, deadline__lte=now)
    counts = Attempt.objects.filter(worker=worker).aggregate(
        submitted=Count("pk", filter=Q(outcome=Outcome.SUBMITTED)),
        returned=Count("pk", filter=Q(outcome=Outcome.RETURNED)),
        abandoned=Count("pk", filter=Q(outcome=Outcome.ABANDONED) | late),
    )
    ended = sum(counts.values())
    return {
        PERCENT_SUBMITTED: _percent(counts["submitted"], ended, of_nothing=ALL),
        PERCENT_RETURNED: _percent(counts["returned"], ended, of_nothing=0),
        PERCENT_ABANDONED: _percent(counts["abandoned"], ended, of_nothing=0),
    }


def _percent(part: int, whole: int, *, of_nothing: int) -> int:
    """Return whole per cent, rounded down, and what who has done nothing yet is given."""
    return ALL * part // whole if whole else of_nothing


def _named(standing: Standing, type_ids: set[str]) -> dict[str, wording.Named]:
    named = {}
    for kind in QualificationType.objects.filter(type_id__in=type_ids):
        row = standing.qualifications.get(kind.type_id)
        lost = row is not None and row.status == GrantStatus.REVOKED
        named[kind.type_id] = wording.Named(
            name=kind.name,
            how=kind.description,
            taken_at=row.changed_at if row and lost else None,
            taken_because=row.reason if row and lost else "",
            can_be_asked_for=is_in_use(kind),
        )
    return named
