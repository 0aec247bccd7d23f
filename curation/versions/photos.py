"""The photos of evaluation sets: which may be redistributed, and the list of them.

A photo is included if its licence allows copies; organisers can override this with ``all`` or ``none``. Other photos
are listed with their source's address. The sha256 is of our file, rotated upright and without metadata.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any

from curation.models import DatasetVersion, VersionImage
from hits.models import Image

LICENSED_PHOTOS, ALL_PHOTOS, NO_PHOTOS = "licensed", "all", "none"
PHOTO_CHOICES = (LICENSED_PHOTOS, ALL_PHOTOS, NO_PHOTOS)
PHOTOS = "photos"  # the folder of the photos
FIELDS = ("image", "file", "sha256", "bytes", "width", "height", "credit", "licence", "source")
_OPEN_LICENCE_PATTERN = re.compile(
    r"\s*(cc0|cc[ -]by|creative commons|public domain|pdm\b|no known copyright|apache|mit\b|bsd\b|unlicense)",
    re.IGNORECASE,
)


def allows_redistribution(licence: str) -> bool:
    """Whether a licence, by its name, allows redistribution (with credit and licence notice)."""
    return bool(_OPEN_LICENCE_PATTERN.match(licence))


def photo_rows(
    version: DatasetVersion, urls: Collection[str], *, photo_choice: str
) -> Iterator[dict[str, Any]]:
    """Yield an entry for each photo with one of ``urls``, in the version's order. photo_choice: of ``PHOTO_CHOICES``.

    ``file`` is its file name, or null if it may not be redistributed; ``image`` is its name in instances.
    """
    images = Image.objects.filter(project=version.project_id, taken_down_at__isnull=True).order_by("-pk")
    sealed = VersionImage.objects.filter(version=version).order_by("pk")
    by_hash = {image.sha256: image for image in images.filter(sha256__in=sealed.order_by().values("sha256"))}
    for row in sealed:
        if row.url not in urls:
            continue
        image = by_hash.get(row.sha256)
        if image is None:  # taken down since: only its name is given
            yield dict.fromkeys(FIELDS) | {"image": row.url, "sha256": row.sha256, "source": ""}
            continue
        is_included = photo_choice == ALL_PHOTOS or (
            photo_choice == LICENSED_PHOTOS and allows_redistribution(image.licence)
        )
        ending = str(image.file.name).rpartition(".")[2]
        yield {
            "image": row.url,
            "file": f"{PHOTOS}/{image.sha256}.{ending}" if is_included else None,
            "sha256": image.sha256,
            "bytes": image.bytes,
            "width": image.width,
            "height": image.height,
            "credit": image.credit,
            "licence": image.licence,
            "source": image.source_url,
        }


def count_photos_by_availability(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return the numbers of photos that are included, that are listed by their source, and that are unavailable."""
    included = sum(row["file"] is not None for row in rows)
    sourced = sum(row["file"] is None and bool(row["source"]) for row in rows)
    return {"passed_on": included, "by_source": sourced, "nowhere": len(rows) - included - sourced}
