"""De-duplicate a project's photos: cluster their vectors, keep one of each cluster, preview or mark the others.

Source: Hessel et al. 2022, appendix A.2: hierarchical clustering of CLIP ViT-B/32 features into 80K clusters, one
image sampled from each. doi:10.1007/978-3-031-20059-5_32
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.dedup.cuts import Clustering, Linkage, ignore_progress
from curation.dedup.dense import dense_memory_bytes
from curation.dedup.groups import divide_group, find_least_similar
from curation.dedup.hierarchical import cluster
from curation.dedup.members import keep_first, keep_largest, keep_medoid, keep_random
from curation.dedup.pairs import TooManyPairs
from curation.models import Subject
from curation.pipelines.encoders import ImageEncoder, get_image_encoder, is_thread_safe
from curation.pipelines.matmul_backends import choose_matmul_backend
from curation.pipelines.vectors import StepCounter, encoder_origin, get_or_make_vectors
from curation.records import InvalidInput
from curation.selectors.duplicates import pairs_marked_different
from curation.selectors.images import available_images
from curation.services.dedup import DedupOptions, MarkCounts, replace_preview, set_aside_duplicates
from curation.services.image_files import open_image
from hits.models import Image, Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

SCIPY_SECONDS_PER_PAIR = 3e-7  # upper bound of scipy's time per pair of rows; measured: about 1e-7


@dataclass(frozen=True, slots=True)
class DeduplicationResult:
    """The result of a run. ``groups`` maps a kept image to its duplicates (row keys).

    images: number of clustered images. to_set_aside: images in groups, without the kept ones. run: key of the row
    with the groups. marked, set_aside_again, marked_though_offered_again: see ``MarkCounts``; ``None`` for a preview.
    least_cosine: of the least similar pair within a group. method, why: how the clusters were found. threshold: the
    distance of the last merge, if any.
    """

    images: int
    clusters: int
    to_set_aside: int
    least_cosine: float | None
    run: int
    marked: int | None
    set_aside_again: int | None
    marked_though_offered_again: int | None
    encoder: str
    method: str
    why: str
    threshold: float | None
    options: dict[str, Any]
    groups: dict[int, list[int]]

    def summary(self) -> dict[str, Any]:
        """Return the result for the job's row."""
        plain = asdict(self)
        plain["groups"] = len(self.groups)
        return {name: value for name, value in plain.items() if value is not None or name == "threshold"}


def deduplicate_images(
    *,
    project: Project,
    options: DedupOptions,
    by: AbstractBaseUser | None = None,
    progress: Progress | None = None,
    encoder: ImageEncoder | None = None,
) -> DeduplicationResult:
    """Find the project's near-duplicates, and mark them if ``options`` say so.

    Repeatable: equal photos, options and encoder give equal groups, and, over all photos, equal marks, except for
    people's decisions in between. A run over one source may move a photo of another source from a newly marked photo
    to the kept one, and the next run over that source does not move it back: see ``replace_duplicate_marks``.

    Args:
        encoder: makes image vectors; by default the one in ``options``.

    Raises:
        Refused: too few photos, a missing file, or options that do not fit.
    """
    images = available_images(project, options.source)
    if not images:
        raise Refused(f"images: there is none{options.source_message_suffix}; import some first")
    encoder = encoder or get_image_encoder(options.encoder)
    vectors = _image_vectors(project, images, encoder, progress)
    clustering, clustered = _group_images(images, vectors, options, progress)
    groups = _divide_groups_marked_different(project, clustered)
    group_rows = _describe_groups(groups, images, vectors)
    run = replace_preview(
        project=project,
        options=options,
        encoder=encoder.name,
        clusters=clustering.cluster_count,
        groups=group_rows,
        compared_images=[image.pk for image in images],
        by=by,
    )
    marks = set_aside_duplicates(run=run, by=by) if options.set_aside else None
    if progress is not None:
        _log_preview_or_marks(marks, progress)
    return DeduplicationResult(
        images=len(images),
        clusters=clustering.cluster_count,
        to_set_aside=sum(map(len, groups.values())),
        least_cosine=min((group["cosine"] for group in group_rows), default=None),
        run=run.pk,
        marked=marks.marked if marks else None,
        set_aside_again=marks.set_aside_again if marks else None,
        marked_though_offered_again=marks.marked_though_offered_again if marks else None,
        encoder=encoder.name,
        method=clustering.method.value,
        why=clustering.reason,
        threshold=clustering.threshold,
        options=asdict(options),
        groups=groups,
    )


