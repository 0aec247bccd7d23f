"""Request that a chat model grades explanations against references (Ventura et al. 2025 §4.2), and store grades."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import (
    DatasetVersion,
    ExplanationGrade,
    ExplanationSource,
    ImageTriplet,
    RunPurpose,
    TripletEvaluation,
    TripletExplanation,
    TripletPrediction,
    TripletSource,
)
from curation.selectors.jobs import JUDGE_EXPLANATIONS
from curation.services.options import check_at_least
from curation.services.triplets.chat_options import ChatOptions, check_chat_cap
from curation.services.triplets.model_calls import RunPlan, create_run
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs

SETUP = "explanations"
MAX_REPEATS = 9
_CHUNK_SIZE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(ChatOptions):
    """How a judge grades. repeats: each explanation is graded so often, with references in another order."""

    repeats: int = 3
    max_tokens: ClassVar[int] = 64

    def __post_init__(self) -> None:
        self.check_chat()
        check_at_least("repeats", self.repeats, 1)
        if self.repeats > MAX_REPEATS:
            raise Refused(f"repeats: {self.repeats}; use at most {MAX_REPEATS}")


def request_judge(
    *, version: DatasetVersion, options: JudgeOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Start a run in which a chat model grades explanations about a sealed version's triplets; return its job.

    Raises:
        Refused: the version is a draft.
    """
    if not version.is_sealed:
        raise Refused(f"version {version.name}: is a draft; seal it first")
    options.load_prompts()
    project = version.project
    cap = check_chat_cap(project, options)
    with transaction.atomic():
        run = create_run(
            project=project,
            plan=RunPlan(
                RunPurpose.JUDGE,
                options.model,
                cap,
                options.cap_calls,
                asdict(options),
            ),
            by=by,
        )
        row = TripletEvaluation.objects.create(
            project=project,
            version=version,
            source=TripletSource.JUDGE.value,
            label=options.model[-120:],
            setup=SETUP,
            options=asdict(options),
            run=run,
            created_by_id=by.pk if by else None,
        )
        row.job = run.job = jobs.enqueue(
            task=JUDGE_EXPLANATIONS,
            title=f"Grade explanations with {options.model}"[:160],
            project=project,
            by=by,
            resumable=True,
            queue=queue,
            evaluation=row.pk,
        )
        row.save(update_fields=["job"])
        run.save(update_fields=["job"])
    return row.job


def take_in_model_explanations(
    *, evaluation: TripletEvaluation, candidates: Sequence[tuple[str, str]]
) -> int:
    """Store the explanations of a model that are judged, one for each triplet that it got right; return the new ones.

    Args:
        candidates: triplet and presentation, of ``nleye_explanations.explanation_candidates``.
    """
    triplets = ImageTriplet.objects.filter(project=evaluation.project).in_bulk(field_name="public_id")
    predictions: Mapping[tuple[str, str], TripletPrediction] = {
        (row.instance_id, row.presentation): row
        for row in TripletPrediction.objects.filter(evaluation=evaluation, stored_explanation=None)
    }
    rows = [
        TripletExplanation(
            triplet=triplets[key],
            text=prediction.explanation,
            source=ExplanationSource.MODEL.value,
            prediction=prediction,
        )
        for key, presentation in candidates
        if key in triplets
        and (prediction := predictions.get((key, presentation))) is not None
        and prediction.explanation.strip()
    ]
    return len(TripletExplanation.objects.bulk_create(rows, ignore_conflicts=True))


def store_grades(*, grades: Sequence[ExplanationGrade]) -> None:
    """Store grades; those that an interrupted run stored already are left as they are."""
    ExplanationGrade.objects.bulk_create(grades, ignore_conflicts=True, batch_size=_CHUNK_SIZE)
