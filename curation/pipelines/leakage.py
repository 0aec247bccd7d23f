"""Compare the splits of a project: encode its images, find near-duplicates across splits, store the pairs.

Copies are also found without vectors: equal stored files, and images with the same COCO or Flickr id.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.models import Subject
from curation.pipelines.encoders import ImageEncoder, get_image_encoder
from curation.pipelines.vectors import StepCounter, encoder_origin, get_or_make_vectors
from curation.selectors.leakage import ComparedImage, images_to_compare
from curation.services.image_files import open_image
from curation.services.leakage import CompareBy, LeakageOptions, LeakageResult, SimilarPair, store_leaks
from curation.services.refusals import refuse_invalid_input
from curation.sources import leakage
from curation.sources.identity import find_identities
from hits.models import Image, Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

BYTES_KEY = "bytes"
Vectors = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class _ComparedImages:
    """The compared images, with their vectors if there are any."""

    images: Sequence[ComparedImage]
    vectors: Vectors | None
    encoder: str
    revision: str

    @property
    def splits(self) -> list[str]:
        """The split of each image."""
        return [image.split for image in self.images]


def check_leakage(
    *,
    project: Project,
    options: LeakageOptions,
    by: AbstractBaseUser | None = None,
    progress: Progress | None = None,
    encoder: ImageEncoder | None = None,
) -> dict[str, Any]:
    """Find images shared between splits, store them as a run, and return the result for the job's row.

    Args:
        encoder: makes image vectors; by default the one in ``options``.

    Raises:
        Refused: fewer than two splits have images, a missing file, or vectors that cannot be used.
        Cancelled: the job was cancelled; finished vectors are saved.
    """
    started = time.monotonic()
    all_images = images_to_compare(project)
    compared_rows = [row for row, image in enumerate(all_images) if image.split and not image.set_aside]
    if len({all_images[row].split for row in compared_rows}) < 2:  # noqa: PLR2004 - leakage needs two splits
        raise Refused("splits: fewer than two have images; import images with their splits first")
    steps = StepCounter(2 * len(all_images), progress)
    compared = _encode_images(project, all_images, compared_rows, options, encoder, steps)
    with refuse_invalid_input():
        near_pairs = _find_near_pairs(
            compared,
            options,
            _ProductProgress(steps, len(all_images), leakage.count_products(compared.splits)),
        )
    leaks = _collect_leaks(compared, near_pairs, options)
    facts = {
        "without_split": sum(not image.split for image in all_images),
        "set_aside": sum(image.set_aside for image in all_images),
        "seconds": round(time.monotonic() - started, 1),
    }
    leaks = replace(leaks, provenance={**leaks.provenance, **facts})
    run = store_leaks(project=project, options=options, leaks=leaks, by=by)
    return {"run": run.pk, "images": run.checked, "found": run.found, "kept": len(leaks.pairs)}


class _ProductProgress:
    """Converts the number of inner products done to steps: they are the second half of a job's progress."""

    def __init__(self, steps: StepCounter, images: int, total: int) -> None:
        self._steps = steps
        self._images = images
        self._total = max(total, 1)
        self._products_done = 0
        self._reported = 0

    def __call__(self, count: int) -> None:
        self._products_done += count
        reached = self._images * self._products_done // self._total
        self._steps(reached - self._reported)
        self._reported = reached


def _encode_images(
    project: Project,
    all_images: Sequence[ComparedImage],
    compared_rows: Sequence[int],
    options: LeakageOptions,
    encoder: ImageEncoder | None,
    steps: StepCounter,
) -> _ComparedImages:
    """Encode all images, so that de-duplication can use the same feature set; then select the compared ones."""
    images = [all_images[row] for row in compared_rows]
    if options.compare == CompareBy.COPIES:
        steps(len(all_images))
        return _ComparedImages(images, None, "", "")
    image_encoder = encoder or get_image_encoder(options.encoder)
    vectors = get_or_make_vectors(
        project=project,
        origin=encoder_origin(image_encoder, Subject.IMAGES),
        items=[image.pk for image in all_images],
        ids=[str(image.pk) for image in all_images],
        fingerprints=[image.sha256 for image in all_images],
        encode=lambda batch: image_encoder.encode_images(_open_images(batch)),
        step=steps,
    )
    return _ComparedImages(
        images, vectors[np.asarray(compared_rows)], image_encoder.name, image_encoder.revision
    )