def _divide_groups_marked_different(
    project: Project, groups: Mapping[int, Sequence[int]]
) -> dict[int, list[int]]:
    """Return the groups, divided where people decided that photos differ."""
    different = pairs_marked_different(project)
    parts = (divide_group(kept, members, different) for kept, members in groups.items())
    return dict(part for divided in parts for part in divided)


def _describe_groups(
    groups: Mapping[int, Sequence[int]], images: Sequence[Image], vectors: NDArray[np.float32]
) -> list[dict[str, Any]]:
    """Return the groups in the format of ``DuplicateRun``, each with its least similar pair."""
    row_of = {image.pk: row for row, image in enumerate(images)}
    rows = []
    for kept, members in groups.items():
        keys = [kept, *members]
        pair = find_least_similar(vectors[[row_of[key] for key in keys]])
        rows.append(
            {
                "kept": kept,
                "members": list(members),
                "pair": [keys[pair.first], keys[pair.second]],
                "cosine": round(pair.cosine, 6),
            }
        )
    return rows


def _image_vectors(
    project: Project, images: Sequence[Image], encoder: ImageEncoder, progress: Progress | None
) -> NDArray[np.float32]:
    """Return the vector of each image, cached if possible; each image is a step."""
    return get_or_make_vectors(
        project=project,
        origin=encoder_origin(encoder, Subject.IMAGES),
        items=images,
        fingerprints=[image.sha256 for image in images],
        ids=[str(image.pk) for image in images],
        encode=lambda few: encoder.encode_images([open_image(image) for image in few]),
        step=StepCounter(len(images), progress),
        parallel=is_thread_safe(encoder),
    )


def _group_images(
    images: Sequence[Image], vectors: NDArray[np.float32], options: DedupOptions, progress: Progress | None
) -> tuple[Clustering, dict[int, list[int]]]:
    """Cluster, and choose the image of each cluster to keep. Raises Refused."""
    try:
        clustering = _cluster_vectors(vectors, options, progress)
        kept = _select_kept(clustering.labels, vectors, images, options)
        return clustering, _duplicates_by_kept(images, clustering.labels, kept)
    except TooManyPairs as error:
        raise Refused(f"{error}; raise --memory-mib, or merge less") from error
    except InvalidInput as error:
        raise Refused(str(error)) from error


def _cluster_vectors(
    vectors: NDArray[np.float32], options: DedupOptions, progress: Progress | None
) -> Clustering:
    """Cluster the vectors and log the result; progress continues after the steps of the images."""
    n = len(vectors)
    report_progress = (
        ignore_progress if progress is None else lambda done, total: progress.advance(n + done, n + total)
    )
    if progress is not None and dense_memory_bytes(*vectors.shape) <= options.memory_bytes:
        progress.hold_lease(SCIPY_SECONDS_PER_PAIR * n * n)  # scipy, if used, blocks the heartbeat thread
    clustering = cluster(
        vectors,
        options.cut,
        linkage=Linkage(options.linkage),
        memory_limit_bytes=options.memory_bytes,
        backend=choose_matmul_backend(),
        progress=report_progress,
    )
    if progress is not None:
        progress.hold_lease(0)
        suffix = options.source_message_suffix
        how = f"{clustering.method}: {clustering.reason}"
        progress.log(f"{n} images{suffix} in {clustering.cluster_count} clusters ({how})")
    return clustering


def _log_preview_or_marks(marks: MarkCounts | None, progress: Progress) -> None:
    """Log that this is a preview, or where people's earlier decisions differed from the groups."""
    if marks is None:
        progress.log("preview: no photo is set aside until you apply it")
        return
    if marks.set_aside_again:
        progress.log(
            f"{marks.set_aside_again} photos set aside again, since people reviewed them as the same as another photo"
        )
    if marks.marked_though_offered_again:
        progress.log(
            f"{marks.marked_though_offered_again} photos set aside although people had offered them again"
        )


def _select_kept(
    labels: NDArray[np.int64], vectors: NDArray[np.float32], images: Sequence[Image], options: DedupOptions
) -> NDArray[np.int64]:
    if options.keep == "medoid":
        return keep_medoid(labels, vectors)
    if options.keep == "largest":
        return keep_largest(labels, np.array([image.width * image.height for image in images]))
    if options.keep == "first":
        return keep_first(labels)
    return keep_random(labels, np.random.default_rng(options.seed))


def _duplicates_by_kept(
    images: Sequence[Image], labels: NDArray[np.int64], kept: NDArray[np.int64]
) -> dict[int, list[int]]:
    """Map each kept image to the other members of its cluster, without clusters of one."""
    groups: dict[int, list[int]] = {}
    for row, label in enumerate(labels.tolist()):
        keeper = int(kept[label])
        if row != keeper:
            groups.setdefault(images[keeper].pk, []).append(images[row].pk)
    return groups
