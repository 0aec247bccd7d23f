"""Models of the marketplace."""

from .accounts import AccessKey, CountryDeclaration, Requester, Worker
from .append_only import AppendOnlyError
from .clock import Clock
from .messages import Message
from .money import BonusPayment, EntryKind, LedgerEntry, Payout
from .notifications import Notification, NotificationSetting, NotificationState, Transport
from .qualifications import (
    GrantStatus,
    Qualification,
    QualificationChange,
    QualificationRequest,
    QualificationType,
    RequestState,
    TypeStatus,
    WorkerBlock,
)
from .request_tokens import RequestToken
from .work import HIT, Assignment, Attempt, HITLayout, HITType, Outcome, QuestionKind, SlotState

__all__ = [
    "HIT",
    "AccessKey",
    "AppendOnlyError",
    "Assignment",
    "Attempt",
    "BonusPayment",
    "Clock",
    "CountryDeclaration",
    "EntryKind",
    "GrantStatus",
    "HITLayout",
    "HITType",
    "LedgerEntry",
    "Message",
    "Notification",
    "NotificationSetting",
    "NotificationState",
    "Outcome",
    "Payout",
    "Qualification",
    "QualificationChange",
    "QualificationRequest",
    "QualificationType",
    "QuestionKind",
    "RequestState",
    "RequestToken",
    "Requester",
    "SlotState",
    "Transport",
    "TypeStatus",
    "Worker",
    "WorkerBlock",
]
