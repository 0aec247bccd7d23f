"""Read what came out for each triplet of an evaluation, its images, and the calls that it paid for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce

from curation.evaluation.nleye import PAIRS
from curation.evaluation.nleye_key import PRESENTATIONS, ChoiceCode
from curation.evaluation.nleye_pairs import pair_outcomes
from curation.evaluation.nleye_triplets import triplet_outcomes
from curation.models import (
    CallState,
    ExplanationGrade,
    ImageTriplet,
    ModelCall,
    ModelRun,
    TripletEvaluation,
    TripletExplanation,
    TripletPrediction,
)
from curation.selectors.triplets.evaluations import (
    EvaluatedTriplet,
    read_choices,
    read_scores,
    triplet_key,
)
from curation.selectors.triplets.model_calls import with_shown_state
from hits.models import Image, Project

VERSION_ROLES = ("premise", "hypothesis1", "hypothesis2")
"""The images of a triplet in a version's row."""


class Outcome(StrEnum):
    """What came out for a triplet, the worst first. Choices are wrong, flip or are right; scores never flip."""

    WRONG = "wrong"
    FLIPPED = "flipped"
    """Right in one order alone."""

    EQUAL = "equal"
    """Both scores are equal, or one is missing."""

    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class TripletResult:
    """A triplet with what came out. ``answers`` has a text for each presentation or hypothesis, as ``read``."""

    triplet: EvaluatedTriplet
    outcome: Outcome
    answers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CallCounts:
    """How many calls a run has by state, and what they cost in micro-dollars; ``reserved`` of calls in flight."""

    by_state: Mapping[str, int]
    cost_micro: int
    reserved_micro: int

    @property
    def lost(self) -> int:
        """Calls that may have been paid, and whose reply never came."""
        return self.by_state.get(CallState.LOST.value, 0)


def triplet_results(
    evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]
) -> list[TripletResult]:
    """Return the result of each triplet: wrong ones first, then those that flip, then right ones."""
    make = _score_results if evaluation.setup == PAIRS else _choice_results
    ranks = {outcome: rank for rank, outcome in enumerate(Outcome)}
    return sorted(make(evaluation, triplets), key=lambda row: (ranks[row.outcome], row.triplet.number))


def _choice_results(
    evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]
) -> list[TripletResult]:
    key = triplet_key(triplets)
    predictions = read_choices(evaluation, key.ids)
    found = triplet_outcomes(key, predictions)
    right = found.gold_first.astype(np.int64) + found.gold_second
    outcomes = (Outcome.WRONG, Outcome.FLIPPED, Outcome.RIGHT)
    return [
        TripletResult(
            triplet,
            outcomes[count],
            {name: ChoiceCode(code).name.lower() for name, code in zip(PRESENTATIONS, codes, strict=True)},
        )
        for triplet, count, codes in zip(triplets, right.tolist(), predictions.codes.tolist(), strict=True)
    ]


def _score_results(
    evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]
) -> list[TripletResult]:
    key = triplet_key(triplets)
    scores = read_scores(evaluation, key.ids)
    right = pair_outcomes(key, scores).right
    results = []
    for triplet, values, is_right in zip(triplets, scores.values.tolist(), right.tolist(), strict=True):
        differs = values[0] < values[1] or values[0] > values[1]
        outcome = Outcome.RIGHT if is_right else Outcome.WRONG if differs else Outcome.EQUAL
        texts = [ChoiceCode.MISSING.reason if np.isnan(value) else f"{value:g}" for value in values]
        results.append(TripletResult(triplet, outcome, {"h1": texts[0], "h2": texts[1]}))
    return results


def images_by_hash(project: Project, hashes: Collection[str]) -> dict[str, Image]:
    """Return the newest image of each hash, also those that were taken down; one query."""
    rows = Image.objects.filter(project=project, sha256__in=set(hashes)).order_by("pk")
    return {image.sha256: image for image in rows}


def triplet_keys(project: Project, ids: Collection[str]) -> dict[str, int]:
    """Return the keys of a project's triplets by their public ids; one query."""
    rows = ImageTriplet.objects.filter(project=project, public_id__in=list(ids))
    return dict(rows.values_list("public_id", "pk"))


def triplet_predictions(evaluation: TripletEvaluation, triplet_id: str) -> "QuerySet[TripletPrediction]":
    """Return the answers about one triplet with their calls and corrections."""
    rows = TripletPrediction.objects.filter(evaluation=evaluation, instance_id=triplet_id)
    return rows.select_related("call").prefetch_related("corrections__by").order_by("pk")


def explanations_of(predictions: Collection[int]) -> dict[int, TripletExplanation]:
    """Return the explanations that were stored for judging, by the key of their prediction."""
    rows = TripletExplanation.objects.filter(prediction__in=list(predictions))
    return {row.prediction_id: row for row in rows if row.prediction_id is not None}


def grades_of(explanations: Collection[int]) -> "QuerySet[ExplanationGrade]":
    """Return the grades of explanations, with the judge that gave them."""
    rows = ExplanationGrade.objects.filter(explanation__in=list(explanations))
    return rows.select_related("evaluation").order_by("evaluation", "repeat", "pk")


def call_counts(run: ModelRun) -> CallCounts:
    """Return the number and the cost of a run's calls."""
    rows = with_shown_state(ModelCall.objects.filter(run=run)).order_by()
    counted = rows.values("shown_state").annotate(
        count=Count("pk"), cost=Sum(Coalesce("cost_micro", "reserved_micro"))
    )
    by_state = {row["shown_state"]: row for row in counted}
    sent = by_state.pop(CallState.SENT.value, None)
    counts = {state: row["count"] for state, row in by_state.items()}
    return CallCounts(
        counts | ({CallState.SENT.value: sent["count"]} if sent else {}),
        sum(row["cost"] for row in by_state.values()),
        sent["cost"] if sent else 0,
    )
