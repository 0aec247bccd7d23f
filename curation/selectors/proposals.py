"""Queries on runs of box proposals: their figures, and images with their proposed and drawn boxes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from django.db.models import Exists, F, Min, OuterRef, Prefetch, QuerySet

from curation.models import ImageProposals, Pair, ProposalOverlap, ProposalRun
from curation.proposals.overlap import Recall
from curation.selectors.pairs import accepted_pairs
from hits.models import Image, Project

WORST, BEST = "worst", "best"
_CHUNK_SIZE = 200
_BOX_KEYS = ("left", "top", "width", "height", "score")


def proposal_runs(project: Project) -> "QuerySet[ProposalRun]":
    """Return the project's runs, newest first."""
    return ProposalRun.objects.filter(project=project).select_related("created_by")


def read_recall(run: ProposalRun) -> Recall | None:
    """Return a run's latest figures, or ``None`` if it was not measured."""
    if not run.figures:
        return None
    curves = {float(over): shares for over, shares in run.figures["curves"].items()}
    return Recall(**run.figures | {"curves": curves})


def recall_as_json(recall: Recall) -> dict[str, Any]:
    """Return figures as JSON, the inverse of ``read_recall``."""
    plain = asdict(recall)
    return plain | {"curves": {str(over): shares for over, shares in recall.curves.items()}}


def count_unmeasured_pairs(run: ProposalRun) -> int:
    """Return the number of accepted pairs on the run's images that were not measured yet."""
    pairs = accepted_pairs(run.project).filter(image__proposals__run=run)
    return pairs.exclude(proposal_overlaps__proposals__run=run).count()


def images_without_boxes(run: ProposalRun, *, first_pk: int = 0, last_pk: int) -> "QuerySet[Image]":
    """Return the available images without boxes of this run, in a range of row keys, in order."""
    images = Image.objects.filter(project=run.project, taken_down_at__isnull=True)
    images = images.filter(pk__gte=first_pk, pk__lte=last_pk)
    return images.filter(~Exists(ImageProposals.objects.filter(run=run, image=OuterRef("pk")))).order_by("pk")


def images_by_address(project: Project, address: Callable[[Image], str]) -> dict[str, tuple[int, int, int]]:
    """Return the key, width and height of each available image by its address in exports (``address``)."""
    images = Image.objects.filter(project=project, taken_down_at__isnull=True)
    rows = images.iterator(chunk_size=2000)
    return {address(image): (image.pk, image.width, image.height) for image in rows}


def next_proposals(run: ProposalRun, after_pk: int) -> list[ImageProposals]:
    """Return the next few available images of a run after the given row key."""
    found = ImageProposals.objects.filter(run=run, pk__gt=after_pk, image__taken_down_at__isnull=True)
    return list(found.order_by("pk")[:_CHUNK_SIZE])


def accepted_pairs_by_image(run: ProposalRun, found: list[ImageProposals]) -> dict[int, list[Pair]]:
    """Return the accepted pairs of some of a run's images, by image."""
    pairs: dict[int, list[Pair]] = {}
    for pair in accepted_pairs(run.project).filter(image__in=[row.image_id for row in found]):
        pairs.setdefault(pair.image.pk, []).append(pair)
    return pairs


def measured_pairs(found: list[ImageProposals]) -> set[tuple[int, int]]:
    """Return the (proposals, pair) keys that were measured for these images."""
    rows = ProposalOverlap.objects.filter(proposals__in=[row.pk for row in found])
    return set(rows.values_list("proposals_id", "observation_id"))


def ious_by_image(run: ProposalRun) -> Iterator[list[list[float]]]:
    """Yield the IoUs of each available pair, image by image; only one image is in memory at a time."""
    rows = ProposalOverlap.objects.filter(
        proposals__run=run, proposals__image__taken_down_at__isnull=True
    ).order_by("proposals_id", "pk")
    current_image: int | None = None
    pairs: list[list[float]] = []
    for image, ious in rows.values_list("proposals_id", "ious").iterator(chunk_size=_CHUNK_SIZE):
        if image != current_image and pairs:
            yield pairs
            pairs = []
        current_image = image
        pairs.append(ious)
    if pairs:
        yield pairs


def proposals_by_coverage(run: ProposalRun, order: str) -> "QuerySet[ImageProposals]":
    """Return a run's images with their pairs, ordered by their least covered pair; images without pairs are last."""
    overlaps = ProposalOverlap.objects.select_related("observation").order_by("observation__index", "pk")
    lowest = F("least").asc(nulls_last=True) if order == WORST else F("least").desc(nulls_last=True)
    return (
        ImageProposals.objects.filter(run=run, image__taken_down_at__isnull=True)
        .select_related("image")
        .prefetch_related(Prefetch("overlaps", queryset=overlaps))
        .annotate(least=Min("overlaps__best"))
        .order_by(lowest, "pk")
    )


def stream_boxes_json(run: ProposalRun, address: Callable[[Image], str]) -> Iterator[str]:
    """Yield a run as ``{"image address": [{"left", "top", "width", "height", "score"}, …], …}``, one image per line.

    ``address`` gives an image's address in exports.
    """
    opening = "{\n"
    rows = ImageProposals.objects.filter(run=run, image__taken_down_at__isnull=True).select_related("image")
    for found in rows.order_by("pk").iterator(chunk_size=_CHUNK_SIZE):
        boxes = [_box_json(row) for row in found.boxes]
        yield f"{opening}{json.dumps(address(found.image))}: {json.dumps(boxes, separators=(',', ':'))}"
        opening = ",\n"
    yield "{}\n" if opening == "{\n" else "\n}\n"


def _box_json(row: list[Any]) -> dict[str, Any]:
    return {key: value for key, value in zip(_BOX_KEYS, row, strict=True) if value is not None}
