"""Arrange the scores of a split's tasks as a submission's files, in the order of their test ids."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.answer_keys import COMPARISON, LOCALIZATION, RETRIEVAL, sort_file_names
from curation.evaluation.inputs import sorted_order
from curation.evaluation.sets import (
    LocalizationImage,
    matching_requests,
    proposed_box_requests,
    retrieval_test_ids,
)
from curation.families.sherlock.evaluation_plan import SplitEvaluationSets
from curation.records import ObservationRecord

Matrix = NDArray[np.float64]


class PairScoreSource(Protocol):
    """Scores regions (rows) with texts (columns); a greater score is more plausible."""

    def score_chunk(self, pairs: Sequence[ObservationRecord]) -> Matrix:
        """Return (n, n) scores of the regions of n pairs with their inferences."""
        ...

    def score_image(self, image: LocalizationImage) -> tuple[Matrix, Matrix]:
        """Return two matrices: (n, n) scores of the regions of an image's n matched pairs with their inferences.

        And (k, m) scores of its k proposed boxes with the inferences of all its m pairs.
        """
        ...

    def score_rated(self, rows: Sequence[Mapping[str, Any]]) -> Matrix | None:
        """Return the scores of all candidates of rated sets, set by set, (m,); ``None`` if it cannot score them."""
        ...


def submission_scores(sets: SplitEvaluationSets, pair_scores: PairScoreSource) -> dict[str, Matrix]:
    """Return the scores of each file of a submission in the order of its sorted test ids."""
    found: dict[str, Matrix] = {}
    for name in sort_file_names(sets.expected_counts):
        if name == COMPARISON:
            ids, scores = _score_comparison_sets(sets, pair_scores)
        elif name == LOCALIZATION:
            ids, scores = _score_localization_images(sets, pair_scores)
        else:
            chunk = sets.chunks[int(name.removeprefix(f"{RETRIEVAL}_"))]
            ids = retrieval_test_ids(chunk, sets.test_id_maker)
            scores = pair_scores.score_chunk(chunk).ravel()
        if scores is not None:
            found[name] = scores[sorted_order(ids)]
    return found


def _score_comparison_sets(
    sets: SplitEvaluationSets, pair_scores: PairScoreSource
) -> tuple[list[str], Matrix | None]:
    rows = list(sets.rated_rows())
    return [item["test_id"] for row in rows for item in row["candidates"]], pair_scores.score_rated(rows)


def _score_localization_images(
    sets: SplitEvaluationSets, pair_scores: PairScoreSource
) -> tuple[list[str], Matrix]:
    ids: list[str] = []
    blocks: list[Matrix] = []
    for image in sets.localization.images:
        requests_and_scores = zip(
            (matching_requests(image, sets.test_id_maker), proposed_box_requests(image, sets.test_id_maker)),
            pair_scores.score_image(image),
            strict=True,
        )
        for requests, similarity in requests_and_scores:
            ids += [request.test_id for request in requests]
            blocks.append(
                similarity[
                    np.array([request.region_index for request in requests], dtype=np.intp),
                    np.array([request.text_index for request in requests], dtype=np.intp),
                ]
            )
    return ids, np.concatenate(blocks)
