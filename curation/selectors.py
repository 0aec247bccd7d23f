"""Read curation's own rows, and the projects' work through ``hits.selectors``."""

from typing import Any

from curation.models import ComparisonRound, DatasetVersion, Part, VersionImage, VersionRow, VersionState
from hits.domain.states import OPEN_JOB_STATES, AssignmentStatus
from hits.models import Image, Job, Project
from validation.selectors.judging import judged_completely

DEDUPLICATE = "curation.deduplicate_images"
COMPARISON_ROUND = "curation.build_comparison_round"
SEAL = "curation.seal_version"
ANNOTATORS = 2  # ratings per candidate that the leaderboard's measures take


def standing_images(project: Project) -> list[Image]:
    """Return all images that were not taken down, duplicates included, oldest first."""
    return list(Image.objects.filter(project=project, withdrawn_at__isnull=True).order_by("pk"))


def latest_job(project: Project, task: str) -> Job | None:
    """Return the project's newest job of that task."""
    return Job.objects.filter(project=project, task=task).order_by("-pk").first()


def open_job(project: Project, task: str) -> Job | None:
    """Return the project's job of that task that is queued or running, if any."""
    return Job.objects.filter(project=project, task=task, state__in=OPEN_JOB_STATES).order_by("-pk").first()


def duplicate_groups(project: Project) -> list[tuple[Image, list[Image]]]:
    """Return each kept image with the images that are marked as its duplicates."""
    groups: dict[int, list[Image]] = {}
    marked = Image.objects.filter(
        project=project, withdrawn_at__isnull=True, duplicate_of__isnull=False
    ).select_related("duplicate_of")
    kept: dict[int, Image] = {}
    for image in marked.order_by("duplicate_of", "pk"):
        assert image.duplicate_of is not None
        kept[image.duplicate_of.pk] = image.duplicate_of
        groups.setdefault(image.duplicate_of.pk, []).append(image)
    return [(kept[pk], members) for pk, members in groups.items()]


def rounds(project: Project) -> list[ComparisonRound]:
    """Return the project's comparison rounds, newest first."""
    return list(ComparisonRound.objects.filter(project=project).select_related("batch"))


def newest_judged_round(project: Project) -> ComparisonRound | None:
    """Return the newest round whose launched sets all have their approved judgments, two at least."""
    for found in rounds(project):
        batch = found.batch
        if batch is None or batch.opinions < ANNOTATORS:
            continue
        if judged_completely(batch=batch, statuses=(AssignmentStatus.APPROVED,)):
            return found
    return None


def versions(project: Project) -> list[DatasetVersion]:
    """Return the project's versions, newest first."""
    return list(DatasetVersion.objects.filter(project=project).select_related("sealed_by"))


def versions_named(name: str, project: Project | None = None) -> list[DatasetVersion]:
    """Return the versions of that name, of one project or of all."""
    found = DatasetVersion.objects.filter(name=name).select_related("project")
    return list(found.filter(project=project) if project else found)


def sealed_before(version: DatasetVersion) -> DatasetVersion | None:
    """Return the version that was sealed last before this one."""
    earlier = DatasetVersion.objects.filter(project=version.project, state=VersionState.SEALED)
    if version.sealed_at is not None:
        earlier = earlier.filter(sealed_at__lt=version.sealed_at)
    return earlier.exclude(pk=version.pk).order_by("-sealed_at").first()


def row_hashes(version: DatasetVersion, part: Part = Part.OBSERVATION) -> dict[str, str]:
    """Return the sha256 of each row of a sealed version by instance id."""
    return dict(VersionRow.objects.filter(version=version, part=part).values_list("instance_id", "sha256"))


def rows_of(version: DatasetVersion, ids: list[str], part: Part = Part.OBSERVATION) -> dict[str, Any]:
    """Return some rows of a sealed version by instance id."""
    found = VersionRow.objects.filter(version=version, part=part, instance_id__in=ids)
    return dict(found.values_list("instance_id", "row"))


def image_names(version: DatasetVersion, urls: list[str]) -> dict[str, str]:
    """Return the file names of some images of a sealed version by what its rows call them."""
    found = VersionImage.objects.filter(version=version, url__in=urls)
    return {url: facts["name"] for url, facts in found.values_list("url", "facts")}
