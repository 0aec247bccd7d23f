"""The server is killed (SIGKILL, all processes) during 500 parallel submissions; nothing is lost.

What was acknowledged stands; what was not is whole or not there at all, and goes through when it is sent again.
``make test-long`` runs it on PostgreSQL too (tests/annotation_site/test_servers.py).
"""

import json
import os
import signal
import threading
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from hits.domain.mturk_formats.answer_xml import parse_answer
from hits.domain.states import SubmissionMatch
from hits.marketplace.models import HIT, Attempt, Clock, LedgerEntry, Outcome, SlotState, Worker
from hits.marketplace.models import Assignment as Slot
from hits.marketplace.services import accounts, attempts, countries
from hits.models import Assignment, Batch, Hit, Image, Project, Submission
from hits.services.collecting import submit
from hits.services.collecting.page_keys import issue_token
from hits.services.launching.terms import LaunchTerms
from tests.support import children, market
from tests.support.answers import observations
from tests.support.loop import collected, page_key, published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

PHOTOS = 20
SHARE_BEFORE_KILL = 0.3  # of the answers: they went all the way


@dataclass
class Task:
    """One accepted task with everything that its page would send, and how far it came."""

    base: str
    token: str
    secret: str
    assignment_id: str
    client_uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    stored: dict[str, Any] | None = None
    is_submitted: bool = False

    def send(self) -> None:
        """Store the answer, then hand it over, as the page does. Raises OSError when the server is gone."""
        answer = observations(salt=self.client_uuid[:8])
        body = {"client_uuid": self.client_uuid, "answer": answer, "active_seconds": 60.0}
        api = self.base.replace("localhost", "127.0.0.1")
        self.stored = json.loads(
            _post(
                f"{api}/hit/api/submission",
                json.dumps(body).encode(),
                {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
            )
        )
        form = {
            "assignmentId": self.assignment_id,
            "submission_id": self.stored["submission_id"],
            "sha256": self.stored["sha256"],
            "schema_version": self.stored["schema_version"],
        }
        _post(f"{self.base}/a/{self.secret}/mturk/externalSubmit", urllib.parse.urlencode(form).encode(), {})
        self.is_submitted = True


@pytest.mark.parametrize("people", [10, pytest.param(25, marks=pytest.mark.nightly)])
def test_nothing_is_lost_when_the_server_is_killed_under_load(
    project: Project, make_image: Callable[..., Image], people: int
) -> None:
    market.fund(10_000_000)
    terms = LaunchTerms(redundancy=people, confirmed_cents=people * PHOTOS * (110 + 2 * 15))
    batch = published(project, [make_image(n) for n in range(PHOTOS)], terms=terms)
    port = children.free_port()
    tasks = _accepted(batch, f"http://localhost:{port}", people)
    assert len(tasks) == people * PHOTOS

    with children.server_process(port, workers=2) as server:
        _all_at_once(tasks, kill=lambda: os.killpg(server.pid, signal.SIGKILL))
        assert server.wait(timeout=20) == -signal.SIGKILL
    acknowledged = [task for task in tasks if task.is_submitted]
    assert SHARE_BEFORE_KILL * len(tasks) <= len(acknowledged) < len(tasks), (
        "the kill did not come in the middle"
    )
    _check_whole(tasks)

    with children.server_process(port, workers=2):
        for task in tasks:  # one after the other: a worker who presses again
            task.send()
    _check_whole(tasks)
    assert Slot.objects.filter(state=SlotState.SUBMITTED).count() == len(tasks)
    assert Submission.objects.count() == len(tasks)
    assert {row.match for row in collected(batch)} == {SubmissionMatch.MATCHED}
    assert Assignment.objects.count() == len(tasks)
    assert not LedgerEntry.objects.filter(kind="reward").exists()


def _check_whole(tasks: list[Task]) -> None:
    """Every acknowledged submission exists, and none is incomplete."""
    stored = {str(pk): sha for pk, sha in Submission.objects.values_list("pk", "sha256")}
    attempts_of = {row.assignment.assignment_id: row for row in Attempt.objects.select_related("assignment")}
    assert len(attempts_of) == Attempt.objects.count() == Slot.objects.count() == len(tasks)
    for task in tasks:
        attempt = attempts_of[task.assignment_id]
        slot = attempt.assignment
        submitted = slot.state == SlotState.SUBMITTED
        assert submitted == (attempt.outcome == Outcome.SUBMITTED) == bool(slot.answer)
        assert submitted or not task.is_submitted
        if task.stored is not None:
            assert stored[task.stored["submission_id"]] == task.stored["sha256"]
        if submitted:
            fields = parse_answer(slot.answer)
            assert stored[fields["submission_id"]] == fields["sha256"]
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check")
            assert cursor.fetchall() == [("ok",)]


def _accepted(batch: Batch, base: str, count: int) -> list[Task]:
    """Let every worker take one task of every photo."""
    people = _people(count)
    tasks = []
    for unit in batch.units.all():
        parts = list(Hit.objects.filter(unit=unit).order_by("slice"))
        places = [hit for hit in parts for _ in range(hit.max_assignments)]
        for person, hit in zip(people, places, strict=True):
            slot = attempts.accept_hit(worker=person, hit=HIT.objects.get(hit_id=hit.hit_id), now=Clock.now())
            key = page_key(hit, slot.assignment_id, person.worker_id)
            submit.record_consent(key=key, version=1, country="US")
            secret = attempts.attempt_secret(Attempt.objects.get(assignment=slot))
            tasks.append(Task(base, issue_token(key), secret, slot.assignment_id))
    return tasks


def _people(count: int) -> list[Worker]:
    with transaction.atomic():
        found = []
        for number in range(count):
            worker = accounts.ensure_worker(user=User.objects.create(username=f"worker-{number}"))
            countries.declare_country(worker=worker, country="US", now=Clock.now())
            found.append(worker)
    return found


def _all_at_once(tasks: list[Task], *, kill: Callable[[], None]) -> None:
    """Send all from threads of their own, released together; kill once enough went through."""
    ready = threading.Barrier(len(tasks))
    done = threading.Semaphore(0)

    def one(task: Task) -> None:
        ready.wait()
        try:
            task.send()
            done.release()
        except (OSError, ValueError):
            return  # the server died; the worker sees an error and presses again

    threading.stack_size(256 * 1024)
    threads = [threading.Thread(target=one, args=[task], daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    threading.stack_size(0)
    for _ in range(int(SHARE_BEFORE_KILL * len(tasks))):
        assert done.acquire(timeout=120), "the server answered too few"
    kill()
    for thread in threads:
        thread.join(timeout=60)


def _post(url: str, data: bytes, headers: dict[str, str]) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers), timeout=60) as reply:
        return bytes(reply.read())
