"""Queues and turns: each task has a queue, light jobs share slots, subjobs need no messages of their own."""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.db import connection
from django.utils import timezone

from annotation_site import beat
from annotation_site.workers import celery_worker_commands
from hits import tasks
from hits.domain.jobs import queues, turns
from hits.domain.jobs.queues import INTERVAL_SECONDS, TASK_QUEUES, Queue
from hits.domain.jobs.turns import TurnOver
from hits.domain.states import BatchState, JobState
from hits.marketplace.models import HIT
from hits.models import Batch, Heartbeat, Image, Job, Project, Reconciliation
from hits.mturk.boto import marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.selectors import batches as selectors
from hits.services.batches import polling
from hits.services.collecting import assignment_sync
from hits.services.jobs import jobs, periodic_tasks, slots, wakeups, worker_process
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs
from hits.services.publishing.rate_limit import BURST, MAX_THROTTLED_SECONDS, RateLimiter
from hits.services.reconciling import reconcile
from tests.support import market, wake_ups
from tests.support.failing import Clock, planned
from tests.support.loop import published

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
LIGHT = [queue.value for queue in queues.LIGHT_QUEUES]


@pytest.fixture(autouse=True)
def empty_queue() -> Iterator[None]:
    wake_ups.forget()
    Heartbeat.objects.all().delete()
    yield
    wake_ups.forget()


@contextmanager
def as_worker_process(name: str, queues: Collection[str], slots: int) -> Iterator[None]:
    """Act as a worker's process inside the block."""
    previous = worker_process._CurrentProcess.worker
    worker_process.set_worker_process(name, queues, slots)
    try:
        yield
    finally:
        worker_process._CurrentProcess.worker = previous


@pytest.fixture
def light() -> Iterator[None]:
    """Make this process one of the light worker's."""
    with as_worker_process("light", LIGHT, 2):
        yield


def _registered() -> set[str]:
    current_app.loader.import_default_modules()
    ours = ("hits.", "marketplace.", "validation.", "curation.")
    return {name for name in current_app.tasks if name.startswith(ours)}


def test_every_registered_task_is_in_the_table_and_nothing_else() -> None:
    known = {name for name in _registered() if not name.startswith(("hits.test_", "hits.nothing"))}
    assert known == set(TASK_QUEUES)
    assert set(INTERVAL_SECONDS) <= set(TASK_QUEUES)
    assert {TASK_QUEUES[name] for name in INTERVAL_SECONDS} <= {Queue.TICK, Queue.MAIL}
    assert {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()} == {
        queue.value for queue in set(TASK_QUEUES.values())
    }


def test_two_workers_take_all_queues_between_them_and_one_has_the_beat() -> None:
    light, heavy = celery_worker_commands()
    taken = [command[command.index("--queues") + 1].split(",") for command in (light, heavy)]
    assert taken == [["tick", "default", "mail"], ["cpu", "gpu", "io"]]
    assert ("--beat" in light, "--beat" in heavy) == (True, False)
    assert [command[command.index("--concurrency") + 1] for command in (light, heavy)] == ["2", "1"]
    assert settings.QUEUE_SLOTS == {"tick": 2, "default": 1, "mail": 2, "cpu": 1, "gpu": 1, "io": 1}


def test_messages_do_not_expire_and_are_acknowledged_early() -> None:
    conf = current_app.conf
    assert all("expires" not in entry.get("options", {}) for entry in conf.beat_schedule.values())
    assert (conf.task_acks_late, conf.worker_prefetch_multiplier) == (False, 1)
    assert conf.worker_cancel_long_running_tasks_on_connection_loss is False


def test_job_and_its_subjobs_wait_in_the_queue_of_their_task() -> None:
    job = jobs.enqueue(task="curation.make_features", title="Whole", queue=False)
    with jobs.leased_job(job.pk):
        raise SplitIntoSubjobs(
            task="curation.make_feature_shard", subjobs=[PlannedSubjob(f"Part {n}", 1) for n in range(50)]
        )
    assert set(Job.objects.values_list("queue", flat=True)) == {Queue.CPU}
    assert wake_ups.by_queue() == {Queue.CPU: 2}  # of fifty parts, for one slot
    assert jobs.enqueue(task="hits.sync_batch", title="Sync", queue=False).queue == Queue.DEFAULT
    assert (
        jobs.enqueue(task="hits.sync_batch", title="Sync", queue=False, target_queue=Queue.IO).queue
        == Queue.IO
    )


# --- the clock's tasks


def _piled_up(name: str, count: int, work: Callable[[], object]) -> None:
    for _ in range(count):
        periodic_tasks.run_periodic_task(name, work)


