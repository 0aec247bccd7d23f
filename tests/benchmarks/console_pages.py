"""Slow pages of the console at size: ``python -m tests.benchmarks.console_pages --json``.

A batch of 25,000 submissions with 100,000 pairs, half of them waiting for review, on a new SQLite database: the
batch's page, a draft version's page, and the results file as a browser is sent it. Seconds by the clock and of one
processor.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

PHOTOS, PAIRS = 25_000, 100_000
GOAL_SECONDS, GOAL_ROWS = 0.5, 20_000


def measured(photos: int, pairs: int) -> dict[str, Any]:
    """Return what each page took; the database is the configured one."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.urls import reverse

    from curation.services.versions import create_version
    from hits.models import Submission
    from hits.services import projects
    from tests.support.answers import observations
    from tests.support.many_pairs import fill_pairs

    call_command("migrate", interactive=False, verbosity=0)
    admin = User.objects.create_user("ada")
    project = projects.create_project(name="Many", by=admin)
    batch = fill_pairs(project, photos, pairs, statuses=("submitted", "approved"))
    _answer_all(connection, Submission, observations(pairs // photos))
    version = create_version(project=project, name="v1", by=admin)
    client = Client(HTTP_HOST=settings.PUBLIC_URL.removeprefix("http://"))
    client.force_login(admin)
    pages = {
        "batch page": reverse("batch-detail", args=[batch.pk]),
        "draft version's page": reverse("version", args=[version.pk]),
        "versions": reverse("versions", args=[project.slug]),
        "results page": reverse("batch-results", args=[batch.pk]),
    }
    found = {name: _best(lambda address=address: client.get(address)) for name, address in pages.items()}
    started, of_one = time.perf_counter(), time.process_time()
    reply = client.post(reverse("results-file", args=[batch.pk]))
    size = rows = 0
    for block in reply.streaming_content:  # type: ignore[attr-defined]
        size += len(block)
        rows += block.count(b"\r\n")
    seconds, busy = time.perf_counter() - started, time.process_time() - of_one
    return {
        "pages": found,
        "results": {
            "submissions": rows - 1,
            "mib": round(size / 2**20, 1),
            "seconds": round(seconds, 2),
            "of_one_processor": round(busy, 2),
            "submissions_a_second": round(rows / seconds),
            "observations_a_second": round(pairs / photos * rows / seconds),
        },
        "goals": {"page_seconds": GOAL_SECONDS, "rows_a_second": GOAL_ROWS},
    }


def _answer_all(connection: Any, model: Any, answer: dict[str, Any]) -> None:
    """Give every submission an answer as long as a worker's; a database made for this keeps no trail."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP TRIGGER "{name}"')
        cursor.execute(f"UPDATE {model._meta.db_table} SET answer = %s", [json.dumps(answer)])
        cursor.execute("ANALYZE")


def _best(ask: Callable[[], Any]) -> dict[str, float]:
    """Return the first and the best of three, and its queries."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    times = []
    for _ in range(3):
        started = time.perf_counter()
        reply = ask()
        times.append(time.perf_counter() - started)
        assert reply.status_code == 200, reply.status_code
    with CaptureQueriesContext(connection) as queries:
        ask()
    return {
        "first_s": round(times[0], 3),
        "best_s": round(min(times), 3),
        "queries": len(queries),
        "kib": round(len(reply.content) / 1024),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--photos", type=int, default=PHOTOS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "annotation_site.settings",
            "DEERSTALKER_VAR": folder,
            "DATABASE_URL": "",
            "LOG_LEVEL": "ERROR",
            "DEBUG": "0",
        }
        import django

        django.setup()
        from django.core.management import call_command

        from tests.benchmarks._machine import machine

        call_command("collectstatic", interactive=False, verbosity=0)
        figures = {
            "benchmark": "console_pages",
            "machine": machine(),
            "load_before": round(os.getloadavg()[0], 1),
        }
        figures |= measured(options.photos, options.pairs)
    sys.stdout.write(json.dumps(figures, allow_nan=False, indent=None if options.json else 2) + "\n")


if __name__ == "__main__":
    main()
