"""The report over 363,000 ratings: how long computing it takes, and how long its pages take to load.

Takes the configured database, an empty one of its own, which ``tests.benchmarks.judging --report`` makes.
"""

import statistics
import time
from typing import Any
from urllib.parse import urlsplit

from hits.management.memory import peak_mib

ITEMS, JUDGES, WORKERS = 40_334, 3, 200  # × 3 questions: 363,006 ratings
LOADS = 7
MOST_SECONDS = 1.0


def report_figures() -> dict[str, Any]:
    """Set the database up and measure at full size."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    return measured(ITEMS)


def measured(items: int) -> dict[str, Any]:
    """Fill a project with judgments, compute its report, load its pages; seconds, MiB and counts of queries."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse

    from hits.models import Hit
    from hits.services import projects
    from hits.services.images.import_image import import_image
    from tests.support.judging.many_judgments import Crowd, fill
    from tests.support.pictures import picture
    from validation.services.report import compute_report

    admin = User.objects.create_superuser("bench")
    project = projects.create_project(name="Bench", by=admin)
    images = [
        import_image(project=project, name=f"{n}.png", data=picture(640, 480, seed=n))[0] for n in range(20)
    ]
    started = time.perf_counter()
    batch = fill(project, images, Crowd(items=items, redundancy=JUDGES, workers=WORKERS))
    filled = time.perf_counter() - started
    before = peak_mib()
    started = time.perf_counter()
    report = compute_report(project=project, kind="observation_review")
    computed = time.perf_counter() - started
    client = Client(headers={"host": urlsplit(settings.PUBLIC_URL).netloc})
    client.force_login(admin)
    item = Hit.objects.filter(unit__batch=batch).latest("pk").unit.key
    pages = {
        "report": reverse("judging-report", args=[project.slug]),
        "item": reverse("judging-item", args=[project.slug, "observation_review", item]),
        "api": reverse("api-judging-report", args=[project.slug, "observation_review"]),
    }
    around = {
        "overview": reverse("judging", args=[project.slug]),
        "decisions": reverse("decisions", args=[project.slug]),
        "planner": reverse("planner", args=[project.slug]),
        "worker": reverse("worker-detail", args=[project.slug, report.workers.earliest("rank").worker_id]),
    }
    return {
        "ratings": report.ratings,
        "judgments": report.judgments,
        "workers": WORKERS,
        "fill_seconds": round(filled, 1),
        "compute_seconds": round(computed, 1),
        "compute_peak_mib": round(peak_mib()),
        "peak_before_mib": round(before),
        "goal_seconds": MOST_SECONDS,
        "pages": {name: _loaded(client, address) for name, address in pages.items()},
        "around": {name: _loaded(client, address) for name, address in around.items()},
    }


def _loaded(client: Any, address: str) -> dict[str, Any]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    times = []
    for _ in range(LOADS):
        started = time.perf_counter()
        reply = client.get(address)
        times.append(time.perf_counter() - started)
        assert reply.status_code == 200, (address, reply.status_code)
    with CaptureQueriesContext(connection) as queries:
        client.get(address)
    return {
        "first_ms": round(1000 * times[0]),
        "median_ms": round(1000 * statistics.median(times)),
        "worst_ms": round(1000 * max(times)),
        "queries": len(queries),
        "kilobytes": round(len(reply.content) / 1000),
    }
