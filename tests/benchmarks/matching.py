"""Adversarial Matching against scipy: ``python -m tests.benchmarks.matching --json [--quick]``.

Made-up P_rel and P_sim of a bucket (``tests.support.vcr.matching.make_scores``), λ = 0.1, the diagonal forbidden.
Ours is ``assign`` with its certificate, on the weights; scipy's is ``linear_sum_assignment`` on the float64 cost
matrix. They take turns in one process. All times are CPU seconds. ``lapjv`` is measured beside them if it is
installed, with float32 costs, its fastest, and a large number for infinity, which it does not have.

Three whole rounds are weights, solve, certificate and update. Their memory is measured in a process of its own, above
what that process held before. Shortlists have the k = 64 best of each row and column. The last part shows what tag
overlap would give away without preferred tags, in synthetic triplets in three folds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from curation.evaluation.choice_shortcuts import RULE_LIMIT
from curation.matching.assign import Assignment, assign
from curation.matching.options import MatchOptions, ShortlistOptions
from curation.matching.rounds import DenseWeights, MatchResult, PairRules, match_dense
from hits.management.memory import peak_mib
from tests.benchmarks._machine import machine
from tests.support.vcr.matched import fit_shares
from tests.support.vcr.matching import make_scores
from tests.support.vcr.synthetic import FOLD_SIZES, make_synthetic_set

ROUNDS = 5
SIZES = {(3_000, 1.2): ROUNDS, (3_000, 3.0): ROUNDS, (10_000, 1.2): 1}
QUICK_SIZES = {(300, 1.2): 2, (300, 3.0): 2}
SHORTLIST = 64
LAPJV_INFINITY = 1e4
OPTIONS = MatchOptions()
GOALS = {
    "times_faster": 4.0,
    "three_rounds_cpu_seconds": 1.5,
    "three_rounds_mib": 200,
    "shortlist_loss_percent": 0.05,
    "min_reduced_cost": -1e-6,
    "gap_per_row": 1e-6,
    "tag_overlap": RULE_LIMIT,
}

Matrix = NDArray[np.float64]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and its CPU seconds."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def warm_up() -> None:
    """Compile every kernel."""
    scores = make_scores(400, 3.0)
    match_dense(*scores, OPTIONS, PairRules.make(400, OPTIONS))
    match_dense(*scores, MatchOptions(shortlist=ShortlistOptions(4)), PairRules.make(400, OPTIONS))


def make_weights(n: int, hubness: float) -> Matrix:
    """Return the weights of the first round."""
    return DenseWeights(*make_scores(n, hubness), OPTIONS, PairRules.make(n, OPTIONS)).values


def against_scipy(n: int, hubness: float, rounds: int) -> dict[str, Any]:
    """Ours and scipy's in turns on the same matrix."""
    weights = make_weights(n, hubness)
    costs = -weights
    seconds: dict[str, list[float]] = {"ours": [], "scipy": []}
    for _ in range(rounds):
        found, used = timed(lambda: assign(weights))
        seconds["ours"].append(used)
        (rows, columns), used = timed(lambda: linear_sum_assignment(costs))
        seconds["scipy"].append(used)
    assert isinstance(found, Assignment)
    total = float(weights[rows, columns].sum())
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        "rows": n,
        "hubness": hubness,
        "cpu_seconds": {name: round(value, 4) for name, value in medians.items()},
        "all_cpu_seconds": {name: [round(value, 4) for value in values] for name, values in seconds.items()},
        "times_faster": round(medians["scipy"] / medians["ours"], 2),
        "total": found.total,
        "total_difference": abs(found.total - total),
        "min_reduced_cost": found.certificate.min_reduced_cost,
        "gap": found.certificate.gap,
        "lapjv": _lapjv(costs, rounds, found.total),
    }


