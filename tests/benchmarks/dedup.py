"""Exact clustering against scipy, and against the product it rests on: ``python -m tests.benchmarks.dedup [--json]``.

(a) 20,000 rows against scipy on every distance. (b) as many rows as the published corpus has photographs, where no
matrix of distances fits: both filters, held against the time that half of all inner products take. Every measurement
is a process of its own, so that its peak memory is its own; the sides take turns. ``--quick`` tries it on few rows.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hits.management.memory import peak_mib
from tests.benchmarks._embeddings import make
from tests.benchmarks._machine import machine

DIMENSIONS = 512
SHARE = 0.74
PEER_ROWS, CORPUS_ROWS = 20_000, 108_077
QUICK_PEER_ROWS, QUICK_CORPUS_ROWS = 3_000, 9_000
WARM_UP_ROWS = 500
RATE_ROWS, RATE_REPEATS = 4096, 8
ROUNDS = 3
LINKAGES = ("average", "complete")
FILTERS = ("fp32", "bf16")


def clusters_of(rows: int) -> int:
    """Return how many clusters are asked for: 14,800 of 20,000, 79,977 of 108,077."""
    return round(SHARE * rows)


# One side: a process that prints one JSON object.


def side(name: str, features: Path, linkage: str, backend: str, labels: Path) -> dict[str, Any]:
    """Cluster the rows of a file; write the labels; return seconds and peak memory."""
    rows = np.load(features)
    k = clusters_of(len(rows))
    before = _rate(rows) if name == "ours" else 0.0
    loaded = peak_mib()
    found = _ours(rows, k, linkage, backend) if name == "ours" else _scipy(rows, k, linkage)
    clustered = peak_mib()
    np.save(labels, found.pop("labels"))
    if name == "ours":
        rate = max(before, _rate(rows))
        found["gflops"] = round(rate / 1e9, 1)
        found["half_product_seconds"] = len(rows) ** 2 * DIMENSIONS / rate
    return {**found, "peak_mib": round(clustered), "peak_mib_before": round(loaded)}


def _ours(rows: NDArray[np.float32], k: int, linkage: str, backend: str) -> dict[str, Any]:
    from curation.dedup.cuts import ByNumber, ClusteringMethod, Linkage
    from curation.dedup.hierarchical import cluster

    multiply = _choose_backend(backend)
    warm_up = rows[:WARM_UP_ROWS]
    cluster(warm_up, ByNumber(clusters_of(WARM_UP_ROWS)), backend=multiply, method=ClusteringMethod.SPARSE)
    started, used = time.perf_counter(), time.process_time()
    found = cluster(rows, ByNumber(k), linkage=Linkage(linkage), backend=multiply)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - used,
        "labels": found.labels,
        "method": found.method.value,
        "threshold": found.threshold,
        "stages": {name: round(seconds, 3) for name, seconds in found.stages.items()},
    }


def _choose_backend(name: str) -> Any:
    from curation.pipelines.matmul_backends import BFloat16Backend, choose_float32_backend

    return BFloat16Backend() if name == "bf16" else choose_float32_backend()


def _scipy(rows: NDArray[np.float32], k: int, linkage: str) -> dict[str, Any]:
    from scipy.cluster.hierarchy import fcluster
    from scipy.cluster.hierarchy import linkage as merge_tree
    from scipy.spatial.distance import pdist

    started, used = time.perf_counter(), time.process_time()
    tree = merge_tree(pdist(rows, "cosine"), method=linkage)
    labels = fcluster(tree, k, criterion="maxclust")
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - used,
        "labels": labels,
    }


def _rate(rows: NDArray[np.float32]) -> float:
    """Best float32 operations per second of np.matmul at the job's own length of row, into a buffer used again."""
    size = min(RATE_ROWS, len(rows) // 2)
    left, right = rows[:size], rows[size : 2 * size]
    out = np.empty((size, size), dtype=np.float32)
    best = np.inf
    for _ in range(RATE_REPEATS):
        started = time.perf_counter()
        np.matmul(left, right.T, out=out)
        best = min(best, time.perf_counter() - started)
    return 2 * size * size * rows.shape[1] / best


# All sides.


def against_scipy(folder: Path, rows: int, rounds: int) -> dict[str, Any]:
    """The two sides in turns on the same rows; scipy once, ours before and after it."""
    features = folder / "peer.npy"
    np.save(features, make(rows, DIMENSIONS))
    turns: dict[str, list[dict[str, Any]]] = {"ours": [], "scipy": []}
    for name in ["ours"] + ["scipy", "ours"] * rounds:
        turns[name].append(_ask(name, features, "average", "fp32", folder / f"{name}.npy"))
    seconds = {name: statistics.median(turn["seconds"] for turn in taken) for name, taken in turns.items()}
    peaks = {name: max(turn["peak_mib"] for turn in taken) for name, taken in turns.items()}
    return {
        "rows": rows,
        "clusters": clusters_of(rows),
        "linkage": "average",
        "adjusted_rand": _adjusted_rand(np.load(folder / "ours.npy"), np.load(folder / "scipy.npy")),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "all_seconds": {name: [round(turn["seconds"], 3) for turn in taken] for name, taken in turns.items()},
        "times_faster": round(seconds["scipy"] / seconds["ours"], 1),
        "goal_times_faster": 25,
        "peak_mib": peaks,
        "memory_ratio": round(peaks["ours"] / peaks["scipy"], 3),
        "goal_memory_ratio": 0.25,
        "stages": turns["ours"][-1]["stages"],
    }


def at_corpus_scale(folder: Path, rows: int) -> dict[str, Any]:
    """Both linkages with both filters, against the half product of the same process."""
    features = folder / "corpus.npy"
    np.save(features, make(rows, DIMENSIONS))
    figures: dict[str, Any] = {"rows": rows, "clusters": clusters_of(rows)}
    goals = {"fp32": 1.2, "bf16": 0.7}
    for linkage in LINKAGES:
        digests = {}
        for backend in FILTERS if _has_bfloat16() else FILTERS[:1]:
            labels = folder / f"{linkage}-{backend}.npy"
            found = _ask("ours", features, linkage, backend, labels)
            digests[backend] = hashlib.sha256(np.load(labels).tobytes()).hexdigest()
            found["ratio"] = round(found["seconds"] / found["half_product_seconds"], 3)
            figures[f"{linkage}_{backend}"] = {
                **_rounded(found),
                "goal_ratio": goals[backend],
                "goal_mib": 2048,
            }
        figures[f"{linkage}_same_partition"] = len(set(digests.values())) == 1
        figures[f"{linkage}_labels_sha256"] = digests
    return figures


def _has_bfloat16() -> bool:
    code = (
        "from curation.pipelines.matmul_backends import has_bfloat16_instructions as has; print(int(has()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip() == "1"


def _ask(name: str, features: Path, linkage: str, backend: str, labels: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.dedup",
        "--side",
        name,
        str(features),
        linkage,
        backend,
    ]
    done = subprocess.run([*command, str(labels)], check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    sys.stderr.write(f"{name} {linkage} {backend}: {result['seconds']:.2f} s, {result['peak_mib']} MiB\n")
    return result


def _adjusted_rand(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(theirs, ours))


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it runs")
    parser.add_argument("--only", choices=["peer", "corpus"], help="one half of it")
    parser.add_argument("--side", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        name, features, linkage, backend, labels = options.side
        sys.stdout.write(json.dumps(side(name, Path(features), linkage, backend, Path(labels))))
        return
    figures: dict[str, Any] = {"benchmark": "dedup", "machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "corpus":
            rows, rounds = (QUICK_PEER_ROWS, 1) if options.quick else (PEER_ROWS, ROUNDS)
            figures["against_scipy"] = against_scipy(Path(folder), rows, rounds)
        if options.only != "peer":
            rows = QUICK_CORPUS_ROWS if options.quick else CORPUS_ROWS
            figures["corpus_scale"] = at_corpus_scale(Path(folder), rows)
    sys.stdout.write(json.dumps(figures, indent=None if options.json else 2, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
