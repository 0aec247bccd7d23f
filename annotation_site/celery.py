"""The Celery application. A message is only a wake-up: the work itself stands in job rows."""

import logging
import os
import signal
import threading
import time
from typing import Any

from celery import Celery, bootsteps, platforms
from celery.signals import beat_embedded_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation_site.settings")

logger = logging.getLogger(__name__)

BEAT_LOOK_SECONDS = 5.0
STOP_SECONDS = 20.0

app = Celery("deerstalker")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


class BeatWatch(bootsteps.StartStopStep):
    """End the worker once its embedded beat has died; ``serve`` then starts both anew.

    Celery does not look after the beat: without it the worker would live on, and nothing would be swept or copied.
    """

    requires = ("celery.worker.components:Beat",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.closing = threading.Event()

    def start(self, parent: Any) -> None:
        """Look every few seconds, where this worker has a beat."""
        if parent.beat is not None:
            threading.Thread(target=self.watch, args=(parent.beat,), name="beat-watch", daemon=True).start()

    def close(self, parent: Any) -> None:
        """Look no more: the worker stops, and stops its beat."""
        self.closing.set()

    def watch(self, beat: Any) -> None:
        """Wait for the beat's death, and end this process: in an orderly way, or else by force.

        Force does no harm, because a job's row outlives the process; a worker that hangs while it stops would.
        """
        while beat.is_alive():
            if self.closing.wait(BEAT_LOOK_SECONDS):
                return
        logger.error("the beat has died; the background worker ends, so that both are started again")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(STOP_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)


@beat_embedded_init.connect
def end_beat_with_worker(**kwargs: Any) -> None:
    """Let no beat outlive a killed worker: the next one brings its own. Pool processes end with it already."""
    platforms.set_pdeathsig("SIGKILL")  # type: ignore[attr-defined]


app.steps["worker"].add(BeatWatch)
