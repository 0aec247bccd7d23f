"""Measure the answers of an uploaded file, which ``manage.py evaluate nleye`` would read."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.evaluation.nleye_files import parse_pair_scores, parse_triplet_predictions
from curation.evaluation.nleye_key import PRESENTATIONS, ChoiceCode
from curation.evaluation.nleye_replies import PARSER_VERSION
from curation.models import DatasetVersion, TripletEvaluation, TripletPrediction, TripletSource
from curation.selectors.triplets.evaluations import (
    HYPOTHESES,
    EvaluatedTriplet,
    measure_evaluation,
    version_triplets,
)
from curation.services.options import check_one_of
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.evaluations import (
    SETUPS,
    TRIPLET,
    check_version,
    finish_evaluation,
    store_predictions,
)
from hits.services import audit
from hits.services.errors import Refused

MAX_BYTES = 20_000_000  # a page parses the file while the person waits
MAX_LABEL = 120


@dataclass(frozen=True, slots=True)
class UploadedPredictions:
    """A file of predictions: its name and content, what it answers, and the name of the model on pages."""

    name: str
    data: bytes
    label: str
    setup: str = TRIPLET
    split: str = ""

    def __post_init__(self) -> None:
        check_one_of("setup", self.setup, SETUPS)
        if not self.label.strip() or len(self.label) > MAX_LABEL:
            raise Refused(f"label: give the model's name, at most {MAX_LABEL} characters")
        if len(self.data) > MAX_BYTES:
            raise Refused(
                f"file: {self.name} has {len(self.data):,} bytes; at most {MAX_BYTES:,} are read here, and "
                "manage.py evaluate nleye reads larger ones"
            )


def evaluate_upload(
    *, version: DatasetVersion, upload: UploadedPredictions, by: AbstractBaseUser | None
) -> TripletEvaluation:
    """Store the answers of a file about a sealed version's triplets, with their figures.

    Ids are the numbers of the exported table; every triplet has all of its lines.

    Raises:
        Refused: the version is a draft or has no triplets, or a line is wrong, missing, doubled or of an unknown
            triplet; the message names the line.
    """
    check_version(version)
    triplets = version_triplets(version, upload.split)
    if not triplets:
        raise Refused(f"split: {version.name} has no triplets in {upload.split or 'any split'}")
    with transaction.atomic():
        row = TripletEvaluation.objects.create(
            project=version.project,
            version=version,
            source=TripletSource.FILE.value,
            label=upload.label.strip(),
            setup=upload.setup,
            options={"split": upload.split},
            created_by_id=by.pk if by else None,
        )
        with refuse_invalid_input():
            store_predictions(evaluation=row, rows=list(_predictions(row, triplets, upload)))
            figures = measure_evaluation(row, triplets)
        facts = {
            "file": upload.name,
            "file_sha256": hashlib.sha256(upload.data).hexdigest(),
            "parser": PARSER_VERSION,
        }
        finish_evaluation(evaluation=row, figures=figures, provenance=facts)
        audit.record(project=row.project, actor=by, action="triplets.evaluate", subject=row.pk)
    return row


def _predictions(
    row: TripletEvaluation, triplets: list[EvaluatedTriplet], upload: UploadedPredictions
) -> Iterator[TripletPrediction]:
    """Yield a prediction for each line. Raises InvalidInput."""
    numbers = [str(triplet.number) for triplet in triplets]
    lines = upload.data.splitlines(keepends=True)
    if upload.setup == TRIPLET:
        found = parse_triplet_predictions(lines, upload.name, numbers)
        for triplet, codes in zip(triplets, found.predictions.codes.tolist(), strict=True):
            for presentation, value in zip(PRESENTATIONS, codes, strict=True):
                code = ChoiceCode(value)
                yield TripletPrediction(
                    evaluation=row,
                    instance_id=triplet.id,
                    presentation=presentation,
                    choice=code.choice,
                    reason=code.reason,
                    explanation=found.explanations.get((str(triplet.number), presentation), ""),
                )
        return
    scores = parse_pair_scores(lines, upload.name, numbers)
    for triplet, values in zip(triplets, scores.values.tolist(), strict=True):
        for hypothesis, score in zip(HYPOTHESES, values, strict=True):
            is_missing = math.isnan(score)
            yield TripletPrediction(
                evaluation=row,
                instance_id=triplet.id,
                presentation=hypothesis,
                score=None if is_missing else score,
                reason=ChoiceCode.MISSING.reason if is_missing else "",
            )
