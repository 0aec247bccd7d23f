"""The command lines of the background workers: a light one for short tasks, a heavy one for long jobs."""

import sys

from django.conf import settings

from hits.domain.jobs.queues import HEAVY, LIGHT, LIGHT_SLOTS, WORKER_QUEUES


def celery_worker_commands() -> list[list[str]]:
    """Return the command lines for ``manage.py serve``; long jobs never block the light worker."""
    light = _celery_worker_command(LIGHT, LIGHT_SLOTS)
    return [[*light, "--beat"], _celery_worker_command(HEAVY, settings.WORKER_CONCURRENCY)]


def _celery_worker_command(name: str, concurrency: int) -> list[str]:
    queues = ",".join(queue.value for queue in WORKER_QUEUES[name])
    return [
        sys.executable, "-m", "celery", "--quiet", "--app", "annotation_site", "worker",
        "--hostname", f"{name}@%h", "--queues", queues, "--concurrency", str(concurrency),
        "--pool", "prefork", "--without-gossip", "--without-mingle", "--loglevel", "warning",
    ]  # fmt: skip
