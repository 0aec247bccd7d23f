"""The image of a judging page: a unit's photo with its region highlighted."""

import uuid

from PIL import Image as Pillow

from hits import registry
from hits.domain.images.region_drawing import highlighted_jpeg
from hits.models import Image, Unit


def render_photo_with_region(public_id: uuid.UUID) -> bytes | None:
    """Return a JPEG of a unit's photo in full size with its region highlighted.

    ``None`` if there is no such unit, its kind has no region, or the photo was taken down.
    """
    unit = Unit.objects.select_related("batch").filter(public_id=public_id).first()
    if unit is None:
        return None
    kind = registry.get_kind(unit.batch.kind)
    region = kind.region(unit.payload)
    if not region:
        return None
    (photo, *_) = kind.image_ids(unit.payload)
    image = Image.objects.filter(pk=photo, taken_down_at__isnull=True).first()
    if image is None:
        return None
    with image.file.open() as file, Pillow.open(file) as picture:
        return highlighted_jpeg(picture, region)
