"""Stored evaluations of image triplets, with the replies that they were read from, and stored audits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from django.contrib.auth.models import User
from django.utils import timezone

from curation.evaluation.nleye_audits import (
    Audit,
    audit_agreement,
    audit_direction,
    audit_label_balance,
    audit_mixed,
)
from curation.evaluation.nleye_key import PRESENTATIONS, TripletKey
from curation.families.nleye.rows import TRIPLET as TRIPLET_PART
from curation.families.nleye.rows import triplet_row
from curation.models import (
    CallState,
    DatasetVersion,
    ImageTriplet,
    ModelCall,
    ModelRun,
    RunPurpose,
    TripletAudit,
    TripletEvaluation,
    TripletPrediction,
    TripletSource,
    VersionRow,
    VersionState,
)
from curation.selectors.triplets.evaluations import measure_evaluation, version_triplets
from curation.selectors.triplets.triplets import triplet_facts
from curation.services.triplets.evaluations import (
    PAIRS,
    SEPARATE,
    TRIPLET,
    EvaluationOptions,
    finish_evaluation,
    store_predictions,
)
from hits.models import Project
from tests.support.nleye_stored import store_triplets

UNREAD = "unparseable"
Answers = Sequence[tuple[str, str]]
"""What was answered as listed and swapped, for each triplet in the order of the version: a choice, or a reason."""


def quick_version(project: Project, count: int, by: User, name: str = "v1") -> DatasetVersion:
    """Return a sealed version of triplets that nobody judged: only its rows of triplets, without a verified seal."""
    store_triplets(project, count, by)
    version = DatasetVersion.objects.create(
        project=project,
        name=name,
        statistics={"triplets": count},
    )
    VersionRow.objects.bulk_create(
        VersionRow(
            version=version,
            part=TRIPLET_PART,
            instance_id=facts.triplet.public_id,
            split="test",
            row=triplet_row(facts, ()),
            sha256="0" * 64,
        )
        for facts in triplet_facts(project)
    )
    # A sealed version takes no rows.
    DatasetVersion.objects.filter(pk=version.pk).update(
        state=VersionState.SEALED.value, sealed_at=timezone.now(), manifest_sha256="0" * 64
    )
    version.refresh_from_db()
    return version


def right_answer(gold: int, presentation: str) -> str:
    """Return the position of gold in a presentation."""
    is_first = (gold == 1) == (presentation == PRESENTATIONS[0])
    return "first" if is_first else "second"


def wrong_answer(gold: int, presentation: str) -> str:
    """Return the position of the other hypothesis."""
    return "second" if right_answer(gold, presentation) == "first" else "first"


def answers_of(version: DatasetVersion, outcomes: str) -> list[tuple[str, str]]:
    """Return answers by a letter a triplet: right, wrong, always first or second, or unread as swapped."""
    found = []
    for triplet, letter in zip(version_triplets(version), outcomes, strict=True):
        gold, (listed, swapped) = triplet.row["gold"], PRESENTATIONS
        right = right_answer(gold, listed), right_answer(gold, swapped)
        wrong = wrong_answer(gold, listed), wrong_answer(gold, swapped)
        by_letter = {
            "r": right,
            "w": wrong,
            "f": ("first", "first"),
            "s": ("second", "second"),
            "u": (right[0], UNREAD),
        }
        found.append(by_letter[letter])
    return found


def store_choices(
    version: DatasetVersion,
    answers: Answers,
    *,
    label: str = "canned",
    strategy: str = SEPARATE,
    source: TripletSource = TripletSource.MODEL,
    replies: Mapping[int, str] | None = None,
) -> TripletEvaluation:
    """Store a finished evaluation of choices; ``replies`` are raw texts of unread answers by the triplet's number."""
    row = _evaluation(version, TRIPLET, label, strategy if source is TripletSource.MODEL else "", source)
    predictions = []
    for triplet, own in zip(version_triplets(version), answers, strict=True):
        for presentation, answer in zip(PRESENTATIONS, own, strict=True):
            is_position = answer in {"first", "second"}
            text = json.dumps({"choice": answer})
            if answer == UNREAD:
                text = (replies or {}).get(triplet.number, "The second one, I think.")
            predictions.append(
                TripletPrediction(
                    evaluation=row,
                    instance_id=triplet.id,
                    presentation=presentation,
                    choice=answer if is_position else "",
                    reason="" if is_position else answer,
                    explanation="It follows from the premise." if is_position else "",
                    call=_call(row, f"triplet {triplet.number}, {presentation}", text) if row.run else None,
                )
            )
    return _finish(row, predictions)