def test_piled_up_messages_run_their_task_once_an_interval() -> None:
    ran: list[float] = []
    _piled_up("hits.sweep_jobs", 100, lambda: ran.append(time.monotonic()))
    assert len(ran) == 1
    past = timezone.now() - timedelta(seconds=INTERVAL_SECONDS["hits.sweep_jobs"])
    Heartbeat.objects.update(at=past)
    _piled_up("hits.sweep_jobs", 100, lambda: ran.append(time.monotonic()))
    assert len(ran) == 2


def test_periodic_task_resumes_where_its_turn_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(periodic_tasks, "TURN_SECONDS", 5.0)
    done: list[int] = []

    def work() -> None:
        for number in range(turns.resume_point().get("number", 0), 6):
            done.append(number)
            clock.sleep(3.0)
            if number < 5:
                turns.end_turn_if_over(number=number + 1)

    rounds = 0
    while len(done) < 6 and rounds < 10:
        periodic_tasks.run_periodic_task("hits.sweep_jobs", work)
        rounds += 1
    assert done == [0, 1, 2, 3, 4, 5]
    assert 2 <= rounds < 6
    assert wake_ups.by_queue()[Queue.TICK] == rounds - 1  # it goes to the back of the queue itself
    periodic_tasks.run_periodic_task("hits.sweep_jobs", work)
    assert len(done) == 6  # the pass is over, so its interval counts again


def test_running_periodic_task_is_left_alone_until_its_lease_ends() -> None:
    now = timezone.now()
    row = Heartbeat.objects.create(
        name="hits.sweep_jobs", at=now - timedelta(minutes=5), held_until=now + timedelta(seconds=30)
    )
    ran: list[int] = []
    periodic_tasks.run_periodic_task("hits.sweep_jobs", lambda: ran.append(1))
    assert not ran
    Heartbeat.objects.filter(pk=row.pk).update(held_until=now)
    periodic_tasks.run_periodic_task("hits.sweep_jobs", lambda: ran.append(1))
    assert ran == [1]


def test_failed_periodic_task_releases_its_row() -> None:
    def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        periodic_tasks.run_periodic_task("hits.sweep_jobs", fails)
    assert Heartbeat.objects.get().held_until is None


def test_the_clock_sends_no_more_once_a_hundred_messages_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beat, "MAX_WAITING_MESSAGES", 5)
    scheduler = beat.Scheduler(app=current_app._get_current_object(), lazy=True, schedule_filename="unused")
    entry = scheduler.Entry(
        name="hits.sweep_jobs", task="hits.sweep_jobs", schedule=10.0, app=current_app._get_current_object()
    )
    for _ in range(20):
        scheduler.apply_async(entry, advance=False)
    assert wake_ups.by_queue() == {Queue.TICK: 5}


# --- short jobs


def test_worker_process_keeps_one_slot_for_periodic_tasks_and_wakes_the_next_job(light: None) -> None:
    first, second, third = (
        jobs.enqueue(task="hits.sync_batch", title=f"Sync {n}", queue=False) for n in range(3)
    )
    with jobs.leased_job(first.pk) as progress:
        assert progress is not None
        with jobs.leased_job(second.pk) as other:
            assert other is None
    assert jobs.leased_job(second.pk).__enter__() is not None
    with (
        as_worker_process("another machine's", LIGHT, 2),
        jobs.leased_job(third.pk) as other_progress,
    ):
        assert other_progress is not None  # each worker counts its own


def test_declined_job_wakes_no_other_and_the_end_of_a_turn_wakes_the_longest_waiting(light: None) -> None:
    """Jobs that woke each other while one ran kept the other slot busy, and who came next was left to chance."""
    first, second, third = (
        jobs.enqueue(task="hits.sync_batch", title=f"Sync {n}", queue=False) for n in range(3)
    )

    def take(job_id: int) -> None:
        with jobs.leased_job(job_id):
            pass

    def take_two_more(job_id: int) -> None:
        with jobs.leased_job(job_id) as progress:
            assert progress is not None
            for waiting in (third, second):
                slots.run_job_and_next_subjobs(take, waiting.pk)
            assert not Job.objects.exclude(woken_at=None).exists()
            assert not wake_ups.by_queue()

    slots.run_job_and_next_subjobs(take_two_more, first.pk)
    assert list(Job.objects.exclude(woken_at=None)) == [second]
    assert wake_ups.by_queue() == {Queue.DEFAULT: 1}


