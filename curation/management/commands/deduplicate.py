"""``manage.py deduplicate --features F.npy --clusters K [--linkage …] [--out L.npy] [--seed S]``."""

import resource
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.dedup.hierarchical import Linkage, cluster_to_k
from curation.dedup.members import keep_random
from curation.evaluation.inputs import read_npy
from curation.files import write_npy
from curation.management.naming import name_file
from curation.records import InvalidInput
from hits.management.base import DeerstalkerCommand, bad_input, emit_json

WARM_UP_ROWS = 500


class Command(DeerstalkerCommand):
    """Cluster vectors into exactly K clusters and keep a random member of each."""

    help = "Cluster the rows of an .npy hierarchically into K clusters, and keep one row of each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--features", type=Path, required=True, help="float32 (n, d)")
        parser.add_argument("--clusters", type=int, required=True)
        parser.add_argument("--linkage", choices=[linkage.value for linkage in Linkage], default="average")
        parser.add_argument("--out", type=Path, help="write labels, int64 (n,), here")
        parser.add_argument("--seed", type=int, default=0, help="of the draw of kept members")

    def handle(self, *args: Any, **options: Any) -> None:
        """Cluster, and say how long it took from the array in memory to the labels."""
        linkage = Linkage(options["linkage"])
        if options["seed"] < 0:
            raise bad_input(f"--seed {options['seed']}: is negative; give 0 or more")
        try:
            features = _read(options["features"])
            warm_up = features[:WARM_UP_ROWS]
            cluster_to_k(warm_up, max(1, len(warm_up) // 2), linkage=linkage)
            started = time.perf_counter()
            labels = cluster_to_k(features, options["clusters"], linkage=linkage)
            seconds = time.perf_counter() - started
            kept = keep_random(labels, np.random.default_rng(options["seed"]))
            if options["out"]:
                write_npy(options["out"], labels)
        except InvalidInput as error:
            raise bad_input(name_file(str(error), {"features": options["features"]})) from error
        result = {
            "clusters": len(kept),
            "kept": kept.tolist(),
            "seconds": round(seconds, 4),
            "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        }
        if options["json"]:
            emit_json(self, result)
        else:
            self.stdout.write(f"{len(features)} rows, {len(kept)} clusters, {seconds:.2f} s")


def _read(path: Path) -> NDArray[np.floating]:
    features = read_npy(path)
    if features.dtype not in (np.float32, np.float64):
        raise InvalidInput(f"{path}: holds {features.dtype}; save it as float32")
    if features.ndim != 2 or not len(features):  # noqa: PLR2004 - rows and columns
        raise InvalidInput(f"{path}: has shape {features.shape}; save it as (rows, dimensions)")
    return features
