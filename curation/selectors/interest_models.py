"""Models of interestingness of a project, and the images that they scored."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from curation.models import InterestModel, InterestScore
from curation.selectors.jobs import SELECT_INTERESTING
from hits.models import Job, Project

HIGHEST, LOWEST, THRESHOLD = "highest", "lowest", "threshold"
ORDERS = (HIGHEST, LOWEST, THRESHOLD)


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model with the number of images that it scored, and of those that it selects."""

    row: InterestModel
    scored: int
    selected: int


def interest_models(project: Project) -> "QuerySet[InterestModel]":
    """Return the project's models, newest first."""
    return InterestModel.objects.filter(project=project).select_related("created_by")


def find_model(project: Project, number: int) -> InterestModel | None:
    """Return the project's model with this number, or ``None``."""
    return interest_models(project).filter(pk=number).first()


def model_numbers(project: Project) -> str:
    """Return the numbers of the project's models for a message: ``1, 4``, or ``none``."""
    numbers = InterestModel.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
    return ", ".join(map(str, numbers)) or "none"


def list_models(project: Project) -> list[ListedModel]:
    """Return the project's models with their numbers of images, newest first."""
    available = Q(scores__image__taken_down_at__isnull=True)
    is_selected = available & Q(scores__score__gte=F("threshold"))
    rows = interest_models(project).annotate(
        scored=Count("scores", filter=available), selected=Count("scores", filter=is_selected)
    )
    return [ListedModel(row, row.scored, row.selected) for row in rows]


def count_selected(model: InterestModel) -> int:
    """Return the number of available images whose score reaches the model's threshold."""
    return available_scores(model).filter(score__gte=model.threshold).count()


def available_scores(model: InterestModel) -> "QuerySet[InterestScore]":
    """Return the model's scores of images that were not taken down."""
    return InterestScore.objects.filter(model=model, image__taken_down_at__isnull=True)


def scores_in_order(model: InterestModel, order: str) -> "QuerySet[InterestScore, Any]":
    """Return the model's scores with their images.

    Args:
        order: ``highest`` or ``lowest`` score first; ``threshold``: selected images, those nearest to it first.
    """
    rows = available_scores(model).select_related("image")
    if order == THRESHOLD:
        return rows.filter(score__gte=model.threshold).order_by("score", "pk")
    return rows.order_by("score" if order == LOWEST else "-score", "pk")


def latest_selection(model: InterestModel) -> Job | None:
    """Return the newest job that selected photos with this model."""
    rows = Job.objects.filter(project=model.project_id, task=SELECT_INTERESTING, args__model=model.pk)
    return rows.order_by("-pk").first()
