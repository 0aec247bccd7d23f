"""Figures of image triplets: ``python -m tests.benchmarks.nleye --json [--quick]``.

Made-up answers about 100,000 triplets in two presentations, and made-up scores of both hypotheses. Measures are all
measures of all triplets and of all groups (category, domain, temporal cell), without intervals; headline intervals
are 1,000 draws of the shares. The whole figures of ``nleye_figures`` also have the intervals of all groups, and those
of mean differences. Audits are one classifier of single hypotheses with 500 permutations for each of three kinds of
features, on 300 triplets. All times are CPU seconds, the median of the rounds.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from curation.evaluation.intervals import REPLICATES
from curation.evaluation.nleye import nleye_figures
from curation.evaluation.nleye_audits import COMPONENTS, audit_classifier
from curation.evaluation.nleye_baselines import random_scores
from curation.evaluation.nleye_files import read_pair_scores, read_triplet_key, read_triplet_predictions
from curation.evaluation.nleye_groups import macro_mean, make_groupings
from curation.evaluation.nleye_key import ChoiceCode, PairScores, TripletKey, TripletPredictions
from curation.evaluation.nleye_pairs import draw_pair_shares, measure_pair_outcomes, pair_outcomes
from curation.evaluation.nleye_triplets import (
    SHARES,
    count_all,
    count_outcomes,
    draw_shares,
    measure_counts,
    triplet_figures,
)
from tests.benchmarks._machine import machine
from tests.support.nleye_answers import write_files
from tests.support.nleye_planted import (
    TRIPLETS,
    make_balanced_key,
    make_pixel_figures,
    make_production,
    make_vectors,
)

MANY, QUICK_MANY = 100_000, 2_000
ROUNDS = 3
VECTOR_SIZE = 1_287
GOALS = {"measures_and_groups": 5.0, "headline_intervals": 10.0}


def median_seconds(work: Callable[[], Any], rounds: int) -> float:
    """Return the median CPU seconds of some work."""
    found = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return round(statistics.median(found), 3)


def make_answers(n: int) -> tuple[TripletKey, TripletPredictions, PairScores, PairScores]:
    """Return a key, answers of every code, scores of ten points, and scores that are nearly all different."""
    rng = np.random.default_rng(1)
    codes = rng.integers(ChoiceCode.FIRST, ChoiceCode.MISSING, size=(n, 2), endpoint=True)
    return (
        make_balanced_key(n, rng),
        TripletPredictions(codes.astype(np.int8)),
        random_scores(n, rng),
        PairScores(rng.normal(size=(n, 2))),
    )


def measure_everything(key: TripletKey, predictions: TripletPredictions, scores: PairScores) -> None:
    """Compute all measures of all triplets and of all groups, with micro and macro means, without intervals."""
    outcomes = pair_outcomes(key, scores)
    measure_counts(count_all(key, predictions))
    measure_pair_outcomes(outcomes)
    for grouping in make_groupings(key):
        counted = count_outcomes(key, predictions, grouping.codes, len(grouping.labels))
        measures = [measure_counts(counts) for counts in counted]
        for name in SHARES:
            macro_mean([getattr(measured, name) for measured in measures])
        for rows in grouping.rows():
            measure_pair_outcomes(outcomes.take(rows))


def draw_headlines(key: TripletKey, predictions: TripletPredictions, scores: PairScores) -> None:
    """Compute the shares of all triplets with their intervals."""
    counts = count_all(key, predictions)
    triplet_figures(counts, draw_shares(counts, np.random.default_rng(0)))
    draw_pair_shares(pair_outcomes(key, scores), np.random.default_rng(0))


def measure_figures(n: int, rounds: int) -> dict[str, Any]:
    """Time the measures, their intervals and the files of n triplets."""
    key, predictions, points, numbers = make_answers(n)
    seconds = {
        "measures_and_groups": median_seconds(lambda: measure_everything(key, predictions, numbers), rounds),
        "headline_intervals": median_seconds(lambda: draw_headlines(key, predictions, numbers), rounds),
        "figures_of_choices": median_seconds(lambda: nleye_figures(key, predictions), rounds),
        "figures_of_choices_and_points": median_seconds(
            lambda: nleye_figures(key, predictions, points), rounds
        ),
        "figures_of_choices_and_numbers": median_seconds(
            lambda: nleye_figures(key, predictions, numbers), rounds
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), key, predictions, numbers)

        def read() -> None:
            ids = read_triplet_key(paths[0]).ids
            read_triplet_predictions(paths[1], ids)
            read_pair_scores(paths[2], ids)

        seconds["reading_files"] = median_seconds(read, 1)
    return {"triplets": n, "presentations": 2, "draws": REPLICATES, "cpu_seconds": seconds}


def measure_audits(rounds: int) -> dict[str, Any]:
    """Time the three classifiers on 300 triplets without a shortcut."""
    rng = np.random.default_rng(2)
    key = make_balanced_key(TRIPLETS, rng)
    features = {
        "pixels": (make_pixel_figures(key, rng), None),
        "production": (make_production(key, rng), None),
        "image_vectors": (make_vectors(key, rng, size=VECTOR_SIZE), COMPONENTS),
    }
    seconds = {
        name: median_seconds(partial(audit_classifier, name, key, values, components=components), rounds)
        for name, (values, components) in features.items()
    }
    return {"triplets": TRIPLETS, "vector_size": VECTOR_SIZE, "cpu_seconds": seconds}


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="on one line")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_MANY} triplets, one round")
    options = parser.parse_args()
    rounds = 1 if options.quick else ROUNDS
    report = {
        "benchmark": "nleye",
        "machine": machine() | {"load": os.getloadavg()[0], "numpy": np.__version__},
        "goals": GOALS,
        "figures": measure_figures(QUICK_MANY if options.quick else MANY, rounds),
        "audits": measure_audits(rounds),
    }
    sys.stdout.write(json.dumps(report, indent=None if options.json else 2, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
