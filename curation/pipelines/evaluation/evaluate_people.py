"""Measure human performance on the tasks: agreement of two judges, and matching of inferences to regions.

Source: Hessel et al. 2022 §4.2 and §4.3, the rows "Human" of table 3.
"""

from typing import Any

import numpy as np

from curation.evaluation.answer_keys import COMPARISON, LOCALIZATION
from curation.evaluation.comparison import parse_comparison_key
from curation.evaluation.figures import comparison_figures_without_model
from curation.evaluation.intervals import Figure
from curation.families.sherlock.evaluation_plan import SplitEvaluationSets
from curation.records import InvalidInput
from hits.domain.states import AssignmentStatus
from hits.models import Unit
from validation.domain.reports.localization import Matching, score_matchings
from validation.selectors.localization import answer_keys, matching_spec
from validation.selectors.ratings import read_judgments

APPROVED_STATUSES = (AssignmentStatus.APPROVED,)
CHUNK_SIZE = 1000


def judgment_figures(sets: SplitEvaluationSets, *, rng: np.random.Generator) -> dict[str, Any]:
    """Return the figures of people on a split; those of a model are None.

    Raises:
        InvalidInput: nobody rated candidates or matched inferences there.
    """
    comparing, locating = rng.spawn(2)
    found: dict[str, Any] = {}
    if COMPARISON in sets.expected_counts:
        found[COMPARISON] = comparison_figures_without_model(
            parse_comparison_key(sets.raw_key(COMPARISON)), rng=comparing
        )
    matching_figures = _matching_figures(sets, locating)
    if matching_figures:
        found[LOCALIZATION] = matching_figures
    if not found:
        raise InvalidInput(
            "judgments: nobody rated candidates or matched inferences on this split; launch a round of either first"
        )
    return found


def _matching_figures(sets: SplitEvaluationSets, rng: np.random.Generator) -> dict[str, Any]:
    """Return how well people match an image's inferences to its regions; empty without such judgments."""
    project = sets.version.project
    images = {sets.photo_key_by_url[image.url] for image in sets.localization.images}
    spec = matching_spec()
    units = Unit.objects.filter(batch__project=project, batch__kind=spec.name, quality_check=None)
    # Filter in Python: a query with all images of a split would be too long.
    rows_of_units = units.values_list(f"payload__{spec.item_field}", "images").iterator(chunk_size=CHUNK_SIZE)
    item_ids = {str(key) for key, image in rows_of_units if image in images}
    known_truths = {key: truth for key, truth in answer_keys(project, spec).items() if key in item_ids}
    rows = read_judgments(project=project, kind=spec.name, statuses=list(APPROVED_STATUSES))
    answers = [Matching(row.item, row.rater, spec.truth_labels(row.answer)) for row in rows]
    result = score_matchings(answers, known_truths, chance=spec.chance, rng=rng)
    if not result.images:
        return {}
    no_figure = Figure().as_json()
    return {
        "gt_accuracy": Figure(result.accuracy, result.low, result.high).as_json(),
        "gt_images": result.images,
        "auto_accuracy": no_figure,
        "auto_images": 0,
        "auto_oracle_accuracy": no_figure,
    }
