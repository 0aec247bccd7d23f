"""The Celery application. A message is only a wake-up: the work itself is in job rows."""

import logging
import os
import signal
import socket
import threading
import time
from typing import Any

from celery import Celery, Task, bootsteps, platforms
from celery.signals import beat_embedded_init, celeryd_after_setup, task_received

from hits.domain.jobs.queues import INTERVAL_SECONDS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation_site.settings")

logger = logging.getLogger(__name__)

BEAT_CHECK_SECONDS = 5.0
JOB_CHECK_SECONDS = 10.0
STOP_SECONDS = 20.0


class ClaimingTask(Task):
    """Base of all tasks. A worker claims the database row of a periodic task or job before it runs the task."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task: directly if code calls it, after a claim of its row if a message delivered it."""
        # Imported late, because the services need Django's models.
        from hits.services.jobs import periodic_tasks, slots, worker_process  # noqa: PLC0415

        work = super().__call__
        if self.request.called_directly or worker_process.current_worker_process() is None:
            return work(*args, **kwargs)
        if self.name in INTERVAL_SECONDS:
            return periodic_tasks.run_periodic_task(self.name, work)
        if len(args) == 1 and isinstance(args[0], int):
            return slots.run_job_and_next_subjobs(work, args[0])
        return work(*args, **kwargs)


app = Celery("deerstalker", task_cls=ClaimingTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


class _Monitor(bootsteps.StartStopStep):
    """A step of a worker that starts a checking thread; the thread ends when the worker stops."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self.closing = threading.Event()

    def close(self, parent: Any) -> None:
        """Stop checking."""
        self.closing.set()


class BeatMonitor(_Monitor):
    """Stop the worker when its embedded beat dies; ``manage.py serve`` then restarts both.

    Celery does not supervise the beat. Without a beat the worker would keep running, and periodic tasks would stop.
    """

    requires = ("celery.worker.components:Beat",)

    def start(self, parent: Any) -> None:
        """Check the beat every few seconds if this worker has one."""
        if parent.beat is not None:
            threading.Thread(target=self.watch, args=(parent.beat,), name="beat-watch", daemon=True).start()

    def watch(self, beat: Any) -> None:
        """Wait until the beat dies, then stop this process by SIGTERM, or by SIGKILL if it hangs.

        SIGKILL is safe because a job's row outlives the process.
        """
        while beat.is_alive():
            if self.closing.wait(BEAT_CHECK_SECONDS):
                return
        logger.error("the beat died; the background worker stops, so that both are restarted")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(STOP_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)


@beat_embedded_init.connect
def end_beat_with_worker(**kwargs: Any) -> None:
    """Stop the beat when its worker is killed; the next worker starts a new one. Pool processes end by themselves."""
    platforms.set_pdeathsig("SIGKILL")  # type: ignore[attr-defined]


class JobMonitor(_Monitor):
    """Let an idle worker check the job rows every ten seconds, because a message may be lost."""

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        """Start checking."""
        threading.Thread(target=self.wake_jobs_while_idle, name="rows-watch", daemon=True).start()

    def wake_jobs_while_idle(self) -> None:
        """Send wake-ups for the worker's waiting jobs while it is idle; log an outage and continue."""
        from celery.worker import state  # noqa: PLC0415
        from django.db import connection  # noqa: PLC0415

        from hits.services.jobs import wakeups, worker_process  # noqa: PLC0415

        while not self.closing.wait(JOB_CHECK_SECONDS):
            process = worker_process.current_worker_process()
            if process is None or state.active_requests or state.reserved_requests:
                continue
            try:
                wakeups.wake_waiting_jobs(queues=process.queues, wakeup_timeout=wakeups.IDLE_CHECK_INTERVAL)
            except Exception:
                logger.warning("the job rows could not be read; trying again", exc_info=True)
            finally:
                connection.close()


@celeryd_after_setup.connect
def register_worker_process(sender: str, instance: Any, **kwargs: Any) -> None:
    """Register this process as a worker, with its name, queues and slots, before the pool is forked."""
    from hits.services.jobs import worker_process  # noqa: PLC0415

    name = f"{os.getpid()}.{socket.gethostname()}"
    worker_process.set_worker_process(name, list(instance.app.amqp.queues.consume_from), instance.concurrency)


@task_received.connect
def acknowledge_message(request: Any, **kwargs: Any) -> None:
    """Acknowledge each message on receipt: the leases of job rows recover what a worker loses.

    When a task runs longer than the broker waits for an acknowledgement, Redis would send the message again and
    RabbitMQ would close the channel: https://www.rabbitmq.com/docs/consumers#acknowledgement-timeout
    """
    request.acknowledge()


app.steps["worker"].add(BeatMonitor)
app.steps["worker"].add(JobMonitor)
