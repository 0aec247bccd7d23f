"""Images as R2C's network gets them: resized into 768 by 384 pixels and padded, with boxes and masks of objects.

As published (``dataloaders/box_utils.py`` and ``dataloaders/vcr.py`` of rowanz/r2c): the padding is divided at random
in training and evenly otherwise; a mask has 14 by 14 points, spread evenly over the box, each inside or outside of
the object's polygons. An object without polygons fills its box.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.chooser.model.detector import MASK_SIDE
from curation.chooser.model.object_vectors import open_picture
from curation.chooser.questions import Box, ChoiceQuestion, add_detections
from curation.proposals.polygons import draw_polygons
from hits.domain.images.polygons import Polygon

WIDTH, HEIGHT = 768, 384
CENTRED = (0.5, 0.5)
Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Frame:
    """One image and 1 + n objects, the whole image first.

    pixels: (HEIGHT, WIDTH, 3). boxes: (1 + n, 4) edges in these pixels. masks: (1 + n, 14, 14), 1 inside.
    """

    pixels: Pixels
    boxes: Floats
    masks: Floats


def make_frame(
    question: ChoiceQuestion,
    images: Path,
    objects: Sequence[int],
    *,
    shares: tuple[float, float] = CENTRED,
) -> Frame:
    """Return a question's image with the boxes and masks of some of its objects.

    Args:
        images: the image folder, with the published metadata.
        shares: of the padding, how much is on the left and how much at the top, 0 to 1.

    Raises:
        InvalidInput: the image or its metadata cannot be read.
    """
    picture = open_picture(images / question.image, question.annot_id)
    pixels, window, scale = _resize_and_pad(picture, shares)
    boxes, masks = [window], [np.ones((MASK_SIDE, MASK_SIDE), dtype=np.float32)]
    if objects:
        placed = add_detections(question, images)
        for index in objects:
            boxes.append(_place_box(placed.boxes[index], window, scale))
            masks.append(object_mask(placed.boxes[index], placed.polygons[index]))
    return Frame(pixels, np.array(boxes, dtype=np.float32), np.stack(masks))


def _resize_and_pad(picture: Pillow.Image, shares: tuple[float, float]) -> tuple[Pixels, Box, float]:
    """Return the padded pixels, the edges of the image within them, and the scale."""
    scale = min(WIDTH / picture.width, HEIGHT / picture.height)
    width = min(max(round(picture.width * scale), 1), WIDTH)
    height = min(max(round(picture.height * scale), 1), HEIGHT)
    left, top = round((WIDTH - width) * shares[0]), round((HEIGHT - height) * shares[1])
    padded = Pillow.new("RGB", (WIDTH, HEIGHT))
    padded.paste(picture.resize((width, height), Pillow.Resampling.BILINEAR), (left, top))
    return np.asarray(padded), (left, top, left + width, top + height), scale


def _place_box(box: Box, window: Box, scale: float) -> Box:
    left, top, right, bottom = (edge * scale for edge in box)
    return left + window[0], top + window[1], right + window[0], bottom + window[1]


def object_mask(box: Box, polygons: Sequence[Polygon]) -> Floats:
    """Return the (14, 14) points of a box that lie inside one of the polygons as 1, others as 0."""
    if not polygons:
        return np.ones((MASK_SIDE, MASK_SIDE), dtype=np.float32)
    left, top, right, bottom = box
    scaled = [
        [
            ((x - left) * MASK_SIDE / (right - left), (y - top) * MASK_SIDE / (bottom - top))
            for x, y in polygon
        ]
        for polygon in polygons
    ]
    return draw_polygons(scaled, MASK_SIDE, MASK_SIDE).astype(np.float32)
