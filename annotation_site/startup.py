"""Checks before a server starts: the database is ready, and no other server uses the data folder."""

import fcntl
import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError

from annotation_site.readiness import unapplied_migrations

LOCK_NAME = "server.lock"


def bind_address() -> str:
    """Return the address to listen on: ``BIND``, by default this machine only."""
    return os.environ.get("BIND", "127.0.0.1")


def refuse_unapplied_migrations() -> None:
    """Refuse to start on a database that lacks migrations.

    Raises:
        CommandError: with exit status 2: migrations are unapplied, or the database does not answer.
    """
    try:
        pending = unapplied_migrations()
    except DatabaseError as error:
        raise CommandError(f"the database does not answer: {str(error).strip()}", returncode=2) from error
    if pending:
        more = f" and {len(pending) - 1} more" if len(pending) > 1 else ""
        raise CommandError(
            f"the database lacks {pending[0]}{more}: back it up, then run “manage.py migrate”", returncode=2
        )


def exposure_warning() -> str:
    """Return a warning if other machines can reach the server directly, else an empty text."""
    if is_loopback(bind_address()) or settings.SECURE_PROXY_SSL_HEADER:
        return ""
    return (
        f"BIND={bind_address()} lets other machines reach this server without a proxy. It has no TLS, and about a "
        "hundred slow connections can stop it. Put nginx or Caddy in front of it and set BEHIND_PROXY=1 "
        "(docs/operating.md)."
    )


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


@contextmanager
def lock_data_folder() -> Iterator[None]:
    """Lock the data folder for one server: two with workers would run each other's jobs, with other addresses.

    Web processes without a worker may share it.

    Raises:
        CommandError: with exit status 2: another server has the lock; the message names its process.
    """
    path = Path(settings.VAR_DIR) / LOCK_NAME
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip() or "another process"
            raise CommandError(
                f"{settings.VAR_DIR}: {owner} serves this folder already; stop it, use --no-worker for another web "
                "process, or name another folder, such as DEERSTALKER_VAR=var/two",
                returncode=2,
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()} (port {settings.PORT})")
        lock.flush()
        yield
