"""Figures about judgments: ``python -m tests.benchmarks.judging --json``.

Agreement of the judgments of 121,000 pairs by three people each; Dawid and Skene's model of a million labels, ours
and crowd-kit's of the same table in the same process; and what weighting by reliability is worth with a simulated
crowd whose truth is known. Each part runs in a process of its own, so that its memory is its own. Where a figure has
``cpu`` beside ``seconds``, that is what the work took of one core, whatever else the machine did. ``--tables`` prints
the tables of docs/decisions.md and docs/performance.md from the same figures; ``--report`` measures the report page.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from hits.management.memory import peak_mib
from tests.benchmarks._judging_simulation import simulation_figures, simulation_tables
from tests.support.simulated_workers import SEED, majority
from validation.domain.agreement import dawid_skene
from validation.domain.judging.ratings import JudgmentRow, RatingTable
from validation.kinds.observation_review.judging import SPEC as REVIEW
from validation.kinds.observation_review.scales import SCALES

ITEMS = 121_000  # as many pairs as have 363,000 judgments by three people each
JUDGES = 3
RATERS = 500


def judged_rows() -> Iterator[JudgmentRow]:
    """Yield 363,000 judgments of pairs in three dimensions; people differ in how often they see it as most do."""
    rng = np.random.default_rng(SEED)
    first = rng.integers(RATERS, size=ITEMS)
    steps = np.array([0, *rng.choice(np.arange(1, RATERS), JUDGES - 1, replace=False)])
    skill = rng.uniform(0.5, 0.95, RATERS)
    names = [(str(dimension), [str(word) for word in words]) for dimension, words in SCALES.items()]
    truth = [np.minimum(rng.geometric(0.6, ITEMS) - 1, len(words) - 1) for _, words in names]
    raters = (first[:, None] + steps) % RATERS
    follows = rng.random((len(names), ITEMS, JUDGES)) < skill[raters]
    chance = rng.integers(12, size=(len(names), ITEMS, JUDGES))
    for item in range(ITEMS):
        for judge in range(JUDGES):
            answer = {
                name: words[
                    truth[at][item] if follows[at, item, judge] else chance[at, item, judge] % len(words)
                ]
                for at, (name, words) in enumerate(names)
            }
            yield JudgmentRow("observation_review", f"pair-{item}", f"w{raters[item, judge]}", answer)


def million() -> RatingTable:
    """Return a table of 1,000,000 labels: 250,000 items of 4 labels, 4 judges each of 1,000 people."""
    rng = np.random.default_rng(SEED)
    items, judges, people, labels = 250_000, 4, 1_000, 4
    truth = rng.choice(labels, items, p=[0.1, 0.2, 0.3, 0.4])
    steps = np.array([0, *rng.choice(np.arange(1, people), judges - 1, replace=False)])
    raters = ((rng.integers(people, size=items)[:, None] + steps) % people).ravel()
    at = np.repeat(np.arange(items), judges)
    skill = rng.uniform(0.3, 0.95, people)
    given = np.where(rng.random(at.size) < skill[raters], truth[at], rng.integers(labels, size=at.size))
    mixed = rng.permutation(at.size)
    return RatingTable(
        at[mixed],
        raters[mixed],
        given[mixed],
        tuple(range(items)),
        tuple(range(people)),
        tuple(range(labels)),
        np.arange(labels, dtype=np.float64),
    )


def agreement_figures() -> dict[str, Any]:
    """Measure every coefficient with its bootstrap interval, for one dimension and for all three."""
    from validation.domain.agreement.coefficients import coefficients
    from validation.domain.agreement.krippendorff import Metric, coincidence_matrix, hardest_items
    from validation.domain.judging.rating_tables import build_tables

    before = peak_mib()
    reading, found = _timed(lambda: build_tables(judged_rows(), REVIEW))
    read = peak_mib()

    def everything(table: RatingTable) -> float:
        values = coefficients(table, rng=np.random.default_rng(SEED))
        coincidence_matrix(table)
        hardest_items(table, Metric.ORDINAL, 20)
        alpha: float = values["alpha_ordinal"].value
        return alpha

    first, _ = _timed(lambda: everything(found["reasonable"]))
    three, alphas = _timed(lambda: {name: round(everything(table), 4) for name, table in found.items()})
    return {
        "judgments": ITEMS * JUDGES,
        "raters": RATERS,
        "replicates": 1000,
        "reading_into_three_tables": reading,
        "ratings_363000": first,
        "ratings_1089000_in_three_dimensions": three,
        "peak_mib": round(peak_mib()),
        "of_which_before_mib": round(before),
        "of_which_tables_mib": round(read - before),
        "alpha_ordinal": alphas,
    }


def dawid_skene_figures() -> dict[str, Any]:
    """Measure a million labels here and in crowd-kit: the same table, tolerance and process."""
    table = million()
    before = peak_mib()
    ours, found = _timed(lambda: dawid_skene.fit(table))
    longest, _ = _timed(lambda: dawid_skene.fit(table, tolerance=-np.inf))
    peak = peak_mib()
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    warnings.simplefilter("ignore")  # crowd-kit calls pandas as earlier versions of it liked to be called
    frame = pd.DataFrame({"task": table.items, "worker": table.raters, "label": table.labels})
    theirs, model = _timed(lambda: DawidSkene(n_iter=100, tol=1e-5).fit(frame))
    posteriors = model.probas_.sort_index()
    apart = np.abs(posteriors.to_numpy() - found.posteriors[:, list(posteriors.columns)]).max()
    return {
        "labels": table.size,
        "items": len(table.item_ids),
        "raters": len(table.rater_ids),
        "iterations": found.iterations,
        "fit": ours,
        "all_100_iterations": longest,
        "peak_mib": round(peak),
        "of_which_before_mib": round(before),
        "crowd_kit": {"iterations": len(model.loss_history_), "fit": theirs, "peak_mib": round(peak_mib())},
        "times_as_fast": round(theirs["cpu"] / ours["cpu"], 1),
        "posteriors_apart_at_most": float(f"{apart:.1e}"),
    }


def decision_figures() -> dict[str, Any]:
    """Measure deciding 121,000 items by 363,000 ratings with each method, the model's fit included."""
    from validation.domain.decision_rules import DecisionRule, Method, decide
    from validation.domain.judging.rating_tables import build_tables

    table = build_tables(judged_rows(), REVIEW)["reasonable"]
    words = majority().positive
    rules = {method.value: DecisionRule("reasonable", method, words, k=2, of=3) for method in Method}
    took = {name: _timed(lambda rule=rule: decide(table, rule))[0] for name, rule in rules.items()}
    return {"ratings": table.size, "methods": took}


