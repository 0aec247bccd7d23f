"""Explanations of image triplets: people's votes, and a judge that compares them with references.

Source: Ventura et al. 2025 §4.2 and A.3, tables 9 and 10. People tick the explanations that connect premise and gold;
one with a vote is valid. Only explanations of right predictions are judged, one for each triplet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, median_low
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.intervals import Figure, mean_figure
from curation.evaluation.nleye_draws import PERCENT
from curation.evaluation.nleye_key import AS_LISTED, SWAPPED, TripletKey, TripletPredictions
from curation.evaluation.nleye_triplets import triplet_outcomes
from validation.domain.agreement.cohen import grader_agreement

GRADES = (0, 1, 2)
"""Of a judge: not logical; logical, but another reason; the reason of a reference."""
VALID_GRADE = 2
TABLE_VOTERS = 3
MIN_REPEATS = 2  # of a judge, so that grades can differ
SEED = 0


@dataclass(frozen=True, slots=True)
class JudgedExplanation:
    """An explanation's votes, of the people who judged it. source: a model, or people."""

    source: str
    votes: int
    voters: int


@dataclass(frozen=True, slots=True)
class ExplanationMeasures:
    """How valid the explanations of a source are: shares of the judged ones from 0 to 1, None without any.

    at_least_1: with a vote, as in the paper. at_least_half: with votes of strictly more than half. votes_of_3: shares
    by number of votes, of the explanations with exactly three voters.
    """

    explanations: int
    judged: int
    at_least_1: float | None
    at_least_half: float | None
    all: float | None
    votes_of_3: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class GradedExplanation:
    """A judge's grades of an explanation, one for each repeat, None where it could not be read.

    votes: of people, None if they did not judge it. words: its length. bertscore: its similarity to the nearest
    reference, rescaled, 1 for the same text; None if it was not measured.
    """

    grades: tuple[int | None, ...]
    votes: int | None = None
    words: int = 0
    bertscore: float | None = None

    @property
    def grade(self) -> int | None:
        """The grade in the middle of the repeats, the lower one of two; None without any."""
        known = [grade for grade in self.grades if grade is not None]
        return median_low(known) if known else None

    @property
    def is_valid(self) -> bool:
        """Whether the grade says that it gives the reason of a reference; a missing grade does not."""
        return self.grade == VALID_GRADE

    @property
    def flips(self) -> bool:
        """Whether the repeats differ in whether it is valid."""
        return len({grade == VALID_GRADE for grade in self.grades if grade is not None}) > 1


@dataclass(frozen=True, slots=True)
class JudgeMeasures:
    """A judge's score, and its agreement with people over the ``compared`` explanations that both judged.

    auto_score: share of valid ones of all. missing: without a grade, not valid. flips: of the ``repeated`` ones with
    two grades or more, those whose validity differs between repeats.
    """

    explanations: int
    auto_score: float | None
    missing: int
    compared: int
    agreement: float | None
    cohen_kappa: float | None
    judge_valid_people_not: int
    people_valid_judge_not: int
    repeated: int
    flips: int


def explanation_candidates(key: TripletKey, predictions: TripletPredictions) -> list[tuple[str, str]]:
    """Return whose explanation of each triplet is judged, as (id, presentation), in the order of the key.

    A triplet that is right as listed has that explanation; else the swapped one, if that is right; else none. Their
    number is that of the triplets that are right in any order (Ventura et al. 2025, table 10).
    """
    outcomes = triplet_outcomes(key, predictions)
    found = []
    for name, listed, swapped in zip(
        key.ids, outcomes.right_listed.tolist(), outcomes.right_swapped.tolist(), strict=True
    ):
        if listed or swapped:
            found.append((name, AS_LISTED if listed else SWAPPED))
    return found


def measure_explanations(
    explanations: Iterable[JudgedExplanation], sources: Sequence[str] = ()
) -> dict[str, ExplanationMeasures]:
    """Return the measures of each source: the given ones first, then the others, sorted."""
    return {source: _measure(rows) for source, rows in _by_source(explanations, sources).items()}


def explanation_figures(
    explanations: Iterable[JudgedExplanation],
    sources: Sequence[str] = (),
    *,
    rng: np.random.Generator | None = None,
) -> dict[str, Any]:
    """Return ``{source: E}`` as plain JSON: ``ExplanationMeasures`` in percent, shares with intervals."""
    rng = rng or np.random.default_rng(SEED)
    figures: dict[str, Any] = {}
    for source, rows in _by_source(explanations, sources).items():
        judged = [row for row in rows if row.voters]
        table = _measure(rows).votes_of_3
        figures[source] = {
            "explanations": len(rows),
            "judged": len(judged),
            **{
                name: mean_figure(PERCENT * values, rng=rng).as_json()
                for name, values in _validity(judged).items()
            },
            "votes_of_3": {name: None if v is None else PERCENT * v for name, v in table.items()},
        }
    return figures


