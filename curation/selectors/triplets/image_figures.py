"""The stored pixel figures of generated images, and the scale of their distances of style."""

from curation.evaluation.image_figures import ImageFigures, StyleScale
from curation.models import GeneratedImage
from hits.models import Project


def read_figures(row: GeneratedImage) -> ImageFigures | None:
    """Return the figures that were stored with an image; ``None`` if it has none."""
    return ImageFigures(**row.figures) if row.figures else None


def style_scale(project: Project) -> StyleScale:
    """Return the scale of style over a project's images; one query."""
    measured = GeneratedImage.objects.filter(scene__project=project, figures__isnull=False).only("figures")
    return StyleScale.of(filter(None, map(read_figures, measured)))
