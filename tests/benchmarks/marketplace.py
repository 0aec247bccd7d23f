"""The built-in marketplace under load: ``python -m tests.benchmarks.marketplace --json``.

Two crowds work in a closed loop with 1 to 3 s of thought between any two acts, against the web server as ``serve``
runs it, the client on the same machine: 50 workers on SQLite, and 100 on PostgreSQL where one answers. A requester's
script makes calls with twenty threads on SQLite. Then a requester lists 100,000 HITs page by page through boto3,
beside the same pages cut by OFFSET, so that what keyed pages are worth is measured in the same run.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432")
LISTED = 100_000
PAGE = 100
EDGE = 50  # pages at the beginning and at the end that are compared


def load(*, workers: int, hits: int, warm_up: float, seconds: float) -> dict[str, Any]:
    """Return what one crowd saw. Milliseconds; the database is the configured one."""
    from django.db import connection

    from hits.marketplace.models import Assignment, SlotState
    from tests.benchmarks._market_crowd import THINK_SECONDS, crowd
    from tests.benchmarks._market_site import served

    with served(workers=workers, hits=hits) as site:
        timings = crowd(site, warm_up=warm_up, seconds=seconds, seed=20)
        submitted = Assignment.objects.filter(state=SlotState.SUBMITTED).count()
    answered = sum(len(times) for times in timings.seconds.values())
    return {
        "database": connection.vendor,
        "workers": workers,
        "think_seconds": THINK_SECONDS,
        "measured_seconds": seconds,
        "requests_per_second": round(answered / seconds, 1),
        "errors": len(timings.errors),
        "first_errors": timings.errors[:3],
        "tasks_in_the_database": submitted,
        "milliseconds": {action: _spread(times) for action, times in sorted(timings.seconds.items())},
    }


def script(*, mixed: int, created: int) -> dict[str, Any]:
    """Return what a requester's twenty threads waited, in milliseconds."""
    from tests.benchmarks._requester_threads import THREADS, waits

    found = waits(mixed=mixed, created=created)
    return {
        "threads": THREADS,
        "errors": sum(len(errors) for _, errors in found.values()),
        "first_errors": [text for _, errors in found.values() for text in errors[:3]],
        "milliseconds": {part: _spread(seconds) for part, (seconds, _) in found.items()},
        "goal_p99": 2000,
    }


def listing(*, hits: int) -> dict[str, Any]:
    """Return how long pages take at the beginning and at the end of a long list, by key and by OFFSET."""
    import boto3
    from django.conf import settings

    from hits.marketplace.models import HIT
    from tests.benchmarks._market_site import fill_listing, served

    with served(workers=0, hits=0):
        pair = fill_listing(hits)
        client = boto3.client(
            "mturk",
            region_name="us-east-1",
            endpoint_url=f"{settings.PUBLIC_URL}/mturk/",
            aws_access_key_id=pair.access_key_id,
            aws_secret_access_key=pair.secret_access_key,
        )
        times, seen, token = [], set(), {}
        while True:
            started = time.perf_counter()
            reply = client.list_hits(MaxResults=PAGE, **token)
            times.append(time.perf_counter() - started)
            seen.update(hit["HITId"] for hit in reply["HITs"])
            if "NextToken" not in reply:
                break
            token = {"NextToken": reply["NextToken"]}
    mine = HIT.objects.filter(requester=pair.requester).order_by("-pk")
    cut = []
    for first in (*range(0, EDGE * PAGE, PAGE), *range(hits - EDGE * PAGE, hits, PAGE)):
        started = time.perf_counter()
        list(mine[first : first + PAGE])
        cut.append(time.perf_counter() - started)
    pages = times[:-1]  # the last one is the empty page that ends the list
    return {
        "hits": hits,
        "listed_once_each": len(seen),
        "pages": len(pages),
        "by_key": _edges(pages[:EDGE], pages[-EDGE:]),
        "by_offset_in_the_database_alone": _edges(cut[:EDGE], cut[-EDGE:]),
    }


def _edges(first: Sequence[float], last: Sequence[float]) -> dict[str, float]:
    early, late = statistics.median(first), statistics.median(last)
    return {
        "first_pages_ms": round(1000 * early, 2),
        "last_pages_ms": round(1000 * late, 2),
        "last_over_first": round(late / early, 2),
    }


def _spread(times: list[float]) -> dict[str, float]:
    ranked = sorted(times)

    def at(share: float) -> float:
        return round(1000 * ranked[min(len(ranked) - 1, int(share * len(ranked)))], 1)

    return {"n": len(ranked), "p50": at(0.50), "p95": at(0.95), "p99": at(0.99), "most": at(1.0)}


def _scenario(options: argparse.Namespace) -> dict[str, Any]:
    """Run one scenario in this process: Django is set up by the environment that the parent chose."""
    import django

    django.setup()
    if options.scenario == "listing":
        return listing(hits=options.listed)
    if options.scenario == "script":
        return script(mixed=500, created=200)
    return load(workers=options.workers, hits=options.hits, warm_up=options.warm_up, seconds=options.seconds)


def _child(scenario: str, options: argparse.Namespace, workers: int, database: str = "") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "annotation_site.settings",
            "DEERSTALKER_VAR": folder,
            "DATABASE_URL": database,
            "PORT": str(port),
            "LOG_LEVEL": "ERROR",
        }
        command = [
            sys.executable, "-m", "tests.benchmarks.marketplace", "--scenario", scenario,
            "--workers", str(workers), "--hits", str(options.hits), "--warm-up", str(options.warm_up),
            "--seconds", str(options.seconds), "--listed", str(options.listed),
        ]  # fmt: skip
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _on_postgresql(options: argparse.Namespace) -> dict[str, Any]:
    import psycopg

    name = f"deerstalker_bench_{uuid.uuid4().hex[:8]}"
    try:
        server = psycopg.connect(f"{POSTGRES}/postgres", autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        sys.stderr.write("marketplace: PostgreSQL does not answer: NOT MEASURED\n")
        return {"skipped": "PostgreSQL does not answer"}
    with server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            return _child("load", options, 2 * options.workers, f"{POSTGRES}/{name}")
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--workers", type=int, default=50, help="on SQLite; twice as many on PostgreSQL")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=10.0)
    parser.add_argument("--hits", type=int, default=3_000, help="tasks on offer")
    parser.add_argument("--listed", type=int, default=LISTED)
    parser.add_argument("--scenario", choices=["load", "script", "listing"], help=argparse.SUPPRESS)
    parser.add_argument(
        "--only", choices=["sqlite", "postgresql", "script", "listing"], help="measure one part"
    )
    options = parser.parse_args()
    if options.scenario:
        sys.stdout.write(json.dumps(_scenario(options), allow_nan=False) + "\n")
        return
    from tests.benchmarks._machine import machine

    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "sqlite": lambda: _child("load", options, options.workers),
        "postgresql": lambda: _on_postgresql(options),
        "script": lambda: _child("script", options, 0),
        "listing": lambda: _child("listing", options, 0),
    }
    figures = {"benchmark": "marketplace", "machine": machine(), "load_before": round(os.getloadavg()[0], 1)}
    figures |= {name: part() for name, part in parts.items() if options.only in {None, name}}
    sys.stdout.write(json.dumps(figures, allow_nan=False, indent=None if options.json else 2) + "\n")


if __name__ == "__main__":
    main()
