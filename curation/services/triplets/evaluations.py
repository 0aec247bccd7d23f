"""Request evaluations of models, baselines, people and files on a sealed version's triplets, and store answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.generation import names
from curation.image_triplets.chat_prompts import VARIANTS
from curation.models import (
    DatasetVersion,
    RunPurpose,
    TripletEvaluation,
    TripletPrediction,
    TripletSource,
)
from curation.selectors.jobs import EVALUATE_TRIPLETS
from curation.services.options import check_one_of
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.chat_options import ChatOptions, check_chat_cap
from curation.services.triplets.model_calls import RunPlan, create_run
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

TRIPLET, PAIRS = "triplet", "pairs"
SETUPS = (TRIPLET, PAIRS)
SEPARATE, COMBINED, TEXT_ONLY, IMAGE_TO_TEXT = "separate", "combined", "text-only", "image-to-text"
HYPOTHESES_ONLY = "hypotheses-only"
STRATEGIES = (SEPARATE, COMBINED, TEXT_ONLY, IMAGE_TO_TEXT, HYPOTHESES_ONLY)
PEOPLE = "people"
BASELINE_PREFIX, NLI_PREFIX = "baseline:", "nli:"
BASELINES = ("random", "always-first", "dumb-pixel", "likeness", "farther", "sentences")
_CHUNK_SIZE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions(ChatOptions):
    """What is evaluated and how.

    model: a chat model, ``baseline:NAME`` of ``BASELINES``, ``baseline:nli:FOLDER``, or ``people``. setup: a choice
    between two hypotheses, or a score for each. strategy: what the model sees. describer: the chat model that
    describes each image in the strategy image-to-text; empty for ``model`` itself. variant: how a choice is asked
    for. split: empty for all. encoder: of the baselines by likeness; empty for the built-in one.
    """

    setup: str = TRIPLET
    strategy: str = SEPARATE
    describer: str = ""
    variant: str = VARIANTS[0]
    split: str = ""
    encoder: str = ""

    def __post_init__(self) -> None:
        check_one_of("setup", self.setup, SETUPS)
        check_one_of("strategy", self.strategy, STRATEGIES)
        check_one_of("variant", self.variant, VARIANTS)
        if self.source is TripletSource.BASELINE:
            name = self.model.removeprefix(BASELINE_PREFIX)
            if name not in BASELINES and not name.startswith(NLI_PREFIX):
                raise Refused(
                    f"model: {self.model!r} is no baseline; use {', '.join(BASELINES)}, or nli:FOLDER"
                )
        if self.source is TripletSource.MODEL:
            self.check_chat()
            with refuse_invalid_input():
                names.parse_chat_model(self.describer)

    @property
    def source(self) -> TripletSource:
        """Whose answers are measured."""
        if self.model == PEOPLE:
            return TripletSource.PEOPLE
        is_baseline = self.model.startswith(BASELINE_PREFIX)
        return TripletSource.BASELINE if is_baseline else TripletSource.MODEL

    @property
    def label(self) -> str:
        """The name on pages."""
        if self.source is TripletSource.PEOPLE:
            return "People"
        return self.model.removeprefix(BASELINE_PREFIX)[-120:]


def check_version(version: DatasetVersion) -> None:
    """Check that a version can be evaluated. Raises Refused if it is a draft, or holds no image triplets."""
    if not version.is_sealed:
        raise Refused(f"version {version.name}: is a draft; seal it first")
    if version.project.family != "nleye":
        raise Refused(f"project {version.project.slug}: its versions hold no image triplets")


def request_evaluation(
    *,
    version: DatasetVersion,
    options: EvaluationOptions,
    by: AbstractBaseUser | None,
    queue: bool = True,
) -> Job:
    """Start an evaluation on a sealed version; return its job.

    Raises:
        Refused: the version is a draft or has no triplets.
    """
    check_version(version)
    options.load_prompts()
    project = version.project
    is_model = options.source is TripletSource.MODEL
    cap = _check_caps(project, options) if is_model else 0
    with transaction.atomic():
        run = None
        if is_model:
            run = create_run(
                project=project,
                plan=RunPlan(
                    RunPurpose.EVALUATION,
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
            source=options.source.value,
            label=options.label,
            setup=options.setup,
            strategy=options.strategy if is_model else "",
            options=asdict(options),
            run=run,
            created_by_id=by.pk if by else None,
        )
        row.job = jobs.enqueue(
            task=EVALUATE_TRIPLETS,
            title=f"Evaluate {row.label} on {version.name}"[:160],
            project=project,
            by=by,
            resumable=True,
            queue=queue,
            evaluation=row.pk,
        )
        row.save(update_fields=["job"])
        if run is not None:
            run.job = row.job
            run.save(update_fields=["job"])
        audit.record(project=project, actor=by, action="triplets.evaluate", subject=row.pk)
    return row.job


def _check_caps(project: Project, options: EvaluationOptions) -> int:
    """Return the cap in micro-dollars. Raises Refused if a price is unknown, or the cap is below one call."""
    if options.strategy == IMAGE_TO_TEXT:
        check_chat_cap(project, options, model=options.describer, has_images=True)
    shows_images = options.strategy not in {TEXT_ONLY, IMAGE_TO_TEXT}
    return check_chat_cap(project, options, has_images=shows_images)


def store_predictions(*, evaluation: TripletEvaluation, rows: Iterable[TripletPrediction]) -> None:
    """Store answers; those that an interrupted run stored already are left as they are."""
    waiting: list[TripletPrediction] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) >= _CHUNK_SIZE:
            TripletPrediction.objects.bulk_create(waiting, ignore_conflicts=True)
            waiting = []
    TripletPrediction.objects.bulk_create(waiting, ignore_conflicts=True)


def finish_evaluation(
    *, evaluation: TripletEvaluation, figures: Mapping[str, Any], provenance: Mapping[str, Any]
) -> None:
    """Store the figures of an evaluation."""
    TripletEvaluation.objects.filter(pk=evaluation.pk).update(
        figures=dict(figures), provenance=dict(provenance)
    )
    evaluation.refresh_from_db()


def stored_predictions(evaluation: TripletEvaluation) -> Sequence[TripletPrediction]:
    """Return the answers that an evaluation has so far."""
    return list(TripletPrediction.objects.filter(evaluation=evaluation).order_by("pk"))