def measure_judge(graded: Sequence[GradedExplanation]) -> JudgeMeasures:
    """Return a judge's score and its agreement with people."""
    compared = [
        (row.is_valid, row.votes > 0) for row in graded if row.votes is not None and row.grade is not None
    ]
    agreement = grader_agreement(compared)
    repeated = [row for row in graded if sum(grade is not None for grade in row.grades) >= MIN_REPEATS]
    return JudgeMeasures(
        explanations=len(graded),
        auto_score=sum(row.is_valid for row in graded) / len(graded) if graded else None,
        missing=sum(row.grade is None for row in graded),
        compared=len(compared),
        agreement=agreement.same / agreement.total if agreement.total else None,
        cohen_kappa=agreement.kappa,
        judge_valid_people_not=compared.count((True, False)),
        people_valid_judge_not=compared.count((False, True)),
        repeated=len(repeated),
        flips=sum(row.flips for row in repeated),
    )


def judge_figures(
    graded: Sequence[GradedExplanation],
    checks: Mapping[str, Sequence[GradedExplanation]] | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> dict[str, Any]:
    """Return ``JudgeMeasures`` as plain JSON in percent, and the judge's scores on checks.

    ``checks``: by name, ``{"score": F, "explanations", "missing"}``; "short" and "long" are the candidates below and
    above the median length, whose scores show a bias for length. kappa has its own unit. Beside each score stands the
    mean BERTScore in percent, if it was measured: a second, weak measure.

    Args:
        checks: further explanations by name, such as gold ones of other triplets (their score must be about 0), and
            people's own, each graded against the other references.
    """
    rng = rng or np.random.default_rng(SEED)
    measures = measure_judge(graded)
    named = {**split_by_length(graded), **(checks or {})}
    return {
        **asdict(measures),
        **_similarity(graded, rng),
        "auto_score": _score_figure(graded, rng).as_json(),
        "agreement": None if measures.agreement is None else PERCENT * measures.agreement,
        "checks": {
            name: {
                "score": _score_figure(rows, rng).as_json(),
                "explanations": len(rows),
                "missing": sum(row.grade is None for row in rows),
                **_similarity(rows, rng),
            }
            for name, rows in named.items()
        },
    }


def split_by_length(graded: Sequence[GradedExplanation]) -> dict[str, list[GradedExplanation]]:
    """Return the explanations of at most the median number of words, and the longer ones."""
    middle = median(row.words for row in graded) if graded else 0
    return {
        "short": [row for row in graded if row.words <= middle],
        "long": [row for row in graded if row.words > middle],
    }


def _by_source(
    explanations: Iterable[JudgedExplanation], sources: Sequence[str]
) -> dict[str, list[JudgedExplanation]]:
    rows = list(explanations)
    names = (*sources, *sorted({row.source for row in rows} - set(sources)))
    found: dict[str, list[JudgedExplanation]] = {name: [] for name in names}
    for row in rows:
        found[row.source].append(row)
    return found


def _validity(judged: Sequence[JudgedExplanation]) -> dict[str, NDArray[np.bool_]]:
    """Return which explanations are valid by each reading of their votes: (n,) each."""
    votes = np.array([row.votes for row in judged], dtype=np.int64)
    voters = np.array([row.voters for row in judged], dtype=np.int64)
    return {"at_least_1": votes >= 1, "at_least_half": 2 * votes > voters, "all": votes == voters}


def _measure(rows: Sequence[JudgedExplanation]) -> ExplanationMeasures:
    judged = [row for row in rows if row.voters]
    shares = {
        name: int(values.sum()) / len(values) if len(values) else None
        for name, values in _validity(judged).items()
    }
    votes = [row.votes for row in judged if row.voters == TABLE_VOTERS]
    table = {
        str(count): votes.count(count) / len(votes) if votes else None for count in range(TABLE_VOTERS + 1)
    }
    return ExplanationMeasures(len(rows), len(judged), votes_of_3=table, **shares)


def _score_figure(graded: Sequence[GradedExplanation], rng: np.random.Generator) -> Figure:
    return mean_figure(PERCENT * np.array([row.is_valid for row in graded], dtype=np.float64), rng=rng)


def _similarity(graded: Sequence[GradedExplanation], rng: np.random.Generator) -> dict[str, Any]:
    """Return ``{"bertscore": F}`` over the explanations of which it was measured; empty if there are none."""
    measured = [row.bertscore for row in graded if row.bertscore is not None]
    return {"bertscore": mean_figure(PERCENT * np.array(measured), rng=rng).as_json()} if measured else {}
