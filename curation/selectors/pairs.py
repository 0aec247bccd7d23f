"""Read the pairs of a project."""

from collections.abc import Iterable

from django.db.models import QuerySet

from curation.models import Pair
from hits.models import Project
from hits.selectors import records


def accepted_pairs(project: Project) -> "QuerySet[Pair]":
    """Return approved pairs on photos that are still there, oldest first, with photo and author."""
    return records.exclude_taken_down_images(records.filter_confirmed(Pair.objects.all(), project, Pair.TYPE))


def taken_down_pairs(project: Project) -> "QuerySet[Pair]":
    """Return approved pairs that are left out because their photo was taken down."""
    return records.on_taken_down_images(records.filter_confirmed(Pair.objects.all(), project, Pair.TYPE))


def pairs_by_instance_id(project: Project, ids: Iterable[str]) -> dict[str, Pair]:
    """Return pairs by their published id, confirmed or not, with photo and author."""
    rows = Pair.objects.filter(project=project, instance_id__in=list(ids))
    return {row.instance_id: row for row in rows.select_related("image", "submission__attempt__worker")}
