"""A migrated, empty database that all processes of a run, and later runs, start from.

Migrating takes twenty seconds of a processor, most of it Django's drawing up of models between the steps. The first
process that needs a database makes it while the others wait, then they copy it: a file of SQLite, or a template
database of PostgreSQL. Django still migrates each copy, which finds nothing to do, and sends its signals: what they
write is never taken from an old copy alone.
"""

import fcntl
import os
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import django
import psycopg
from django.apps import apps
from django.conf import settings
from django.db import connection
from psycopg import sql

from hits.domain.database import append_only_triggers
from tests.support.paths import ROOT

FOLDER = ROOT / ".pytest_cache" / "migrated"  # of SQLite files
KEPT = 3  # databases, of as many states of the migrations
TEMPLATE_PREFIX = "deerstalker_migrated_"
LOCK_KEY = 7_281_540_316  # of PostgreSQL's advisory lock: any number that nobody else takes


def migrations_hash() -> str:
    """Return the hash of these migrations, which names their database."""
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
    return digest.hexdigest()[:32]


def migrated_file() -> Path:
    """Return where the migrated SQLite file lies, or will."""
    return FOLDER / f"{migrations_hash()}.sqlite3"


class MigratedFile:
    """The migrated SQLite file, and this process's test database that starts from it."""

    def __init__(self, database: Path, *, reused: bool) -> None:
        """``reused``: a test database that is there is taken as it is."""
        self._made, self._database = migrated_file(), database
        self._reused = reused
        FOLDER.mkdir(parents=True, exist_ok=True)
        self._lock = (FOLDER / "lock").open("w")

    def copy(self) -> bool:
        """Start from the migrated database; without one hold others up, until ``keep``, and return false.

        A process that dies lets go of its lock.
        """
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        if self._reused and self._database.is_file():
            self._lock.close()
            return True
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

    def drop(self) -> None:
        """Leave the test database: it goes with its folder."""


class MigratedTemplate:
    """The migrated template of a PostgreSQL server, and this process's test database that is copied from it."""

    def __init__(self, *, reused: bool) -> None:
        """``reused``: a test database that is there is taken as it is, and stays."""
        self._template = TEMPLATE_PREFIX + migrations_hash()
        self._database, self._reused = connection.creation._get_test_db_name(), reused
        self._server = self._connect()

    def copy(self) -> bool:
        """Start from the template; without one hold others up, until ``keep``, and return false.

        A process that dies lets go of its lock.
        """
        self._server.execute("SELECT pg_advisory_lock(%s)", [LOCK_KEY])
        names = self._names()
        if self._reused and self._database in names:
            self._server.close()
            return True
        if self._template not in names:
            return False
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", self._database)
        self._execute("CREATE DATABASE {} TEMPLATE {}", self._database, self._template)
        self._server.close()
        return True

    def keep(self) -> None:
        """Make a template of the test database, now migrated, unless it was there or is a copy of one."""
        if self._server.closed:
            return
        connection.close()
        connection.close_pool()  # a database is copied only while nobody is connected to it
        # Nobody connects to the template either: not even the server's own vacuum holds up its copies.
        self._execute(
            "CREATE DATABASE {} TEMPLATE {} ALLOW_CONNECTIONS false", self._template, self._database
        )
        templates = [name for name in self._names() if name.startswith(TEMPLATE_PREFIX)]
        for name in templates[:-KEPT]:
            self._execute("DROP DATABASE {}", name)
        self._server.close()

    def drop(self) -> None:
        """Drop the test database, unless it is for the next run too."""
        self._server.close()
        if not self._reused:
            self._server = self._connect()
            self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", self._database)
            self._server.close()

    def _connect(self) -> "psycopg.Connection[Any]":
        found = connection.settings_dict
        options = {name: value for name, value in found["OPTIONS"].items() if name != "pool"}
        address = {
            "host": found["HOST"], "port": found["PORT"], "user": found["USER"], "password": found["PASSWORD"],
        }  # fmt: skip
        address = {name: value for name, value in address.items() if value}
        return psycopg.connect(**options, **address, dbname="postgres", autocommit=True)

    def _names(self) -> list[str]:
        """Return the names of the server's databases, the newest last."""
        return [name for (name,) in self._server.execute("SELECT datname FROM pg_database ORDER BY oid")]

    def _execute(self, statement: str, *names: str) -> None:
        self._server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
