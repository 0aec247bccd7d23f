"""Score a project's images with a model of interestingness, and count those that it and the hard rules select."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from curation.interest.counts import CountsModel
from curation.interest.rules import HardRules, ObjectCounts
from curation.models import InterestModel, InterestModelKind
from curation.pipelines.interest.images import count_pairs, image_vectors
from curation.pipelines.interest.network import load_network, network_scores
from curation.selectors.images import available_images
from curation.selectors.object_counts import object_counts
from curation.services.interest import replace_interest_scores
from curation.services.refusals import refuse_invalid_input
from hits.models import Project
from hits.selectors.images.images import usable_images
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress


def select_interesting(progress: Progress) -> dict[str, Any]:
    """Run a job: store the model's scores, if there is a model, and return the numbers of images for the job's page.

    Raises:
        Refused: no image has an object list, the encoder is not available or another one than in training, or the
            model's file is missing.
    """
    job = progress.job
    assert job.project is not None
    rules = HardRules(**job.args["rules"])
    model = InterestModel.objects.filter(pk=job.args["model"]).first()
    if model is None and job.args["model"] is not None:
        raise Refused(f"model {job.args['model']}: was deleted meanwhile; use another one")
    usable = set(usable_images(job.project).values_list("pk", flat=True))
    counts = object_counts(job.project, rules.min_score)
    with_objects = usable & counts.keys()
    selected = {image for image in with_objects if rules.is_met_by(counts[image])}
    found: dict[str, Any] = {
        "images": len(usable),
        "with_objects": len(with_objects),
        "within_rules": len(selected),
    }
    if not found["with_objects"]:
        raise Refused("images: none has an object list; detect objects first")
    if model is not None:
        if model.options["min_score"] != rules.min_score:
            counts = object_counts(job.project, model.options["min_score"])
        with refuse_invalid_input():
            scores = score_images(job.project, model, counts, progress)
        replace_interest_scores(model=model, scores=scores.items())
        selected &= {image for image, score in scores.items() if score >= (model.threshold or 0.0)}
        found |= {"model": model.pk, "threshold": model.threshold, "scored": len(scores)}
    return {**found, "selected": len(selected)}


def score_images(
    project: Project, model: InterestModel, counts: Mapping[int, ObjectCounts], progress: Progress
) -> dict[int, float]:
    """Return the model's score of each available image with an object list, by row key.

    Args:
        counts: the objects of each image with an object list, from the score with which the model was trained.

    Raises:
        InvalidInput: the model's file is missing or was changed.
        Refused: the encoder is not available, or has another revision than in training.
    """
    images = [image.pk for image in available_images(project) if image.pk in counts]
    pairs = count_pairs(counts, images)
    if model.kind == InterestModelKind.COUNTS:
        scores = CountsModel.from_json(model.weights).scores(pairs)
    else:
        scores = _network_scores(project, model, images, pairs, progress)
    return dict(zip(images, map(float, scores), strict=True))


def _network_scores(
    project: Project,
    model: InterestModel,
    images: Sequence[int],
    counts: NDArray[np.int64],
    progress: Progress,
) -> NDArray[np.float64]:
    network = load_network(Path(settings.MEDIA_ROOT) / model.path, sha256=model.weights["sha256"])
    vectors, revision = image_vectors(project, model.encoder, images, progress)
    if revision != model.weights["revision"]:
        raise Refused(
            f"model {model.pk}: was trained with {model.encoder} {model.weights['revision']}, but this process has "
            f"{revision}; train a new model"
        )
    return network_scores(network, vectors, counts)
