"""The page about live hints shows the measured figures, and the thresholds are the proposed ones."""

import math
import os
from pathlib import Path

import pytest

from hits.hints.card import HintRule
from hits.hints.find_hints import MIN_COSINES
from hits.hints.rules import SMALL_SHARE
from tests.benchmarks import hints
from tests.support.paths import ROOT


@pytest.mark.photos
def test_documented_figures_equal_the_measured_ones() -> None:
    folder = os.environ.get("DEERSTALKER_DATA", "")
    if not folder:
        pytest.skip("DEERSTALKER_DATA is not set: THE FIGURES OF LIVE HINTS ARE NOT CHECKED")
    figures = hints.measure(Path(folder))
    documented = (ROOT / "docs" / "hints.md").read_text(encoding="utf-8")
    missing = [line for line in hints.table(figures) if line not in documented]
    assert not missing, "run `python -m tests.benchmarks.hints --table` and take over its table"
    for rule in (HintRule.REPEATS_CLUE, HintRule.REPEATS_OTHER):
        assert figures[rule]["lowest_in_tuning_without_false_alarm"] == MIN_COSINES[rule]
    first_percentile = figures["boxes"]["first_percentile_in_tuning"]
    assert math.floor(first_percentile * 1e5) / 1e5 == SMALL_SHARE
    assert figures["contradicts"]["precision"]["interval"] is None, (
        "there is a precision now: see whether to switch it on"
    )


@pytest.mark.parametrize(
    ("hits", "n", "expected"),
    [(0, 10, (0.0, 0.278)), (10, 10, (0.722, 1.0)), (8, 10, (0.490, 0.943)), (50, 100, (0.404, 0.596))],
)
def test_wilson_interval(hits: int, n: int, expected: tuple[float, float]) -> None:
    assert tuple(hints.interval(hits, n) or ()) == pytest.approx(expected, abs=0.001)
    assert hints.interval(0, 0) is None
