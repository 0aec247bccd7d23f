"""Read evaluations of image triplets: their answers as arrays, corrected by people where a reply was unread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import QuerySet

from curation.evaluation.nleye_key import (
    PRESENTATIONS,
    ChoiceCode,
    PairScores,
    TripletKey,
    TripletPredictions,
)
from curation.models import (
    DatasetVersion,
    ReplyCorrection,
    TripletEvaluation,
    TripletPrediction,
    VersionRow,
)
from hits.domain.answers.scene_facets import temporal_cell
from hits.models import Project

PART = "nleye_triplet"
HYPOTHESES = ("h1", "h2")
_CHUNK_SIZE = 1000


@dataclass(frozen=True, slots=True)
class EvaluatedTriplet:
    """A triplet of a sealed version: its id, its number in the version, and its row."""

    id: str
    number: int
    row: Mapping[str, Any]


def version_triplets(version: DatasetVersion, split: str = "") -> list[EvaluatedTriplet]:
    """Return the triplets of a sealed version in sealed order; numbers count over all splits."""
    rows = VersionRow.objects.filter(version=version, part=PART).order_by("pk")
    found = rows.values_list("instance_id", "split", "row").iterator(chunk_size=_CHUNK_SIZE)
    return [
        EvaluatedTriplet(key, number, row)
        for number, (key, own, row) in enumerate(found, start=1)
        if not split or own == split
    ]


def triplet_key(triplets: Sequence[EvaluatedTriplet], *, by_number: bool = False) -> TripletKey:
    """Return the answer key of triplets; with ``by_number``, ids are the numbers of the exported table."""
    return TripletKey.from_rows(
        (
            str(triplet.number) if by_number else triplet.id,
            triplet.row["gold"],
            triplet.row["reasoning_category"],
            triplet.row["domain"],
            temporal_cell(triplet.row["time_direction"], triplet.row["time_duration"]),
        )
        for triplet in triplets
    )


def evaluations(project: Project) -> "QuerySet[TripletEvaluation]":
    """Return the project's evaluations, newest first."""
    rows = TripletEvaluation.objects.filter(project=project)
    return rows.select_related("version", "job", "run", "created_by")


def read_choices(evaluation: TripletEvaluation, ids: Sequence[str]) -> TripletPredictions:
    """Return the answers of an evaluation in the order of ``ids``; a person's correction of a reply counts."""
    corrected = dict(
        ReplyCorrection.objects.filter(prediction__evaluation=evaluation)
        .order_by("pk")
        .values_list("prediction", "choice")
    )
    codes = np.full((len(ids), len(PRESENTATIONS)), ChoiceCode.MISSING, dtype=np.int8)
    rows = {key: row for row, key in enumerate(ids)}
    columns = {name: column for column, name in enumerate(PRESENTATIONS)}
    fields = TripletPrediction.objects.filter(
        evaluation=evaluation, presentation__in=PRESENTATIONS
    ).values_list("pk", "instance_id", "presentation", "choice", "reason")
    for pk, key, presentation, choice, reason in fields.iterator(chunk_size=_CHUNK_SIZE):
        if key in rows:
            code = ChoiceCode.from_names(corrected.get(pk, choice), reason)
            codes[rows[key], columns[presentation]] = code
    return TripletPredictions(codes)


def read_scores(evaluation: TripletEvaluation, ids: Sequence[str]) -> PairScores:
    """Return the scores of an evaluation in the order of ``ids``."""
    values = np.full((len(ids), len(HYPOTHESES)), np.nan)
    rows = {key: row for row, key in enumerate(ids)}
    columns = {name: column for column, name in enumerate(HYPOTHESES)}
    fields = TripletPrediction.objects.filter(evaluation=evaluation, presentation__in=HYPOTHESES)
    for key, hypothesis, score in fields.values_list("instance_id", "presentation", "score").iterator(
        chunk_size=_CHUNK_SIZE
    ):
        if key in rows and score is not None:
            values[rows[key], columns[hypothesis]] = score
    return PairScores(values)


def unread_predictions(evaluation: TripletEvaluation) -> "QuerySet[TripletPrediction]":
    """Return the answers whose reply could not be read and that nobody has read since."""
    rows = TripletPrediction.objects.filter(evaluation=evaluation, reason="unparseable")
    return rows.filter(corrections=None).select_related("call").order_by("pk")


def explanations_by_presentation(evaluation: TripletEvaluation) -> dict[tuple[str, str], TripletPrediction]:
    """Return the answers that have an explanation, by triplet and presentation."""
    rows = TripletPrediction.objects.filter(evaluation=evaluation).exclude(explanation="")
    return {(row.instance_id, row.presentation): row for row in rows}