def test_jobs_take_turns_and_requeue_at_the_back(
    light: None, monkeypatch: pytest.MonkeyPatch, project: Project, make_image: MakeImage
) -> None:
    """Three publications through one slot: none waits for another's end, and each HIT is made once."""
    monkeypatch.setattr(slots, "TURN_SECONDS", 0.15)
    market.fund(100_000_000)
    published = [planned(project, make_image(1), 25) for _ in range(3)]
    wake_ups.forget()
    taken: list[int] = []
    for _ in range(100):
        job = _next_woken()
        if job is None:
            break
        taken.append(job)
        slots.run_job_and_next_subjobs(tasks.publish_batch, job)
    assert not Job.objects.exclude(state=JobState.DONE).exists()
    assert min(taken.count(pk) for pk in taken) > 1  # more than one turn each
    assert taken[:3] != [taken[0]] * 3
    assert taken[:3] == sorted(set(taken))
    for batch in published:
        batch.refresh_from_db()
        assert batch.state == BatchState.LIVE
    assert HIT.objects.count() == 75


def _next_woken() -> int | None:
    """Return the job of the one message that waits, as the worker takes it; at first, of the oldest."""
    waiting = Job.objects.filter(state=JobState.QUEUED)
    woken = waiting.exclude(woken_at=None).order_by("woken_at").first() or waiting.order_by("pk").first()
    if woken is not None:
        Job.objects.filter(pk=woken.pk).update(woken_at=None)
    return woken.pk if woken is not None else None


def test_job_cancelled_between_two_turns_stops(light: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "TURN_SECONDS", 0.0)
    job = jobs.enqueue(task="hits.sync_batch", title="Sync", queue=False)
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        progress.counts["seen"] = 3
        progress.advance_in_turn(3, 10)
        turns.end_turn_if_over(after=3)
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == (JobState.QUEUED, 3, 10)
    with jobs.leased_job(job.pk) as again:
        assert again is not None
        assert (again.resume_point, again.counts) == ({"after": 3}, {"seen": 3})
        again.advance_in_turn(1, 7)
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == (JobState.DONE, 10, 10)
    other = jobs.enqueue(task="hits.sync_batch", title="Sync", queue=False)
    with jobs.leased_job(other.pk):
        turns.end_turn_if_over()
    jobs.cancel_job(job=other)
    with jobs.leased_job(other.pk) as nothing:
        assert nothing is None


def test_polling_takes_many_turns_and_sees_everything(project: Project, make_image: MakeImage) -> None:
    """Each turn is over after one HIT; the pass ends, and what it counts is what one look counts."""
    market.fund(100_000)
    batch = published(project, [make_image(n) for n in range(4)])
    before = Batch.objects.get(pk=batch.pk).synced_at
    place: dict[str, Any] = {}
    number_of_turns = 0
    for _ in range(60):
        number_of_turns += 1
        try:
            with turns.time_limited_turn(0.0, place):
                polling.poll_open_batches(marketplace=marketplace(), resume_point=place)
        except TurnOver as over:
            place = over.resume_point
        else:
            break
    assert 3 <= number_of_turns < 60
    after = Batch.objects.get(pk=batch.pk).synced_at
    assert after is not None
    assert before != after


def test_comparison_in_turns_equals_one_in_a_single_turn(project: Project, make_image: MakeImage) -> None:
    market.fund(100_000)
    batch = published(project, [make_image(n) for n in range(5)])
    Job.objects.update(state=JobState.DONE)  # nobody publishes it
    first = reconcile.reconcile_batch(batch=batch, marketplace=marketplace())
    whole = reconcile.summarize_reconciliation(first)
    place: dict[str, Any] = {}
    for _ in range(20):
        try:
            with turns.time_limited_turn(-1.0):
                reconcile.reconcile_open_batches(marketplace=marketplace(), resume_point=place)
        except TurnOver as over:
            place = over.resume_point
        else:
            break
    [row] = Reconciliation.objects.exclude(pk=first.pk)
    assert reconcile.summarize_reconciliation(row) == whole
    assert whole["hits"] == 5


