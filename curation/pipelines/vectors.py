"""Vectors of images, regions and texts, computed once and stored in shards in the media folder."""

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from curation.cores import usable_cores
from curation.features.parallel import map_in_threads
from curation.features.shards import EncodedItem, FeatureSpec, ShardFolder, combine_hashes, open_features
from curation.models import FeatureSet, Subject
from curation.pipelines.encoders import get_preprocessing
from curation.records import InvalidInput
from curation.services.features import complete_features, features_path
from curation.services.refusals import refuse_invalid_input
from hits.domain.hashing import content_sha256
from hits.models import Project
from hits.services.jobs.jobs import Progress

BATCH_SIZE = 16
_SHA256_PATTERN = re.compile(r"[0-9a-f]{64}")
Row = TypeVar("Row")
Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[Row]], NDArray[np.floating]]


@dataclass(frozen=True, slots=True)
class VectorOrigin:
    """The origin of vectors: encoder, revision (weights, precision, crops), subject and region mode.

    ``preprocessing`` has no default: pipelines share sets, and the first one writes the manifest.
    """

    encoder: str
    revision: str
    subject: Subject
    preprocessing: dict[str, Any]
    region_mode: str = ""


def encoder_origin(encoder: Any, subject: Subject, region_mode: str = "") -> VectorOrigin:
    """Return the origin of an encoder's vectors; it has a name, a revision, and perhaps a preprocessing."""
    return VectorOrigin(encoder.name, encoder.revision, subject, get_preprocessing(encoder), region_mode)


def get_or_make_vectors(
    *,
    project: Project,
    origin: VectorOrigin,
    items: Sequence[Row],
    ids: Sequence[str],
    fingerprints: Sequence[str],
    encode: Encode[Row],
    step: Callable[[int], None],
    parallel: bool = False,
) -> Vectors:
    """Return one vector per item, (n, d) float32, from cached shards if possible.

    Finished shards of a stopped run are reused. The array may be a read-only memory map.

    Args:
        ids: of the items; equal items need equal ids in all pipelines, as sets are shared.
        fingerprints: one per item; equal fingerprints mean equal vectors.
        encode: returns the vectors of a batch of items.
        step: called after each batch with its number of items; may raise to stop.
        parallel: whether ``encode`` is thread-safe; it must not use the database then.

    Raises:
        Refused: the files cannot be written.
    """
    hashes = [text if _SHA256_PATTERN.fullmatch(text) else content_sha256(text) for text in fingerprints]
    spec = make_feature_spec(origin, hashes)
    with refuse_invalid_input():
        cached = find_cached_vectors(project, spec)
        if cached is not None:
            step(len(items))
            return cached
        folder = ShardFolder(Path(settings.MEDIA_ROOT) / features_path(project, spec))
        folder.write_items([EncodedItem(name, sha256) for name, sha256 in zip(ids, hashes, strict=True)])
        _make_missing_shards(folder, spec, items, encode, step, parallel)
        return seal_shards(project, spec, folder)


def make_feature_spec(origin: VectorOrigin, hashes: Sequence[str], **more: Any) -> FeatureSpec:
    """Return the specification of a set of items with these hashes, in this order."""
    return FeatureSpec(
        encoder=origin.encoder[:80],
        revision=origin.revision[:120],
        subject=origin.subject.value,
        count=len(hashes),
        items_sha256=combine_hashes(hashes),
        region_mode=origin.region_mode,
        preprocessing=origin.preprocessing,
        **more,
    )


def find_feature_set(project: Project, spec: FeatureSpec) -> FeatureSet | None:
    """Return the row of a complete set, if any."""
    return FeatureSet.objects.filter(
        project=project,
        encoder=spec.encoder,
        revision=spec.revision,
        subject=spec.subject,
        region_mode=spec.region_mode,
        items_sha256=spec.items_sha256,
        is_complete=True,
    ).first()


def find_cached_vectors(project: Project, spec: FeatureSpec) -> Vectors | None:
    """Return the vectors of a complete set with unchanged files; ``None`` otherwise."""
    row = find_feature_set(project, spec)
    if row is None:
        return None
    try:
        features = open_features(Path(settings.MEDIA_ROOT) / row.path, manifest_sha256=row.sha256)
    except InvalidInput:
        return None  # damaged or missing files are made again
    return features.memory_map()


def encode_batches(
    items: Sequence[Row], encode: Encode[Row], step: Callable[[int], None], *, parallel: bool = False
) -> NDArray[np.float32]:
    """Return the vectors of one shard. Its batches are always the same, so that its bytes are reproducible."""
    threads = usable_cores() if parallel else 1
    batches = (items[start : start + BATCH_SIZE] for start in range(0, len(items), BATCH_SIZE))
    rows = []
    with closing(map_in_threads(encode, batches, threads=threads)) as done:
        for batch in done:
            rows.append(np.asarray(batch, dtype=np.float32))
            step(len(batch))
    return np.concatenate(rows)


def seal_shards(project: Project, spec: FeatureSpec, folder: ShardFolder) -> Vectors:
    """Write the manifest and the row of a set with all its shards; return its vectors."""
    sha256 = folder.seal(spec)
    features = open_features(folder.path, manifest_sha256=sha256, verify=False)
    complete_features(project=project, spec=spec, dim=features.shape[1], sha256=sha256)
    return features.memory_map()


def _make_missing_shards(
    folder: ShardFolder,
    spec: FeatureSpec,
    items: Sequence[Row],
    encode: Encode[Row],
    step: Callable[[int], None],
    parallel: bool,
) -> None:
    missing = set(folder.missing_shards(spec))
    for shard in range(spec.shard_count):
        rows = spec.rows(shard)
        if shard in missing:
            batch = items[rows.start : rows.stop]
            folder.write(shard, encode_batches(batch, encode, step, parallel=parallel))
        else:
            step(len(rows))


class StepCounter:
    """Counts steps of several stages for a job's progress; without a job it only counts."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done = 0
        self._total = total
        self._progress = progress

    def __call__(self, count: int) -> None:
        """Count ``count`` more items; raises ``Cancelled`` if the job was cancelled."""
        self._done += count
        if self._progress is not None:
            self._progress.advance(min(self._done, self._total), total=self._total)
