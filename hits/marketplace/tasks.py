"""Celery tasks that run on a schedule. No logic here."""

from celery import shared_task

from hits.domain.jobs import turns
from hits.marketplace.models import Clock
from hits.marketplace.services import events, hits, lifecycle, notifications


@shared_task(name="marketplace.sweep_due")
def sweep_due() -> None:
    """Apply all due changes: abandon tasks, approve work, record expiry events, dispose of stale HITs."""
    now = Clock.now()
    lifecycle.apply_all_due_changes(now=now)
    while events.record_expiries(now=now, limit=1):  # one batch per call
        turns.end_turn_if_over()
    hits.dispose_stale_hits(now=now)


@shared_task(name="marketplace.deliver_notifications")
def deliver_notifications() -> None:
    """Send the notifications that are due."""
    notifications.deliver_due_notifications(now=Clock.now())


@shared_task(name="marketplace.forget_notifications")
def delete_old_notifications() -> None:
    """Delete old notifications that are no longer queued."""
    notifications.delete_old_notifications(now=Clock.now())
