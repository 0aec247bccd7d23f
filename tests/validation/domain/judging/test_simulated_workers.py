"""What reliability and weighting are worth, with sixty people of whom we know who judges how, and what is true."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.benchmarks._judging_simulation import SIZES, simulation_figures, simulation_tables
from tests.support import paths
from tests.support.simulated_workers import (
    CROWD,
    HABITS,
    MIXES,
    Crowd,
    Habit,
    accuracy,
    expected_share,
    majority,
    misplaced,
    simulate,
    simulate_review,
    weighted,
)
from validation.domain.agreement import dawid_skene
from validation.domain.judging.rating_tables import build_tables
from validation.domain.reports.report import rank_workers, rater_figures
from validation.kinds.observation_review.judging import SPEC as REVIEW
from validation.kinds.observation_review.scales import Dimension

DOCS = paths.DOCS / "decisions.md"
HARD = "nine in ten alike"  # one label is nearly always right: a test of its own below


def reliability(crowd: Crowd) -> np.ndarray:
    fitted = dawid_skene.fit(crowd.table, smoothing=dawid_skene.SMOOTHING)
    return dawid_skene.rater_reliabilities(fitted, crowd.table)


def test_simulated_crowd_has_its_parameters() -> None:
    crowd = simulate(MIXES["a third unreasonable"], items=6_000)
    table = crowd.table
    assert sum(CROWD.values()) == len(crowd.habits) == 60
    judges = table.raters.reshape(-1, 3)
    assert (np.diff(np.sort(judges, axis=1), axis=1) > 0).all(), "somebody judged a pair twice"
    each = np.bincount(table.raters)
    assert each.max() > 4 * each.min() > 0
    right = table.labels == crowd.truth[table.items]
    swapped = 2 - table.labels == crowd.truth[table.items]
    for rater, habit in enumerate(crowd.habits):
        mine = table.raters == rater
        share = right[mine].mean()
        match habit:
            case Habit.CAREFUL:
                assert share > 0.72
            case Habit.CARELESS:
                assert 0.33 < share < 0.7
            case Habit.CONSTANT:
                assert len(set(table.labels[mine])) == 1
            case Habit.RANDOM:
                assert np.bincount(table.labels[mine], minlength=3).min() > 0.2 * mine.sum()
            case Habit.SWAPPED:
                assert swapped[mine].mean() > 0.72


def test_the_same_seed_makes_the_same_crowd() -> None:
    mix = MIXES["as published"]
    assert np.array_equal(simulate(mix).table.labels, simulate(mix).table.labels)
    assert not np.array_equal(simulate(mix).table.labels, simulate(mix, seed=1).table.labels)


@pytest.mark.parametrize("mix", [name for name in MIXES if name != HARD])
def test_careful_workers_rank_above_careless_spamming_and_swapping_ones(mix: str) -> None:
    """Twenty bad ones at ranks 41 to 60, by the labels alone; 3,000 pairs, three judges each."""
    crowd = simulate(MIXES[mix])
    values = reliability(crowd)
    order = np.argsort(-values)
    assert {crowd.habits[rater] for rater in order[:40]} == {Habit.CAREFUL}
    assert {crowd.habits[rater] for rater in order[40:]} == set(Habit) - {Habit.CAREFUL}
    assert misplaced(crowd, values) == 0


@pytest.mark.parametrize("items", [1_000, 3_000])
def test_the_report_ranks_the_bad_ones_last(items: int) -> None:
    """Over all three dimensions of pairs like the published ones, as the report computes it from plain judgments."""
    rows, _ = simulate_review(items=items)
    figures = rater_figures(rows, build_tables(rows, REVIEW), REVIEW, target=1500)
    order = rank_workers({int(rater.removeprefix("w")): row for rater, row in figures.items()})
    assert len(order) == 60
    assert {HABITS[worker] for worker in order[:40]} == {Habit.CAREFUL}
    assert {HABITS[worker] for worker in order[40:]} == set(Habit) - {Habit.CAREFUL}


@pytest.mark.parametrize("dimension", Dimension)
def test_weighting_beats_the_majority_in_every_dimension(dimension: Dimension) -> None:
    _, crowds = simulate_review()
    crowd = crowds[dimension]
    plain, heard = accuracy(crowd, majority(dimension)), accuracy(crowd, weighted(0.5, dimension))
    assert plain.decided == heard.decided == 1
    assert heard.right > plain.right


def test_constant_rater_does_not_rank_as_careful() -> None:
    """With nine in ten alike a share of right labels is no measure: hence reliability is beyond chance."""
    crowd = simulate(MIXES[HARD], items=17_000)
    values = reliability(crowd)
    assert misplaced(crowd, values) == 0
    fitted = dawid_skene.fit(crowd.table, smoothing=dawid_skene.SMOOTHING)
    shares = expected_share(fitted, crowd.table)
    constant, careful = crowd.raters(Habit.CONSTANT), crowd.raters(Habit.CAREFUL)
    assert shares[constant].min() > np.median(shares[careful])
    assert values[constant].max() < 0.1 < values[careful].min()


@pytest.mark.parametrize("mix", MIXES)
def test_weighting_beats_the_majority(mix: str) -> None:
    """Both decide every pair, so that what is right can be compared; unsure ones left open, more of it is right."""
    crowd = simulate(MIXES[mix])
    plain, heard = accuracy(crowd, majority()), accuracy(crowd, weighted(0.5))
    assert plain.decided == heard.decided == 1
    assert heard.right >= plain.right + 0.01
    sure = accuracy(crowd, weighted(0.9))
    assert sure.right > heard.right
    assert 0.85 < sure.decided < 1


@pytest.mark.long
def test_tables_in_docs_match_the_simulation() -> None:
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    missing = [line for line in simulation_tables(simulation_figures()) if line and line not in lines]
    assert not missing, "python -m tests.benchmarks.judging --tables"


@pytest.mark.parametrize("mix", MIXES)
def test_docs_match_the_test_session(mix: str) -> None:
    crowd = simulate(MIXES[mix], items=SIZES[0])
    shares = (accuracy(crowd, majority()).right, accuracy(crowd, weighted(0.5)).right)
    row = f"| {SIZES[0]:,} | {mix} | " + " | ".join(f"{100 * round(share, 4):.1f} %" for share in shares)
    assert row in DOCS.read_text(encoding="utf-8")


def test_benchmark_of_judging_starts_without_settings() -> None:
    environment = {name: text for name, text in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-m", "tests.benchmarks.judging", "--help"]
    done = subprocess.run(
        command, cwd=paths.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
