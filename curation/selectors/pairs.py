"""Queries on a project's pairs."""

from collections.abc import Iterable

from django.db.models import QuerySet

from curation.models import Pair
from hits.models import Project
from hits.selectors import records


def accepted_pairs(project: Project) -> "QuerySet[Pair]":
    """Return the approved pairs on available photos, oldest first, with photo and author."""
    return records.exclude_taken_down_images(records.filter_confirmed(Pair.objects.all(), project, Pair.TYPE))


def taken_down_pairs(project: Project) -> "QuerySet[Pair]":
    """Return the approved pairs whose photo was taken down."""
    return records.filter_taken_down_records(records.filter_confirmed(Pair.objects.all(), project, Pair.TYPE))


def pairs_by_instance_id(project: Project, ids: Iterable[str]) -> dict[str, Pair]:
    """Return pairs by their published id, approved or not, with photo and author."""
    rows = Pair.objects.filter(project=project, instance_id__in=list(ids))
    return {row.instance_id: row for row in rows.select_related("image", "submission__attempt__worker")}