def _lapjv(costs: Matrix, rounds: int, total: float) -> dict[str, Any] | None:
    """Return lapjv's median CPU seconds and the difference of its total; None if it is not installed."""
    try:
        from lapjv import lapjv  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    finite = np.where(np.isinf(costs), LAPJV_INFINITY, costs).astype(np.float32)
    used = [timed(lambda: lapjv(finite)) for _ in range(rounds)]
    columns = used[-1][0][0]
    return {
        "cpu_seconds": round(statistics.median(seconds for _, seconds in used), 4),
        "total_difference": abs(-float(costs[np.arange(len(costs)), columns].sum()) - total),
    }


def three_rounds(n: int, hubness: float, rounds: int) -> dict[str, Any]:
    """Three whole rounds on all pairs and on shortlists."""
    scores, rules = make_scores(n, hubness), PairRules.make(n, OPTIONS)
    listed = MatchOptions(shortlist=ShortlistOptions(SHORTLIST))
    runs = [timed(lambda: match_dense(*scores, OPTIONS, rules)) for _ in range(rounds)]
    (short, short_seconds), dense = timed(lambda: match_dense(*scores, listed, rules)), runs[-1][0]
    assert dense.feasible
    assert short.feasible
    return {
        "rows": n,
        "hubness": hubness,
        "cpu_seconds": round(statistics.median(seconds for _, seconds in runs), 3),
        "all_cpu_seconds": [round(seconds, 3) for _, seconds in runs],
        "min_reduced_cost": min(outcome.min_reduced_cost or 0.0 for outcome in dense.outcomes),
        "gap": max(outcome.gap or 0.0 for outcome in dense.outcomes),
        "shortlist": {
            "k": [outcome.shortlist for outcome in short.outcomes],
            "cpu_seconds": round(short_seconds, 3),
            "loss_percent": _loss_percent(dense, short),
        },
    }


def _loss_percent(dense: MatchResult, short: MatchResult) -> list[float]:
    """Return the loss of the first round, whose problems are the same, and of all rounds together."""
    totals = [[outcome.total or 0.0 for outcome in result.outcomes] for result in (dense, short)]
    pairs = [(totals[0][0], totals[1][0]), (sum(totals[0]), sum(totals[1]))]
    return [round(100 * (full - listed) / abs(full), 5) for full, listed in pairs]


def rounds_of_files(folder: Path) -> dict[str, float]:
    """Match three rounds from files; return the MiB above what this process held before."""
    warm_up()
    relevance, similarity = np.load(folder / "relevance.npy"), np.load(folder / "similarity.npy")
    before = _resident_mib()
    match_dense(relevance, similarity, OPTIONS, PairRules.make(len(relevance), OPTIONS))
    return {"before_mib": round(before, 1), "above_mib": round(peak_mib() - before, 1)}


def _resident_mib() -> float:
    """Return the memory that this process holds now, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def memory(n: int) -> dict[str, float]:
    """Measure the memory of three rounds in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for name, matrix in zip(("relevance", "similarity"), make_scores(n, 1.2), strict=True):
            np.save(Path(folder) / f"{name}.npy", matrix)
        command = [sys.executable, "-m", "tests.benchmarks.matching", "--memory", folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="on one line")
    parser.add_argument("--quick", action="store_true", help="300 rows: does it run, not how fast")
    parser.add_argument("--memory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        sys.stdout.write(json.dumps(rounds_of_files(options.memory)))
        return
    warm_up()
    n, rounds = (300, 2) if options.quick else (3_000, ROUNDS)
    fold_sizes = dict.fromkeys(FOLD_SIZES, 200) if options.quick else FOLD_SIZES
    figures = {
        "benchmark": "matching",
        "machine": machine() | {"load": os.getloadavg()[0], "numpy": np.__version__},
        "goals": GOALS,
        "against_scipy": [
            against_scipy(size, hubness, times)
            for (size, hubness), times in (QUICK_SIZES if options.quick else SIZES).items()
        ],
        "three_rounds": [three_rounds(n, hubness, rounds) for hubness in (1.2, 3.0)],
        "memory": memory(n),
        "tag_overlap": fit_shares(make_synthetic_set(fold_sizes)),
    }
    sys.stdout.write(json.dumps(figures, indent=None if options.json else 2, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
