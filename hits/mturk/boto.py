"""Calls to the marketplace with unmodified boto3. This is the only module that imports boto3.

Every call happens outside any transaction: ``atomic(durable=True)`` raises if one is open. In process, the
marketplace writes to the same database, so our rollback would erase its rows; over HTTP, it would wait for our lock.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import botocore.exceptions
from botocore.config import Config
from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from hits.domain.money.usd import format_bare_usd, parse_usd
from hits.domain.mturk_formats.access_keys import derive_secret
from hits.mturk.environments import REGION, Environment, current_environment, is_built_in
from hits.mturk.port import (
    Balance,
    Failure,
    HitTypeSpec,
    MarketplaceError,
    RemoteAssignment,
    RemoteBonus,
    RemoteHit,
)
from hits.mturk.wire_rows import parse_assignment, parse_hit, render_requirement

logger = logging.getLogger(__name__)

PAGE_SIZE = 100
_CONNECTION_ERRORS = (
    botocore.exceptions.ConnectionError,
    botocore.exceptions.HTTPClientError,
    botocore.exceptions.ReadTimeoutError,
)
# Parts of error codes and messages that mean that an earlier call succeeded, at Amazon and in our marketplace.
_ALREADY_DONE_CODES = ("alreadyexists", "duplicaterequest")
_ALREADY_DONE_MESSAGES = ("idempotency token", "already created a QualificationType")
_NOT_HELD = ".QualificationDoesNotExist"
_local = threading.local()


def marketplace() -> "BotoMarketplace":
    """Return this thread's client for the configured environment."""
    environment = current_environment()
    cached: BotoMarketplace | None = getattr(_local, "marketplace", None)
    if cached is None or cached.environment != environment:
        cached = _local.marketplace = BotoMarketplace(environment)
    return cached


