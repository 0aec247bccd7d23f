"""The system qualifications that workers hold: Adult, which they declare, and Masters, which the platform gives.

They are ordinary qualification types of the platform's own account under Amazon's fixed ids, so that what is held is
kept, shown and taken away like everything else. (The other system qualifications are computed.)
"""

from __future__ import annotations

from datetime import datetime

from django.db import DEFAULT_DB_ALIAS, transaction

from hits.domain.workers.requirements import ADULT, MASTERS, MASTERS_IDS, MASTERS_SANDBOX
from hits.marketplace.clock import wall_now
from hits.marketplace.models import QualificationType, Requester, Worker

from . import qualifications

HELD = 1
_ADULT = "Declared on the page Qualifications: 18 or older, and tasks may show content for adults."
_MASTERS = "Given by the platform to people whose work has been good for a long time."
_TYPES = {
    ADULT: ("Adult content", _ADULT),
    MASTERS: ("Masters", _MASTERS),
    MASTERS_SANDBOX: ("Masters (the sandbox's id)", _MASTERS),
}


def ensure_system_types(*, owner: Requester, using: str = DEFAULT_DB_ALIAS) -> None:
    """Make sure that the platform's account has the types (run after each migration)."""
    kinds = QualificationType.objects.using(using)
    for type_id, (name, description) in _TYPES.items():
        kinds.get_or_create(
            type_id=type_id,
            defaults={
                "requester": owner,
                "name": name,
                "description": description,
                "created_at": wall_now(),
            },
        )


@transaction.atomic
def declare_adult(*, worker: Worker, now: datetime) -> None:
    """Record that a worker is 18 or older and may be shown content for adults. Repeating changes nothing."""
    kind = QualificationType.objects.get(type_id=ADULT)
    qualifications.grant(kind=kind, worker=worker, value=HELD, now=now)


@transaction.atomic
def grant_masters(*, worker: Worker, now: datetime) -> None:
    """Make a worker a Master, under both ids. Repeating changes nothing."""
    for kind in QualificationType.objects.filter(type_id__in=MASTERS_IDS).order_by("pk"):
        qualifications.grant(kind=kind, worker=worker, value=HELD, now=now)


@transaction.atomic
def revoke_masters(*, worker: Worker, reason: str, now: datetime) -> None:
    """Take Masters away with the reason that the worker reads. Raises qualifications.NotHeld."""
    for kind in QualificationType.objects.filter(type_id__in=MASTERS_IDS).order_by("pk"):
        qualifications.revoke(kind=kind, worker=worker, reason=reason, now=now)
