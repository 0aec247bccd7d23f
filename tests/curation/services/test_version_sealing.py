"""Sealing while others write: locks, changes between planning and writing, and progress."""

import sqlite3
from io import StringIO
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from curation.models import (
    DatasetVersion,
    VersionImage,
)
from curation.services import versions
from hits.management import progress
from hits.models import Image, Project
from hits.services.errors import Conflict
from hits.services.images import take_down
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_sealing_by_name_locks_the_database_only_to_write(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.observed(work.image(1), worker="A1")
    real, locked = versions._check_images_unchanged, []
    monkeypatch.setattr(
        versions,
        "_check_images_unchanged",
        lambda *args: (locked.append(connection.in_atomic_block), real(*args)),
    )
    version = versions.create_sealed_version(project=work.project, name="v1", by=None)
    assert version.is_sealed
    assert locked == [False]


@pytest.mark.django_db(transaction=True)
def test_changes_between_planning_and_writing_are_replanned(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.observed(work.image(1), worker="A1")
    gone = work.image(2)
    work.observed(gone, worker="A1")
    real, looks = versions._check_images_unchanged, []

    def look(*args: Any) -> None:
        real(*args)
        looks.append(args)
        if len(looks) == 1:
            take_down.take_down_image(image=gone, reason="asked", by=None)

    monkeypatch.setattr(versions, "_check_images_unchanged", look)
    version = versions.create_sealed_version(project=work.project, name="v1", by=None)
    assert len(looks) == 2
    assert VersionImage.objects.filter(version=version).count() == 1
    assert version.exclusions["image_taken_down"] > 0


@pytest.mark.django_db(transaction=True)
def test_sealing_gives_up_when_rows_keep_changing(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    work.observed(work.image(1), worker="A1")
    changes = iter(range(100))
    monkeypatch.setattr(versions, "project_content_fingerprint", lambda project: next(changes))
    with pytest.raises(Conflict, match="changed 3 times during sealing; seal it again"):
        versions.create_sealed_version(project=work.project, name="v1", by=None)
    assert not DatasetVersion.objects.exists()


def test_no_query_of_sealing_grows_with_the_photos(work: Work) -> None:
    images = [work.image(seed) for seed in range(1, 7)]
    for image in images:
        work.observed(image, worker="A1")
    connection.ensure_connection()
    before = connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 60)
    # 60 is less than a row of six photos times their columns would take, had each one a place of its own.
    try:
        with CaptureQueriesContext(connection) as queries:
            versions._check_images_unchanged(
                work.project, versions.plan_version(DatasetVersion(project=work.project)), None
            )
    finally:
        connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, before)
    assert max(query["sql"].count("'") for query in queries) < 20


def test_command_reports_progress_without_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StringIO()
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    lines = progress.ProgressLines("Sealing v1:", stream=stream)
    lines.advance(1, 3)
    lines.advance(3, 3)
    assert stream.getvalue() == "Sealing v1: 1 of 3\nSealing v1: 3 of 3\n"


@pytest.mark.django_db(transaction=True)
def test_progress_is_written_while_another_process_commits_between_two_photos(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pair,) = work.observed(work.image(1))[:1]
    first = pair.image
    copies = [
        Image(
            project=work.project, name=f"{number}", file=first.file.name, sha256=first.sha256,
            original_sha256=f"{number:064d}", width=first.width, height=first.height, bytes=first.bytes,
        )
        for number in range(1100)
    ]  # fmt: skip
    Image.objects.bulk_create(copies)

    def commit_in_thread() -> None:
        Project.objects.create(slug="another", name="Another")
        connection.close()

    class Counted:
        done = 0

        def advance(self, done: int, total: int) -> None:
            if self.done == 0:
                other = Thread(target=commit_in_thread)
                other.start()
                other.join()
                Project.objects.filter(pk=work.project.pk).update(name=f"Checked {done} of {total}")
            self.done += 1

    counted = Counted()
    version = versions.create_version(project=work.project, name="v1.0", by=None)
    versions.seal_version(version=version, by=None, progress=counted)
    assert counted.done == 1101
