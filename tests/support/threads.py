"""Several acts at the same moment, each on a database connection of its own."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection

from annotation_site.sqlite.write_queue import write_queue

_BLOCKED = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def is_another_blocked() -> bool:
    """Return whether another act of this process waits for what this one's transaction holds."""
    if connection.vendor == "sqlite":
        return bool(write_queue(str(connection.settings_dict["NAME"]))._waiting)
    with connection.cursor() as cursor:
        # Else a transaction sees the connections of its first look only, without those that were opened since.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(_BLOCKED)
        return bool(cursor.fetchone()[0])


def together(acts: list[Callable[[], Any]]) -> list[Any]:
    """Run all at once, each on its own connection; return results or exceptions in order."""
    gate = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)

    def run(index: int) -> None:
        try:
            gate.wait(60)
            results[index] = acts[index]()
        except Exception as error:
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    return results
