"""Queries on comparison rounds."""

from typing import Any

from django.db.models import BigIntegerField, QuerySet
from django.db.models.functions import Cast

from curation.models import ComparisonRound, ComparisonSet, DatasetVersion
from hits.domain.states import AssignmentStatus
from hits.models import Job, Project
from validation.selectors.judging import is_fully_judged, units_without_quality_checks

MIN_RATINGS = 2  # ratings per candidate that the leaderboard's measures need


def comparison_rounds(project: Project) -> list[ComparisonRound]:
    """Return the project's comparison rounds, newest first."""
    return list(ComparisonRound.objects.filter(project=project).select_related("batch", "scorer"))


def round_of_job(job: Job) -> ComparisonRound | None:
    """Return the round that a job built, if any."""
    return ComparisonRound.objects.filter(job=job).first()


def launched_rounds(project: Project) -> list[ComparisonRound]:
    """Return the launched rounds, newest first, without the (possibly long) list of skipped pairs."""
    found = ComparisonRound.objects.filter(project=project, batch__isnull=False)
    return list(found.select_related("batch").defer("skipped"))


def launched_sets(comparison_round: ComparisonRound) -> "QuerySet[ComparisonSet]":
    """Return the launched sets of a round, highest set score first; empty before its launch."""
    if comparison_round.batch is None:
        return comparison_round.sets.none()
    units = units_without_quality_checks(comparison_round.batch).annotate(
        set_id=Cast("key", BigIntegerField())
    )
    return comparison_round.sets.filter(pk__in=units.values("set_id")).order_by("rank")


def is_judged(comparison_round: ComparisonRound) -> bool:
    """Whether all launched sets of a round have their approved judgments, at least two each."""
    batch = comparison_round.batch
    if batch is None or batch.redundancy < MIN_RATINGS:
        return False
    return is_fully_judged(batch=batch, statuses=(AssignmentStatus.APPROVED,))


def rated_split_or_empty(comparison_round: ComparisonRound, version: DatasetVersion) -> str:
    """Return the split of a version that contains a round's ratings; empty (the whole version) if several do."""
    sealed_round = next(
        (sealed for sealed in sealed_rounds(version) if sealed["id"] == comparison_round.pk), {}
    )
    splits = sealed_round.get("splits", [comparison_round.options.get("split", "")])
    return str(splits[0]) if len(splits) == 1 else ""


def sealed_rounds(version: DatasetVersion) -> list[dict[str, Any]]:
    """Return the rounds in a sealed version's provenance, newest first; empty for a draft.

    Each has its ``id`` and the ``splits`` of its ratings. Versions of earlier releases have one round without
    splits.
    """
    provenance = version.provenance
    if "comparison_rounds" in provenance:
        return list(provenance["comparison_rounds"])
    return [provenance["comparison_round"]] if "comparison_round" in provenance else []
