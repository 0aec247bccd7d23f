"""A worker's profile (qualifications, decided work, blocks), and the groups that are closed to the worker.

The number of queries does not depend on the number of qualifications, requirements or groups.
"""

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
    GuardedActions,
    WorkerAttributes,
    find_unmet_requirements,
)
from hits.marketplace import closure_reasons
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

from .requestable import can_be_requested

ALL_PERCENT = 100


@dataclass(frozen=True)
class WorkerProfile:
    """What opens and closes groups: attributes, qualifications by type id (also revoked), blocks by requester pk."""

    attributes: WorkerAttributes
    qualifications: Mapping[str, Qualification]
    blocks: Mapping[int, WorkerBlock]
    approved_count: int
    decided_count: int

    @property
    def rejected_count(self) -> int:
        """The number of rejected submissions."""
        return self.decided_count - self.approved_count

    @property
    def percent_approved(self) -> int:
        """The share of approved submissions, in whole per cent, rounded down."""
        return self.attributes.values[PERCENT_APPROVED]

    @property
    def is_adult(self) -> bool:
        """True if the worker has declared to be 18 or older."""
        return ADULT in self.attributes.values


@dataclass(frozen=True)
class GroupClosure:
    """Why a group is closed to a worker, and the strictest guard of the unmet requirements."""

    reasons: tuple[closure_reasons.ClosureReason, ...]
    guards: GuardedActions

    @property
    def is_hidden(self) -> bool:
        """True if the group is not listed."""
        return self.guards is GuardedActions.DISCOVER

    @property
    def blocks_preview(self) -> bool:
        """True if the worker may not even preview a task of the group."""
        return self.guards is not GuardedActions.ACCEPT

    @property
    def needs_country(self) -> bool:
        """True if declaring a country may open the group."""
        return any(reason.needs_country for reason in self.reasons)

    @property
    def message(self) -> str:
        """All reasons as one message."""
        return " ".join(reason.message for reason in self.reasons)


def load_worker_profile(worker: Worker, now: datetime) -> WorkerProfile:
    """Return the worker's profile now."""
    rows = Qualification.objects.filter(worker=worker).select_related("qualification_type__requester")
    qualifications = {row.qualification_type.type_id: row for row in rows}
    blocks = WorkerBlock.objects.filter(worker=worker, ended_at=None).select_related("requester")
    approved, rejected = _count_approved_and_rejected(worker, now)
    values = {
        type_id: row.value for type_id, row in qualifications.items() if row.status == GrantStatus.GRANTED
    }
    for type_id in MASTERS_IDS:
        if type_id in values:
            values |= dict.fromkeys(MASTERS_IDS, values[type_id])
    values[NUMBER_APPROVED] = approved
    values[PERCENT_APPROVED] = _percent(approved, approved + rejected, default=ALL_PERCENT)
    values[PERCENT_REJECTED] = _percent(rejected, approved + rejected, default=0)
    values |= _outcome_percents(worker, now)
    return WorkerProfile(
        attributes=WorkerAttributes(values=values, country=worker.country, subdivision=worker.subdivision),
        qualifications=qualifications,
        blocks={row.requester_id: row for row in blocks},
        approved_count=approved,
        decided_count=approved + rejected,
    )


def find_closures(profile: WorkerProfile, hit_types: Iterable[HITType]) -> dict[int, GroupClosure]:
    """Return by pk the HIT types that are closed to the worker, each with all reasons."""
    unmet_by_type = {row: find_unmet_requirements(row.requirements, profile.attributes) for row in hit_types}
    type_ids = {requirement.type_id for rows in unmet_by_type.values() for requirement in rows}
    facts = closure_reasons.WorkerFacts(
        values=profile.attributes.values,
        country=profile.attributes.country,
        subdivision=profile.attributes.subdivision,
        approved_count=profile.approved_count,
        decided_count=profile.decided_count,
        custom_qualifications=_describe_custom_qualifications(profile, type_ids),
    )
    closures = {}
    for hit_type, rows in unmet_by_type.items():
        reasons = [closure_reasons.explain_unmet_requirement(requirement, facts) for requirement in rows]
        guards = [requirement.guards for requirement in rows]
        block = profile.blocks.get(hit_type.requester_id)
        if block is not None:
            reasons.insert(0, closure_reasons.explain_block(block.requester.name, block.at, block.reason))
            guards.append(GuardedActions.PREVIEW)
        if reasons:
            closures[hit_type.pk] = GroupClosure(tuple(reasons), max(guards, key=list(GuardedActions).index))
    return closures


def _count_approved_and_rejected(worker: Worker, now: datetime) -> tuple[int, int]:
    """Count approved and rejected work of all requesters; due auto-approvals count as approved."""
    approved = Q(state=SlotState.APPROVED) | Q(state=SlotState.SUBMITTED, auto_approval_at__lte=now)
    counts = Assignment.objects.filter(worker=worker).aggregate(
        approved=Count("pk", filter=approved), rejected=Count("pk", filter=Q(state=SlotState.REJECTED))
    )
    return counts["approved"], counts["rejected"]


def _outcome_percents(worker: Worker, now: datetime) -> dict[str, int]:
    """Return the outcomes of the worker's ended tasks, in per cent. Open tasks do not count."""
    late = Q(outcome=Outcome.WORKING, deadline__lte=now)
    counts = Attempt.objects.filter(worker=worker).aggregate(
        submitted=Count("pk", filter=Q(outcome=Outcome.SUBMITTED)),
        returned=Count("pk", filter=Q(outcome=Outcome.RETURNED)),
        abandoned=Count("pk", filter=Q(outcome=Outcome.ABANDONED) | late),
    )
    ended = sum(counts.values())
    return {
        PERCENT_SUBMITTED: _percent(counts["submitted"], ended, default=ALL_PERCENT),
        PERCENT_RETURNED: _percent(counts["returned"], ended, default=0),
        PERCENT_ABANDONED: _percent(counts["abandoned"], ended, default=0),
    }


def _percent(part: int, whole: int, *, default: int) -> int:
    """Return whole per cent, rounded down; ``default`` if ``whole`` is 0."""
    return ALL_PERCENT * part // whole if whole else default


def _describe_custom_qualifications(
    profile: WorkerProfile, type_ids: set[str]
) -> dict[str, closure_reasons.CustomQualification]:
    described = {}
    for qualification_type in QualificationType.objects.filter(type_id__in=type_ids):
        row = profile.qualifications.get(qualification_type.type_id)
        is_revoked = row is not None and row.status == GrantStatus.REVOKED
        described[qualification_type.type_id] = closure_reasons.CustomQualification(
            name=qualification_type.name,
            instructions=qualification_type.description,
            revoked_at=row.changed_at if row and is_revoked else None,
            revoke_reason=row.reason if row and is_revoked else "",
            can_be_requested=can_be_requested(qualification_type),
        )
    return described
