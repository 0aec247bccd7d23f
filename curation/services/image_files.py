"""Read the files of stored images."""

import numpy as np
from PIL import Image as Pillow

from curation.evaluation.image_figures import ImageFigures, measure_image
from hits.models import Image
from hits.services.errors import Refused


def open_image(image: Image) -> Pillow.Image:
    """Return an image's pixels, RGB.

    Raises:
        Refused: the file is missing or cannot be read.
    """
    try:
        with image.file.open("rb") as file, Pillow.open(file) as picture:
            picture.load()
            return picture if picture.mode == "RGB" else picture.convert("RGB")
    except OSError as error:
        raise Refused(f"{image.name}: its file is missing or broken; restore {image.file.name}") from error


def measure_file(image: Image) -> ImageFigures:
    """Return the figures of an image's pixels, which takes about 0.1 s for 1,024 × 1,024.

    Raises:
        Refused: the file is missing or cannot be read.
    """
    return measure_image(np.asarray(open_image(image)))
