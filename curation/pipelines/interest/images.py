"""The images that models of interestingness learn from and score: counts, features, labels and films."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.interest.labels import OkayImages, targets, verdict_sums
from curation.interest.rules import ObjectCounts
from curation.models import Subject
from curation.pipelines.encoders import get_feature_encoder, is_thread_safe
from curation.pipelines.vectors import StepCounter, encoder_origin, get_or_make_vectors
from curation.selectors.image_names import movies
from curation.selectors.images import available_images
from curation.selectors.interest import all_verdicts, verdict_counts
from curation.selectors.object_counts import object_counts
from curation.services.image_files import open_image
from curation.services.interest import TrainingOptions
from hits.models import Project
from hits.services.jobs.jobs import Progress


@dataclass(frozen=True, slots=True)
class LabelledImages:
    """Labelled images with an object list.

    images: row keys. counts: (n, 2) numbers of people and of other objects. interesting: (n,) targets. films: of each
    image. verdicts: the number of verdicts by source. unclear: images whose verdicts give no target.
    without_objects: labelled images that have no object list, which are left out.
    """

    images: list[int]
    counts: NDArray[np.int64]
    interesting: NDArray[np.bool_]
    films: list[str]
    verdicts: dict[str, int]
    unclear: int
    without_objects: int


def load_labelled_images(project: Project, options: TrainingOptions) -> LabelledImages:
    """Return the project's labelled images in the order of their row keys."""
    verdicts = all_verdicts(project)
    sums = verdict_sums(verdicts)
    labels = targets(sums, OkayImages(options.okay))
    counts = object_counts(project, options.min_score)
    images = sorted(labels.keys() & counts.keys())
    film_of = movies(images)
    return LabelledImages(
        images=images,
        counts=count_pairs(counts, images),
        interesting=np.array([labels[pk] for pk in images], dtype=bool),
        films=[film_of[pk] for pk in images],
        verdicts=verdict_counts(verdicts),
        unclear=len(sums) - len(labels),
        without_objects=len(labels) - len(images),
    )


def count_pairs(counts: Mapping[int, ObjectCounts], images: Sequence[int]) -> NDArray[np.int64]:
    """Return the numbers of people and of other objects in some images: (n, 2)."""
    pairs = [[counts[pk].people, counts[pk].others] for pk in images]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def image_vectors(
    project: Project, encoder_name: str, images: Collection[int], progress: Progress
) -> tuple[NDArray[np.float32], str]:
    """Return the features of some available images, (n, d) in their order, and the encoder's revision.

    All available images are encoded, so that selection and other jobs use the same stored features.

    Raises:
        Refused: the encoder is not available, or a file is missing.
    """
    encoder = get_feature_encoder(encoder_name)
    everything = available_images(project)
    vectors = get_or_make_vectors(
        project=project,
        origin=encoder_origin(encoder, Subject.IMAGES),
        items=everything,
        ids=[str(image.pk) for image in everything],
        fingerprints=[image.sha256 for image in everything],
        encode=lambda batch: encoder.encode_images([open_image(image) for image in batch]),
        step=StepCounter(len(everything), progress),
        parallel=is_thread_safe(encoder),
    )
    row_of = {image.pk: row for row, image in enumerate(everything)}
    return vectors[_rows(row_of, images)], encoder.revision


def _rows(row_of: dict[int, int], images: Collection[int]) -> Sequence[int]:
    return [row_of[pk] for pk in images]
