"""People on image triplets: individual and majority accuracy, unanimity, agreement, and models beside them.

Source: Ventura et al. 2025 §5 (85 % is a majority of three), §3 (unanimity), table 11. Labels are hypotheses (h1, h2)
or "equal", never positions and never ids: alpha needs labels that all triplets share. A tie for the most votes is
wrong and counted. "equal" is a label like the others, and is never right.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.intervals import mean_figure, ratio_figure
from curation.evaluation.nleye_draws import PERCENT
from curation.evaluation.nleye_groups import Grouping, group_means
from hits.domain.answers.scene_facets import CATEGORIES
from validation.domain.agreement.coefficients import CoefficientName, coefficients
from validation.domain.agreement.krippendorff import Metric, krippendorff_alpha
from validation.domain.judging.ratings import RatingTable

H1, H2, EQUAL = "h1", "h2", "equal"
LABELS = (H1, H2, EQUAL)
UNANIMITY_ANSWERS = 3
SEED = 0


@dataclass(frozen=True, slots=True)
class PersonChoice:
    """What one person chose: h1, h2 or equal; and how certain they were, if they were asked."""

    label: str
    certainty: str = ""


@dataclass(frozen=True, slots=True)
class JudgedTriplet:
    """What people chose for a triplet. gold: 1 or 2."""

    id: str
    gold: int
    choices: tuple[PersonChoice, ...]
    category: str = ""

    @property
    def gold_label(self) -> str:
        """h1 or h2."""
        return LABELS[self.gold - 1]

    @property
    def majority(self) -> str | None:
        """The label with the most votes; None without votes, and if two labels have the most."""
        votes = Counter(choice.label for choice in self.choices).most_common(2)
        if not votes or (len(votes) > 1 and votes[0][1] == votes[1][1]):
            return None
        return votes[0][0]

    @property
    def is_against_gold(self) -> bool:
        """Whether gold has no majority: most people chose otherwise, or there is a tie."""
        return self.majority != self.gold_label

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each of ``LABELS`` was chosen."""
        votes = Counter(choice.label for choice in self.choices)
        return tuple(votes[label] for label in LABELS)


@dataclass(frozen=True, slots=True)
class PeopleMeasures:
    """Shares from 0 to 1, None if there is nothing to measure, and counts.

    judged: triplets with an answer. ties: of them without a majority. against_gold: where gold has no
    majority, ties included. unanimous, unanimous_right: of the ``three_answers`` triplets with exactly three answers.
    """

    judged: int
    answers: int
    individual_accuracy: float | None
    majority_accuracy: float | None
    ties: int
    against_gold: int
    three_answers: int
    unanimous: float | None
    unanimous_right: float | None
    alpha_nominal: float | None


@dataclass(frozen=True, slots=True)
class RatedTriplet:
    """Ratings of both hypotheses of a triplet; a row per person, (h1, h2), None where they did not rate one."""

    id: str
    gold: int
    ratings: tuple[tuple[float | None, float | None], ...]


@dataclass(frozen=True, slots=True)
class RatingMeasures:
    """How often ratings put gold above the other hypothesis; equal is wrong. Shares from 0 to 1.

    individual: each person's own order, over the ``answers`` people who rated both. of_means: the order of the mean
    ratings, over the ``triplets`` whose hypotheses were both rated. The paper leaves open which one gave its 83 %.
    """

    individual: float | None
    answers: int
    of_means: float | None
    triplets: int


@dataclass(frozen=True, slots=True)
class ModelAndPeople:
    """A model and people on the same triplets, as shares from 0 to 1 (Ventura et al. 2025, table 11 and D.2.2)."""

    triplets: int
    both_right: float | None
    model_only: float | None
    both_wrong: float | None
    people_only: float | None
    agreement: float | None
    model_right_when_people_wrong: float | None
    model_errors_shared_with_people: float | None


def measure_people(triplets: Iterable[JudgedTriplet]) -> PeopleMeasures:
    """Return the measures of people's choices; triplets without an answer are left out."""
    judged = _judged(triplets)
    right, groups = _right_answers(judged)
    majority, threes = _right_majorities(judged), _three_answers(judged)
    return PeopleMeasures(
        judged=len(judged),
        answers=len(groups),
        individual_accuracy=_share(right),
        majority_accuracy=_share(majority),
        ties=sum(triplet.majority is None for triplet in judged),
        against_gold=sum(triplet.is_against_gold for triplet in judged),
        three_answers=len(threes),
        unanimous=_share(_unanimous(threes)),
        unanimous_right=_share(_unanimous(threes) & _right_majorities(threes)),
        alpha_nominal=krippendorff_alpha(choice_table(label_counts(judged)), Metric.NOMINAL),
    )