def report_part() -> dict[str, Any]:
    """Measure the report page over 363,000 ratings, in an empty folder and database of its own."""
    import django

    django.setup()
    from django.core.management import call_command

    from tests.benchmarks._judging_report import report_figures

    call_command("collectstatic", interactive=False, verbosity=0)
    figures: dict[str, Any] = report_figures()
    return figures


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "agreement": agreement_figures,
    "dawid_skene": dawid_skene_figures,
    "decisions": decision_figures,
    "simulation": simulation_figures,
    "report": report_part,
}


def _timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    took = {"seconds": round(time.perf_counter() - wall, 2), "cpu": round(time.process_time() - cpu, 2)}
    return took, found


def _child(part: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "annotation_site.settings",
            "DEERSTALKER_VAR": folder,
            "DATABASE_URL": "",
            "LOG_LEVEL": "ERROR",
        }
        command = [sys.executable, "-m", "tests.benchmarks.judging", "--part", part]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def time_table(figures: dict[str, Any]) -> Iterable[str]:
    """Return the table of docs/performance.md, line by line."""
    agreement, model, peer = figures["agreement"], figures["dawid_skene"], figures["dawid_skene"]["crowd_kit"]
    three = agreement["ratings_1089000_in_three_dimensions"]
    yield "| | seconds | of one core | peak MiB | goal |"
    yield "|---|---|---|---|---|"
    yield _line(
        "agreement of 363,000 ratings", agreement["ratings_363000"], agreement["peak_mib"], "5 s, 500 MB"
    )
    yield _line("the same in three dimensions", three, agreement["peak_mib"])
    reading = agreement["reading_into_three_tables"]
    yield _line("converting 363,000 judgments into three rating tables", reading)
    yield _line(f"Dawid-Skene, {model['iterations']} iterations", model["fit"], model["peak_mib"], "10 s")
    yield _line("Dawid-Skene, all 100 iterations", model["all_100_iterations"], model["peak_mib"], "10 s")
    yield _line(f"crowd-kit, {peer['iterations']} iterations", peer["fit"], peer["peak_mib"])
    for method, took in figures["decisions"]["methods"].items():
        yield _line(f"121,000 decisions, `{method}`", took)


def _line(name: str, took: dict[str, float], peak: float | str = "", goal: str = "") -> str:
    return f"| {name} | {took['seconds']} | {took['cpu']} | {peak} | {goal} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument(
        "--tables", action="store_true", help="the tables of docs/decisions.md, performance.md"
    )
    parser.add_argument("--report", action="store_true", help="the report page over 363,000 ratings too")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        sys.stdout.write(json.dumps(PARTS[options.part](), allow_nan=False) + "\n")
        return
    from tests.benchmarks._machine import machine

    parts = [part for part in PARTS if part != "report" or options.report]
    figures = {"benchmark": "judging", "machine": machine(), **{part: _child(part) for part in parts}}
    if options.tables:
        lines = (*simulation_tables(figures["simulation"]), "")
        sys.stdout.write("\n".join((*lines, *time_table(figures))) + "\n")
        return
    sys.stdout.write(json.dumps(figures, allow_nan=False, indent=None if options.json else 2) + "\n")


if __name__ == "__main__":
    main()
