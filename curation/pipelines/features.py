"""Make a project's feature sets: plan one, make its shards in any process, seal it.

Rows and files contain the whole state between steps, so each step may run on another machine with the same database
and media folder. After a kill the next run makes the missing shards, bit for bit equal.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from curation.features.crops import Crop
from curation.features.encoder import Precision
from curation.features.shards import EncodedItem, FeatureSpec, ShardFolder
from curation.models import FeatureSet, Subject
from curation.pipelines.encoders import get_feature_encoder
from curation.pipelines.vectors import (
    StepCounter,
    VectorOrigin,
    encode_batches,
    encoder_origin,
    find_cached_vectors,
    make_feature_spec,
    seal_shards,
)
from curation.records import Region
from curation.selectors.images import available_images
from curation.selectors.jobs import FEATURE_SHARD
from curation.selectors.pairs import accepted_pairs, pairs_by_instance_id
from curation.services.features import (
    FeatureOptions,
    features_path,
    get_or_create_feature_set,
    reopen_features,
)
from curation.services.image_files import open_image
from curation.services.refusals import refuse_invalid_input
from hits.domain.hashing import content_sha256
from hits.domain.images.region_drawing import RegionMode
from hits.models import Image, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs

Encode = Callable[[Sequence[Any]], NDArray[np.floating]]


def make_features(progress: Progress) -> dict[str, Any]:
    """Run a job: plan the set, start sub-jobs for missing shards, and seal the set when there are none.

    Returns the result for the job's page.

    Raises:
        SplitIntoSubjobs: shards are missing; the job is called again when they exist.
        Refused: see ``plan_feature_set`` and ``seal_feature_set``.
    """
    row, options = _load_or_plan(progress)
    missing = missing_shards(row, options)
    if missing:
        total = sum(rows for _, rows in missing)
        progress.log(f"{len(missing)} of {row.shards} shards are missing: {total} of {row.count}")
        subjobs = [_make_subjob(row, options, shard, rows) for shard, rows in missing]
        raise SplitIntoSubjobs(task=FEATURE_SHARD, subjobs=subjobs, done=row.count - total)
    row = seal_feature_set(row, options)
    return {
        "feature_set": row.pk,
        "encoder": row.encoder,
        "revision": row.revision,
        "count": row.count,
        "dim": row.dim,
        "shards": row.shards,
        "path": row.path,
        "sha256": row.sha256,
    }


def run_shard_subjob(progress: Progress) -> None:
    """Run a sub-job: make one shard."""
    args = progress.job.args
    row = FeatureSet.objects.select_related("project").get(pk=args["feature_set"])
    make_shard_if_missing(row, args["shard"], FeatureOptions(**args["options"]), progress)


def _load_or_plan(progress: Progress) -> tuple[FeatureSet, FeatureOptions]:
    """Return the set that an earlier call of this job planned, or plan a new one."""
    job = progress.job
    assert job.project is not None
    options = FeatureOptions(**job.args["options"])
    row = FeatureSet.objects.select_related("project").filter(pk=job.result.get("feature_set")).first()
    if row is not None:
        return row, replace(options, precision=job.result["precision"])
    row, options = plan_feature_set(job.project, options)
    jobs.set_result(job=job, feature_set=row.pk, precision=options.precision)
    return row, options


def _make_subjob(row: FeatureSet, options: FeatureOptions, shard: int, rows: int) -> PlannedSubjob:
    return PlannedSubjob(
        title=f"Shard {shard + 1} of {row.shards}",
        total=rows,
        args={"feature_set": row.pk, "shard": shard, "options": asdict(options)},
    )


def plan_feature_set(project: Project, options: FeatureOptions) -> tuple[FeatureSet, FeatureOptions]:
    """Write the items and the row of a set; return it with the options for its shards.

    Raises:
        Refused: nothing to encode, or the encoder is not available or does not support the options.
    """
    encoder = _load_encoder(options.encoder, options.precision, options.crop)
    precision = encoder.preprocessing["precision"]
    items = _select_items(project, options)
    if not items:
        raise Refused(f"{options.description}: there are none; import or approve some first")
    hashes = [item.sha256 for item in items]
    spec = make_feature_spec(vector_origin(encoder, options), hashes, shard_rows=options.shard_rows)
    row = get_or_create_feature_set(project=project, spec=spec)
    if find_cached_vectors(project, spec) is None:
        reopen_features(row=row, spec=spec)
        row.refresh_from_db()
        with refuse_invalid_input():
            _shard_folder(row, spec).write_items(items)
    return row, replace(options, precision=precision)


def vector_origin(encoder: Any, options: FeatureOptions) -> VectorOrigin:
    """Return the origin of the vectors for a set's row."""
    _check_region_mode(encoder, options)
    return encoder_origin(encoder, Subject(options.subject), options.region_mode)


def missing_shards(row: FeatureSet, options: FeatureOptions) -> list[tuple[int, int]]:
    """Return (shard, rows) of the missing shards."""
    spec = _feature_spec(row, options)
    if row.is_complete:
        return []
    return [(shard, len(spec.rows(shard))) for shard in _shard_folder(row, spec).missing_shards(spec)]


