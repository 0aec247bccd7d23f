"""How often the measures of haste and long runs flag honest judges: the figures of docs/worker-status.md."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support import paths
from tests.support.simulated_workers import HABITS, Habit, simulate_review
from validation.domain.judging.answer_quality import compute_pace_limit, find_long_runs, mark_answers_in_runs
from validation.kinds.observation_review.judging import SPEC as REVIEW
from validation.kinds.observation_review.scales import SCALES, Dimension

DOCS = paths.DOCS / "worker-status.md"
SEEDS = 10  # crowds of 60 that judge 3,000 pairs, three each
MILDER = 0.3  # of the labels that are not the best: so many are raised by one step
FLOOR = 9.0  # a tenth of the review's usual 90 s
HASTY_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Found:
    """Of ``people``, ``any`` have a long run and ``many`` one over a fifth of their answers; ``share`` of answers."""

    people: int
    any: float
    many: float
    share: float


def milder(answer: Mapping[str, Any], rng: np.random.Generator) -> dict[str, str]:
    """Return the answer of somebody who in doubt takes the better word."""
    result = {}
    for dimension in Dimension:
        words = [word.value for word in SCALES[dimension]]
        at = words.index(answer[dimension.value])
        result[dimension.value] = words[max(0, at - int(rng.random() < MILDER))]
    return result


@pytest.fixture(scope="module")
def runs() -> dict[str, Found]:
    """Return by habit what is found; every fourth careful person of each crowd is milder than the others."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        rows, _ = simulate_review(seed=seed)
        answers: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            assert row.worker is not None
            mild = HABITS[row.worker] is Habit.CAREFUL and row.worker % 4 == 0
            answers[row.worker].append(milder(row.answer, rng) if mild else dict(row.answer))
        runs = find_long_runs(answers, REVIEW)
        for worker, given in answers.items():
            name = HABITS[worker].value
            mild = name == "careful" and worker % 4 == 0
            inside = sum(mark_answers_in_runs(runs.get(worker, ()), len(given)))
            found["mild" if mild else name].append((inside, len(given)))
    return {name: _summed(rows) for name, rows in found.items()}


def _summed(rows: list[tuple[int, int]]) -> Found:
    inside, of = np.array(rows).T
    shares = inside / of
    return Found(len(rows), float((inside > 0).mean()), float((shares > 0.2).mean()), float(shares.mean()))


def test_long_runs_rarely_flag_careful_workers(runs: dict[str, Found]) -> None:
    careful, mild, constant = runs["careful"], runs["mild"], runs["constant"]
    assert (careful.people, mild.people) == (300, 100)
    assert careful.any <= 0.04
    assert careful.many <= 0.01
    assert mild.many <= 0.05
    assert (constant.any, constant.share) == (1.0, 1.0)
    rows = {"careful": careful, "careful and more lenient than the others": mild, "always the same": constant}
    _documented(
        *(
            f"| {words} | {found.people} | {found.any:.1%} | {found.many:.1%} | {found.share:.2%} |"
            for words, found in rows.items()
        )
    )


def paced(
    within: float, between: float, hasty: int, seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which answers of honest and of hasty people are under the limit, (people, 150) each.

    Active seconds are log-normal about a minute: ``between`` people, ``within`` one person's answers.
    """
    rng = np.random.default_rng(seed)
    person = rng.normal(np.log(60), between, 60)
    seconds = np.exp(person[:, None] + rng.normal(0, within, (60, 150)))
    seconds[:hasty] = rng.lognormal(np.log(HASTY_SECONDS), 0.3, (hasty, 150))
    under = seconds < compute_pace_limit(seconds.ravel().tolist(), FLOOR)
    return under[hasty:], under[:hasty]


@pytest.mark.parametrize(("within", "between", "words"), [(0.5, 0.3, "even"), (0.6, 0.5, "uneven")])
def test_haste_rarely_flags_honest_workers(within: float, between: float, words: str) -> None:
    drawn = [paced(within, between, 6, seed) for seed in range(20)]
    honest = np.concatenate([one for one, _ in drawn])
    hasty = np.concatenate([other for _, other in drawn])
    share, people = float(honest.mean()), float((honest.mean(axis=1) > 0.1).mean())
    caught = float(hasty.mean())
    assert share <= 0.01
    assert people <= 0.02
    assert caught >= 0.85
    _documented(f"| {words} | {within:g} and {between:g} | {share:.2%} | {people:.1%} | {caught:.1%} |")


def _documented(*lines: str) -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert [line for line in lines if line not in text] == []
