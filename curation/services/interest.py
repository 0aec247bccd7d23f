"""Label images as interesting; request models of interestingness and the selections that they make.

A pipeline trains the models (``curation.pipelines.interest``). Source: Zellers et al. 2019 §B.2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.interest.counts import DEFAULT_PENALTY
from curation.interest.labels import VERDICTS, OkayImages, targets, verdict_sums
from curation.interest.rules import MIN_SCORE, HardRules
from curation.interest.threshold import FOLDS, MIN_KEPT, MIN_LABELS, MIN_PRECISION, check_labels
from curation.models import InterestLabel, InterestModel, InterestModelKind, InterestScore
from curation.selectors.interest import all_verdicts
from curation.selectors.jobs import SELECT_INTERESTING, TRAIN_INTEREST
from curation.services.options import check_at_least, check_one_of
from curation.services.refusals import refuse_invalid_input
from curation.services.scorers import resolve_encoder
from hits.models import Image, Job, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

FEATURES_PREFIX = "features:"
HIDDEN = 512  # Zellers et al. 2019 §B.2
INSERT_BATCH_SIZE = 2_000
_MODEL_NAME = "use counts, or features:<encoder> such as features:efficientnet-lite0"


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How a model of interestingness is trained.

    kind, encoder: a model on counts of objects, or on them and an encoder's image features. min_precision: the wanted
    share of interesting images among those that are kept. min_kept: labelled images that a threshold has to keep.
    min_labels: of either class. folds: of films. okay: what images without a clear verdict count as. min_score:
    objects with a lower score do not count. penalty: of the counts model's weights. hidden, steps, learning_rate,
    weight_decay: of the features model.
    """

    kind: str = InterestModelKind.COUNTS.value
    encoder: str = ""
    min_precision: float = MIN_PRECISION
    min_kept: int = MIN_KEPT
    min_labels: int = MIN_LABELS
    folds: int = FOLDS
    okay: str = OkayImages.LEFT_OUT.value
    min_score: float = MIN_SCORE
    penalty: float = DEFAULT_PENALTY
    hidden: int = HIDDEN
    steps: int = 300
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    seed: int = 0

    def __post_init__(self) -> None:
        check_one_of("model", self.kind, [kind.value for kind in InterestModelKind])
        if (self.kind == InterestModelKind.FEATURES) != bool(self.encoder):
            raise Refused(f"model: only a model of features has an encoder, and it needs one; {_MODEL_NAME}")
        check_one_of("okay", self.okay, [okay.value for okay in OkayImages])
        for name, value, least in (
            ("min kept", self.min_kept, 1),
            ("min labels", self.min_labels, 2),
            ("folds", self.folds, 2),
            ("hidden", self.hidden, 1),
            ("steps", self.steps, 1),
            ("seed", self.seed, 0),
        ):
            check_at_least(name, value, least)
        for name, number in (("penalty", self.penalty), ("learning rate", self.learning_rate)):
            if not 0 < number < float("inf"):
                raise Refused(f"{name}: {number:g} is not a number above 0")
        if not 0 < self.min_precision <= 1:
            raise Refused(f"min precision: {self.min_precision:g} is not within 0 to 1; use for instance 0.7")
        if not 0 <= self.min_score <= 1:
            raise Refused(f"min score: {self.min_score:g} is not within 0 to 1; use for instance 0.7")
        if not 0 <= self.weight_decay < float("inf"):
            raise Refused(
                f"weight decay: {self.weight_decay:g} is not a number from 0; use for instance 0.01"
            )


def parse_model_name(name: str) -> dict[str, str]:
    """Return the ``kind`` and ``encoder`` of a model's name: ``counts`` or ``features:<encoder>``.

    Raises:
        Refused: it is neither.
    """
    if name == InterestModelKind.COUNTS:
        return {"kind": name}
    encoder = name.removeprefix(FEATURES_PREFIX)
    if encoder == name or not encoder:
        raise Refused(f"model: {name!r} is not known; {_MODEL_NAME}")
    return {"kind": InterestModelKind.FEATURES.value, "encoder": encoder}


