"""Celery tasks of the marketplace's clockwork. No logic here."""

from __future__ import annotations

from celery import shared_task

from hits.domain.jobs import turns
from hits.marketplace.models import Clock
from hits.marketplace.services import events, hits, lifecycle, notifications


@shared_task(name="marketplace.sweep_due")
def sweep_due() -> None:
    """Do what the clock demands: abandon, approve, tell of what expired, dispose of what is forgotten."""
    now = Clock.now()
    lifecycle.sweep_due(now=now)
    while events.tell_expired(now=now, limit=1):  # some hundreds at a time
        turns.rest()
    hits.dispose_stale(now=now)


@shared_task(name="marketplace.deliver_notifications")
def deliver_notifications() -> None:
    """Send what requesters asked to be told."""
    notifications.deliver_due(now=Clock.now())


@shared_task(name="marketplace.forget_notifications")
def forget_notifications() -> None:
    """Delete notifications that have long been sent."""
    notifications.forget_old(now=Clock.now())
