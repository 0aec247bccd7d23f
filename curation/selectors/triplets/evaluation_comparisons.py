"""Compare two evaluations of the same triplets."""

from collections.abc import Sequence
from typing import Any

from curation.evaluation.nleye import PAIRS, compare_models
from curation.evaluation.nleye_key import PairScores, TripletPredictions
from curation.models import TripletEvaluation
from curation.selectors.triplets.evaluations import (
    EvaluatedTriplet,
    read_choices,
    read_scores,
    triplet_key,
)


def compare_evaluations(
    first: TripletEvaluation, second: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]
) -> dict[str, Any]:
    """Return how two evaluations of one setup differ on the same triplets, as ``compare_models`` does."""
    key = triplet_key(triplets)

    def read(row: TripletEvaluation) -> tuple[TripletPredictions | None, PairScores | None]:
        if row.setup == PAIRS:
            return None, read_scores(row, key.ids)
        return read_choices(row, key.ids), None

    return compare_models(key, read(first), read(second))
