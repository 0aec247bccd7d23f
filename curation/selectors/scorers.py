"""Queries on scorers: their training data, the rounds they chose candidates for, and their evaluations."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import Count, QuerySet

from curation.models import ComparisonRound, DatasetVersion, Part, VersionImage, VersionRow
from curation.models.scorers import Evaluation, Scorer
from curation.selectors.jobs import IMPORT_SCORER
from curation.selectors.pairs import accepted_pairs
from curation.selectors.rounds import sealed_rounds
from curation.selectors.versions import sealed_versions
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Job, Project

SCORER_PREFIX = "scorer:"
WEIGHTS_FOLDER = "best"  # the subfolder of a run with the best weights
_MAX_ANCESTORS = 50


@dataclass(frozen=True, slots=True)
class SplitCount:
    """The numbers of pairs and photos in a split of a version."""

    pairs: int
    images: int


def scorers(project: Project) -> "QuerySet[Scorer]":
    """Return the project's scorers, newest first."""
    return Scorer.objects.filter(project=project).select_related("version", "parent", "job", "created_by")


def get_scorer(project: Project, pk: int) -> Scorer | None:
    """Return the project's scorer with this number, ready or not."""
    return scorers(project).filter(pk=pk).first()


def ready_scorers(project: Project) -> list[Scorer]:
    """Return the project's scorers whose weights are available, newest first."""
    return list(scorers(project).filter(is_ready=True))


def find_scorer(project: Project, name_or_number: str) -> Scorer | None:
    """Return the project's scorer with this name or number; a name is never a number."""
    rows = scorers(project)
    return (
        rows.filter(pk=int(name_or_number)).first()
        if name_or_number.isdecimal()
        else rows.filter(name=name_or_number).first()
    )


def scorer_by_encoder(encoder: str) -> Scorer | None:
    """Return the ready scorer of an encoder's name such as ``scorer:7``, or ``None`` for other encoders."""
    number = encoder.removeprefix(SCORER_PREFIX)
    if number == encoder or not number.isdecimal():
        return None
    return Scorer.objects.select_related("version").filter(pk=int(number), is_ready=True).first()


def scorer_encoder_choices(project: Project) -> dict[str, str]:
    """Return the project's ready scorers as encoders with their labels in forms, newest first."""
    ready = ready_scorers(project)
    return {scorer.encoder_name: f"Scorer {scorer.name}, from this project" for scorer in ready}


def scorer_folder(scorer: Scorer) -> Path:
    """Return the folder of a scorer's run."""
    return Path(settings.MEDIA_ROOT) / scorer.path


def weights_folder(scorer: Scorer) -> Path:
    """Return the folder of a scorer's best weights."""
    return scorer_folder(scorer) / WEIGHTS_FOLDER


def split_counts(version: DatasetVersion) -> dict[str, SplitCount]:
    """Return the numbers of pairs and photos of each split of a sealed version that has pairs."""
    pairs = VersionRow.objects.filter(version=version, part=Part.OBSERVATION).order_by().values("split")
    photos = VersionImage.objects.filter(version=version).order_by().values("facts__split")
    images = {row["facts__split"]: row["count"] for row in photos.annotate(count=Count("pk"))}
    return {
        row["split"]: SplitCount(row["count"], images.get(row["split"], 0))
        for row in pairs.annotate(count=Count("pk")).order_by("split")
    }


def scorer_and_ancestors(scorer: Scorer) -> list[Scorer]:
    """Return a scorer and its ancestors, from child to parent."""
    chain: list[Scorer] = []
    current: Scorer | None = scorer
    while current is not None and current not in chain and len(chain) < _MAX_ANCESTORS:
        chain.append(current)
        current = (
            Scorer.objects.select_related("version").filter(pk=current.parent_id).first()
            if current.parent_id
            else None
        )
    return chain


def count_known_and_accepted_pairs(scorer: Scorer, split: str = "") -> tuple[int, int]:
    """Return the number of accepted pairs that a scorer was trained on, and the number of all accepted pairs.

    Pairs used for validation are counted too, since they chose its checkpoint, and so are those of its ancestors.

    Args:
        split: only pairs on photos of this split; empty means all.
    """
    accepted = accepted_pairs(scorer.project).order_by()
    if split:
        accepted = accepted.filter(image__split=split)
    known: set[str] = set()
    for ancestor in scorer_and_ancestors(scorer):
        if ancestor.version_id is not None:
            splits = {ancestor.splits.get("train", ""), ancestor.splits.get("val", "")}
            sealed = VersionRow.objects.filter(version=ancestor.version_id, part=Part.OBSERVATION)
            rows = sealed.filter(split__in=splits)
            known |= set(
                accepted.filter(instance_id__in=rows.values("instance_id")).values_list(
                    "instance_id", flat=True
                )
            )
    return len(known), accepted.count()


def version_scorers(version: DatasetVersion) -> list[Scorer]:
    """Return the scorers trained on a version, newest first."""
    return list(Scorer.objects.filter(version=version))


def scorer_rounds(scorer: Scorer) -> list[ComparisonRound]:
    """Return the comparison rounds whose candidates a scorer chose, newest first."""
    return list(ComparisonRound.objects.filter(scorer=scorer).select_related("batch"))


def scorer_evaluations(scorer: Scorer) -> list[Evaluation]:
    """Return a scorer's evaluations, newest first."""
    return list(Evaluation.objects.filter(scorer=scorer).select_related("version", "job"))


def judged_rounds(scorer: Scorer) -> list[tuple[ComparisonRound, DatasetVersion]]:
    """Return a scorer's rounds whose judgments are sealed, each with the newest version that contains them."""
    found = [
        (comparison_round, next(iter(round_versions(comparison_round)), None))
        for comparison_round in scorer_rounds(scorer)
    ]
    return [(comparison_round, version) for comparison_round, version in found if version is not None]


def round_versions(comparison_round: ComparisonRound) -> list[DatasetVersion]:
    """Return the sealed versions that contain a round's judgments, newest first."""
    return [
        version
        for version in sealed_versions(comparison_round.project)
        if any(sealed["id"] == comparison_round.pk for sealed in sealed_rounds(version))
    ]


def newest_import_if_unfinished(project: Project) -> Job | None:
    """Return the project's newest scorer import, unless it was finished or cancelled."""
    job = Job.objects.filter(project=project, task=IMPORT_SCORER).order_by("-pk").first()
    return job if job is not None and job.state in {*OPEN_JOB_STATES, JobState.FAILED} else None
