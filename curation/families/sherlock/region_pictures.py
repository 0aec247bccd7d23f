"""Pictures of the regions of a sealed version's comparison sets, drawn as judges and models see them."""

from collections.abc import Iterable, Iterator
from typing import Any

from PIL import Image as Pillow

from curation.models import DatasetVersion, VersionImage
from curation.records import InvalidInput, Region
from hits.domain.images.region_drawing import highlighted_jpeg
from hits.models import Image

REGIONS_FOLDER = "comparison/regions"


def region_picture_name(input_iid: str) -> str:
    """Return the file name, in an export, of an instance's region picture."""
    return f"{REGIONS_FOLDER}/{input_iid}.jpg"


def region_pictures(version: DatasetVersion, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, JPEG) of each comparison row: the photo with its region highlighted.

    A row is left out if its photo was taken down after the version was sealed.

    Args:
        rows: comparison rows of the version, as exported.

    Raises:
        InvalidInput: a photo's file is missing.
    """
    sealed = dict(VersionImage.objects.filter(version=version).values_list("url", "sha256"))
    for row in rows:
        images = Image.objects.filter(project_id=version.project_id, taken_down_at__isnull=True)
        image = images.filter(sha256=sealed[row["image"]["url"]]).first()
        if image is None:
            continue
        region = [Region(**box) for box in row["region"]]
        yield region_picture_name(row["Input_iid"]), _draw_region(image, region)


def _draw_region(image: Image, region: list[Region]) -> bytes:
    try:
        with image.file.open() as file, Pillow.open(file) as picture:
            return highlighted_jpeg(picture, region)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"photo {image.name}: its file {image.file.name} is missing; restore the media folder"
        ) from error
