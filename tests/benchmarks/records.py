"""Collecting, review, report and sealing, this tree beside an earlier one:
``python -m tests.benchmarks.records --before FOLDER [--pairs N] [--judged N] [--runs N]``.

FOLDER is a checkout of the earlier commit. Each tree fills a database of its own with its own code, then they take
turns: each step of each run is a process of its own, so that a busy moment of the machine meets both. Medians of
seconds of a processor and by the clock are printed with their ratio. Steps that the earlier tree has not, searches
and strata over typed fields, have no ratio.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks._machine import machine
from tests.support.paths import ROOT

HERE = ROOT
SCRIPT = Path(__file__).with_name("_record_steps.py")
STEPS = ("collect", "review", "report", "seal", "search", "strata")
MOST_RATIO, MOST_SECONDS = 1.2, 3.0


def step(tree: Path, folder: Path, name: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Return what one step took in a tree, as a process that sees that tree's code alone."""
    environment = {
        **{key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "PYTHONPATH"}},
        "DJANGO_SETTINGS_MODULE": "annotation_site.settings",
        "DEERSTALKER_VAR": str(folder),
        "MEDIA_ROOT": str(folder / "media"),
        "SQLITE_PATH": str(folder / "bench.sqlite3"),
        "PYTHONPATH": str(tree),
        "DEBUG": "0",
    }
    command = [sys.executable, str(SCRIPT), name, json.dumps(sizes)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} in {tree}: {done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(before: Path, sizes: dict[str, int], runs: int) -> dict[str, Any]:
    """Return medians of each step in both trees, and their ratio."""
    trees = {"before": before, "now": HERE}
    taken: dict[str, dict[str, list[dict[str, float]]]] = {
        name: {tree: [] for tree in trees} for name in STEPS
    }
    with tempfile.TemporaryDirectory(prefix="records-") as place:
        folders = {tree: Path(place) / tree for tree in trees}
        filled = {}
        for tree, source in trees.items():
            folders[tree].mkdir()
            filled[tree] = step(source, folders[tree], "fill", sizes)
        for run in range(runs):
            for name in STEPS:
                for tree in sorted(trees, reverse=bool(run % 2)):
                    taken[name][tree].append(step(trees[tree], folders[tree], name, sizes))
    return {"filled": filled, "steps": {name: _medians(rows) for name, rows in taken.items()}}


def _medians(rows: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        tree: {unit: round(statistics.median(one[unit] for one in runs), 3) for unit in ("seconds", "cpu")}
        for tree, runs in rows.items()
    }
    found["ratio"] = round(found["now"]["cpu"] / found["before"]["cpu"], 3)
    return found


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, default=None, help="a checkout of the earlier commit")
    parser.add_argument("--pairs", type=int, default=363_000)
    parser.add_argument("--judged", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one line of JSON; it always does")
    options = parser.parse_args()
    if options.before is None:
        sys.stdout.write(json.dumps({"benchmark": "records", "skipped": "needs --before FOLDER"}) + "\n")
        return
    sizes = {"pairs": options.pairs, "photos": max(1, options.pairs // 4), "judged": options.judged}
    found = measured(options.before.resolve(), sizes, options.runs)
    goals = {"ratio": MOST_RATIO, "search_and_strata_seconds": MOST_SECONDS}
    row = {"benchmark": "records", "machine": machine(), "sizes": sizes, "runs": options.runs, "goals": goals}
    sys.stdout.write(json.dumps(row | found) + "\n")


if __name__ == "__main__":
    main()
