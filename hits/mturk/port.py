"""The calls that the platform makes to a marketplace, and their types.

Money is integer cents, times are aware UTC, lists are complete (all pages). Adapters convert the wire format into
these types, and services use nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from hits.domain.money.fees import FeeSchedule
from hits.domain.workers.requirements import Requirement


class Failure(StrEnum):
    """Why a call failed; callers react differently to each value."""

    ALREADY_EXISTS = "already_exists"  # the token is used: an earlier call succeeded
    WRONG_STATE = "wrong_state"  # for example, the assignment is approved already
    NOT_FOUND = "not_found"
    NO_FUNDS = "no_funds"
    THROTTLED = "throttled"
    UNREACHABLE = "unreachable"  # the reply was lost: the call may have succeeded
    REFUSED = "refused"


class MarketplaceError(Exception):
    """A marketplace call failed. ``is_retryable`` is true if the same call may be repeated."""

    def __init__(self, failure: Failure, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.failure = failure
        self.code = code

    @property
    def is_retryable(self) -> bool:
        """Whether repeating with the same token is safe and may help."""
        return self.failure in {Failure.THROTTLED, Failure.UNREACHABLE}


@dataclass(frozen=True, slots=True)
class Environment:
    """A marketplace endpoint. ``name`` is stored in rows; ``is_live`` means real workers and real money."""

    name: str
    endpoint_url: str
    in_process: bool
    is_live: bool
    fees: FeeSchedule
    label: str


@dataclass(frozen=True, slots=True)
class HitTypeSpec:
    """The properties that HITs of one group share."""

    title: str
    description: str
    keywords: str
    reward_cents: int
    duration_seconds: int
    auto_approval_seconds: int
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteHit:
    """A HIT as the marketplace lists it."""

    hit_id: str
    annotation: str
    status: str
    max_assignments: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RemoteAssignment:
    """A submitted assignment as the marketplace lists it. Workers control ``answer_xml``."""

    assignment_id: str
    worker_id: str
    status: str
    accepted_at: datetime | None
    submitted_at: datetime
    auto_approves_at: datetime | None
    answer_xml: str


@dataclass(frozen=True, slots=True)
class RemoteBonus:
    """A paid bonus."""

    amount_cents: int
    reason: str


@dataclass(frozen=True, slots=True)
class Balance:
    """The requester's account, in cents."""

    available_cents: int
    on_hold_cents: int


class Marketplace(Protocol):
    """The calls that the platform makes. Every method may raise ``MarketplaceError``."""

    environment: Environment

    def create_hit_type(self, spec: HitTypeSpec) -> str:
        """Return the HIT type's id; equal values give the same id."""

    def create_hit(
        self,
        *,
        hit_type_id: str,
        question: str,
        annotation: str,
        max_assignments: int,
        lifetime_seconds: int,
        token: str,
    ) -> RemoteHit:
        """Publish one HIT. A repeated token raises ``ALREADY_EXISTS``."""

    def get_hit(self, hit_id: str) -> RemoteHit:
        """Return one HIT."""

    def list_hits(self) -> Iterator[RemoteHit]:
        """Yield every HIT of this requester, newest first, all pages."""

    def list_assignments(self, hit_id: str) -> Iterator[RemoteAssignment]:
        """Yield a HIT's submitted assignments, all pages."""

    def get_assignment(self, assignment_id: str) -> RemoteAssignment:
        """Return one submitted assignment."""

    def add_assignments(self, hit_id: str, *, more: int, token: str) -> None:
        """Give a HIT more assignments. A repeated token raises ``ALREADY_EXISTS``."""

    def prolong(self, hit_id: str, expires_at: datetime) -> None:
        """Offer a HIT until ``expires_at``, at least a minute from now. Repeating it may raise ``ALREADY_EXISTS``."""

    def approve(self, assignment_id: str, feedback: str, *, override: bool = False) -> None:
        """Approve and pay the reward; ``override``: a rejected one too, within 30 days of its submission."""

    def reject(self, assignment_id: str, feedback: str) -> None:
        """Reject with a reason that the worker reads."""

    def send_bonus(
        self, *, worker_id: str, assignment_id: str, amount_cents: int, reason: str, token: str
    ) -> None:
        """Pay a bonus. A repeated token raises ``ALREADY_EXISTS``."""

    def list_bonuses(self, assignment_id: str) -> Iterator[RemoteBonus]:
        """Yield the bonuses paid for an assignment."""

    def list_bonuses_of_hit(self, hit_id: str) -> Iterator[RemoteBonus]:
        """Yield the bonuses paid for all assignments of a HIT, all pages."""

    def expire(self, hit_id: str) -> None:
        """Stop offering a HIT now; accepted tasks may still be submitted."""

    def delete_hit(self, hit_id: str) -> None:
        """Dispose of a finished HIT; the hold of unused assignments is released."""

    def get_balance(self) -> Balance:
        """Return the account's balance."""

    def get_or_create_qualification_type(self, name: str, description: str) -> str:
        """Return the id of the qualification type with that name, created if necessary."""

    def grant(self, type_id: str, worker_id: str, value: int) -> None:
        """Give a worker a qualification, or another value of it. Repeating changes nothing."""

    def revoke(self, type_id: str, worker_id: str, reason: str) -> None:
        """Revoke a qualification; the worker reads the reason. A worker without it is no error."""

    def block(self, worker_id: str, reason: str) -> None:
        """Give a worker no new work of this requester. Repeating changes the reason at most."""

    def unblock(self, worker_id: str, reason: str) -> None:
        """End a block. A worker who is not blocked is no error."""

    def notify(self, worker_ids: Sequence[str], subject: str, text: str) -> dict[str, str]:
        """Send workers a message; return the failures by worker id, empty if all were reached.

        A repeated call sends the message again, because the API has no token for it.
        """

    def set_notifications(self, hit_type_id: str, destination: str, events: Sequence[str]) -> None:
        """Make the marketplace post the events of a HIT type to a URL, which replaces an earlier URL."""
