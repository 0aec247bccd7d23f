"""The demo as a person starts it: what it plays, what it refuses, and that it stops."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from annotation_site.demo import demo_users
from hits.models import Project
from hits.services.errors import Refused
from tests.support.children import ROOT, free_port
from tests.support.migrated import migrated_file
from tests.support.waiting import wait_until

COMMAND = [sys.executable, "manage.py", "demo"]


def _environment(folder: Path, port: int) -> dict[str, str]:
    ours = ("DEERSTALKER_", "DEMO_", "PUBLIC_URL", "HIT_ORIGIN", "DATABASE_URL", "BROKER_URL")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {"DEERSTALKER_VAR": str(folder), "PORT": str(port)}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_demo_plays_every_stage(tmp_path: Path) -> None:
    _check_summary(_play(tmp_path))


def _check_summary(played: dict[str, Any]) -> None:
    """Check the demo's line of JSON, and the exports that it names."""
    assert played["ledger_balanced"] is True
    assert played["images"] >= 3
    assert played["comparison_sets"] >= 1
    assert played["judgments"] == 20 * played["comparison_sets"]  # ten candidates, two judges
    # Two workers a photo, a set and a matched photo (two of these); three judges for each of twelve pairs.
    expected = 2 * (played["kept"] + played["comparison_sets"] + 2) + 36
    assert played["approved"] == played["submissions"] == expected
    assert played["min_candidates"] == 12
    folder = Path(played["folder"])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["provenance"]["comparison_round"]["min_candidates"] == 12
    assert (folder / "REHEARSAL.txt").exists()
    _check_vcr(played["vcr"], folder.parent)
    _check_nleye(played["nleye"])


def _check_nleye(nleye: dict[str, Any]) -> None:
    """Check what the demo says of NL-Eye: each stage has its counts, and the import of its export is the same."""
    counts = {name: nleye[name] for name in ("scenes", "reviews", "kept", "triplets", "sealed", "imported")}
    assert counts == {
        "scenes": 24, "reviews": 72, "kept": 18, "triplets": 18, "sealed": 18, "imported": 18
    }  # fmt: skip
    assert nleye["answers"] == 3 * nleye["sealed"]
    assert nleye["explanations"] > nleye["sealed"]  # a gold one for each, and those of people
    assert nleye["same_rows"] is True
    assert set(nleye["figures"]) == {"canned", "canned_pairs", "people", "judge"}
    assert all(0 <= value <= 100 for value in nleye["figures"].values())


def _check_vcr(vcr: dict[str, Any], exports: Path) -> None:
    """Check what the demo says of VCR: every triplet has both questions, and the published manifest was written."""
    assert vcr["triplets"] >= 60
    assert vcr["infeasible"] == 0
    assert vcr["questions"] == 2 * vcr["triplets"]
    assert 0 < vcr["q_ar"] <= min(vcr["q_a"], vcr["qa_r"]) <= 100
    manifests = {
        hashlib.sha256(path.read_bytes()).hexdigest(): path for path in exports.rglob("manifest.json")
    }
    public = manifests[vcr["export_sha256"]].parent
    assert {path.name for path in public.glob("*.jsonl")} >= {"train.jsonl", "val.jsonl", "test.jsonl"}


@pytest.mark.long
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_demo_plays_the_whole_loop_twice(tmp_path: Path) -> None:
    """A second run has its own project: it finds nothing of the first, and gives the same figures."""
    first, second = (_play(tmp_path) for _ in range(2))
    _check_summary(first)
    _check_summary(second)
    names = ("images", "kept", "hits", "submissions", "comparison_sets", "judgments", "paid_cents", "files")
    for name in names:
        assert second[name] == first[name], name
    assert first["folder"] != second["folder"]
    for name in ("triplets", "questions", "infeasible"):
        assert second["vcr"][name] == first["vcr"][name], name
    for name in ("scenes", "reviews", "kept", "triplets", "answers", "explanations", "sealed"):
        assert second["nleye"][name] == first["nleye"][name], name


