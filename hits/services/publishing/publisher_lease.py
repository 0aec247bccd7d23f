"""One publisher a batch: a lease on the batch's row, however the publication was started."""

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
from hits.services.errors import Busy, Conflict

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=90)
RENEW_AFTER = timedelta(seconds=15)
LOOK_AGAIN_SECONDS = 20.0


class Publisher:
    """The one process that publishes a batch now. While it lives, it keeps its lease."""

    def __init__(self, batch: Batch, owner: str) -> None:
        self.batch = batch
        self.owner = owner
        self._renewed = timezone.now()

    def go_on(self) -> None:
        """Make sure that the batch is still this process's; to be asked before every call that makes something.

        Raises:
            Conflict: the lease ran out, for instance while this machine slept, and another process has it.
        """
        if timezone.now() - self._renewed >= RENEW_AFTER and not self.renew():
            raise _taken(self.batch)

    def renew(self) -> bool:
        """Renew the lease, and tell whether it was still this process's."""
        now = timezone.now()
        if not _mine(self.batch, self.owner).update(lease_until=now + LEASE):
            return False
        self._renewed = now
        return True


@contextmanager
def publishing(batch: Batch) -> Iterator[Publisher]:
    """Take the batch for this process, and give it back at the end; a dead process's lease runs out.

    Raises:
        Busy: another process publishes it; the message says which and since when.
    """
    owner = f"{socket.gethostname()[:24]}, process {os.getpid()} {uuid.uuid4().hex}"[:64]
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    # One conditional UPDATE whose row count is checked (ruling 4).
    if not Batch.objects.filter(free, pk=batch.pk).update(lease_owner=owner, lease_until=now + LEASE):
        raise _taken(batch)
    publisher = Publisher(batch, owner)
    over = _keep_alive(publisher)
    try:
        yield publisher
    finally:
        over.set()
        _mine(batch, owner).update(lease_owner="", lease_until=None)


def is_held(batch: Batch) -> bool:
    """Tell whether a process publishes the batch now, as far as anybody can know."""
    return Batch.objects.filter(pk=batch.pk, lease_until__gt=timezone.now()).exists()


def _keep_alive(publisher: Publisher) -> threading.Event:
    """Renew the lease from a thread until the returned event is set.

    One call may outlast the lease: its repeats take minutes, and a throttled one is patient for ten. The thread dies
    with the process, and then the lease runs out.
    """
    over = threading.Event()

    def renew() -> None:
        try:
            while not over.wait(RENEW_AFTER.total_seconds()):
                try:
                    publisher.renew()
                except Error:  # a busy database; go_on asks it before anything more is made
                    logger.warning("The lease on batch %s was not renewed", publisher.batch.pk, exc_info=True)
                    connection.close()
        finally:
            connection.close()

    threading.Thread(target=renew, name=f"lease-of-batch-{publisher.batch.pk}", daemon=True).start()
    return over


def _mine(batch: Batch, owner: str) -> "QuerySet[Batch]":
    return Batch.objects.filter(pk=batch.pk, lease_owner=owner)


def _taken(batch: Batch) -> Conflict:
    row = Batch.objects.get(pk=batch.pk)
    who = row.lease_owner.rsplit(" ", 1)[0] or "another process"
    if row.lease_until is None:
        why = f"{row.name}: another process took the publication over; look at the batch's page"
        return Busy(why, LOOK_AGAIN_SECONDS)
    heard = row.lease_until - LEASE
    left = (row.lease_until - timezone.now()).total_seconds()
    return Busy(
        f"{row.name} is being published by {who}, last heard of at {heard:%H:%M:%S} UTC: wait for it. "
        f"Should it have died, the batch is free again at {row.lease_until:%H:%M:%S} UTC",
        min(LOOK_AGAIN_SECONDS, max(1.0, left)),
    )