class BotoMarketplace:
    """Implements ``hits.mturk.port.Marketplace``."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._client = _build_client(environment)

    def create_hit_type(self, spec: HitTypeSpec) -> str:
        """Return the HIT type's id."""
        reply = self._call(
            self._client.create_hit_type,
            Title=spec.title,
            Description=spec.description,
            Keywords=spec.keywords,
            Reward=format_bare_usd(spec.reward_cents),
            AssignmentDurationInSeconds=spec.duration_seconds,
            AutoApprovalDelayInSeconds=spec.auto_approval_seconds,
            QualificationRequirements=[render_requirement(row) for row in spec.requirements],
        )
        return str(reply["HITTypeId"])

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
        """Publish one HIT."""
        reply = self._call(
            self._client.create_hit_with_hit_type,
            HITTypeId=hit_type_id,
            Question=question,
            RequesterAnnotation=annotation,
            MaxAssignments=max_assignments,
            LifetimeInSeconds=lifetime_seconds,
            UniqueRequestToken=token,
        )
        return parse_hit(reply["HIT"])

    def get_hit(self, hit_id: str) -> RemoteHit:
        """Return one HIT."""
        return parse_hit(self._call(self._client.get_hit, HITId=hit_id)["HIT"])

    def list_hits(self) -> Iterator[RemoteHit]:
        """Yield all HITs, all pages."""
        for row in self._iterate_all_rows(self._client.list_hits, "HITs"):
            yield parse_hit(row)

    def list_assignments(self, hit_id: str) -> Iterator[RemoteAssignment]:
        """Yield a HIT's assignments, all pages."""
        for row in self._iterate_all_rows(self._client.list_assignments_for_hit, "Assignments", HITId=hit_id):
            yield parse_assignment(row)

    def get_assignment(self, assignment_id: str) -> RemoteAssignment:
        """Return one submitted assignment."""
        reply = self._call(self._client.get_assignment, AssignmentId=assignment_id)
        return parse_assignment(reply["Assignment"])

    def add_assignments(self, hit_id: str, *, more: int, token: str) -> None:
        """Give a HIT more assignments."""
        self._call(
            self._client.create_additional_assignments_for_hit,
            HITId=hit_id,
            NumberOfAdditionalAssignments=more,
            UniqueRequestToken=token,
        )

    def prolong(self, hit_id: str, expires_at: datetime) -> None:
        """Offer a HIT until ``expires_at``."""
        self._call(self._client.update_expiration_for_hit, HITId=hit_id, ExpireAt=expires_at)

    def approve(self, assignment_id: str, feedback: str, *, override: bool = False) -> None:
        """Approve an assignment; with ``override``, even a rejected one."""
        extra: dict[str, Any] = {"RequesterFeedback": feedback} if feedback else {}
        if override:
            extra["OverrideRejection"] = True
        self._call(self._client.approve_assignment, AssignmentId=assignment_id, **extra)

    def reject(self, assignment_id: str, feedback: str) -> None:
        """Reject an assignment."""
        self._call(self._client.reject_assignment, AssignmentId=assignment_id, RequesterFeedback=feedback)

    def send_bonus(
        self, *, worker_id: str, assignment_id: str, amount_cents: int, reason: str, token: str
    ) -> None:
        """Pay a bonus."""
        self._call(
            self._client.send_bonus,
            WorkerId=worker_id,
            AssignmentId=assignment_id,
            BonusAmount=format_bare_usd(amount_cents),
            Reason=reason,
            UniqueRequestToken=token,
        )

    def list_bonuses(self, assignment_id: str) -> Iterator[RemoteBonus]:
        """Yield the bonuses paid for an assignment."""
        return self._iterate_bonuses(AssignmentId=assignment_id)

    def list_bonuses_of_hit(self, hit_id: str) -> Iterator[RemoteBonus]:
        """Yield the bonuses paid for all assignments of a HIT, all pages."""
        return self._iterate_bonuses(HITId=hit_id)

    def _iterate_bonuses(self, **filters: str) -> Iterator[RemoteBonus]:
        for row in self._iterate_all_rows(self._client.list_bonus_payments, "BonusPayments", **filters):
            yield RemoteBonus(parse_usd(row["BonusAmount"]), row.get("Reason", ""))

    def expire(self, hit_id: str) -> None:
        """Expire a HIT now, by a time of a day ago, so that a clock difference cannot extend it."""
        self._call(
            self._client.update_expiration_for_hit,
            HITId=hit_id,
            ExpireAt=datetime.now(UTC) - timedelta(days=1),
        )

    def delete_hit(self, hit_id: str) -> None:
        """Dispose of a finished HIT."""
        self._call(self._client.delete_hit, HITId=hit_id)

    def get_balance(self) -> Balance:
        """Return the account's balance."""
        reply = self._call(self._client.get_account_balance)
        return Balance(parse_usd(reply["AvailableBalance"]), parse_usd(reply.get("OnHoldBalance", "0")))

    def get_or_create_qualification_type(self, name: str, description: str) -> str:
        """Create a type, and return its id; if it exists, for example after a lost reply, return that one's."""
        try:
            reply = self._call(
                self._client.create_qualification_type,
                Name=name,
                Description=description,
                QualificationTypeStatus="Active",
            )
        except MarketplaceError as error:
            found = self.find_qualification_type(name) if error.failure is Failure.ALREADY_EXISTS else None
            if found is None:
                raise
            return found
        return str(reply["QualificationType"]["QualificationTypeId"])

    def find_qualification_type(self, name: str) -> str | None:
        """Return the id of our type with exactly that name. Query is not used: its matching is undocumented."""
        pages = self._iterate_all_rows(
            self._client.list_qualification_types,
            "QualificationTypes",
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        return next((str(row["QualificationTypeId"]) for row in pages if row["Name"] == name), None)

    def grant(self, type_id: str, worker_id: str, value: int) -> None:
        """Give a worker a qualification, without a message to them."""
        self._call(
            self._client.associate_qualification_with_worker,
            QualificationTypeId=type_id,
            WorkerId=worker_id,
            IntegerValue=value,
            SendNotification=False,
        )

    def revoke(self, type_id: str, worker_id: str, reason: str) -> None:
        """Revoke a qualification; a worker without it is no error."""
        try:
            self._call(
                self._client.disassociate_qualification_from_worker,
                QualificationTypeId=type_id,
                WorkerId=worker_id,
                **({"Reason": reason} if reason else {}),
            )
        except MarketplaceError as error:
            if error.failure is not Failure.WRONG_STATE and not error.code.endswith(_NOT_HELD):
                raise

    def block(self, worker_id: str, reason: str) -> None:
        """Give a worker no new work."""
        self._call(self._client.create_worker_block, WorkerId=worker_id, Reason=reason)

    def unblock(self, worker_id: str, reason: str) -> None:
        """End a block."""
        extra = {"Reason": reason} if reason else {}
        self._call(self._client.delete_worker_block, WorkerId=worker_id, **extra)

    def notify(self, worker_ids: Sequence[str], subject: str, text: str) -> dict[str, str]:
        """Send workers a message, a hundred per call; return the failures by worker id."""
        failures: dict[str, str] = {}
        for first in range(0, len(worker_ids), PAGE_SIZE):
            reply = self._call(
                self._client.notify_workers,
                Subject=subject,
                MessageText=text,
                WorkerIds=list(worker_ids[first : first + PAGE_SIZE]),
            )
            for row in reply.get("NotifyWorkersFailureStatuses", []):
                reason = row.get("NotifyWorkersFailureMessage") or row.get("NotifyWorkersFailureCode", "")
                failures[str(row["WorkerId"])] = str(reason)
        return failures

    def set_notifications(self, hit_type_id: str, destination: str, events: Sequence[str]) -> None:
        """Make the marketplace post events to a URL, in SNS's envelope."""
        self._call(
            self._client.update_notification_settings,
            HITTypeId=hit_type_id,
            Notification={
                "Destination": destination,
                "Transport": "SNS",
                "Version": "2014-08-15",
                "EventTypes": list(events),
            },
            Active=True,
        )

    def _iterate_all_rows(
        self, method: Callable[..., Any], key: str, **arguments: Any
    ) -> Iterator[dict[str, Any]]:
        token: dict[str, str] = {}
        while True:
            reply = self._call(method, MaxResults=PAGE_SIZE, **arguments, **token)
            yield from reply[key]
            if not reply.get("NextToken") or not reply[key]:
                return
            token = {"NextToken": reply["NextToken"]}

    def _call(self, method: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
        with transaction.atomic(durable=True):
            pass  # raises inside an open transaction (see the module's docstring)
        try:
            reply: dict[str, Any] = method(**arguments)
        except botocore.exceptions.ClientError as error:
            raise _translate_error(error) from error
        except _CONNECTION_ERRORS as error:
            raise MarketplaceError(Failure.UNREACHABLE, str(error)) from error
        except botocore.exceptions.NoCredentialsError as error:
            raise MarketplaceError(
                Failure.REFUSED, "no marketplace keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from error
        return reply


def _build_client(environment: Environment) -> Any:
    credentials: dict[str, str] = {}
    # Our own marketplace accepts keys that both sides derive; any other one needs AWS keys.
    if is_built_in(environment):
        key_id = settings.MTURK_PLATFORM_ACCESS_KEY_ID
        credentials = {
            "aws_access_key_id": key_id,
            "aws_secret_access_key": derive_secret(settings.MTURK_KEYS_SECRET, key_id),
        }
    client = boto3.session.Session().client(
        "mturk",
        region_name=REGION,
        endpoint_url=environment.endpoint_url,
        config=Config(
            retries={"mode": "standard", "max_attempts": 8},
            read_timeout=10,
            connect_timeout=10,
            max_pool_connections=4,
        ),
        **credentials,
    )
    if environment.in_process:
        import_string(settings.MTURK_INPROCESS_TRANSPORT)(client)
    return client


def _translate_error(error: botocore.exceptions.ClientError) -> MarketplaceError:
    details: dict[str, Any] = dict(error.response)
    code = str(details.get("TurkErrorCode") or details.get("Error", {}).get("Code", ""))
    kind = details.get("Error", {}).get("Code", "")
    message = str(details.get("Message") or details.get("Error", {}).get("Message", "")) or code
    lower = code.lower()
    if kind == "ThrottlingException":
        failure = Failure.THROTTLED
    elif any(sign in lower for sign in _ALREADY_DONE_CODES) or any(
        sign in message for sign in _ALREADY_DONE_MESSAGES
    ):
        failure = Failure.ALREADY_EXISTS
    elif "insufficientfunds" in lower:
        failure = Failure.NO_FUNDS
    elif "doesnotexist" in lower:
        failure = Failure.NOT_FOUND
    elif "state" in lower:
        failure = Failure.WRONG_STATE
    elif details.get("ResponseMetadata", {}).get("HTTPStatusCode", 400) >= 500:  # noqa: PLR2004
        failure = Failure.UNREACHABLE  # the service may have executed the call before it failed
    else:
        failure = Failure.REFUSED
    return MarketplaceError(failure, message, code=code)
