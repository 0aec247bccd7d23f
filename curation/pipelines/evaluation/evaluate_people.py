"""How people do at the tasks: two judges of a candidate for one another, and matching inferences to regions.

Source: paper 000 §4.2 and §4.3, the rows "Human" of table 3.
"""

from typing import Any

import numpy as np

from curation.evaluation.comparison import parse_comparison_key
from curation.evaluation.figures import judges_figures
from curation.evaluation.held_keys import COMPARISON, LOCALIZATION
from curation.evaluation.intervals import Figure
from curation.families.sherlock.evaluation_plan import SplitSets
from curation.records import InvalidInput
from hits.domain.states import AssignmentStatus
from hits.models import Unit
from validation.domain.reports.localization import Matching, score
from validation.selectors.localization import matching, truths
from validation.selectors.ratings import judged

APPROVED = (AssignmentStatus.APPROVED,)
AT_ONCE = 1000


def people_figures(sets: SplitSets, *, rng: np.random.Generator) -> dict[str, Any]:
    """Return the figures of people on a split: the model's are None, as there is none.

    Raises:
        InvalidInput: nobody rated candidates or matched inferences there.
    """
    comparing, locating = rng.spawn(2)
    found: dict[str, Any] = {}
    if COMPARISON in sets.expected:
        found[COMPARISON] = judges_figures(parse_comparison_key(sets.raw(COMPARISON)), rng=comparing)
    matched = _matching(sets, locating)
    if matched:
        found[LOCALIZATION] = matched
    if not found:
        raise InvalidInput(
            "judgments: nobody rated candidates or matched inferences on this split; launch a round of either first"
        )
    return found


def _matching(sets: SplitSets, rng: np.random.Generator) -> dict[str, Any]:
    """Return how well people match the inferences about an image to its regions; nothing without such work."""
    project = sets.version.project
    images = {sets.image_of[image.url] for image in sets.localization.images}
    spec = matching()
    units = Unit.objects.filter(batch__project=project, batch__kind=spec.name, control=None)
    # Chosen here: a query that names every image of a split grows too long.
    rows_of_units = units.values_list(f"payload__{spec.item_field}", "images").iterator(chunk_size=AT_ONCE)
    wanted = {str(key) for key, image in rows_of_units if image in images}
    known = {key: truth for key, truth in truths(project, spec).items() if key in wanted}
    rows = judged(project=project, kind=spec.name, statuses=list(APPROVED))
    answers = [Matching.of(row.item, row.rater, spec.labels(row.answer)) for row in rows]
    result = score(answers, known, rng=rng)
    if not result.images:
        return {}
    nothing = Figure().as_json()
    return {
        "gt_accuracy": Figure(result.accuracy, result.low, result.high).as_json(),
        "gt_images": result.images,
        "auto_accuracy": nothing,
        "auto_images": 0,
        "auto_oracle_accuracy": nothing,
    }
