"""One publisher per batch: a lease on the batch's row, for jobs and commands alike."""

import logging
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import Error, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from hits.models import Batch
from hits.services.errors import Conflict, RetryLater

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=90)
RENEW_AFTER = timedelta(seconds=15)
RETRY_SECONDS = 20.0


class Publisher:
    """The process that publishes a batch and renews the lease while it lives."""

    def __init__(self, batch: Batch, owner: str) -> None:
        self.batch = batch
        self.owner = owner
        self._renewed = timezone.now()

    def ensure_lease(self) -> None:
        """Check that this process still holds the lease; call it before every call that creates something.

        Raises:
            Conflict: the lease expired, for example while this machine slept, and another process has it.
        """
        if timezone.now() - self._renewed >= RENEW_AFTER and not self.renew():
            raise _build_busy_error(self.batch)

    def renew(self) -> bool:
        """Renew the lease; return whether this process still held it."""
        now = timezone.now()
        if not _leased_batch(self.batch, self.owner).update(lease_until=now + LEASE):
            return False
        self._renewed = now
        return True


@contextmanager
def hold_publisher_lease(batch: Batch) -> Iterator[Publisher]:
    """Claim the batch for this process and release it at the end; the lease of a dead process expires.

    Raises:
        RetryLater: another process publishes it; the message names the process and when it last renewed the lease.
    """
    owner = f"{socket.gethostname()[:24]}, process {os.getpid()} {uuid.uuid4().hex}"[:64]
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    # One conditional UPDATE: its row count shows whether this process got the lease.
    if not Batch.objects.filter(free, pk=batch.pk).update(lease_owner=owner, lease_until=now + LEASE):
        raise _build_busy_error(batch)
    publisher = Publisher(batch, owner)
    stop = _start_lease_renewal(publisher)
    try:
        yield publisher
    finally:
        stop.set()
        _leased_batch(batch, owner).update(lease_owner="", lease_until=None)


def is_being_published(batch: Batch) -> bool:
    """Return whether a process holds a live lease on the batch."""
    return Batch.objects.filter(pk=batch.pk, lease_until__gt=timezone.now()).exists()


def _start_lease_renewal(publisher: Publisher) -> threading.Event:
    """Renew the lease from a thread until the returned event is set.

    One call may outlast the lease: retries take minutes, and a throttled call waits up to ten. The thread dies with
    the process, and then the lease expires.
    """
    stop = threading.Event()

    def renew() -> None:
        try:
            while not stop.wait(RENEW_AFTER.total_seconds()):
                try:
                    publisher.renew()
                except Error:  # a busy database; ensure_lease checks again before the next call
                    logger.warning("The lease on batch %s was not renewed", publisher.batch.pk, exc_info=True)
                    connection.close()
        finally:
            connection.close()

    threading.Thread(target=renew, name=f"lease-of-batch-{publisher.batch.pk}", daemon=True).start()
    return stop


def _leased_batch(batch: Batch, owner: str) -> "QuerySet[Batch]":
    return Batch.objects.filter(pk=batch.pk, lease_owner=owner)


def _build_busy_error(batch: Batch) -> Conflict:
    row = Batch.objects.get(pk=batch.pk)
    holder = row.lease_owner.rsplit(" ", 1)[0] or "another process"
    if row.lease_until is None:
        message = f"{row.name}: another process has taken over the publication; see the batch's page"
        return RetryLater(message, RETRY_SECONDS)
    last_renewal = row.lease_until - LEASE
    seconds_left = (row.lease_until - timezone.now()).total_seconds()
    return RetryLater(
        f"{row.name} is being published by {holder}, last heard of at {last_renewal:%H:%M:%S} UTC: wait until "
        f"that process ends. If it died, another process can publish from {row.lease_until:%H:%M:%S} UTC",
        min(RETRY_SECONDS, max(1.0, seconds_left)),
    )
