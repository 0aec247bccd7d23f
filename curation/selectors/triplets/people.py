"""Read what people chose about the triplets of a version, and how a model stands beside their majority."""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.evaluation.nleye import PAIRS
from curation.evaluation.nleye_pairs import pair_outcomes
from curation.evaluation.nleye_people import JudgedTriplet, PersonChoice, people_comparison_figures
from curation.evaluation.nleye_triplets import triplet_outcomes
from curation.models import TripletEvaluation
from curation.selectors.triplets.answers import PersonAnswer, people_answers
from curation.selectors.triplets.evaluations import (
    EvaluatedTriplet,
    read_choices,
    read_scores,
    triplet_key,
)


def judged_triplets(
    triplets: Sequence[EvaluatedTriplet], answers: Mapping[str, Sequence[PersonAnswer]]
) -> list[JudgedTriplet]:
    """Return what people chose for each triplet."""
    return [
        JudgedTriplet(
            row.id,
            row.row["gold"],
            tuple(
                PersonChoice(answer.choice, answer.certainty)
                for answer in answers.get(row.id, ())
                if answer.choice
            ),
            row.row["reasoning_category"],
        )
        for row in triplets
    ]


def compare_evaluation_with_people(
    evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]
) -> dict[str, Any]:
    """Return how a model stands beside the majority of people, as ``people_comparison_figures`` does.

    A model is right if it chooses gold in both presentations, or, with scores, if gold has the higher one.
    """
    key = triplet_key(triplets)
    if evaluation.setup == PAIRS:
        right = pair_outcomes(key, read_scores(evaluation, key.ids)).right
    else:
        right = triplet_outcomes(key, read_choices(evaluation, key.ids)).right
    judged = judged_triplets(triplets, people_answers(evaluation.project))
    return people_comparison_figures(dict(zip(key.ids, right.tolist(), strict=True)), judged)
