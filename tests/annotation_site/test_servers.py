"""The same code on PostgreSQL and Redis, where they answer; skipped loudly where not."""

import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import jobs
from tests.support import children
from tests.support.redis_server import redis_url, skip_without_redis
from tests.support.waiting import wait_until

POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432")
REDIS = redis_url(7)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


MONEY = [
    "tests/hits/services/collecting/test_loop.py",
    "tests/hits/marketplace/test_money.py",
    "tests/hits/marketplace/test_concurrency.py",
    "tests/attack/test_ledgers.py",
]
PEOPLE = [
    "tests/hits/services/workers/test_qualifications.py",
    "tests/hits/marketplace/test_admission.py",
    "tests/attack/test_access.py",
    "tests/attack/test_marketplace_questions.py",
]
FAULTS = [
    "tests/hits/services/jobs/test_jobs.py",
    "tests/hits/services/publishing/test_kills.py",
    "tests/attack/test_money.py",
    "tests/attack/test_outages.py",
    "tests/attack/test_outbox.py",
]

JUDGING = [
    "tests/validation/services/test_follow_ups.py",
    "tests/validation/services/test_decisions.py",
    "tests/validation/services/test_import_judgments.py",
    "tests/validation/services/test_answer_quality.py",
    "tests/validation/services/test_rater_rows.py",
    "tests/validation/services/test_report.py",
]

SCORING = [
    "tests/curation/services/test_ablations.py",
    "tests/curation/families/test_evaluation_sets.py",
    "tests/curation/families/test_vcr_seals_at_once.py",
    "tests/curation/leaderboard/test_leaderboard_entries.py",
    "tests/curation/leaderboard/test_leaderboards.py",
]

KINDS = [
    "tests/contracts/test_play.py::test_every_kind_plays_to_the_end",
    "tests/hits/selectors/test_arms.py",
    "tests/hits/services/launching/test_image_selection.py",
    "tests/hits/services/collecting/test_records.py",
    "tests/validation/services/test_launch_units.py",
    "tests/curation/services/test_selections.py",
]

KILLED = ["tests/hits/services/publishing/test_killed_server.py"]


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "suites",
    [MONEY, PEOPLE, FAULTS, JUDGING, SCORING, KINDS, KILLED],
    ids=["money", "people", "faults", "judging", "scoring", "kinds", "killed server"],
)
def test_money_people_faults_judging_and_scoring_hold_on_postgresql(suites: list[str]) -> None:
    _passes_on_postgresql(["-m", "not nightly", *suites])


@pytest.mark.nightly
@pytest.mark.postgres
@pytest.mark.parametrize(
    "suite",
    [
        "tests/hits/services/publishing/test_publication_kills.py",
        "tests/hits/services/images/test_whole_files.py",
        "tests/hits/selectors/test_arms.py",
        "tests/curation/services/test_versions_killed.py",
        "tests/attack/test_ledgers.py",
        "tests/hits/services/publishing/test_killed_server.py",
    ],
    ids=["publications", "photo files", "orders", "sealing and exporting", "ledgers", "killed server"],
)
def test_what_is_killed_or_played_at_full_size_holds_on_postgresql(suite: str) -> None:
    _passes_on_postgresql(["-m", "nightly or not nightly", suite])


def _passes_on_postgresql(suites: list[str]) -> None:
    if not _answers(urlsplit(POSTGRES).port or 5432):
        pytest.skip("PostgreSQL does not answer on 127.0.0.1:5432: ITS TESTS ARE SKIPPED")
    with _database_name() as name:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("DEERSTALKER_TEST")
        }
        environment["DATABASE_URL"] = f"{POSTGRES}/{name}"
        # The server itself is never killed, so a commit need not wait for its disk, which may be slow and shared.
        environment["PGOPTIONS"] = "-c synchronous_commit=off"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--reuse-db", "-p", "no:cacheprovider", *suites],
            cwd=children.ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@contextmanager
def database_url() -> Iterator[str]:
    """Yield the address of a new PostgreSQL database, dropped at the end; skip loudly where no server answers."""
    if not _answers(urlsplit(POSTGRES).port or 5432):
        pytest.skip("PostgreSQL does not answer on 127.0.0.1:5432: ITS TESTS ARE SKIPPED")
    name = sql.Identifier(found := f"deerstalker_{uuid.uuid4().hex[:8]}")
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield f"{POSTGRES}/{found}"
        finally:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


@contextmanager
def _database_name() -> Iterator[str]:
    """Yield a name for a database, and drop what Django's tests make of it.

    Not by their own means: the server first writes all of its files out, which on a slow disk takes a minute, and
    that would be the last test's.
    """
    name = f"deerstalker_{uuid.uuid4().hex[:8]}"
    try:
        yield name
    finally:
        with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(f"test_{name}"))
            )


@pytest.mark.long
@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
def test_a_job_is_done_by_a_worker_on_redis() -> None:
    skip_without_redis()
    _done_by_a_worker(BROKER_URL=REDIS)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_job_with_a_lost_message_is_done() -> None:
    """The row stands and no message does: the sweeper of the embedded worker finds it."""
    _done_by_a_worker()


def _done_by_a_worker(**more: str) -> None:
    job = jobs.enqueue(task="hits.nothing", title="Nothing")
    Job.objects.filter(pk=job.pk).update(task="hits.sync_batch", args={"batch": 0})
    with children.workers(**more):

        def is_over() -> bool:
            job.refresh_from_db()
            return job.state not in {JobState.QUEUED, JobState.RUNNING}

        wait_until(is_over, 180, step=0.1)
    # Batch 0 does not exist, so the worker took the job up and said so.
    assert (job.state, "DoesNotExist" in job.error) == (JobState.FAILED, True)
