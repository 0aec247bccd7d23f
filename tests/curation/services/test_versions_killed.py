"""Sealing and exporting that are killed, or meet a full disk: nothing truncated, doubled or lost.

A kill is ``os._exit`` or SIGKILL in a fork that works on the test's file database; see ``tests/support/children.py``.
A full disk is a limit on the size of files (RLIMIT_FSIZE), which SQLite and Python meet as they meet a full disk.
"""

import os
import random
import resource
import signal
import time
from pathlib import Path

import pytest
from django.db import connection

from curation.families.sherlock.read import check_export, read_version
from curation.models import DatasetVersion, VersionImage, VersionRow, VersionState
from curation.services.versions import create_sealed_version
from curation.versions.export import export_version
from hits.domain.crashpoints import EXIT_STATUS
from hits.models import AuditEvent, Project
from tests.support import children
from tests.support.many_pairs import fill_pairs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(3600)]
PHOTOS, PAIRS = 30, 1_100  # rows in three batches
NAME = "v1"


def seal(name: str = NAME) -> None:
    """Seal the one project as a new version, unless that was done."""
    if not DatasetVersion.objects.filter(name=name).exists():
        create_sealed_version(project=Project.objects.get(), name=name, by=None)


def export(folder: Path, name: str = NAME) -> None:
    """Write the files of the version."""
    export_version(DatasetVersion.objects.get(name=name), folder)


def check_sealed_once(name: str = NAME) -> None:
    """See that the version holds every pair once."""
    version = DatasetVersion.objects.get(name=name)
    assert version.state == VersionState.SEALED
    ids = list(version.rows.values_list("instance_id", flat=True))
    assert (len(ids), len(set(ids))) == (PAIRS, PAIRS)
    assert version.images.count() == PHOTOS
    assert AuditEvent.objects.filter(action="version.seal", subject=name).count() == 1


def check_nothing_sealed(name: str = NAME) -> None:
    """See that no version of that name, no row without a sealed version, and no event is there."""
    assert not DatasetVersion.objects.filter(name=name).exists()
    assert not VersionRow.objects.exclude(version__state=VersionState.SEALED).exists()
    assert not VersionImage.objects.exclude(version__state=VersionState.SEALED).exists()
    assert not AuditEvent.objects.filter(action__startswith="version.", subject=name).exists()


@pytest.mark.parametrize("point", ["seal.after_prepare", "seal.amid_rows:2", "seal.after_close"])
def test_sealing_killed_leaves_nothing_and_is_done_again(project: Project, point: str) -> None:
    fill_pairs(project, PHOTOS, PAIRS)
    assert children.forked(seal, crash_at=point) == EXIT_STATUS
    check_nothing_sealed()
    assert children.forked(seal) == 0
    check_sealed_once()


@pytest.mark.parametrize("point", ["export.amid_file:400", "export.amid_file:1500", "export.before_rename"])
def test_export_killed_leaves_no_folder_and_is_done_again(
    project: Project, tmp_path: Path, point: str
) -> None:
    fill_pairs(project, PHOTOS, PAIRS)
    seal()
    folder = tmp_path / "out"
    assert children.forked(lambda: export(folder), crash_at=point) == EXIT_STATUS
    assert not folder.exists()
    assert children.forked(lambda: export(folder)) == 0
    assert len(read_version(folder).records) == PAIRS


def _seal_and_export(folder: Path) -> None:
    seal(folder.name)
    export(folder, folder.name)


def _killed_rounds(out: Path, rounds: int) -> None:
    """Kill sealing and exporting at random moments; see after each that all is whole or absent, and do it again.

    Work that was over sooner than it was killed counts as no round, and the next one is killed sooner.
    """
    chance, killed = random.Random(rounds), 0
    began = time.monotonic()
    assert children.forked(lambda: _seal_and_export(out / "v0")) == 0
    whole = time.monotonic() - began
    for number in range(1, 5 * rounds):
        folder = out / f"v{number}"
        child = children.start(lambda: _seal_and_export(folder))
        time.sleep(whole * chance.uniform(0.05, 0.8))
        os.kill(child, signal.SIGKILL)
        if children.wait(child) != -signal.SIGKILL:
            whole *= 0.7
            continue
        killed += 1
        if DatasetVersion.objects.filter(name=folder.name).exists():
            check_sealed_once(folder.name)
        else:
            check_nothing_sealed(folder.name)
        if folder.exists():
            assert check_export(folder) == PAIRS
        assert children.forked(lambda: _seal_and_export(folder)) == 0
        check_sealed_once(folder.name)
        assert check_export(folder) == PAIRS
        if killed == rounds:
            return
    raise AssertionError(f"only {killed} of {rounds} were killed in time")


def test_sealing_and_export_killed_in_two_rounds_leave_all_whole(project: Project, tmp_path: Path) -> None:
    fill_pairs(project, PHOTOS, PAIRS)
    _killed_rounds(tmp_path, 2)


@pytest.mark.nightly
def test_sealing_and_export_killed_in_twenty_rounds_leave_all_whole(project: Project, tmp_path: Path) -> None:
    fill_pairs(project, PHOTOS, PAIRS)
    _killed_rounds(tmp_path, 20)


def _limit_files(most: int) -> None:
    """Limit each file of this process to ``most`` bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def test_export_onto_a_full_disk_leaves_nothing_and_is_done_again(project: Project, tmp_path: Path) -> None:
    fill_pairs(project, PHOTOS, PAIRS)
    seal()
    folder = tmp_path / "out"

    def export_without_room() -> None:
        _limit_files(100_000)
        with pytest.raises(OSError, match="File too large"):
            export(folder)

    assert children.forked(export_without_room) == 0
    assert [path.name for path in tmp_path.iterdir() if path.name != "media"] == []
    export(folder)
    assert check_export(folder) == PAIRS


def test_sealing_onto_a_full_disk_leaves_nothing_and_is_done_again(project: Project) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's server writes its files, not this process")
    fill_pairs(project, PHOTOS, PAIRS)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def seal_without_room() -> None:
        _limit_files(100_000)
        with pytest.raises(Exception, match=r"disk|full"):
            seal()

    assert children.forked(seal_without_room) == 0
    check_nothing_sealed()
    seal()
    check_sealed_once()
