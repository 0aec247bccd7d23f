"""What a task's page may ask us about its attempt and its worker, by the names in settings."""

import hashlib

from hits.marketplace.models import Attempt, Outcome, Worker


def holds(secret: str, *, hit_id: str, assignment_id: str, worker_id: str) -> bool:
    """Whether the secret is that of this worker's present attempt at this assignment of this HIT.

    One that was returned or ran out of time proves nothing any more; one that was handed in still does, so that its
    worker may look at what they sent. One query.
    """
    digest = hashlib.sha256(secret.encode()).hexdigest()
    return Attempt.objects.filter(
        secret_hash=digest,
        outcome__in=[Outcome.WORKING, Outcome.SUBMITTED],
        worker__worker_id=worker_id,
        assignment__assignment_id=assignment_id,
        assignment__hit__hit_id=hit_id,
    ).exists()


def country_of(worker_id: str) -> str:
    """Return the ISO 3166-1 code of where the worker said to us that they work from, or nothing."""
    return Worker.objects.filter(worker_id=worker_id).values_list("country", flat=True).first() or ""