def _open_images(keys: Sequence[int]) -> list[Any]:
    found = Image.objects.in_bulk(keys)
    if missing := set(keys) - set(found):
        raise Refused(f"image {min(missing)} was deleted meanwhile; start again")
    return [open_image(found[key]) for key in keys]


def _find_near_pairs(
    compared: _ComparedImages, options: LeakageOptions, step: _ProductProgress
) -> leakage.CrossPairs | None:
    if compared.vectors is None:
        return None
    return leakage.find_cross_pairs(
        compared.vectors, compared.splits, threshold=options.threshold, limit=options.limit, step=step
    )


def _collect_leaks(
    compared: _ComparedImages, near_pairs: leakage.CrossPairs | None, options: LeakageOptions
) -> LeakageResult:
    """Combine copies and near pairs; copies come first if the limit cuts the list."""
    images, splits = compared.images, compared.splits
    keys = [frozenset({f"{BYTES_KEY}:{i.sha256}"}) | find_identities(i.url, i.facts) for i in images]
    shared = leakage.find_shared_keys(keys, splits)
    cosines = _cosines_of_copies(compared, shared)
    copies = {(first, second): cosine for (first, second, _), cosine in zip(shared, cosines, strict=True)}
    found, by_splits = _count_pairs(near_pairs, copies, splits, options)
    pairs = dict(copies)
    if near_pairs is not None:
        pairs_found = zip(near_pairs.rows.tolist(), near_pairs.cosines.tolist(), strict=True)
        for (first, second), cosine in pairs_found:
            pairs.setdefault((first, second), cosine)
    selected = list(pairs.items())[: options.limit]
    provenance = {
        "splits": dict(Counter(splits)),
        "by_splits": {"/".join(names): count for names, count in by_splits.items()},
        "copies": len(copies),
        "compare": str(options.compare),
        "limit": options.limit,
        "nearest": leakage.nearest_histogram(near_pairs.nearest) if near_pairs is not None else [],
        "margin": leakage.rounding_margin(compared.vectors.shape[1])
        if compared.vectors is not None
        else None,
    }
    return LeakageResult(
        encoder=compared.encoder,
        revision=compared.revision,
        checked=len(images),
        found=found,
        pairs=[SimilarPair(images[a].pk, images[b].pk, cosine) for (a, b), cosine in selected],
        provenance=provenance,
    )


def _cosines_of_copies(compared: _ComparedImages, shared: Sequence[tuple[int, int, str]]) -> list[float]:
    """Return the cosine of each pair of copies; without vectors 1 for equal files, else 0 for unknown."""
    if compared.vectors is not None and shared:
        rows = np.array([(first, second) for first, second, _ in shared], dtype=np.int64)
        return [float(value) for value in leakage.pair_cosines(compared.vectors, rows)]
    return [float(key.startswith(BYTES_KEY)) for _, _, key in shared]


def _count_pairs(
    near_pairs: leakage.CrossPairs | None,
    copies: dict[tuple[int, int], float],
    splits: Sequence[str],
    options: LeakageOptions,
) -> tuple[int, dict[tuple[str, ...], int]]:
    """Return the numbers of pairs, in all and for every two splits; a copy that is also near counts once."""
    by_splits: Counter[tuple[str, ...]] = Counter(dict.fromkeys(combinations(sorted(set(splits)), 2), 0))
    if near_pairs is not None:
        for names, count in near_pairs.by_splits.items():
            by_splits[tuple(sorted(names))] += count
    for (first, second), cosine in copies.items():
        if near_pairs is None or cosine < options.threshold:
            by_splits[tuple(sorted((splits[first], splits[second])))] += 1
    return by_splits.total(), dict(by_splits)
