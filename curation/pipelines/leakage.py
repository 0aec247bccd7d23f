"""Compare the splits of a project: encode its images, find near-duplicates across splits, keep the pairs.

Copies are found without vectors, too: equal stored files, and pictures that publish the same COCO or Flickr id.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.models import Subject
from curation.pipelines.encoders import ImageVectors, image_vectors, preprocessing_of
from curation.pipelines.vectors import Maker, Steps, open_image, vectors_of
from curation.records import InvalidInput
from curation.selectors.leakage import SplitImage, split_images
from curation.services.leakage import Compare, FoundLeaks, FoundPair, LeakageOptions, store_leaks
from curation.sources.identity import identities
from curation.sources.leakage import (
    CrossPairs,
    cosines_of,
    cross_pairs,
    histogram,
    margin,
    products,
    shared_keys,
)
from hits.models import Image, Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

BYTES = "bytes"
Vectors = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class _Compared:
    """The images that are compared, with their vectors where there are any."""

    images: Sequence[SplitImage]
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
    encoder: ImageVectors | None = None,
) -> dict[str, Any]:
    """Find what splits share, keep it as a run, and return what the job's row tells.

    Args:
        encoder: makes image vectors; the one that ``options`` name when absent.

    Raises:
        Refused: fewer than two splits have images, a missing file, or vectors that cannot be used.
        Cancelled: somebody asked for the job to stop; vectors that were made are kept.
    """
    started = time.monotonic()
    everything = split_images(project)
    chosen = [row for row, image in enumerate(everything) if image.split and not image.set_aside]
    if len({everything[row].split for row in chosen}) < 2:  # noqa: PLR2004 - a split leaks into another
        raise Refused("splits: fewer than two have images; import images with their splits first")
    steps = Steps(2 * len(everything), progress)
    compared = _encoded(project, everything, chosen, options, encoder, steps)
    try:
        near = _near(compared, options, _Share(steps, len(everything), products(compared.splits)))
    except InvalidInput as error:
        raise Refused(str(error)) from error
    leaks = _leaks(compared, near, options)
    facts = {
        "without_split": sum(not image.split for image in everything),
        "set_aside": sum(image.set_aside for image in everything),
        "seconds": round(time.monotonic() - started, 1),
    }
    run = store_leaks(project=project, options=options, leaks=_with(leaks, facts), by=by)
    return {"run": run.pk, "images": run.checked, "found": run.found, "kept": len(leaks.pairs)}


class _Share:
    """Tells a job about the products of a search as if they were images: the second half of its count."""

    def __init__(self, steps: Steps, images: int, total: int) -> None:
        self._steps = steps
        self._images = images
        self._total = max(total, 1)
        self._made = 0
        self._told = 0

    def __call__(self, count: int) -> None:
        self._made += count
        reached = self._images * self._made // self._total
        self._steps(reached - self._told)
        self._told = reached


def _encoded(
    project: Project,
    everything: Sequence[SplitImage],
    chosen: Sequence[int],
    options: LeakageOptions,
    encoder: ImageVectors | None,
    steps: Steps,
) -> _Compared:
    """Encode all images, as de-duplication does, so that both use the same file; then take those compared."""
    images = [everything[row] for row in chosen]
    if options.compare == Compare.COPIES:
        steps(len(everything))
        return _Compared(images, None, "", "")
    maker = encoder or image_vectors(options.encoder)
    vectors = vectors_of(
        project=project,
        maker=Maker(maker.name, maker.revision, Subject.IMAGES, preprocessing=preprocessing_of(maker)),
        items=[image.pk for image in everything],
        ids=[str(image.pk) for image in everything],
        fingerprints=[image.sha256 for image in everything],
        encode=lambda few: maker.encode_images(_pictures(few)),
        step=steps,
    )
    return _Compared(images, vectors[np.asarray(chosen)], maker.name, maker.revision)


def _pictures(keys: Sequence[int]) -> list[Any]:
    found = Image.objects.in_bulk(keys)
    if gone := set(keys) - set(found):
        raise Refused(f"image {min(gone)} was removed meanwhile; start again")
    return [open_image(found[key]) for key in keys]


def _near(compared: _Compared, options: LeakageOptions, step: _Share) -> CrossPairs | None:
    if compared.vectors is None:
        return None
    return cross_pairs(
        compared.vectors, compared.splits, threshold=options.threshold, limit=options.limit, step=step
    )


def _leaks(compared: _Compared, near: CrossPairs | None, options: LeakageOptions) -> FoundLeaks:
    """Put copies and near pairs together; copies come first when not all can be kept."""
    images, splits = compared.images, compared.splits
    keys = [frozenset({f"{BYTES}:{i.sha256}"}) | identities(i.url, i.facts) for i in images]
    shared = shared_keys(keys, splits)
    cosines = _cosines_of_copies(compared, shared)
    copies = {(first, second): cosine for (first, second, _), cosine in zip(shared, cosines, strict=True)}
    found, by_splits = _counts(near, copies, splits, options)
    pairs = dict(copies)
    if near is not None:
        for (first, second), cosine in zip(near.rows.tolist(), near.cosines.tolist(), strict=True):
            pairs.setdefault((first, second), cosine)
    kept = list(pairs.items())[: options.limit]
    provenance = {
        "splits": dict(Counter(splits)),
        "by_splits": {"/".join(names): count for names, count in by_splits.items()},
        "copies": len(copies),
        "compare": str(options.compare),
        "limit": options.limit,
        "nearest": histogram(near.nearest) if near is not None else [],
        "margin": margin(compared.vectors.shape[1]) if compared.vectors is not None else None,
    }
    return FoundLeaks(
        encoder=compared.encoder,
        revision=compared.revision,
        checked=len(images),
        found=found,
        pairs=[FoundPair(images[a].pk, images[b].pk, cosine) for (a, b), cosine in kept],
        provenance=provenance,
    )


def _cosines_of_copies(compared: _Compared, shared: Sequence[tuple[int, int, str]]) -> list[float]:
    """Return the cosine of each pair of copies; without vectors 1 for equal files, and 0 stands for unknown."""
    if compared.vectors is not None and shared:
        rows = np.array([(first, second) for first, second, _ in shared], dtype=np.int64)
        return [float(value) for value in cosines_of(compared.vectors, rows)]
    return [float(key.startswith(BYTES)) for _, _, key in shared]


def _counts(
    near: CrossPairs | None,
    copies: dict[tuple[int, int], float],
    splits: Sequence[str],
    options: LeakageOptions,
) -> tuple[int, dict[tuple[str, ...], int]]:
    """Return how many pairs there are, in all and for each two splits; a copy that is also near counts once."""
    by_splits: Counter[tuple[str, ...]] = Counter(dict.fromkeys(combinations(sorted(set(splits)), 2), 0))
    if near is not None:
        for names, count in near.by_splits.items():
            by_splits[tuple(sorted(names))] += count
    for (first, second), cosine in copies.items():
        if near is None or cosine < options.threshold:
            by_splits[tuple(sorted((splits[first], splits[second])))] += 1
    return by_splits.total(), dict(by_splits)


def _with(leaks: FoundLeaks, facts: dict[str, Any]) -> FoundLeaks:
    return FoundLeaks(
        leaks.encoder,
        leaks.revision,
        leaks.checked,
        leaks.found,
        leaks.pairs,
        {**leaks.provenance, **facts},
    )
