"""Rows of the marketplace."""

from .accounts import AccessKey, Requester, Worker
from .clock import Clock
from .money import BonusPayment, EntryKind, LedgerEntry, LedgerIsAppendOnly
from .requests import RequestToken
from .work import HIT, Assignment, Attempt, HITType, Outcome, SlotState

__all__ = [
    "HIT",
    "AccessKey",
    "Assignment",
    "Attempt",
    "BonusPayment",
    "Clock",
    "EntryKind",
    "HITType",
    "LedgerEntry",
    "LedgerIsAppendOnly",
    "Outcome",
    "RequestToken",
    "Requester",
    "SlotState",
    "Worker",
]