def _play(folder: Path) -> dict[str, Any]:
    # Its database lies in memory where the system offers that: every commit waits for the disk, which may be slow.
    database = settings.VAR_DIR / f"{folder.name}.sqlite3"
    _start_migrated(database)
    done = subprocess.run(
        [*COMMAND, "--once"],
        cwd=ROOT,
        env=_environment(folder, free_port()) | {"SQLITE_PATH": str(database)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = done.stdout.splitlines()
    result: dict[str, Any] = json.loads(line)
    return result


def _start_migrated(database: Path) -> None:
    """Let a new database start from what an earlier process migrated, which saves it twenty seconds."""
    if migrated_file().is_file() and not database.exists():
        shutil.copyfile(migrated_file(), database)


def test_demo_with_taken_port_fails_before_writing(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        environment = _environment(tmp_path, taken.getsockname()[1])
        done = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"CommandError: port {environment['PORT']}: Address already in use; choose another, such as PORT=8100"
    ]
    assert not list(tmp_path.glob("*.sqlite3"))


def test_second_demo_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    """Two workers on one folder would take each other's jobs."""
    with (tmp_path / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("process 7 (port 8000)")
        lock.flush()
        environment = _environment(tmp_path, free_port())
        done = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "process 7 (port 8000) serves this folder already" in line


@pytest.mark.long
def test_serve_stops_all_processes_on_sigterm(tmp_path: Path) -> None:
    _start_migrated(tmp_path / "deerstalker.sqlite3")
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, env=_environment(tmp_path, 8000), check=True)
    port = free_port()
    served = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--workers", "1"],
        cwd=ROOT,
        env=_environment(tmp_path, port),
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: _listens(port), 180)
        served.send_signal(signal.SIGTERM)
        assert served.wait(timeout=30) == 0
        wait_until(lambda: not _listens(port), 10)
    finally:
        served.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.django_db
def test_demo_refuses_database_with_real_work(project: Project) -> None:
    assert not project.is_rehearsal
    before = dict(User.objects.values_list("username", "password"))
    with pytest.raises(Refused, match="real work"):
        demo_users.ensure_demo_users()
    assert dict(User.objects.values_list("username", "password")) == before


@pytest.mark.django_db
def test_demo_refuses_database_with_other_accounts() -> None:
    User.objects.create_superuser("admin2", password="of somebody")
    with pytest.raises(Refused, match="real work"):
        demo_users.ensure_demo_users()


@pytest.mark.django_db
def test_each_played_loop_has_its_own_project() -> None:
    names = [
        demo_users.ensure_demo_users(is_scripted=played).project.name for played in (False, True, True, False)
    ]
    assert names == ["Sample photos", "Played loop 1", "Played loop 2", "Sample photos"]


@pytest.mark.django_db
def test_second_demo_keeps_data_and_passwords(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    first = demo_users.ensure_demo_users()
    Project.objects.create(name="Mine", slug="mine")
    somebody = User.objects.create_user("somebody", password="their own words")
    rosa = User.objects.get(username="rosa")
    rosa.set_password("another of her own")
    rosa.save()
    again = demo_users.ensure_demo_users()
    assert [account.username for account in again.accounts] == [a.username for a in first.accounts]
    for before, after in zip(first.accounts, again.accounts, strict=True):
        if before.username == "rosa":
            assert after.password == demo_users.CHANGED_PASSWORD
        else:
            assert after.password == before.password
            assert User.objects.get(username=after.username).check_password(after.password)
    rosa.refresh_from_db()
    somebody.refresh_from_db()
    assert rosa.check_password("another of her own")
    assert somebody.check_password("their own words")
    kept = tmp_path / "secrets" / "demo-passwords.json"
    assert kept.stat().st_mode & 0o777 == 0o600
