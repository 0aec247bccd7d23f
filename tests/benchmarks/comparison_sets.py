"""Comparison sets of a whole test split: ``python -m tests.benchmarks.comparison_sets --json [--quick]``.

23,000 instances and as many inferences, 768 dimensions between image and text and 384 between texts, 18,400
inferences kept by soft de-duplication. Ours and a plain reference, which scores one row at a time with numpy, make
the same sets; neither stops early. Both are timed in one process, ours between the parts of the reference. The limit
is the time that the float32 product of all scores alone takes at the best rate that the processor shows in the same
run. Ours is timed with the product that it takes on this machine and with the plain one. ``cpu`` beside ``seconds``
is what the work took of all cores, whatever else the machine did. Memory is measured in a process that does nothing
but build the sets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.negatives.comparison_sets import ComparisonSetResult, build_comparison_sets
from curation.negatives.matmul_backends import NumpyScoreBackend, ScoreBackend
from curation.negatives.options import ComparisonSetOptions, SpeedShortcut
from curation.negatives.plausibility import EmbeddingPlausibility
from curation.pipelines.score_matmul_backends import choose_score_backend
from hits.management.memory import peak_mib
from tests.benchmarks._embeddings import make
from tests.benchmarks._machine import machine

NOISE = 9.0
COPIES = 0.06
ROUNDS = 3
PRODUCT_ROWS = 2048
PRODUCT_TRIES = 8
GOALS = {"faster_than_reference": 12.0, "of_the_product": 1.3, "peak_mib": 1024}


@dataclass(frozen=True, slots=True)
class Data:
    """images, inferences: (n, d) and vectors: (n, e), float32. texts: (n,) numbers. kept: ids, ascending."""

    images: NDArray[np.float32]
    inferences: NDArray[np.float32]
    vectors: NDArray[np.float32]
    texts: NDArray[np.int64]
    kept: NDArray[np.int64]

    @property
    def words(self) -> list[str]:
        """The texts."""
        return [f"text {number}" for number in self.texts.tolist()]


def made_up(n: int, d: int = 768, e: int = 384, seed: int = 0) -> Data:
    """Images near their inferences but far from all of them, as in a model with a gap between its two sides."""
    generator = np.random.default_rng(seed + 7)
    texts = make(n, d, seed)
    images = texts + np.float32(NOISE / np.sqrt(d)) * generator.standard_normal((n, d), dtype=np.float32)
    gap = generator.standard_normal(d).astype(np.float32)
    gap *= np.float32(0.8) / np.linalg.norm(gap)
    numbers = np.arange(n)
    copied = np.flatnonzero(generator.random(n) < COPIES)
    numbers[copied] = numbers[(generator.random(len(copied)) ** 3 * n).astype(np.int64)]
    kept = np.sort(np.random.default_rng(seed).choice(n, n * 4 // 5, replace=False))
    return Data(images + gap, (texts - gap)[numbers], make(n, e, seed + 3)[numbers], numbers, kept)


@dataclass(slots=True)
class Reference:
    """The rules as a reader of the paper would write them, row by row.

    Scores are float32 products of a row with all inferences. What is within MARGIN of the gold score, and what the
    pick compares, is taken in float64 of the same unit vectors, so that rounding decides nothing.
    """

    data: Data
    options: ComparisonSetOptions
    sets: dict[int, list[int]] = field(default_factory=dict)
    available: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0
    picking_seconds: float = 0.0
    cpu: float = 0.0

    margin = 1e-4

    def parts(self, count: int) -> Iterator[None]:
        """Do the work in so many parts; others may be timed between them."""
        started, cpu = time.perf_counter(), time.process_time()
        images, inferences, vectors = map(unit, (self.data.images, self.data.inferences, self.data.vectors))
        free = np.zeros(len(inferences), bool)
        free[after_cap(self.data, self.options.max_verbatim)] = True
        for part in np.array_split(np.arange(len(images)), count):
            for instance in part:
                self.row(int(instance), images[instance], inferences, vectors, free)
            self.seconds += time.perf_counter() - started
            self.cpu += time.process_time() - cpu
            yield
            started, cpu = time.perf_counter(), time.process_time()

    def row(
        self,
        instance: int,
        image: NDArray[np.float32],
        inferences: NDArray[np.float32],
        vectors: NDArray[np.float32],
        free: NDArray[np.bool_],
    ) -> None:
        """Give one instance its turn."""
        scores = inferences @ image
        gold = exact(inferences[[instance]], image)[0]
        passes = free & (scores > gold)
        close = np.flatnonzero(free & (np.abs(scores - gold) < self.margin))
        passes[close] = exact(inferences[close], image) > gold
        candidates = np.flatnonzero(passes)
        if len(candidates) < self.options.min_candidates:
            self.available[instance] = len(candidates)
            return
        started = time.perf_counter()
        chosen = self.pick(exact(inferences[candidates], image), vectors[candidates].astype(np.float64))
        self.sets[instance] = candidates[chosen].tolist()
        free[self.sets[instance]] = False
        self.picking_seconds += time.perf_counter() - started

    def pick(self, plausibility: NDArray[np.float64], vectors: NDArray[np.float64]) -> list[int]:
        """Choose greedily; argmax takes the lowest index of equals."""
        total = np.zeros(len(vectors))
        value = self.options.weight * plausibility
        chosen: list[int] = []
        for count in range(self.options.size):
            now = value - total / max(1, count)
            now[chosen] = -np.inf
            chosen.append(int(np.argmax(now)))
            total += exact(vectors, vectors[chosen[-1]])
        return chosen


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1."""
    wide = rows.astype(np.float64)
    return (wide / np.sqrt((wide * wide).sum(axis=1, keepdims=True))).astype(np.float32)


