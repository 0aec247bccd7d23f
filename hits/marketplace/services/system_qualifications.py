"""The stored system qualifications: Adult, which workers declare, and Masters, which the platform grants.

They are ordinary qualification types of the platform's own account with Amazon's fixed ids, so they are stored,
shown and revoked like all others. (The other system qualifications are computed.)
"""

from datetime import datetime

from django.db import DEFAULT_DB_ALIAS, transaction

from hits.domain.workers.requirements import ADULT, MASTERS, MASTERS_IDS, MASTERS_SANDBOX
from hits.marketplace.models import QualificationType, Requester, Worker
from hits.marketplace.wall_clock import wall_now

from . import qualifications

GRANTED_VALUE = 1
_ADULT_DESCRIPTION = (
    "Declared on the Qualifications page: 18 or older, and tasks may show content for adults."
)
_MASTERS_DESCRIPTION = "Granted by the platform for good work over a long time."
_TYPES = {
    ADULT: ("Adult content", _ADULT_DESCRIPTION),
    MASTERS: ("Masters", _MASTERS_DESCRIPTION),
    MASTERS_SANDBOX: ("Masters (the sandbox's id)", _MASTERS_DESCRIPTION),
}


def ensure_system_types(*, owner: Requester, using: str = DEFAULT_DB_ALIAS) -> None:
    """Create the system types in the platform's account if missing (run after each migration)."""
    types = QualificationType.objects.using(using)
    for type_id, (name, description) in _TYPES.items():
        types.get_or_create(
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
    """Record that a worker is 18 or older and accepts content for adults. Repeating changes nothing."""
    qualification_type = QualificationType.objects.get(type_id=ADULT)
    qualifications.grant_qualification(
        qualification_type=qualification_type, worker=worker, value=GRANTED_VALUE, now=now
    )


@transaction.atomic
def grant_masters(*, worker: Worker, now: datetime) -> None:
    """Grant a worker Masters under both ids. Repeating changes nothing."""
    for qualification_type in QualificationType.objects.filter(type_id__in=MASTERS_IDS).order_by("pk"):
        qualifications.grant_qualification(
            qualification_type=qualification_type, worker=worker, value=GRANTED_VALUE, now=now
        )


@transaction.atomic
def revoke_masters(*, worker: Worker, reason: str, now: datetime) -> None:
    """Revoke Masters with a reason that the worker reads. Raises qualifications.QualificationNotHeld."""
    for qualification_type in QualificationType.objects.filter(type_id__in=MASTERS_IDS).order_by("pk"):
        qualifications.revoke_qualification(
            qualification_type=qualification_type, worker=worker, reason=reason, now=now
        )
