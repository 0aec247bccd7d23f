"""Queries on dataset versions and their rows."""

from collections.abc import Collection, Iterable
from typing import Any

from curation.models import DatasetVersion, Part, VersionImage, VersionRow, VersionState
from curation.selectors.jobs import PLAN
from hits.models import Job, Project

_REPORTED_SPLITS = ("test", "val")


def versions(project: Project) -> list[DatasetVersion]:
    """Return the project's versions, newest first."""
    return list(DatasetVersion.objects.filter(project=project).select_related("sealed_by"))


def versions_named(name: str, project: Project | None = None) -> list[DatasetVersion]:
    """Return the versions with this name, of one project or of all."""
    found = DatasetVersion.objects.filter(name=name).select_related("project")
    return list(found.filter(project=project) if project else found)


def sealed_versions(project: Project) -> list[DatasetVersion]:
    """Return the project's sealed versions, newest first."""
    return list(DatasetVersion.objects.filter(project=project, state=VersionState.SEALED))


def previous_sealed_version(version: DatasetVersion) -> DatasetVersion | None:
    """Return the version that was sealed before this one, if any."""
    earlier = DatasetVersion.objects.filter(project=version.project, state=VersionState.SEALED)
    if version.sealed_at is not None:
        earlier = earlier.filter(sealed_at__lt=version.sealed_at)
    return earlier.exclude(pk=version.pk).order_by("-sealed_at").first()


def version_splits(version: DatasetVersion, part: str = Part.OBSERVATION) -> list[str]:
    """Return the splits of a sealed version that have rows of a part, default evaluation splits first."""
    rows = VersionRow.objects.filter(version=version, part=part)
    found = set(rows.order_by().values_list("split", flat=True).distinct())
    return [split for split in _REPORTED_SPLITS if split in found] + sorted(found - set(_REPORTED_SPLITS))


def newest_plan_job(version: DatasetVersion) -> Job | None:
    """Return the newest job that plans a draft's contents."""
    rows = Job.objects.filter(project=version.project_id, task=PLAN, args__version=version.pk)
    return rows.order_by("-pk").first()


def row_hashes(version: DatasetVersion | None, parts: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the sha256 of each row of some parts of a sealed version, by part and id; empty without a version."""
    known = VersionRow.objects
    found = known.filter(version=version, part__in=list(parts)) if version else known.none()
    rows = found.values_list("part", "instance_id", "sha256")
    return {(part, instance_id): sha256 for part, instance_id, sha256 in rows}


def version_rows(version: DatasetVersion, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """Return rows of a sealed version by part and instance id."""
    ids = {instance_id for _, instance_id in keys}
    found = VersionRow.objects.filter(version=version, instance_id__in=ids)
    rows = found.filter(part__in={part for part, _ in keys}).values_list("part", "instance_id", "row")
    return {(part, instance_id): row for part, instance_id, row in rows if (part, instance_id) in keys}


def image_names(version: DatasetVersion, urls: list[str]) -> dict[str, str]:
    """Return the file names of images of a sealed version, by their ids in its rows."""
    found = VersionImage.objects.filter(version=version, url__in=urls)
    return {url: facts["name"] for url, facts in found.values_list("url", "facts")}
