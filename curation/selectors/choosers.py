"""Queries on choosers."""

from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from curation.evaluation.choice_items import Stage
from curation.models import Chooser
from hits.models import Project

BEST_FOLDER = "best"  # the subfolder of a stage with the best weights


def choosers(project: Project) -> "QuerySet[Chooser]":
    """Return the project's choosers, newest first."""
    return Chooser.objects.filter(project=project).select_related("question_set", "job", "created_by")


def find_chooser(project: Project, name: str) -> Chooser | None:
    """Return the project's chooser with this name."""
    return choosers(project).filter(name=name).first()


def chooser_folder(chooser: Chooser) -> Path:
    """Return the folder of a chooser's run."""
    return Path(settings.MEDIA_ROOT) / chooser.path


def stage_weights_folder(chooser: Chooser, stage: Stage) -> Path:
    """Return the folder of a chooser's best weights for a stage."""
    return chooser_folder(chooser) / stage / BEST_FOLDER