def people_figures(
    triplets: Iterable[JudgedTriplet], *, rng: np.random.Generator | None = None
) -> dict[str, Any]:
    """Return the measures of people as plain JSON, with intervals over triplets.

    ``{"people": P, "certainty": {label: {"answers", "accuracy": F}}, "category": {"groups": {label: P},
    "macro": percent}}``. P has the names of ``PeopleMeasures``; shares are figures in percent, alpha is a figure in
    its own unit. The macro mean is that of majority accuracy.
    """
    rng = rng or np.random.default_rng(SEED)
    judged = _judged(triplets)
    grouping = Grouping.from_values("category", [triplet.category for triplet in judged], CATEGORIES)
    by_group = {
        label: _figures([judged[row] for row in rows.tolist()], rng)
        for label, rows in zip(grouping.labels, grouping.rows(), strict=True)
    }
    macro = group_means(_right_majorities(judged), grouping).macro
    return {
        "people": _figures(judged, rng),
        "certainty": _certainty_figures(judged, rng),
        "category": {"groups": by_group, "macro": None if macro is None else PERCENT * macro},
    }


def against_gold(triplets: Iterable[JudgedTriplet]) -> list[str]:
    """Return the ids of the judged triplets in which gold has no majority, sorted."""
    return [triplet.id for triplet in _judged(triplets) if triplet.is_against_gold]


def label_counts(triplets: Sequence[JudgedTriplet]) -> NDArray[np.int64]:
    """Return how often each of ``LABELS`` was chosen: (n, 3)."""
    return np.array([triplet.counts for triplet in triplets], dtype=np.int64).reshape(-1, len(LABELS))


def choice_table(counts: NDArray[np.integer]) -> RatingTable:
    """Return a rating table of label counts (n, 3), in which each item has raters of its own."""
    per_item = counts.sum(axis=1)
    items = np.repeat(np.arange(len(counts)), per_item)
    starts = np.repeat(np.cumsum(per_item) - per_item, per_item)
    return RatingTable(
        items=items,
        raters=np.arange(len(items)) - starts,
        labels=np.repeat(np.tile(np.arange(len(LABELS)), len(counts)), counts.ravel()),
        item_ids=tuple(range(len(counts))),
        rater_ids=tuple(range(int(per_item.max(initial=0)))),
        scale=LABELS,
        values=np.arange(len(LABELS), dtype=np.float64),
    )


def alpha_figure(counts: NDArray[np.integer], rng: np.random.Generator) -> dict[str, float | None]:
    """Return Krippendorff's nominal alpha of label counts (n, 3) as a JSON figure, drawn over triplets."""
    name = CoefficientName.ALPHA_NOMINAL
    found = coefficients(choice_table(counts), [name], rng=rng)[name]
    return {"value": found.value, "low": found.low, "high": found.high}


def measure_ratings(triplets: Iterable[RatedTriplet]) -> RatingMeasures:
    """Return how often ratings put gold above the other hypothesis."""
    own, means = _rating_orders(triplets)
    return RatingMeasures(_share(own[0]), len(own[0]), _share(means), len(means))


def rating_figures(
    triplets: Iterable[RatedTriplet], *, rng: np.random.Generator | None = None
) -> dict[str, Any]:
    """Return ``RatingMeasures`` as plain JSON: shares as figures in percent with intervals over triplets."""
    rng = rng or np.random.default_rng(SEED)
    (own, groups), means = _rating_orders(triplets)
    return {
        "individual": ratio_figure(PERCENT * own, groups, rng=rng).as_json(),
        "answers": len(own),
        "of_means": mean_figure(PERCENT * means, rng=rng).as_json(),
        "triplets": len(means),
    }


def compare_with_people(model: Sequence[bool], people: Sequence[bool]) -> ModelAndPeople:
    """Return how a model and people are right and wrong on the same triplets.

    Args:
        model, people: of each triplet that both judged, whether they are right; of people, the majority.
    """
    rows = Counter(zip(map(bool, model), map(bool, people), strict=True))
    n = sum(rows.values())
    both, only, neither = rows[True, True], rows[True, False], rows[False, False]
    people_only = rows[False, True]
    return ModelAndPeople(
        triplets=n,
        both_right=_ratio(both, n),
        model_only=_ratio(only, n),
        both_wrong=_ratio(neither, n),
        people_only=_ratio(people_only, n),
        agreement=_ratio(both + neither, n),
        model_right_when_people_wrong=_ratio(only, only + neither),
        model_errors_shared_with_people=_ratio(neither, neither + people_only),
    )