def exact(rows: NDArray[Any], vector: NDArray[Any]) -> NDArray[np.float64]:
    """Products in float64, each row by itself: equal rows give equal values."""
    return np.einsum("ij,j->i", rows.astype(np.float64), vector.astype(np.float64))


def after_cap(data: Data, copies: int) -> list[int]:
    """The kept ids without what comes after the first few of each text."""
    seen: dict[int, int] = {}
    stays = []
    for index in data.kept.tolist():
        number = int(data.texts[index])
        seen[number] = seen.get(number, 0) + 1
        if seen[number] <= copies:
            stays.append(index)
    return stays


def ours(
    data: Data, words: list[str], product: ScoreBackend, shortcut: SpeedShortcut = SpeedShortcut.NONE
) -> ComparisonSetResult:
    """Build the sets from arrays in memory."""
    return build_comparison_sets(
        EmbeddingPlausibility(data.images, data.inferences, product),
        words,
        data.vectors,
        candidate_ids=data.kept.tolist(),
        options=ComparisonSetOptions(shortcut=shortcut),
    )


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What some work returned, and its seconds."""
    started, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}


def product_seconds(data: Data) -> dict[str, float]:
    """The least time of a block of the product into a buffer that is there, taken times the number of blocks."""
    rows = min(PRODUCT_ROWS, len(data.images))
    images, kept = data.images[:rows], data.inferences[data.kept]
    out = np.empty((rows, len(kept)), np.float32)
    tries = [timed(lambda: np.matmul(images, kept.T, out=out))[1] for _ in range(PRODUCT_TRIES)]
    return {name: min(one[name] for one in tries) * len(data.images) / rows for name in ("seconds", "cpu")}


def warm_up() -> None:
    """Compile before anything is timed."""
    few = made_up(500)
    for product in (choose_score_backend(), NumpyScoreBackend()):
        for shortcut in SpeedShortcut:
            ours(few, few.words, product, shortcut)


def interleaved(data: Data) -> dict[str, Any]:
    """Time ours and the product between the parts of the reference."""
    words = data.words
    reference = Reference(data, ComparisonSetOptions())
    products: dict[str, ScoreBackend] = {"best": choose_score_backend(), "plain": NumpyScoreBackend()}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in products}
    limits, results = [product_seconds(data)], {}
    for _ in reference.parts(ROUNDS):
        for name, product in products.items():
            results[name], run = timed(partial(ours, data, words, product))
            runs[name].append(run)
            limits.append(product_seconds(data))
    limit = {name: min(one[name] for one in limits) for name in ("seconds", "cpu")}
    shortcuts = {
        shortcut.value: _shortcut(data, words, shortcut, results["best"])
        for shortcut in (SpeedShortcut.STOP_EARLY, SpeedShortcut.DROP_USED)
    }
    scoring = reference.seconds - reference.picking_seconds
    return {
        "sets": len(results["best"].sets),
        "reference": _rounded(
            {"seconds": reference.seconds, "cpu": reference.cpu, "scoring_seconds": scoring}
        ),
        "product": _rounded(limit),
        **{
            f"ours_{name}": {"filter": product.name} | _figures(reference, results[name], runs[name], limit)
            for name, product in products.items()
        },
        "shortcuts": shortcuts,
    }


def _shortcut(
    data: Data, words: list[str], shortcut: SpeedShortcut, full: ComparisonSetResult
) -> dict[str, Any]:
    result, run = timed(lambda: ours(data, words, choose_score_backend(), shortcut))
    return _rounded(run) | {"same_sets": result.sets == full.sets}


def _figures(
    reference: Reference,
    result: ComparisonSetResult,
    runs: list[dict[str, float]],
    limit: dict[str, float],
) -> dict[str, Any]:
    mine = {name: statistics.median(run[name] for run in runs) for name in ("seconds", "cpu")}
    return {
        "same_sets": {item.instance: list(item.chosen) for item in result.sets} == reference.sets,
        "same_counts_of_skipped": {item.instance: item.available for item in result.skipped}
        == reference.available,
        **_rounded(mine),
        "runs": [_rounded(run) for run in runs],
        "faster_than_reference": round(reference.seconds / mine["seconds"], 2),
        "faster_than_its_scoring_alone": round(
            (reference.seconds - reference.picking_seconds) / mine["seconds"], 2
        ),
        "faster_in_cpu": round(reference.cpu / mine["cpu"], 2),
        "of_the_product": round(mine["seconds"] / limit["seconds"], 3),
        "of_the_product_in_cpu": round(mine["cpu"] / limit["cpu"], 3),
    }


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in figures.items()}


def peak(folder: Path) -> dict[str, Any]:
    """Build the sets once in this process and say what it took at most, the data included."""
    with np.load(folder / "data.npz") as stored:
        data = Data(**{name: stored[name] for name in Data.__dataclass_fields__})
    ours(data, data.words, choose_score_backend())
    return {"peak_mib": round(peak_mib())}


def peak_in_a_process_of_its_own(data: Data) -> dict[str, Any]:
    """The greatest memory of a process that loads the data and builds the sets."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(
            Path(folder) / "data.npz", **{name: getattr(data, name) for name in Data.__dataclass_fields__}
        )
        command = [sys.executable, "-m", "tests.benchmarks.comparison_sets", "--peak", folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="on one line")
    parser.add_argument("--quick", action="store_true", help="2,300 instances: does it run, not how fast")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        sys.stdout.write(json.dumps(peak(options.peak)))
        return
    n = 2_300 if options.quick else 23_000
    data = made_up(n)
    warm_up()
    figures = {
        "benchmark": "comparison_sets",
        "machine": machine() | {"load": os.getloadavg()[0], "numpy": np.__version__},
        "inferences": n,
        "kept": len(data.kept),
        "dimensions": [data.images.shape[1], data.vectors.shape[1]],
        "goals": GOALS,
        **interleaved(data),
        **peak_in_a_process_of_its_own(data),
    }
    sys.stdout.write(json.dumps(figures, indent=None if options.json else 2) + "\n")


if __name__ == "__main__":
    main()