@transaction.atomic
def label_image(*, image: Image, verdict: int, by: AbstractBaseUser) -> InterestLabel:
    """Store a researcher's verdict; a person's newest label of an image counts.

    Raises:
        Refused: the verdict is not -1, 0 or 1, or the image was taken down.
    """
    if verdict not in VERDICTS:
        raise Refused(f"verdict: {verdict} is not known; use 1 (interesting), 0 (okay) or -1 (boring)")
    if image.taken_down_at is not None:
        raise Refused(f"image {image.pk}: was taken down; label another one")
    return InterestLabel.objects.create(image=image, verdict=verdict, by_id=by.pk)


def request_interest_training(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    options: TrainingOptions | None = None,
    queue: bool = True,
) -> Job:
    """Queue the training of a model on all verdicts about the project's images.

    Raises:
        Refused: too few images are labelled, or there is no such scorer.
        Conflict: a model is being trained.
    """
    chosen = options or TrainingOptions()
    chosen = replace(chosen, encoder=resolve_encoder(project, chosen.encoder))
    labelled = targets(verdict_sums(all_verdicts(project)), OkayImages(chosen.okay))
    with refuse_invalid_input():
        check_labels(np.fromiter(labelled.values(), dtype=bool, count=len(labelled)), chosen.min_labels)
    name = "counts" if chosen.kind == InterestModelKind.COUNTS else f"counts and {chosen.encoder}"
    job = jobs.enqueue(
        task=TRAIN_INTEREST,
        title=f"Train a model of interest on {name}"[:160],
        project=project,
        by=by,
        exclusive_key=f"interest:{project.pk}",
        resumable=True,
        queue=queue,
        options=asdict(chosen),
    )
    audit.record(project=project, actor=by, action="interest.train", subject=job.pk, kind=chosen.kind)
    return job


def request_interest_selection(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    rules: HardRules,
    model: InterestModel | None = None,
    queue: bool = True,
) -> Job:
    """Queue the scoring of all images with a model, and the count of the images that it and the rules select.

    Without a model, only the rules select.

    Raises:
        Refused: the model belongs to another project.
        Conflict: the same selection is running.
    """
    if model is not None and model.project_id != project.pk:
        raise Refused(f"model {model.pk}: belongs to another project; use a model of {project.slug}")
    by_model = f"with model {model.pk}" if model else "by the rules alone"
    return jobs.enqueue(
        task=SELECT_INTERESTING,
        title=f"Select interesting photos {by_model}",
        project=project,
        by=by,
        exclusive_key=f"select-interesting:{project.pk}:{model.pk if model else 0}",
        resumable=True,
        queue=queue,
        model=model.pk if model else None,
        rules=asdict(rules),
    )


@transaction.atomic
def store_interest_model(
    *,
    job: Job,
    options: TrainingOptions,
    weights: Mapping[str, Any],
    path: str,
    threshold: float,
    figures: Mapping[str, Any],
) -> InterestModel:
    """Store a trained model; a job that is run again replaces its own model."""
    assert job.project is not None
    InterestModel.objects.filter(job=job).delete()
    facts = asdict(options)
    return InterestModel.objects.create(
        project=job.project,
        created_by=job.created_by,
        job=job,
        kind=facts.pop("kind"),
        encoder=facts.pop("encoder")[:120],
        options=facts,
        weights=dict(weights),
        path=path,
        threshold=threshold,
        figures=dict(figures),
    )


@transaction.atomic
def replace_interest_scores(*, model: InterestModel, scores: Iterable[tuple[int, float]]) -> int:
    """Store a model's scores, (image, score in [0, 1]), in place of its earlier ones; return their number."""
    InterestScore.objects.filter(model=model).delete()
    rows = [InterestScore(model=model, image_id=image, score=score) for image, score in scores]
    InterestScore.objects.bulk_create(rows, batch_size=INSERT_BATCH_SIZE)
    return len(rows)
