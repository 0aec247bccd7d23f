"""The command lines of the background workers: a light one for what is short, a heavy one for what is long."""

import sys

from django.conf import settings

from hits.domain.jobs.queues import HEAVY, LIGHT, LIGHT_SLOTS, WORKERS


def worker_commands() -> list[list[str]]:
    """Return the command lines of the workers that ``serve`` keeps alive; long work never stops the light one."""
    light = _command(LIGHT, LIGHT_SLOTS)
    return [[*light, "--beat"], _command(HEAVY, settings.WORKER_CONCURRENCY)]


def _command(name: str, concurrency: int) -> list[str]:
    queues = ",".join(queue.value for queue in WORKERS[name])
    return [
        sys.executable, "-m", "celery", "--quiet", "--app", "annotation_site", "worker",
        "--hostname", f"{name}@%h", "--queues", queues, "--concurrency", str(concurrency),
        "--pool", "prefork", "--without-gossip", "--without-mingle", "--loglevel", "warning",
    ]  # fmt: skip
