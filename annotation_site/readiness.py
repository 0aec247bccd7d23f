"""Check whether this process can serve requests, and what is degraded."""

from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from hits.domain.states import JobState
from hits.models import Job

STALE_JOB_AGE = timedelta(minutes=2)  # a job that is unclaimed for longer has no worker


def readiness_report() -> dict[str, Any]:
    """Return ``{"ok", "database", "degraded"}``: short labels only, no detail that helps an attacker."""
    try:
        pending = unapplied_migrations()
    except DatabaseError:
        return {"ok": False, "database": "does not answer", "degraded": []}
    if pending:
        return {"ok": False, "database": f"{len(pending)} migrations to apply", "degraded": []}
    return {"ok": True, "database": "ok", "degraded": [*_cache_faults(), *_queue_faults()]}


def unapplied_migrations() -> list[str]:
    """Return the names of migrations that the database lacks; an empty database lacks all."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def _cache_faults() -> list[str]:
    cache.set("readiness", 1, 10)
    return [] if cache.get("readiness") == 1 else ["cache"]


def _queue_faults() -> list[str]:
    waiting = Job.objects.filter(state=JobState.QUEUED, created_at__lt=timezone.now() - STALE_JOB_AGE)
    return ["queue"] if waiting.exists() else []
