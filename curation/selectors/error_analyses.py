"""Queries on error analyses: those of an evaluation, and their galleries with photos that are still available."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.models import DatasetVersion, ErrorAnalysis, Evaluation, Part, VersionImage, VersionRow
from hits.domain.images.image_facts import ImageFacts
from hits.models import Image, Project
from hits.selectors.images.images import image_facts
from hits.selectors.records import id_chunks


@dataclass(frozen=True, slots=True)
class GalleryItem:
    """A mistake in a gallery. If the photo was taken down, ``image`` is ``None`` and the texts are empty.

    rank: the model's rank among ``candidates`` texts. ratings: the two annotators' ratings, 1 to 3.
    """

    instance: str
    image: ImageFacts | None
    boxes: tuple[Mapping[str, int], ...]
    inference: str
    gold: str
    rank: float
    candidates: int
    ratings: tuple[float, float]
    score: float


@dataclass(frozen=True, slots=True)
class ComparisonItem:
    """A comparison row of a version with its photo; ``image`` is ``None`` if it was taken down."""

    instance: str
    row: Mapping[str, Any]
    image: Image | None

    @property
    def inferences(self) -> dict[str, str]:
        """The candidates' texts by the pair they come from."""
        return {candidate["source_iid"]: str(candidate["inference"]) for candidate in self.row["candidates"]}


def error_analyses(evaluation: Evaluation) -> list[ErrorAnalysis]:
    """Return the analyses of an evaluation, newest first, including unfinished ones."""
    return list(ErrorAnalysis.objects.filter(evaluation=evaluation).select_related("job", "created_by"))


def get_error_analysis(project: Project, pk: int) -> ErrorAnalysis | None:
    """Return the project's analysis with this number, finished or not."""
    rows = ErrorAnalysis.objects.filter(evaluation__project=project, pk=pk)
    return rows.select_related("evaluation__version", "evaluation__scorer", "job", "created_by").first()


def comparison_items(version: DatasetVersion, split: str | None = None) -> dict[str, ComparisonItem]:
    """Return a version's comparison rows by instance, in the version's order.

    Args:
        split: only rows of this split; ``None`` means all.
    """
    rows = VersionRow.objects.filter(version=version, part=Part.COMPARISON).order_by("pk")
    if split is not None:
        rows = rows.filter(split=split)
    found = [row.row for row in rows]
    images = _images_by_url(version, {row["image"]["url"] for row in found})
    ids = ((row["Input_iid"], row) for row in found)
    return {iid: ComparisonItem(iid, row, images.get(row["image"]["url"])) for iid, row in ids}


def _images_by_url(version: DatasetVersion, urls: set[str]) -> dict[str, Image]:
    known: dict[str, str] = {}
    for chunk in id_chunks(sorted(urls)):
        rows = VersionImage.objects.filter(version=version, url__in=chunk)
        known |= dict(rows.values_list("url", "sha256"))
    by_hash: dict[str, Image] = {}
    for chunk in id_chunks(sorted(set(known.values()))):
        photos = Image.objects.filter(project=version.project_id, taken_down_at__isnull=True)
        images = photos.filter(sha256__in=chunk)
        by_hash |= {image.sha256: image for image in images}
    return {url: by_hash[sha256] for url, sha256 in known.items() if sha256 in by_hash}


def gallery(analysis: ErrorAnalysis, name: str) -> list[GalleryItem]:
    """Return a gallery of a finished analysis, ``false_positives`` or ``false_negatives``, the worst first."""
    entries: Sequence[Mapping[str, Any]] = analysis.galleries.get(name, [])
    if not entries:
        return []
    evaluation = analysis.evaluation
    rows = comparison_items(evaluation.version)
    available = {pk: item for pk, item in rows.items() if item.image is not None}
    golds = _gold_inferences(evaluation.version, {item["instance"] for item in entries} & available.keys())
    return [_gallery_item(item, available.get(item["instance"]), golds) for item in entries]


def _gold_inferences(version: DatasetVersion, instances: set[str]) -> dict[str, str]:
    rows = VersionRow.objects.filter(version=version, part=Part.OBSERVATION, instance_id__in=instances)
    return {row.instance_id: str(row.row["targets"]["inference"]) for row in rows}


def _gallery_item(
    item: Mapping[str, Any], found: ComparisonItem | None, golds: Mapping[str, str]
) -> GalleryItem:
    first, second = item["ratings"]
    return GalleryItem(
        instance=item["instance"],
        image=image_facts(found.image) if found is not None and found.image is not None else None,
        boxes=tuple(found.row["region"]) if found is not None else (),
        inference=found.inferences.get(item["candidate"], "") if found is not None else "",
        gold=golds.get(item["instance"], ""),
        rank=item["rank"],
        candidates=item["of"],
        ratings=(first, second),
        score=item["score"],
    )