def people_comparison_figures(
    model_right: Mapping[str, bool], triplets: Iterable[JudgedTriplet]
) -> dict[str, Any]:
    """Return ``ModelAndPeople`` as plain JSON in percent, over the triplets that the model and people judged.

    Args:
        model_right: by id, whether the model is right, such as in both presentations.
    """
    shared = [triplet for triplet in _judged(triplets) if triplet.id in model_right]
    found = compare_with_people(
        [model_right[triplet.id] for triplet in shared], _right_majorities(shared).tolist()
    )
    shares = {name: value for name, value in asdict(found).items() if name != "triplets"}
    percents = {name: None if share is None else PERCENT * share for name, share in shares.items()}
    return {"triplets": found.triplets, **percents}


def _judged(triplets: Iterable[JudgedTriplet]) -> list[JudgedTriplet]:
    """Return the triplets with an answer, in the order of their ids."""
    return sorted((triplet for triplet in triplets if triplet.choices), key=lambda triplet: triplet.id)


def _right_answers(judged: Sequence[JudgedTriplet]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which answers are right, and the triplet of each: (answers,) both."""
    right = [choice.label == triplet.gold_label for triplet in judged for choice in triplet.choices]
    sizes = [len(triplet.choices) for triplet in judged]
    return np.array(right, dtype=np.bool_), np.repeat(np.arange(len(judged)), sizes)


def _right_majorities(judged: Sequence[JudgedTriplet]) -> NDArray[np.bool_]:
    return np.array([triplet.majority == triplet.gold_label for triplet in judged], dtype=np.bool_)


def _three_answers(judged: Sequence[JudgedTriplet]) -> list[JudgedTriplet]:
    return [triplet for triplet in judged if len(triplet.choices) == UNANIMITY_ANSWERS]


def _unanimous(judged: Sequence[JudgedTriplet]) -> NDArray[np.bool_]:
    return np.array([max(triplet.counts) == len(triplet.choices) for triplet in judged], dtype=np.bool_)


def _figures(judged: Sequence[JudgedTriplet], rng: np.random.Generator) -> dict[str, Any]:
    """Return ``PeopleMeasures`` as JSON, with intervals."""
    measures = measure_people(judged)
    right, groups = _right_answers(judged)
    threes = _three_answers(judged)
    unanimous, majority = _unanimous(threes), _right_majorities(judged)
    return {
        "judged": measures.judged,
        "answers": measures.answers,
        "individual_accuracy": ratio_figure(PERCENT * right, groups, rng=rng).as_json(),
        "majority_accuracy": mean_figure(PERCENT * majority, rng=rng).as_json(),
        "ties": measures.ties,
        "against_gold": measures.against_gold,
        "three_answers": measures.three_answers,
        "unanimous": mean_figure(PERCENT * unanimous, rng=rng).as_json(),
        "unanimous_right": mean_figure(PERCENT * (unanimous & _right_majorities(threes)), rng=rng).as_json(),
        "alpha_nominal": alpha_figure(label_counts(judged), rng),
    }


def _certainty_figures(judged: Sequence[JudgedTriplet], rng: np.random.Generator) -> Mapping[str, Any]:
    """Return individual accuracy by certainty; answers without one are left out."""
    right, groups = _right_answers(judged)
    given = np.array([choice.certainty for triplet in judged for choice in triplet.choices], dtype=np.str_)
    found: dict[str, Any] = {}
    for label in sorted(set(given.tolist()) - {""}):
        mask = given == label
        figure = ratio_figure(PERCENT * right[mask], groups[mask], rng=rng)
        found[label] = {"answers": int(mask.sum()), "accuracy": figure.as_json()}
    return found


def _rating_orders(
    triplets: Iterable[RatedTriplet],
) -> tuple[tuple[NDArray[np.bool_], NDArray[np.int64]], NDArray[np.bool_]]:
    """Return which own orders are right, the triplet of each, and which orders of means are right."""
    own, groups, means = [], [], []
    for row, triplet in enumerate(sorted(triplets, key=lambda triplet: triplet.id)):
        gold, other = triplet.gold - 1, 2 - triplet.gold
        for rating in triplet.ratings:
            first, second = rating[gold], rating[other]
            if first is not None and second is not None:
                own.append(first > second)
                groups.append(row)
        columns = [[r[side] for r in triplet.ratings if r[side] is not None] for side in (gold, other)]
        given = [[float(value) for value in column if value is not None] for column in columns]
        if all(given):
            # Means are compared without a division, so that equal ones are equal.
            means.append(sum(given[0]) * len(given[1]) > sum(given[1]) * len(given[0]))
    return (
        (np.array(own, dtype=np.bool_), np.array(groups, dtype=np.int64)),
        np.array(means, dtype=np.bool_),
    )


def _share(values: NDArray[np.bool_]) -> float | None:
    return _ratio(int(values.sum()), len(values))


def _ratio(count: int, total: int) -> float | None:
    return count / total if total else None