def store_scores(
    version: DatasetVersion, scores: Sequence[tuple[float | None, float | None]], *, label: str = "canned"
) -> TripletEvaluation:
    """Store a finished evaluation of scores of h1 and h2."""
    row = _evaluation(version, PAIRS, label, SEPARATE, TripletSource.MODEL)
    predictions = [
        TripletPrediction(
            evaluation=row,
            instance_id=triplet.id,
            presentation=hypothesis,
            score=score,
            reason="" if score is not None else UNREAD,
        )
        for triplet, own in zip(version_triplets(version), scores, strict=True)
        for hypothesis, score in zip(("h1", "h2"), own, strict=True)
    ]
    return _finish(row, predictions)


def lose_call(row: TripletEvaluation, subject: str, *, micro: int = 12_000) -> ModelCall:
    """Store a call that was in flight when its process ended."""
    assert row.run is not None
    return ModelCall.objects.create(
        project=row.project,
        run=row.run,
        key=f"lost {subject}",
        subject=subject,
        state=CallState.LOST.value,
        reserved_micro=micro,
        cost_micro=micro,
    )


def _evaluation(
    version: DatasetVersion, setup: str, label: str, strategy: str, source: TripletSource
) -> TripletEvaluation:
    run = None
    if source is TripletSource.MODEL:
        run = ModelRun.objects.create(
            project=version.project, purpose=RunPurpose.EVALUATION.value, generator=label, cap_micro=1_000_000
        )
    return TripletEvaluation.objects.create(
        project=version.project,
        version=version,
        source=source.value,
        label=label,
        setup=setup,
        strategy=strategy,
        options=asdict(EvaluationOptions(setup=setup)) | {"strategy": strategy},
        run=run,
    )


def _call(row: TripletEvaluation, subject: str, text: str) -> ModelCall:
    assert row.run is not None
    return ModelCall.objects.create(
        project=row.project,
        run=row.run,
        key=f"{row.pk} {subject}",
        subject=subject,
        state=CallState.SETTLED.value,
        reserved_micro=5_000,
        cost_micro=4_200,
        text=text,
        finish="stop",
        model=f"{row.label}-1",
    )


def _finish(row: TripletEvaluation, predictions: Sequence[TripletPrediction]) -> TripletEvaluation:
    store_predictions(evaluation=row, rows=predictions)
    assert row.version is not None
    figures: dict[str, Any] = measure_evaluation(row, version_triplets(row.version))
    finish_evaluation(evaluation=row, figures=figures, provenance={"parser": "1"})
    return row


def _key_of(triplets: Sequence[ImageTriplet]) -> TripletKey:
    return TripletKey.from_rows(
        (row.public_id, row.gold, row.scene.category, row.scene.domain, "parallel") for row in triplets
    )


def found_audits(triplets: Sequence[ImageTriplet]) -> list[Audit]:
    """Return audits of which longer texts of gold are flagged, and nothing else."""
    key, count = _key_of(triplets), len(triplets)
    longer = np.zeros((count, 2))
    longer[np.arange(count), key.golds - 1] = [1.0] * (count - 1) + [-1.0]
    counts = np.array([[3, 0, 0], [2, 1, 0], [0, 3, 0]] * count)[:count]
    return [
        audit_direction("text: length", key, longer, what="has the longer text"),
        *audit_label_balance(key),
        audit_mixed("mixed: generators", key, [["a", "a", "a"]] * count, what="generators"),
        *audit_agreement({"social": (key.ids, counts)}),
    ]


def store_audit(project: Project, audits: Sequence[Audit]) -> TripletAudit:
    """Store a finished audit."""
    return TripletAudit.objects.create(
        project=project,
        figures={
            "triplets": max(audit.n for audit in audits),
            "audits": [audit.as_json() for audit in audits],
        },
        provenance={"encoder": "built-in", "swaps": 500},
    )
