"""The time of the database's clock, which all processes share."""

from datetime import datetime
from typing import cast

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """Return the current time. SQLite has no clock of its own, and all of its processes run on one machine."""
    if connection.vendor == "sqlite":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cast(datetime, cursor.fetchone()[0])
