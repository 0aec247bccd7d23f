"""A migrated, empty SQLite database that all processes of a run, and later runs, start from.

Migrating takes twenty seconds of a processor, most of it Django's drawing up of models between the steps. The first
process that needs a database makes it while the others wait, then they copy it. Django still migrates each copy,
which finds nothing to do, and sends its signals: what they write is never taken from an old copy alone.
"""

import fcntl
import os
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings

from hits.domain.database import append_only_triggers

KEPT = 3  # databases, of as many states of the migrations


def template(folder: Path) -> Path:
    """Return where the database of these migrations lies, or will: its name is their hash."""
    digest = sha256(
        django.__version__.encode() + Path(append_only_triggers.__file__).read_bytes()
    )  # migrations call it
    for app in apps.get_app_configs():
        name = settings.MIGRATION_MODULES.get(app.label, f"{app.name}.migrations")
        try:
            place = import_module(name).__file__
        except ModuleNotFoundError:
            continue
        for path in sorted(Path(place or "").parent.glob("*.py")):
            digest.update(f"{app.label}/{path.name}\0".encode() + path.read_bytes())
    return folder / f"{digest.hexdigest()[:32]}.sqlite3"


class MigratedDatabase:
    """The migrated database of a folder, and this process's test database that starts from it."""

    def __init__(self, folder: Path, database: Path) -> None:
        self._made, self._database = template(folder), database
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")

    def copy(self) -> bool:
        """Start from the migrated database; without one hold others up, until ``keep``, and return false.

        A process that dies lets go of its lock.
        """
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        if not self._made.is_file():
            return False
        shutil.copyfile(self._made, self._database)
        self._lock.close()
        return True

    def keep(self) -> None:
        """Keep the test database, now migrated, for others, unless it started from theirs."""
        if self._lock.closed:
            return
        partial = self._made.with_suffix(f".{os.getpid()}")
        with closing(sqlite3.connect(self._database)) as source, closing(sqlite3.connect(partial)) as target:
            source.backup(target)
        partial.replace(self._made)
        kept = sorted(self._made.parent.glob("*.sqlite3"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-KEPT]:
            path.unlink()
        self._lock.close()
