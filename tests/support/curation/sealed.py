"""A sealed version made of rows alone, and sentence vectors without a model, for tests that ask for no more."""

from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from curation.models import DatasetVersion, Part, VersionImage, VersionRow, VersionState
from hits.models import Image, Project
from tests.support.curation.fakes import Letters

CANDIDATES = 6
RATINGS = (1.0, 3.0, 2.0, 1.0, 3.0, 2.0)


def sealed_version(
    project: Project, images: list[Image], *, split: str = "test", name: str = "v1"
) -> DatasetVersion:
    """Return a version with one pair and one rated set for each photo; both people rate as ``RATINGS``."""
    version = DatasetVersion.objects.create(project=project, name=name, rehearsal=project.is_rehearsal)
    ids = [f"{at:032x}" for at in range(len(images))]
    for at, image in enumerate(images):
        url = f"https://photos.example/{at}.png"
        VersionImage.objects.create(version=version, url=url, sha256=image.sha256, facts={"split": split})
        region = [{"left": 2, "top": 3, "width": 10, "height": 8}]
        seen = {"url": url, "width": image.width, "height": image.height}
        _row(version, Part.OBSERVATION, ids[at], split, _pair(ids[at], at, seen, region))
        others = [(at + step) % len(images) for step in range(1, CANDIDATES + 1)]
        rated = [
            {"source_iid": ids[other], "inference": inference_of(other), "annot1": value, "annot2": value}
            for other, value in zip(others, RATINGS, strict=True)
        ]
        row = {"Input_iid": ids[at], "image": seen, "region": region, "rank": at + 1, "candidates": rated}
        _row(version, Part.COMPARISON, ids[at], split, row)
    DatasetVersion.objects.filter(pk=version.pk).update(
        state=VersionState.SEALED, sealed_at=timezone.now(), manifest_sha256="ab" * 32
    )
    version.refresh_from_db()
    return version


def inference_of(at: int) -> str:
    """Return what is inferred about the photo of a place."""
    return f"somebody left number {at} here on a {'windy' if at % 2 else 'quiet'} day"


def _pair(name: str, at: int, seen: dict[str, Any], region: list[dict[str, int]]) -> dict[str, Any]:
    inputs = {"image": seen, "bboxes": region, "clue": f"thing {at}", "confidence": 2.0, "obs_idx": 1}
    return {
        "inputs": inputs,
        "targets": {"inference": inference_of(at)},
        "instance_id": name,
        "split_idx": None,
    }


def _row(version: DatasetVersion, part: Part, name: str, split: str, row: dict[str, Any]) -> None:
    VersionRow.objects.create(
        version=version, part=part.value, instance_id=name, split=split, row=row, sha256="cd" * 32, workers=[]
    )


class LetterSentences:
    """Sentence vectors by letters."""

    name = "letters"
    revision = "1"

    def encode_texts(self, texts: Any) -> NDArray[np.floating]:
        rows = Letters().encode_texts(list(texts)) - 0.5
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
