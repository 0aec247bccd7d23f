"""Labelled images of made-up films in the database, whose labels depend on their counts of objects."""

from curation.models import InterestLabel
from hits.models import Image, Project
from tests.support.curation.interest_counts import LabelledImages
from tests.support.vcr.frames import write_frames


def store_labelled(project: Project, made_up: LabelledImages, person: object) -> list[Image]:
    """Store images with object lists, films, and one person's verdicts, 1 or -1; return the images in order."""
    counts = [(int(people), int(others)) for people, others in made_up.counts]
    images = write_frames(project, counts, made_up.films)
    InterestLabel.objects.bulk_create(
        [
            InterestLabel(image=image, verdict=1 if label else -1, by=person)  # type: ignore[misc]
            for image, label in zip(images, made_up.interesting, strict=True)
        ]
    )
    return images
