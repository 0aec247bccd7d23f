"""Rows of the marketplace."""

from .accounts import AccessKey, CountryDeclaration, Requester, Worker
from .append_only import AppendOnlyError
from .clock import Clock
from .messages import Message
from .money import BonusPayment, EntryKind, LedgerEntry
from .qualifications import (
    GrantStatus,
    Qualification,
    QualificationChange,
    QualificationType,
    TypeStatus,
    WorkerBlock,
)
from .requests import RequestToken
from .work import HIT, Assignment, Attempt, HITType, Outcome, SlotState

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
    "HITType",
    "LedgerEntry",
    "Message",
    "Outcome",
    "Qualification",
    "QualificationChange",
    "QualificationType",
    "RequestToken",
    "Requester",
    "SlotState",
    "TypeStatus",
    "Worker",
    "WorkerBlock",
]
