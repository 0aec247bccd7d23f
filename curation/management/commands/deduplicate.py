"""``manage.py deduplicate --features F.npy --clusters K [--linkage …] [--out L.npy] [--seed S]``."""

import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.dedup.cuts import (
    ByDistance,
    ByFraction,
    ByNumber,
    Clustering,
    ClusteringMethod,
    Cut,
    Linkage,
    ignore_progress,
    target_cluster_count,
)
from curation.dedup.hierarchical import MEMORY_LIMIT_BYTES, cluster
from curation.dedup.members import keep_first, keep_largest, keep_medoid, keep_random
from curation.evaluation.inputs import read_npy
from curation.files import write_npy
from curation.management.file_messages import convert_input_errors
from curation.management.matmul_backends import add_filter_option, choose_clustering_backend
from curation.records import InvalidInput
from hits.management.base import DeerstalkerCommand
from hits.management.memory import peak_mib

WARM_UP_ROWS = 500
MIB = 2**20
KEEP_METHODS = ("random", "medoid", "first", "largest")


class Command(DeerstalkerCommand):
    """Cluster vectors hierarchically and keep one member of each cluster."""

    help = "Cluster the rows of an .npy file hierarchically, and keep one row of each cluster."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--features", type=Path, required=True, help=".npy of float32 (n, d)")
        cut = parser.add_mutually_exclusive_group(required=True)
        cut.add_argument("--clusters", type=int, help="number of clusters")
        cut.add_argument("--fraction", type=float, help="number of clusters, as a fraction of the rows")
        cut.add_argument("--distance", type=float, help="merge clusters up to this distance")
        add("--linkage", choices=[linkage.value for linkage in Linkage], default="average")
        add("--keep", choices=KEEP_METHODS, default="random", help="which row of each cluster is kept")
        add("--sizes", type=Path, help=".npy (n,), number of pixels of each row, for --keep largest")
        add_filter_option(parser)
        add("--memory-mib", type=int, default=MEMORY_LIMIT_BYTES // MIB, help="maximum memory, in MiB")
        add("--out", type=Path, help="write labels, int64 (n,), here")
        add("--seed", type=int, default=0, help="seed of the draw of kept rows")

    def handle(self, *args: Any, **options: Any) -> None:
        """Cluster the rows, and print the kept rows and the time of clustering, without reading the file."""
        with convert_input_errors(features=options["features"], sizes=options["sizes"]):
            _check_options(options)
            self._run(options)

    def _run(self, options: dict[str, Any]) -> None:
        features = _read_features(options["features"])
        sizes = read_npy(options["sizes"]) if options["sizes"] else None
        found, seconds = self._time_clustering(features, options)
        kept = _choose_kept(found, features, sizes, options)
        if options["out"]:
            write_npy(options["out"], found.labels)
        counts = f"{len(features)} rows, {len(kept)} clusters"
        facts = {
            "clusters": len(kept),
            "kept": kept.tolist(),
            "seconds": round(seconds, 4),
            "peak_mib": round(peak_mib(), 1),
            "method": found.method.value,
            "why": found.reason,
            "threshold": found.threshold,
        }
        self.report(options, facts, f"{counts}, {seconds:.2f} s ({found.method.value}: {found.reason})")

    def _time_clustering(
        self, features: NDArray[np.floating], options: dict[str, Any]
    ) -> tuple[Clustering, float]:
        linkage, product = (
            Linkage(options["linkage"]),
            choose_clustering_backend(options["filter"], len(features)),
        )
        cut = _cut(options)
        target_cluster_count(cut, len(features))  # check before the warm-up
        warm_up = features[:WARM_UP_ROWS]
        cluster(warm_up, ByFraction(0.5), linkage=linkage, backend=product, method=ClusteringMethod.SPARSE)
        started = time.perf_counter()
        found = cluster(
            features,
            cut,
            linkage=linkage,
            memory_limit_bytes=options["memory_mib"] * MIB,
            backend=product,
            progress=self._show_progress if sys.stderr.isatty() else ignore_progress,
        )
        return found, time.perf_counter() - started

    def _show_progress(self, done: int, total: int) -> None:
        self.stderr.write(f"\r{done / total:4.0%}" + ("\n" if done == total else ""), ending="")
        self.stderr.flush()


def _check_options(options: dict[str, Any]) -> None:
    if options["seed"] < 0:
        raise InvalidInput(f"--seed {options['seed']}: is negative; give 0 or more")
    if options["memory_mib"] < 1:
        raise InvalidInput(f"--memory-mib {options['memory_mib']}: is too small; give at least 1")
    if (options["keep"] == "largest") != (options["sizes"] is not None):
        raise InvalidInput("--keep largest and --sizes: give both or neither")


def _cut(options: dict[str, Any]) -> Cut:
    if options["clusters"] is not None:
        return ByNumber(options["clusters"])
    return ByDistance(options["distance"]) if options["fraction"] is None else ByFraction(options["fraction"])


def _choose_kept(
    found: Clustering, features: NDArray[np.floating], sizes: NDArray[Any] | None, options: dict[str, Any]
) -> NDArray[np.int64]:
    if options["keep"] == "medoid":
        return keep_medoid(found.labels, features)
    if options["keep"] == "first":
        return keep_first(found.labels)
    if sizes is not None:
        return keep_largest(found.labels, sizes)
    return keep_random(found.labels, np.random.default_rng(options["seed"]))


def _read_features(path: Path) -> NDArray[np.floating]:
    features = read_npy(path)
    if features.dtype not in (np.float32, np.float64):
        raise InvalidInput(f"{path}: has type {features.dtype}; save it as float32")
    if features.ndim != 2 or not len(features):  # noqa: PLR2004 - rows and columns
        raise InvalidInput(f"{path}: has shape {features.shape}; save it as (rows, dimensions)")
    return features
