"""What audits of triplets read besides the triplets: models' answers without the premise, and workers' countries."""

from collections.abc import Mapping

from curation.models import TripletAudit, TripletEvaluation, TripletPrediction, TripletSource
from hits.models import Declaration, Project

HYPOTHESES_ONLY = "hypotheses-only"
_POSITIONS: Mapping[tuple[str, str], str] = {
    ("as_listed", "first"): "h1",
    ("as_listed", "second"): "h2",
    ("swapped", "first"): "h2",
    ("swapped", "second"): "h1",
}


def model_answers_without_premise(project: Project) -> dict[str, list[tuple[str, str]]]:
    """Return what each model chose without seeing the premise, as (triplet, hypothesis), of its newest evaluation."""
    rows = TripletEvaluation.objects.filter(
        project=project, source=TripletSource.MODEL, setup="triplet", strategy=HYPOTHESES_ONLY
    ).exclude(figures={})
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows.order_by("pk"):
        answers = TripletPrediction.objects.filter(evaluation=row).order_by("pk")
        found[row.label] = [
            (key, _POSITIONS.get((presentation, choice), ""))
            for key, presentation, choice in answers.values_list("instance_id", "presentation", "choice")
        ]
    return found


def declared_countries(project: Project) -> dict[int, str]:
    """Return the country that each worker declared last in the project, by the worker's key."""
    rows = Declaration.objects.filter(project=project).order_by("pk")
    return dict(rows.values_list("worker_id", "country"))


def newest_audit(project: Project) -> TripletAudit | None:
    """Return the newest finished audit of a project's triplets."""
    return TripletAudit.objects.filter(project=project).exclude(figures={}).first()
