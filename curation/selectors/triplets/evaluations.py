"""Read evaluations of image triplets: their answers as arrays, corrected by people where a reply was unread."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, QuerySet

from curation.evaluation.nleye import TRIPLET, nleye_figures
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

DESCRIPTION = "description of image"
"""How the subject of a call begins that asks for a description."""


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
    return rows.select_related("project", "version", "job", "run", "created_by")


def read_choices(
    evaluation: TripletEvaluation, ids: Sequence[str], *, with_corrections: bool = True
) -> TripletPredictions:
    """Return the answers of an evaluation in the order of ``ids``; a person's correction of a reply counts.

    Without corrections, they are the answers as the parser read them.
    """
    corrected = corrected_choices(evaluation) if with_corrections else {}
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


def corrected_choices(evaluation: TripletEvaluation) -> dict[int, str]:
    """Return the newest correction of each corrected reply, by the key of its prediction."""
    rows = ReplyCorrection.objects.filter(prediction__evaluation=evaluation).order_by("pk")
    return dict(rows.values_list("prediction", "choice"))


def measure_evaluation(evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]) -> dict[str, Any]:
    """Return the figures of an evaluation's answers, as ``nleye_figures`` does.

    If persons have read replies that the parser could not read, their choices count, and ``corrections`` says how
    many they are, their share of all presentations in percent, and the figures without them:
    ``{"replies", "share", "as_parsed": {…}}``.
    """
    key = triplet_key(triplets)
    if evaluation.setup != TRIPLET:
        return nleye_figures(key, None, read_scores(evaluation, key.ids))
    figures = nleye_figures(key, read_choices(evaluation, key.ids))
    corrected = len(corrected_choices(evaluation))
    if corrected:
        as_parsed = nleye_figures(key, read_choices(evaluation, key.ids, with_corrections=False))
        share = 100 * corrected / (len(PRESENTATIONS) * len(key))
        figures["corrections"] = {"replies": corrected, "share": share, "as_parsed": as_parsed[TRIPLET]}
    return figures


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


def refused_replies(evaluation: TripletEvaluation) -> "QuerySet[TripletPrediction]":
    """Return the choices that the parser could not read, also those that a person has read since.

    Where an image was not described, nothing was chosen, so there is nothing to read.
    """
    rows = TripletPrediction.objects.filter(
        evaluation=evaluation, reason=ChoiceCode.UNPARSEABLE.reason, presentation__in=PRESENTATIONS
    ).exclude(call__subject__startswith=DESCRIPTION)
    return rows.select_related("call").order_by("pk")


def unread_predictions(evaluation: TripletEvaluation) -> "QuerySet[TripletPrediction]":
    """Return the choices whose reply could not be read and that nobody has read since."""
    return refused_replies(evaluation).filter(corrections=None)


def count_unread_replies(evaluation_keys: Iterable[int]) -> dict[int, int]:
    """Return how many replies nobody could read so far, by the key of the evaluation; one query."""
    rows = TripletPrediction.objects.filter(
        evaluation__in=list(evaluation_keys),
        reason=ChoiceCode.UNPARSEABLE.reason,
        presentation__in=PRESENTATIONS,
        corrections=None,
    ).exclude(call__subject__startswith=DESCRIPTION)
    return dict(rows.order_by().values_list("evaluation").annotate(count=Count("pk")))


def explanations_by_presentation(evaluation: TripletEvaluation) -> dict[tuple[str, str], TripletPrediction]:
    """Return the answers that have an explanation, by triplet and presentation."""
    rows = TripletPrediction.objects.filter(evaluation=evaluation).exclude(explanation="")
    return {(row.instance_id, row.presentation): row for row in rows}
