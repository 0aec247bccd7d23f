"""The time by the database's clock, which all processes share, wherever they run."""

from datetime import datetime
from typing import cast

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """Return the present moment. SQLite has no clock of its own: there, all processes are on one machine."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cast(datetime, cursor.fetchone()[0])
