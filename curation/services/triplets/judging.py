"""Request that a chat model grades explanations against references (Ventura et al. 2025 §4.2), and store grades."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.evaluation.bertscore import ROBERTA_BASELINE, ROBERTA_LAYER
from curation.evaluation.nleye import TRIPLET
from curation.evaluation.nleye_explanations import explanation_candidates
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
from curation.selectors.triplets.evaluations import (
    evaluations,
    read_choices,
    triplet_key,
    version_triplets,
)
from curation.selectors.triplets.explanations import text_key
from curation.services.options import check_at_least
from curation.services.triplets.chat_options import ChatOptions, check_chat_cap
from curation.services.triplets.evaluations import HYPOTHESES_ONLY
from curation.services.triplets.model_calls import RunPlan, create_run
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs

SETUP = "explanations"
MAX_REPEATS = 9
_CHUNK_SIZE = 500
_WITH_EXPLANATIONS = (TripletSource.MODEL, TripletSource.FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(ChatOptions):
    """How a judge grades. repeats: each explanation is graded so often, with references in another order.

    bertscore: a folder with a language model, whose BERTScore is a second measure; empty for none. bertscore_layer,
    bertscore_baseline: its layer, and the score of unrelated texts.
    """

    repeats: int = 3
    bertscore: str = ""
    bertscore_layer: int = ROBERTA_LAYER
    bertscore_baseline: float = ROBERTA_BASELINE
    max_tokens: ClassVar[int] = 64

    def __post_init__(self) -> None:
        self.check_chat()
        check_at_least("repeats", self.repeats, 1)
        if self.repeats > MAX_REPEATS:
            raise Refused(f"repeats: {self.repeats}; use at most {MAX_REPEATS}")
        if not self.bertscore_baseline < 1:
            raise Refused(f"bertscore_baseline: {self.bertscore_baseline:g}; use a number below 1")


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


def take_in_model_explanations(project: Project) -> int:
    """Store the explanations of models that are judged; return how many are new.

    Each evaluation gives one for each triplet that it got right (Ventura et al. 2025, table 10). One that a repeated
    evaluation gives again, word for word, is not stored twice. A model that saw no premise explains nothing.
    """
    rows = evaluations(project).filter(source__in=_WITH_EXPLANATIONS, setup=TRIPLET).exclude(figures={})
    return sum(_take_in(row) for row in rows.exclude(strategy=HYPOTHESES_ONLY).order_by("pk"))


def _take_in(evaluation: TripletEvaluation) -> int:
    assert evaluation.version is not None
    key = triplet_key(version_triplets(evaluation.version, evaluation.options.get("split", "")))
    candidates = explanation_candidates(key, read_choices(evaluation, key.ids))
    triplets = ImageTriplet.objects.filter(project=evaluation.project).in_bulk(field_name="public_id")
    waiting = TripletPrediction.objects.filter(evaluation=evaluation, stored_explanation=None)
    predictions = {(row.instance_id, row.presentation): row for row in waiting.exclude(explanation="")}
    alike = TripletExplanation.objects.filter(
        prediction__evaluation__label=evaluation.label, prediction__evaluation__strategy=evaluation.strategy
    ).filter(triplet__project=evaluation.project)
    known = {(key, text_key(text)) for key, text in alike.values_list("triplet__public_id", "text")}
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
        and (key, text_key(prediction.explanation)) not in known
    ]
    return len(TripletExplanation.objects.bulk_create(rows, ignore_conflicts=True))


def store_grades(*, grades: Sequence[ExplanationGrade]) -> None:
    """Store grades; those that an interrupted run stored already are left as they are."""
    ExplanationGrade.objects.bulk_create(grades, ignore_conflicts=True, batch_size=_CHUNK_SIZE)
