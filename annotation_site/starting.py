"""What a server looks at before it starts: nothing is begun that would only fail later, and nothing twice."""

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

LOCK = "server.lock"


def bind_address() -> str:
    """Return the address to listen on: this machine alone, unless ``BIND`` says otherwise."""
    return os.environ.get("BIND", "127.0.0.1")


def refuse_unapplied_migrations() -> None:
    """Say in one line what has to be run first.

    Raises:
        CommandError: with exit status 2: migrations are to be applied, or the database does not answer.
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


def warning_about_reach() -> str:
    """Return what to say when others than this machine can reach the server directly; else nothing."""
    if is_loopback(bind_address()) or settings.SECURE_PROXY_SSL_HEADER:
        return ""
    return (
        f"BIND={bind_address()} lets other machines reach this server without a proxy: it has no TLS, and some "
        "hundred slow connections can stop it. Put nginx or Caddy before it and set BEHIND_PROXY=1 "
        "(docs/operating.md)."
    )


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


@contextmanager
def held_folder() -> Iterator[None]:
    """Hold the data folder for one server: two with workers would take each other's jobs, with other addresses.

    Web processes without a worker may share it.

    Raises:
        CommandError: with exit status 2: another server holds the folder; the message says which process.
    """
    path = Path(settings.VAR_DIR) / LOCK
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            who = lock.read().strip() or "another process"
            raise CommandError(
                f"{settings.VAR_DIR}: {who} serves this folder already; stop it, use --no-worker for a further web "
                "process, or name another folder, such as DEERSTALKER_VAR=var/two",
                returncode=2,
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()} (port {settings.PORT})")
        lock.flush()
        yield
