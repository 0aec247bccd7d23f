"""An evaluation's scores in the format of error analyses and audits."""

from curation.models import Evaluation
from curation.selectors.evaluations import read_comparison_scores
from hits.services.errors import Refused
from validation.domain.reports.leaderboard import make_test_id


def comparison_scores(evaluation: Evaluation) -> dict[str, float]:
    """Return the scores of the comparison task by ``validation.domain.reports.leaderboard.make_test_id``.

    Raises:
        Refused: it has no such scores.
    """
    scores = read_comparison_scores(evaluation)
    if not scores:
        raise Refused(
            f"evaluation {evaluation.pk}: has no scores of the comparison task; evaluate a scorer on a version with "
            "rated sets"
        )
    return {make_test_id(instance, candidate): score for (instance, candidate), score in scores.items()}