def make_shard_if_missing(
    row: FeatureSet, shard: int, options: FeatureOptions, progress: Progress | None
) -> None:
    """Make one shard, unless it exists.

    Raises:
        Refused: this machine's encoder differs from the set's, or an object to encode is missing.
        Cancelled: the job was cancelled; nothing of the shard is saved.
    """
    spec = _feature_spec(row, options)
    folder, rows = _shard_folder(row, spec), spec.rows(shard)
    step = StepCounter(len(rows), progress)
    if folder.find_finished(shard, len(rows)) is not None:
        step(len(rows))
        return
    encoder = _load_encoder(options.encoder, options.precision, options.crop)
    if (encoder.name[:80], encoder.revision[:120]) != (row.encoder, row.revision):
        raise Refused(
            f"{row.encoder}: this worker process has {encoder.revision}, "
            f"but the set was begun with {row.revision}; start again"
        )
    objects = _load_objects(row.project, options, folder.items(rows))
    with refuse_invalid_input():
        # Texts share one tokenizer; they are faster with all threads on one batch.
        is_parallel = options.subject != Subject.TEXTS
        blocks = encode_batches(objects, _make_encode_function(encoder, options), step, parallel=is_parallel)
        folder.write(shard, blocks)


def seal_feature_set(row: FeatureSet, options: FeatureOptions) -> FeatureSet:
    """Write the manifest when all shards exist; return the completed row."""
    if not row.is_complete:
        spec = _feature_spec(row, options)
        with refuse_invalid_input():
            seal_shards(row.project, spec, _shard_folder(row, spec))
        row.refresh_from_db()
    return row


@lru_cache(maxsize=1)
def _load_encoder(name: str, precision: str, crop: str) -> Any:
    """Load an encoder; the last one stays loaded for the next shard."""
    return get_feature_encoder(name, precision=Precision(precision), crop=Crop(crop))


def _check_region_mode(encoder: Any, options: FeatureOptions) -> None:
    if options.subject == Subject.REGIONS and RegionMode(options.region_mode) not in encoder.region_modes:
        supported = ", ".join(sorted(encoder.region_modes))
        raise Refused(
            f"region_mode: {encoder.name} does not support {options.region_mode}; use {supported} or CLIP"
        )


def _feature_spec(row: FeatureSet, options: FeatureOptions) -> FeatureSpec:
    return FeatureSpec(
        encoder=row.encoder,
        revision=row.revision,
        subject=row.subject,
        count=row.count,
        items_sha256=row.items_sha256,
        region_mode=row.region_mode,
        preprocessing=row.preprocessing,
        shard_rows=options.shard_rows,
    )


def _shard_folder(row: FeatureSet, spec: FeatureSpec) -> ShardFolder:
    """Return the folder for shards of this length: jobs with other shard lengths use other folders."""
    return ShardFolder(Path(settings.MEDIA_ROOT) / features_path(row.project, spec))


def _select_items(project: Project, options: FeatureOptions) -> list[EncodedItem]:
    objects: Sequence[Any] = (
        available_images(project) if options.subject == Subject.IMAGES else list(accepted_pairs(project))
    )
    return [_make_item(item, options) for item in objects]


def _make_item(item: Any, options: FeatureOptions) -> EncodedItem:
    if options.subject == Subject.IMAGES:
        return EncodedItem(str(item.pk), item.sha256)
    if options.subject == Subject.REGIONS:
        return EncodedItem(item.instance_id, content_sha256([item.image.sha256, item.boxes]))
    return EncodedItem(item.instance_id, content_sha256(getattr(item, options.text)))


def _load_objects(project: Project, options: FeatureOptions, items: Sequence[EncodedItem]) -> list[Any]:
    """Load the objects of these items, and check that they are unchanged since the plan."""
    keys = [item.id for item in items]
    found: dict[str, Any]
    if options.subject == Subject.IMAGES:
        rows = Image.objects.filter(project=project, taken_down_at__isnull=True)
        images = rows.in_bulk([int(key) for key in keys])
        found = {str(pk): image for pk, image in images.items()}
    else:
        pairs = pairs_by_instance_id(project, set(keys))
        found = {key: pair for key, pair in pairs.items() if pair.image.taken_down_at is None}
    for item in items:
        if item.id not in found or _make_item(found[item.id], options).sha256 != item.sha256:
            raise Refused(
                f"{options.description}: {item.id} was changed or taken down meanwhile; start again"
            )
    return [found[key] for key in keys]


def _make_encode_function(encoder: Any, options: FeatureOptions) -> Encode:
    if options.subject == Subject.IMAGES:
        return lambda batch: encoder.encode_images([open_image(image) for image in batch])
    if options.subject == Subject.TEXTS:
        return lambda batch: encoder.encode_texts([getattr(pair, options.text) for pair in batch])
    mode = RegionMode(options.region_mode)
    return lambda batch: encoder.encode_regions(
        [open_image(pair.image) for pair in batch],
        [[Region(**box) for box in pair.boxes] for pair in batch],
        mode,
    )
