"""The Celery application. A message is only a wake-up: the work itself stands in job rows."""

import logging
import os
import signal
import socket
import threading
import time
from typing import Any

from celery import Celery, Task, bootsteps, platforms
from celery.signals import beat_embedded_init, celeryd_after_setup, task_received

from hits.domain.jobs.queues import EVERY_SECONDS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation_site.settings")

logger = logging.getLogger(__name__)

BEAT_LOOK_SECONDS = 5.0
LOOK_SECONDS = 10.0
STOP_SECONDS = 20.0


class WorkerTask(Task):
    """Every task of ours. In a worker the clock's tasks and jobs are run by their rows: see ``hits.services``."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task as it is where somebody calls it, and by its rows where a message brought it."""
        # Late: the services need Django's models.
        from hits.services.jobs import slots, ticks, worker_process  # noqa: PLC0415

        work = super().__call__
        if self.request.called_directly or worker_process.here() is None:
            return work(*args, **kwargs)
        if self.name in EVERY_SECONDS:
            return ticks.run(self.name, work)
        if len(args) == 1 and isinstance(args[0], int):
            return slots.run_in_worker(work, args[0])
        return work(*args, **kwargs)


app = Celery("deerstalker", task_cls=WorkerTask)
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


class RowsWatch(bootsteps.StartStopStep):
    """Let a worker that has nothing to do look at the rows every ten seconds: a message may have been lost."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.closing = threading.Event()

    def start(self, parent: Any) -> None:
        """Begin to look."""
        threading.Thread(target=self.watch, name="rows-watch", daemon=True).start()

    def close(self, parent: Any) -> None:
        """Look no more."""
        self.closing.set()

    def watch(self) -> None:
        """Send the worker wake-ups for what waits in its queues; the broker may be away, the database too."""
        from celery.worker import state  # noqa: PLC0415
        from django.db import connection  # noqa: PLC0415

        from hits.services.jobs import wakeups, worker_process  # noqa: PLC0415

        while not self.closing.wait(LOOK_SECONDS):
            here = worker_process.here()
            if here is None or state.active_requests or state.reserved_requests:
                continue
            try:
                wakeups.wake_waiting(queues=here.queues, again_after=wakeups.IDLE_LOOK)
            except Exception:
                logger.warning("the rows could not be looked at; trying again", exc_info=True)
            finally:
                connection.close()


@celeryd_after_setup.connect
def note_worker(sender: str, instance: Any, **kwargs: Any) -> None:
    """Say which worker this process and its pool are, before the pool is forked."""
    from hits.services.jobs import worker_process  # noqa: PLC0415

    name = f"{os.getpid()}.{socket.gethostname()}"
    worker_process.become(name, list(instance.app.amqp.queues.consume_from), instance.concurrency)


@task_received.connect
def acknowledge(request: Any, **kwargs: Any) -> None:
    """Acknowledge each message on receipt: the rows' leases recover what a worker loses.

    A broker that waits for it longer than a task lasts would send the message again (Redis), or end the worker
    (RabbitMQ): https://www.rabbitmq.com/docs/consumers#acknowledgement-timeout
    """
    request.acknowledge()


app.steps["worker"].add(BeatWatch)
app.steps["worker"].add(RowsWatch)
