"""Build a question set from the command: ``python -m tests.benchmarks.questions [--large N] [--small N] [--json]``.

Three folds of made-up triplets, one large and two small, whose sentence vectors are stored beforehand. The command
``build_questions`` matches both stages with ``vectors``, remaps tags, stores the questions and audits them. Then the
same build is killed with SIGKILL after half of its buckets, and resumed; the files of both are compared byte by byte.
At last a set is built with a share of 0, whose tag overlap gives the right choice away.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks._machine import machine
from tests.support.paths import ROOT

LARGE, SMALL = 26_000, 2_000
MOST_SECONDS, MOST_MIB = 600, 1536
LEASE_SECONDS = 31  # a killed process holds its job so long
POLL_SECONDS = 0.02
SLUG, NAME = "bench", "draft"


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a site with its database and files in a folder."""
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "annotation_site.settings",
        "DEERSTALKER_VAR": str(folder),
        "MEDIA_ROOT": str(folder / "media"),
        "SQLITE_PATH": str(folder / "bench.sqlite3"),
        "DATABASE_URL": "",
        "DEBUG": "0",
        "LOG_LEVEL": "ERROR",
    }


def fill(folder: Path, large: int, small: int) -> None:
    """Store the triplets and their vectors, in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.questions", "--fill", str(folder)]
    command += ["--large", str(large), "--small", str(small)]
    subprocess.run(command, env=environment(folder), cwd=ROOT, check=True)


def _fill_here(large: int, small: int) -> None:
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from hits.services import projects
    from tests.support.vcr.built_sets import store_synthetic_project

    call_command("migrate", verbosity=0)
    project = projects.create_project(name=SLUG, by=User.objects.create_superuser("bench"))
    store_synthetic_project(project, {"train-0": large, "val-0": small, "test-0": small})


def start(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start ``build_questions``; its figures are read from its output."""
    command = [sys.executable, "manage.py", "build_questions", *arguments, "--json"]
    return subprocess.Popen(command, env=environment(folder), cwd=ROOT, stdout=subprocess.PIPE)


def build_arguments(name: str = NAME, *more: str) -> list[str]:
    """Return the command's options for three folds."""
    return ["--project", SLUG, "--name", name, "--folds", "3", *more]


def finish(child: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Wait for a command and return its JSON with wall and processor seconds and its peak memory."""
    began = time.monotonic()
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"build_questions: exit status {child.returncode}")
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found | {
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mib": round(usage.ru_maxrss / 1024),
    }


def kill_in_the_middle(folder: Path, buckets: int) -> int:
    """Kill a build when half of its buckets are matched; return how many were."""
    child = start(folder, *build_arguments())
    while len(result_files(folder)) < buckets // 2:
        if child.poll() is not None:
            raise SystemExit("build_questions: ended before it was killed")
        time.sleep(POLL_SECONDS)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    return len(result_files(folder))


def result_files(folder: Path) -> list[Path]:
    """Return the finished results of buckets."""
    return list((folder / "media" / "questions").glob("*/*/buckets/*.json"))


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file of question sets by its path, without unfinished ones."""
    root = folder / "media" / "questions"
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.endswith(".partial"))
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def overlaps(folder: Path, name: str) -> dict[str, Any]:
    """Return the audits of a set that have a limit, and the names of those over it."""
    code = (
        "import django; django.setup()\n"
        "import json; from curation.models import QuestionSet\n"
        f"found = QuestionSet.objects.get(name={name!r})\n"
        "names = ('over', 'limits'); print(json.dumps({key: found.audits[key] for key in names} |\n"
        "  {key: found.figures[key] for key in ('words', 'set_aside')}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(folder), cwd=ROOT, capture_output=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    limits = {f"{row['audit']} ({row['stage']})": round(row["value"], 4) for row in found["limits"]}
    return found | {"limits": limits}


def measured(large: int, small: int) -> dict[str, Any]:
    """Return the figures of the whole build, of the killed one, and of the one with a share of 0."""
    with tempfile.TemporaryDirectory(prefix="questions-") as place:
        whole, killed = Path(place) / "whole", Path(place) / "killed"
        whole.mkdir()
        fill(whole, large, small)
        shutil.copytree(whole, killed)
        load = os.getloadavg()
        built = finish(start(whole, *build_arguments()))
        matched = kill_in_the_middle(killed, len(result_files(whole)))
        time.sleep(LEASE_SECONDS)
        resumed = finish(start(killed, "--resume", str(built["job"])))
        same = hashes(whole) == hashes(killed)
        fitted = overlaps(whole, NAME)
        finish(start(whole, *build_arguments("no share", "--share", "0")))
        return {
            "load_before": [round(value, 2) for value in load],
            "built": built,
            "buckets": len(result_files(killed)),
            "killed_after_buckets": matched,
            "resumed": resumed,
            "byte_identical": same,
            "fitted": fitted,
            "share_0": overlaps(whole, "no share"),
        }


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=LARGE, help="triplets of the large fold")
    parser.add_argument("--small", type=int, default=SMALL, help="triplets of each small fold")
    parser.add_argument("--fill", type=Path, default=None, help="only store the triplets in this folder")
    parser.add_argument("--json", action="store_true", help="print one line of JSON; it always does")
    options = parser.parse_args()
    if options.fill is not None:
        _fill_here(options.large, options.small)
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sizes = {"large": options.large, "small": options.small}
    goals = {"seconds": MOST_SECONDS, "peak_mib": MOST_MIB, "byte_identical": True}
    row = {"benchmark": "questions", "machine": machine(), "sizes": sizes, "goals": goals}
    sys.stdout.write(json.dumps(row | measured(options.large, options.small)) + "\n")


if __name__ == "__main__":
    main()
