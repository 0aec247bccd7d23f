"""Facts about an attempt and its worker for task pages of the platform; settings name these functions."""

import hashlib

from hits.marketplace.models import Attempt, Outcome, Worker


def is_valid_secret(secret: str, *, hit_id: str, assignment_id: str, worker_id: str) -> bool:
    """Return whether the secret belongs to this worker's current attempt at this assignment of this HIT.

    A submitted attempt is still valid, so that its worker can view the submission. A returned or expired one is not.
    One query.
    """
    digest = hashlib.sha256(secret.encode()).hexdigest()
    return Attempt.objects.filter(
        secret_hash=digest,
        outcome__in=[Outcome.WORKING, Outcome.SUBMITTED],
        worker__worker_id=worker_id,
        assignment__assignment_id=assignment_id,
        assignment__hit__hit_id=hit_id,
    ).exists()


def find_declared_country(worker_id: str) -> str:
    """Return the ISO 3166-1 code of the worker's declared country, or an empty string."""
    return Worker.objects.filter(worker_id=worker_id).values_list("country", flat=True).first() or ""


def find_account(worker_id: str) -> int | None:
    """Return the key of the user behind a worker."""
    return Worker.objects.filter(worker_id=worker_id).values_list("user", flat=True).first()


def find_worker_id(user: int) -> str:
    """Return the id of the worker that a user is, or an empty string."""
    return Worker.objects.filter(user=user).values_list("worker_id", flat=True).first() or ""
