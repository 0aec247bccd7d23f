"""Vectors of images, regions and texts, made once and kept in shards beside the media."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.cores import usable_cores
from curation.features.parallel import in_threads
from curation.features.shards import Item, Made, ShardFolder, fingerprint_of, open_features
from curation.models import FeatureSet, Subject
from curation.records import InvalidInput
from curation.services.features import complete_features, features_path
from hits.domain.hashing import content_sha256
from hits.models import Image, Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

BATCH = 16
_SHA256 = re.compile(r"[0-9a-f]{64}")
Row = TypeVar("Row")
Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[Row]], NDArray[np.floating]]


@dataclass(frozen=True, slots=True)
class Maker:
    """Who makes the vectors: a name, what exactly (weights, precision, crops), what of, and how it is drawn.

    ``preprocessing`` has no default: pipelines share sets, and whoever makes one first writes its manifest.
    """

    encoder: str
    revision: str
    subject: Subject
    preprocessing: dict[str, Any]
    region_mode: str = ""


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


def vectors_of(
    *,
    project: Project,
    maker: Maker,
    items: Sequence[Row],
    ids: Sequence[str],
    fingerprints: Sequence[str],
    encode: Encode[Row],
    step: Callable[[int], None],
    parallel: bool = False,
) -> Vectors:
    """Return one vector per item, (n, d) float32, from the shards of an earlier run where there are any.

    Shards that a stopped run finished are kept. The array may be a read-only memory map.

    Args:
        ids: what the items are called elsewhere; equal items have equal ids in all pipelines, as sets are shared.
        fingerprints: one per item; equal fingerprints mean equal vectors.
        encode: makes the vectors of a few items.
        step: told after each few how many items were done since; may raise to stop.
        parallel: ``encode`` is safe in several threads at once; it must not touch the database then.

    Raises:
        Refused: the files cannot be written.
    """
    hashes = [text if _SHA256.fullmatch(text) else content_sha256(text) for text in fingerprints]
    made = made_of(maker, hashes)
    try:
        known = standing_vectors(project, made)
        if known is not None:
            step(len(items))
            return known
        folder = ShardFolder(Path(settings.MEDIA_ROOT) / features_path(project, made))
        folder.write_items(_named(ids, hashes))
        _make_shards(folder, made, items, encode, step, parallel)
        return sealed(project, made, folder)
    except InvalidInput as error:
        raise Refused(str(error)) from error


def made_of(maker: Maker, hashes: Sequence[str], **more: Any) -> Made:
    """Return the description of a set of items with these hashes, in this order."""
    return Made(
        encoder=maker.encoder[:80],
        revision=maker.revision[:120],
        subject=maker.subject.value,
        count=len(hashes),
        items_sha256=fingerprint_of(hashes),
        region_mode=maker.region_mode,
        preprocessing=maker.preprocessing,
        **more,
    )


def standing_vectors(project: Project, made: Made) -> Vectors | None:
    """Return the vectors of a complete set whose files are as they were written; ``None`` otherwise."""
    row = FeatureSet.objects.filter(
        project=project,
        encoder=made.encoder,
        revision=made.revision,
        subject=made.subject,
        region_mode=made.region_mode,
        items_sha256=made.items_sha256,
        is_complete=True,
    ).first()
    if row is None:
        return None
    try:
        found = open_features(Path(settings.MEDIA_ROOT) / row.path, manifest_sha256=row.sha256)
    except InvalidInput:
        return None  # what is torn or gone is made again
    return found.memory_map()


def encoded(
    items: Sequence[Row], encode: Encode[Row], step: Callable[[int], None], *, parallel: bool = False
) -> NDArray[np.float32]:
    """Return the vectors of one shard. Its batches are always the same, so that its bytes are too."""
    threads = usable_cores() if parallel else 1
    rows = []
    with closing(in_threads(encode, _batches(items), threads=threads)) as done:
        for few in done:
            rows.append(np.asarray(few, dtype=np.float32))
            step(len(few))
    return np.concatenate(rows)


def sealed(project: Project, made: Made, folder: ShardFolder) -> Vectors:
    """Write the manifest and the row of a set whose shards are all there; return its vectors."""
    sha256 = folder.seal(made)
    found = open_features(folder.path, manifest_sha256=sha256, verify=False)
    complete_features(project=project, made=made, dim=found.shape[1], sha256=sha256)
    return found.memory_map()


def _make_shards(
    folder: ShardFolder,
    made: Made,
    items: Sequence[Row],
    encode: Encode[Row],
    step: Callable[[int], None],
    parallel: bool,
) -> None:
    missing = set(folder.missing(made))
    for shard in range(made.shards):
        rows = made.rows(shard)
        if shard in missing:
            few = items[rows.start : rows.stop]
            folder.write(shard, encoded(few, encode, step, parallel=parallel))
        else:
            step(len(rows))


def _named(ids: Sequence[str], hashes: Sequence[str]) -> list[Item]:
    return [Item(name, sha256) for name, sha256 in zip(ids, hashes, strict=True)]


def _batches(items: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


class Steps:
    """Adds up what several stages did, and tells a job's row; without a job it only counts."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done = 0
        self._total = total
        self._progress = progress

    def __call__(self, count: int) -> None:
        """Count ``count`` more items; raises ``Cancelled`` when somebody asked the job to stop."""
        self._done += count
        if self._progress is not None:
            self._progress.advance(min(self._done, self._total), total=self._total)
