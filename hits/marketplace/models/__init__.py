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
