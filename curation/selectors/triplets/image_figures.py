"""Read the pixel figures of generated images, and measure how near they are in style."""

import io

import numpy as np
from PIL import Image as Pillow

from curation.evaluation.image_figures import ImageFigures, StyleScale, measure_image
from curation.models import GeneratedImage
from hits.models import Image, Project


def open_picture(image: Image) -> Pillow.Image:
    """Return an image's file as RGB. Raises OSError if it is missing or damaged."""
    with image.file.open("rb") as file:
        return Pillow.open(io.BytesIO(file.read())).convert("RGB")


def measure_file(image: Image) -> ImageFigures:
    """Return the figures of an image's file, which takes about 0.1 s for 1,024 × 1,024 pixels.

    Raises:
        OSError: the file is missing or damaged.
    """
    return measure_image(np.asarray(open_picture(image)))


def read_figures(row: GeneratedImage) -> ImageFigures | None:
    """Return the figures that were stored with an image; ``None`` if it has none."""
    return ImageFigures(**row.figures) if row.figures else None


def get_figures(row: GeneratedImage) -> ImageFigures:
    """Return the stored figures of an image, or else measure its file. Raises OSError like ``measure_file``."""
    return read_figures(row) or measure_file(row.image)


def style_scale(project: Project) -> StyleScale:
    """Return the scale of style over a project's images; one query."""
    rows = GeneratedImage.objects.filter(scene__project=project).exclude(figures=None)
    stored = rows.values_list("figures", flat=True)
    return StyleScale.of(ImageFigures(**figures) for figures in stored if figures)
