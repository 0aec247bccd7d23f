"""What the default distance of de-duplication finds: ``python -m tests.benchmarks.near_copies --json``.

Each photograph of the folder that ``DEERSTALKER_DATA`` names is changed in some ways, and the cosine of the copy's
EfficientNet-lite0 vector with its original's is compared with the default cut, and with the cosines of photographs
that are different ones.
"""

import argparse
import io
import json
import sys
from collections.abc import Callable

import numpy as np
from PIL import Image as Pillow
from PIL import ImageEnhance, ImageOps

from curation.features.label_sentence import PooledImageEncoder
from tests.benchmarks._machine import machine
from tests.benchmarks.features import pictures

CUT = 0.12  # curation.services.dedup.NEAR_COPY_DISTANCES, which asks for a configured site
Change = Callable[[Pillow.Image], Pillow.Image]


def scaled(part: int) -> Change:
    """Return a change to one ``part``-th of width and height."""
    return lambda photo: photo.resize((photo.width // part, photo.height // part), Pillow.Resampling.LANCZOS)


def cropped(share: float) -> Change:
    """Return a change that cuts ``share`` of width and height off, half of it at each side."""

    def crop(photo: Pillow.Image) -> Pillow.Image:
        x, y = round(photo.width * share / 2), round(photo.height * share / 2)
        return photo.crop((x, y, photo.width - x, photo.height - y))

    return crop


def saved(quality: int) -> Change:
    """Return a change that saves as JPEG."""

    def save(photo: Pillow.Image) -> Pillow.Image:
        file = io.BytesIO()
        photo.save(file, "JPEG", quality=quality)
        return Pillow.open(file).convert("RGB")

    return save


CHANGES: dict[str, Change] = {
    "mirrored": ImageOps.mirror,
    "brighter by a fifth": lambda photo: ImageEnhance.Brightness(photo).enhance(1.2),
    "5 % cropped": cropped(0.05),
    "12 % cropped": cropped(0.12),
    "JPEG quality 60": saved(60),
    "half size": scaled(2),
    "JPEG quality 30": saved(30),
    "half size, JPEG quality 75": lambda photo: saved(75)(scaled(2)(photo)),
    "grey": lambda photo: ImageOps.grayscale(photo).convert("RGB"),
    "quarter size": scaled(4),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args()
    source, files = pictures()
    if "GENERATED" in source:  # made-up pictures say nothing here
        why = "name the folder of photographs in DEERSTALKER_DATA"
        sys.stdout.write(json.dumps({"benchmark": "near_copies", "skipped": why}) + "\n")
        return
    encoder = PooledImageEncoder()
    photos = [Pillow.open(io.BytesIO(file)).convert("RGB") for file in files]
    vectors = encoder.encode_images(photos)
    unlike = (vectors @ vectors.T)[np.triu_indices(len(photos), 1)]
    found: dict[str, object] = {
        "benchmark": "near_copies",
        "machine": machine(),
        "photos": source,
        "cut": CUT,
        "different_photos": {"most": _short(unlike.max()), "median": _short(np.median(unlike))},
    }
    for name, change in CHANGES.items():
        copies = encoder.encode_images([change(photo) for photo in photos])
        cosines = np.sum(vectors * copies, axis=1)
        found[name] = {
            "least": _short(cosines.min()),
            "median": _short(np.median(cosines)),
            "found": int((cosines >= 1 - CUT).sum()),
        }
    json.dump(found, sys.stdout, indent=None if options.json else 2)
    sys.stdout.write("\n")


def _short(value: float) -> float:
    return round(float(value), 2)


if __name__ == "__main__":
    main()