@pytest.mark.parametrize("look", ["copied", "compared"])
def test_batch_is_synced_while_others_write(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    """More HITs than are read at once: a question left open meanwhile would keep SQLite from writing."""
    monkeypatch.setattr(selectors, "CHUNK_SIZE", 2)
    market.fund(100_000)
    batch = published(project, [make_image(n) for n in range(5)])
    seen: list[str] = []
    port = marketplace()

    class Busy:
        environment = port.environment

        def __getattr__(self, name: str) -> Any:
            return getattr(port, name)

        def list_assignments(self, hit_id: str) -> Any:
            seen.append(hit_id)
            writer = threading.Thread(target=_write_something)
            writer.start()
            writer.join()
            return port.list_assignments(hit_id)

    if look == "copied":
        assert assignment_sync.sync_batch(batch=batch, marketplace=Busy()).hits == 5  # type: ignore[arg-type]
    else:
        assert reconcile.reconcile_batch(batch=batch, marketplace=Busy()).hits == 5  # type: ignore[arg-type]
    assert len(set(seen)) == 5


def _write_something() -> None:
    try:
        jobs.record_heartbeat()
    finally:
        connection.close()


# --- parts


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return thirty subjobs of one parent, without messages."""
    whole = jobs.enqueue(task="curation.make_features", title="Whole", queue=False)
    with jobs.leased_job(whole.pk):
        raise SplitIntoSubjobs(
            task="hits.test_part", subjobs=[PlannedSubjob(f"Part {n}", 1) for n in range(30)]
        )
    Job.objects.filter(parent=whole).update(queue=Queue.CPU, woken_at=None)
    wake_ups.forget()
    return list(Job.objects.filter(parent=whole).order_by("pk").values_list("pk", flat=True))


def _do_part(pk: int) -> None:
    with jobs.leased_job(pk) as progress:
        if progress is not None:
            progress.advance(1)


def test_process_runs_further_subjobs_of_one_parent_without_messages(parts: list[int]) -> None:
    slots.run_job_and_next_subjobs(_do_part, parts[0])
    rows = Job.objects.filter(pk__in=parts)
    assert set(rows.values_list("state", "runs")) == {(JobState.DONE, 1)}
    assert sum(wake_ups.by_queue().values()) <= 1  # the whole's own


def test_subjobs_yield_to_other_jobs_of_their_queue(
    parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = jobs.enqueue(task="curation.evaluate", title="Other", queue=False)
    slots.run_job_and_next_subjobs(_do_part, parts[0])
    assert Job.objects.filter(pk__in=parts, state=JobState.DONE).count() == 1
    assert wake_ups.by_queue() == {Queue.CPU: 1}  # who waits longest is sent for
    Job.objects.filter(pk=other.pk).update(state=JobState.DONE)
    monkeypatch.setattr(slots, "SUBJOBS_SECONDS", 0.0)
    slots.run_job_and_next_subjobs(_do_part, parts[1])
    assert Job.objects.filter(pk__in=parts, state=JobState.DONE).count() == 2


def test_idle_worker_wakes_a_job_whose_message_was_lost() -> None:
    job = jobs.enqueue(task="curation.evaluate", title="Lost")
    wake_ups.forget()
    Job.objects.update(
        created_at=timezone.now() - timedelta(minutes=1), woken_at=timezone.now() - timedelta(seconds=11)
    )
    assert wakeups.wake_waiting_jobs() == 0  # the sweep believes in the message for a minute
    assert wakeups.wake_waiting_jobs(queues=[Queue.CPU], wakeup_timeout=wakeups.IDLE_CHECK_INTERVAL) == 1
    job.refresh_from_db()
    assert job.woken_at is not None
    assert wake_ups.by_queue() == {Queue.CPU: 1}


def test_rate_limit_of_a_publication_continues_over_turns_without_a_new_burst() -> None:
    slept: list[float] = []
    first = RateLimiter(4.0, clock=lambda: 0.0, sleep=slept.append)
    for _ in range(BURST):
        first.call(lambda: None)
    assert not slept
    later = RateLimiter(4.0, clock=lambda: 0.0, sleep=slept.append)
    later.resume(first.resume_point())
    later.call(lambda: None)
    assert slept == [0.25]


def test_throttled_call_waits_in_the_queue_and_remembers_its_start() -> None:
    def throttled() -> None:
        raise MarketplaceError(Failure.THROTTLED, "Rate exceeded")

    pace = RateLimiter(4.0, sleep=lambda _: None)
    with turns.time_limited_turn(0.0), pytest.raises(TurnOver) as over:
        pace.call(throttled)
    assert over.value.resume_point["per_second"] == 2.0
    again = RateLimiter(4.0, sleep=lambda _: None)
    again.resume(over.value.resume_point | {"throttled_since": time.time() - MAX_THROTTLED_SECONDS - 1})
    with turns.time_limited_turn(0.0), pytest.raises(MarketplaceError):
        again.call(throttled)  # for ten minutes on end, though in many turns


def test_a_long_pause_is_spent_in_the_queue(light: None) -> None:
    job = jobs.enqueue(task="hits.sync_batch", title="Sync", queue=False)
    with jobs.leased_job(job.pk):
        turns.end_turn_if_pause_is_long(30.0, looked=4)
    job.refresh_from_db()
    assert job.not_before is not None
    assert 25 < (job.not_before - timezone.now()).total_seconds() <= 30
    assert job.cursor["turn"] == {"looked": 4}
    with jobs.leased_job(job.pk) as early:
        assert early is None
