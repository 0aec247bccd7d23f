"""Seal, export and read back a version: ``python -m tests.benchmarks.versions [--photos N] [--pairs N]``.

With ``--family vcr``, a version of that many triplets, each with a question of four choices in both stages.

Each step runs in a process of its own on an SQLite database of its own, so that its peak memory is its own, the
interpreter and Django included. While the version is sealed another process asks every few milliseconds whether it
may write; the longest time that it may not is how long the others wait.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hits.management.memory import peak_mib
from tests.benchmarks._machine import machine

PHOTOS, PAIRS = 1_000, 3_524
CORPUS_PHOTOS, CORPUS_PAIRS = 103_000, 363_000
MOST_MIB = 400
STEPS = ("fill", "plan", "seal", "export", "read")
ASK_SECONDS = 0.005
NAME = "v1.0"
SHERLOCK, VCR = "sherlock", "vcr"
VCR_FOLDS = (("train-0", 0.8), ("val-0", 0.1), ("test-0", 0.1))  # names, and shares of the triplets


def measured(
    photos: int, pairs: int, steps: tuple[str, ...] = STEPS, *, family: str = SHERLOCK
) -> dict[str, Any]:
    """Return seconds, processor time and peak memory of each step, and how long others could not write."""
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        return {step: _step(step, Path(folder), photos, pairs, family) for step in steps}


def _step(step: str, folder: Path, photos: int, pairs: int, family: str) -> dict[str, Any]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "annotation_site.settings",
        "DEERSTALKER_VAR": str(folder),
        "MEDIA_ROOT": str(folder / "media"),
        "SQLITE_PATH": str(folder / "bench.sqlite3"),
        "DATABASE_URL": "",
        "DEBUG": "0",
    }
    command = [sys.executable, "-m", "tests.benchmarks.versions", "--step", step, "--folder", str(folder)]
    command += ["--photos", str(photos), "--pairs", str(pairs), "--family", family]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    waited = _watched(folder / "bench.sqlite3", child) if step == "seal" else None
    output, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{step}: failed")
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found if waited is None else found | {"locked_seconds": round(waited, 2)}


def _watched(database: Path, child: "subprocess.Popen[bytes]") -> float:
    """Return the longest time, in seconds, in which nobody else could begin to write."""
    connection = sqlite3.connect(database, timeout=0, isolation_level=None)
    longest, free = 0.0, time.monotonic()
    while child.poll() is None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            longest = max(longest, time.monotonic() - free)
            time.sleep(ASK_SECONDS)
            free = time.monotonic()
        except sqlite3.OperationalError:
            time.sleep(ASK_SECONDS)
    connection.close()
    return longest


def _run(step: str, folder: Path, photos: int, pairs: int, family: str) -> dict[str, Any]:
    """Do one step here; its figures."""
    import django

    django.setup()
    started, used = time.perf_counter(), time.process_time()
    found = {"fill": _FILL[family], **_WORK}[step](folder, photos, pairs)
    return found | {
        "seconds": round(time.perf_counter() - started, 2),
        "cpu_seconds": round(time.process_time() - used, 2),
        "peak_mib": round(peak_mib()),
    }


def _fill(folder: Path, photos: int, pairs: int) -> dict[str, Any]:
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from hits.services import projects
    from tests.support.many_pairs import fill_pairs

    call_command("migrate", verbosity=0)
    project = projects.create_project(name="Bench", by=User.objects.create_superuser("bench"))
    fill_pairs(project, photos, pairs)
    return {}


def _fill_vcr(folder: Path, photos: int, pairs: int) -> dict[str, Any]:
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from hits.services import projects
    from tests.support.vcr.question_sets import store_question_set
    from tests.support.vcr.stored import store_triplets
    from tests.support.vcr.synthetic import make_synthetic_set

    call_command("migrate", verbosity=0)
    project = projects.create_project(name="Bench", by=User.objects.create_superuser("bench"))
    sizes = {name: round(share * pairs) for name, share in VCR_FOLDS}
    triplets = make_synthetic_set(sizes, dimensions=2).triplets
    store_question_set(project, triplets, store_triplets(project, triplets))
    return {}


def _plan(folder: Path, photos: int, pairs: int) -> dict[str, Any]:
    from curation.models import DatasetVersion
    from curation.services.versions import plan_version
    from hits.models import Project

    plan = plan_version(DatasetVersion(project=Project.objects.get()))
    return {"images": plan.image_count, "rows": plan.row_count}


def _seal(folder: Path, photos: int, pairs: int) -> dict[str, Any]:
    from curation.services.versions import create_sealed_version
    from hits.models import Project

    version = create_sealed_version(project=Project.objects.get(), name=NAME, by=None)
    return {"images": version.images.count(), "rows": version.rows.count(), "seal": version.manifest_sha256}


def _export(folder: Path, photos: int, pairs: int) -> dict[str, Any]:
    from curation.models import DatasetVersion
    from curation.versions.export import export_version

    written = export_version(DatasetVersion.objects.get(), folder / "out")
    return {"seal": written.seal, "mib": round(sum(file.bytes for file in written.files) / 2**20)}


def _read(folder: Path, photos: int, pairs: int) -> dict[str, Any]:
    from curation.models import DatasetVersion
    from curation.versions.families import family_of_version

    return {"rows": family_of_version(DatasetVersion.objects.get()).check(folder / "out")}


_WORK = {"plan": _plan, "seal": _seal, "export": _export, "read": _read}
_FILL = {SHERLOCK: _fill, VCR: _fill_vcr}


def main() -> None:
    """Measure, or do one step of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=PHOTOS, help=f"the corpus: {CORPUS_PHOTOS}")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"the corpus: {CORPUS_PAIRS}")
    parser.add_argument("--family", choices=list(_FILL), default=SHERLOCK)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        figures = _run(options.step, options.folder, options.photos, options.pairs, options.family)
        sys.stdout.write(json.dumps(figures) + "\n")
        return
    found = {"photos": options.photos, "pairs": options.pairs, "load": os.getloadavg()[0]} | machine()
    figures = found | measured(options.photos, options.pairs, family=options.family)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
