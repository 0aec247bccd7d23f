"""Read error analyses: those of an evaluation, and their galleries with photos that still stand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.models import DatasetVersion, ErrorAnalysis, Evaluation, Part, VersionImage, VersionRow
from hits.domain.images.image_facts import ImageFacts
from hits.models import Image, Project
from hits.selectors.images.images import facts

AT_ONCE = 1000  # values that one query names


@dataclass(frozen=True, slots=True)
class Shown:
    """A mistake of a gallery. ``image`` is ``None``, and the texts empty, where the photo was taken down.

    rank: the model's, of ``of`` candidates; ratings: the two annotators', 1 to 3.
    """

    instance: str
    image: ImageFacts | None
    boxes: tuple[Mapping[str, int], ...]
    inference: str
    gold: str
    rank: float
    of: int
    ratings: tuple[float, float]
    score: float


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison row of a version with its photo. ``image`` is ``None`` where it was taken down."""

    instance: str
    row: Mapping[str, Any]
    image: Image | None

    @property
    def inferences(self) -> dict[str, str]:
        """The candidates' texts by the pair that they come from."""
        return {one["source_iid"]: str(one["inference"]) for one in self.row["candidates"]}


def analyses(evaluation: Evaluation) -> list[ErrorAnalysis]:
    """Return the analyses of an evaluation, newest first, unfinished ones among them."""
    return list(ErrorAnalysis.objects.filter(evaluation=evaluation).select_related("job", "created_by"))


def analysis_numbered(project: Project, pk: int) -> ErrorAnalysis | None:
    """Return the project's analysis of that number, finished or not."""
    rows = ErrorAnalysis.objects.filter(evaluation__project=project, pk=pk)
    return rows.select_related("evaluation__version", "evaluation__scorer", "job", "created_by").first()


def compared_rows(version: DatasetVersion, split: str | None = None) -> dict[str, Compared]:
    """Return a version's comparison rows by instance, in the version's order.

    Args:
        split: of that one alone; ``None`` is all.
    """
    rows = VersionRow.objects.filter(version=version, part=Part.COMPARISON).order_by("pk")
    if split is not None:
        rows = rows.filter(split=split)
    found = [row.row for row in rows]
    images = _images(version, {row["image"]["url"] for row in found})
    return {
        row["Input_iid"]: Compared(row["Input_iid"], row, images.get(row["image"]["url"])) for row in found
    }


def _images(version: DatasetVersion, urls: set[str]) -> dict[str, Image]:
    known: dict[str, str] = {}
    for some in _few(urls):
        rows = VersionImage.objects.filter(version=version, url__in=some)
        known |= dict(rows.values_list("url", "sha256"))
    by_hash: dict[str, Image] = {}
    for some in _few(set(known.values())):
        standing = Image.objects.filter(
            project=version.project_id, sha256__in=some, withdrawn_at__isnull=True
        )
        by_hash |= {image.sha256: image for image in standing}
    return {url: by_hash[sha256] for url, sha256 in known.items() if sha256 in by_hash}


def _few(values: set[str]) -> Iterator[list[str]]:
    """Cut into pieces that one query may name."""
    ordered = sorted(values)
    for start in range(0, len(ordered), AT_ONCE):
        yield ordered[start : start + AT_ONCE]


def gallery(analysis: ErrorAnalysis, name: str) -> list[Shown]:
    """Return a gallery of a finished analysis, ``false_positives`` or ``false_negatives``, the worst first."""
    kept: Sequence[Mapping[str, Any]] = analysis.galleries.get(name, [])
    if not kept:
        return []
    evaluation = analysis.evaluation
    rows = compared_rows(evaluation.version)
    standing = {pk: one for pk, one in rows.items() if one.image is not None}
    golds = _golds(evaluation.version, {item["instance"] for item in kept} & standing.keys())
    return [_shown(item, standing.get(item["instance"]), golds) for item in kept]


def _golds(version: DatasetVersion, instances: set[str]) -> dict[str, str]:
    rows = VersionRow.objects.filter(version=version, part=Part.OBSERVATION, instance_id__in=instances)
    return {row.instance_id: str(row.row["targets"]["inference"]) for row in rows}


def _shown(item: Mapping[str, Any], found: Compared | None, golds: Mapping[str, str]) -> Shown:
    first, second = item["ratings"]
    return Shown(
        instance=item["instance"],
        image=facts(found.image) if found is not None and found.image is not None else None,
        boxes=tuple(found.row["region"]) if found is not None else (),
        inference=found.inferences.get(item["candidate"], "") if found is not None else "",
        gold=golds.get(item["instance"], ""),
        rank=item["rank"],
        of=item["of"],
        ratings=(first, second),
        score=item["score"],
    )
