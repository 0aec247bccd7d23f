"""Read scorers: those of a project, what they were trained on, and what they chose and were measured on since."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import Count, QuerySet

from curation.models import ComparisonRound, DatasetVersion, Part, VersionImage, VersionRow
from curation.models.scorers import Evaluation, Scorer
from curation.selectors import pairs as collected
from curation.selectors.jobs import IMPORT_SCORER
from curation.selectors.rounds import rounds_in
from curation.selectors.versions import sealed_versions
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Job, Project

PREFIX = "scorer:"
BEST = "best"  # the folder, in a run's folder, of the weights that are kept
_MOST_ANCESTORS = 50


@dataclass(frozen=True, slots=True)
class SplitCount:
    """How much a split of a version holds."""

    pairs: int
    images: int


def scorers(project: Project) -> "QuerySet[Scorer]":
    """Return the project's scorers, newest first."""
    return Scorer.objects.filter(project=project).select_related("version", "parent", "job", "created_by")


def scorer_numbered(project: Project, pk: int) -> Scorer | None:
    """Return the project's scorer of that number, ready or not."""
    return scorers(project).filter(pk=pk).first()


def ready_scorers(project: Project) -> list[Scorer]:
    """Return the project's scorers whose weights are there, newest first."""
    return list(scorers(project).filter(is_ready=True))


def scorer_called(project: Project, called: str) -> Scorer | None:
    """Return the project's scorer of that name or number; a name is never a number."""
    rows = scorers(project)
    return rows.filter(pk=int(called)).first() if called.isdecimal() else rows.filter(name=called).first()


def scorer_of(encoder: str) -> Scorer | None:
    """Return the ready scorer that an encoder's name means, such as ``scorer:7``; nothing for other encoders."""
    number = encoder.removeprefix(PREFIX)
    if number == encoder or not number.isdecimal():
        return None
    return Scorer.objects.select_related("version").filter(pk=int(number), is_ready=True).first()


def encoder_choices(project: Project) -> dict[str, str]:
    """Return the project's ready scorers as encoders, each with what forms call it; newest first."""
    return {one.encoder_name: f"Scorer {one.name}, the project’s own" for one in ready_scorers(project)}


def scorer_folder(scorer: Scorer) -> Path:
    """Return the folder of a scorer's run."""
    return Path(settings.MEDIA_ROOT) / scorer.path


def weights_folder(scorer: Scorer) -> Path:
    """Return the folder of a scorer's weights, as they are kept."""
    return scorer_folder(scorer) / BEST


def split_counts(version: DatasetVersion) -> dict[str, SplitCount]:
    """Return for each split of a sealed version that has a pair how many pairs and photos it has."""
    pairs = VersionRow.objects.filter(version=version, part=Part.OBSERVATION).order_by().values("split")
    photos = VersionImage.objects.filter(version=version).order_by().values("facts__split")
    images = {row["facts__split"]: row["count"] for row in photos.annotate(count=Count("pk"))}
    return {
        row["split"]: SplitCount(row["count"], images.get(row["split"], 0))
        for row in pairs.annotate(count=Count("pk")).order_by("split")
    }


def ancestry(scorer: Scorer) -> list[Scorer]:
    """Return a scorer and those that it started from, one after the other."""
    line: list[Scorer] = []
    at: Scorer | None = scorer
    while at is not None and at not in line and len(line) < _MOST_ANCESTORS:
        line.append(at)
        at = (
            Scorer.objects.select_related("version").filter(pk=at.parent_id).first() if at.parent_id else None
        )
    return line


def known_pairs(scorer: Scorer, split: str = "") -> tuple[int, int]:
    """Return how many of the project's accepted pairs a scorer knows from its training, and how many there are.

    Pairs of its validation count too, since they chose its checkpoint, and those of the scorers that it started from.

    Args:
        split: of these photos alone; empty is all.
    """
    accepted = collected.accepted(scorer.project).order_by()
    if split:
        accepted = accepted.filter(image__split=split)
    known: set[str] = set()
    for one in ancestry(scorer):
        if one.version_id is not None:
            splits = {one.splits.get("train", ""), one.splits.get("val", "")}
            rows = VersionRow.objects.filter(version=one.version_id, part=Part.OBSERVATION, split__in=splits)
            known |= set(
                accepted.filter(instance_id__in=rows.values("instance_id")).values_list(
                    "instance_id", flat=True
                )
            )
    return len(known), accepted.count()


def trained_on(version: DatasetVersion) -> list[Scorer]:
    """Return the scorers that learned from a version, newest first."""
    return list(Scorer.objects.filter(version=version))


def rounds_of(scorer: Scorer) -> list[ComparisonRound]:
    """Return the comparison rounds whose candidates a scorer chose, newest first."""
    return list(ComparisonRound.objects.filter(scorer=scorer).select_related("batch"))


def evaluations_with(scorer: Scorer) -> list[Evaluation]:
    """Return what a scorer was measured on, newest first."""
    return list(Evaluation.objects.filter(scorer=scorer).select_related("version", "job"))


def judged_rounds(scorer: Scorer) -> list[tuple[ComparisonRound, DatasetVersion]]:
    """Return the rounds of a scorer whose judgments are sealed, each with the newest version that has them."""
    found = [(one, next(iter(versions_with(one)), None)) for one in rounds_of(scorer)]
    return [(one, version) for one, version in found if version is not None]


def versions_with(found: ComparisonRound) -> list[DatasetVersion]:
    """Return the sealed versions that hold a round's judgments, newest first."""
    return [
        version
        for version in sealed_versions(found.project)
        if any(one["id"] == found.pk for one in rounds_in(version))
    ]


def import_in_question(project: Project) -> Job | None:
    """Return the project's newest import of a scorer, unless it came to its end or was cancelled."""
    job = Job.objects.filter(project=project, task=IMPORT_SCORER).order_by("-pk").first()
    return job if job is not None and job.state in {*OPEN_JOB_STATES, JobState.FAILED} else None
