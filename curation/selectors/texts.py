"""Queries on texts, their analyses, and people's reviews of texts."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from curation.audits.labels import assign_letters
from curation.models import AnalysisKind, Pair, Source, SourceRecord, TextAnalysis, TextReview, TextScore
from curation.selectors.jobs import ANALYSE_TEXTS
from curation.selectors.pairs import accepted_pairs
from hits.models import Image, Job, Project
from hits.selectors.records import id_chunks
from validation.domain.reports.planner import Interval, wilson_interval

CHUNK_SIZE = 5_000


@dataclass(frozen=True, slots=True)
class TextPair:
    """A pair as used by analyses. ``split`` is its image's, or empty."""

    pk: int
    instance_id: str
    clue: str
    inference: str
    image_id: int
    split: str


def text_pairs(project: Project, split: str = "") -> list[TextPair]:
    """Return the approved pairs, optionally of one split, oldest first."""
    rows = accepted_pairs(project)
    if split:
        rows = rows.filter(image__split=split)
    names = ("pk", "instance_id", "fields__clue", "fields__inference", "image_id", "image__split")
    values = rows.values_list(*names)
    return [TextPair(*row) for row in values.iterator(chunk_size=CHUNK_SIZE)]


def pair_boxes(pks: Collection[int]) -> dict[int, list[dict[str, int]]]:
    """Return the boxes of some pairs."""
    boxes: dict[int, list[dict[str, int]]] = {}
    for chunk in id_chunks(sorted(pks)):
        boxes |= dict(Pair.objects.filter(pk__in=chunk).values_list("pk", "fields__boxes"))
    return boxes


def alt_texts(image_ids: Collection[int]) -> dict[int, str]:
    """Return the alternative texts of images that have one."""
    found: dict[int, str] = {}
    for chunk in id_chunks(sorted(image_ids)):
        found |= dict(Image.objects.filter(pk__in=chunk).exclude(alt="").values_list("pk", "alt"))
    return found


def region_descriptions(image_ids: Collection[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the region descriptions of images that have some; detected objects are not included."""
    found: dict[int, list[dict[str, Any]]] = {}
    for chunk in id_chunks(sorted(image_ids)):
        rows = SourceRecord.objects.filter(image__in=chunk, source=Source.VISUAL_GENOME.value)
        for image, regions in rows.values_list("image_id", "regions"):
            if described := [region for region in regions if region.get("text", "").strip()]:
                found[image] = described
    return found


def image_ids_by_name(project: Project) -> dict[str, int]:
    """Return the available images by the names a caption file may use: the file name, or the source's name."""
    named = Image.objects.filter(project=project, taken_down_at__isnull=True)
    by_name = {name: pk for pk, name in named.values_list("pk", "name")}
    by_source = SourceRecord.objects.filter(image__in=named).values_list("source_id", "image_id")
    return dict(by_source) | {name.rsplit(".", 1)[0]: pk for name, pk in by_name.items()} | by_name


def finished_analyses(project: Project) -> "QuerySet[TextAnalysis]":
    """Return the project's finished analyses, newest first."""
    return TextAnalysis.objects.filter(project=project, pairs__gt=0).select_related("created_by")


def latest_analyses_by_kind(project: Project) -> dict[AnalysisKind, TextAnalysis]:
    """Return the newest finished analysis of each kind."""
    newest: dict[str, int] = {}
    for kind, pk in finished_analyses(project).order_by("pk").values_list("kind", "pk"):
        newest[kind] = pk
    rows = finished_analyses(project).filter(pk__in=newest.values())
    return {AnalysisKind(row.kind): row for row in rows}


def latest_jobs_by_kind(project: Project) -> dict[AnalysisKind, Job]:
    """Return the newest job of each kind of analysis, open or ended."""
    rows = Job.objects.filter(project=project, task=ANALYSE_TEXTS).order_by("-pk")[:40]
    newest: dict[AnalysisKind, Job] = {}
    for job in rows:
        newest.setdefault(AnalysisKind(job.args["kind"]), job)
    return newest


def pairs_by_pk(project: Project, pks: Iterable[int]) -> dict[int, Pair]:
    """Return pairs on available images by key, with their images."""
    rows = Pair.objects.filter(pk__in=list(pks), image__project=project, image__taken_down_at__isnull=True)
    return {row.pk: row for row in rows.select_related("image")}


def result_with_published_ids(analysis: TextAnalysis) -> dict[str, Any]:
    """Return a result for download: pairs by their published ids, ``None`` if the photo was taken down.

    A toxicity result has scores and no pairs; its queue is a separate file.
    """
    result = dict(analysis.result)
    if analysis.kind == AnalysisKind.DUPLICATES:
        groups = result["groups"]
        members = {
            pk for group in groups for pk in (group["kept"], *group["members"], *group.get("pair", ()))
        }
        ids = _instance_ids(members | {pk for pk, _ in result["copies"]})
        result["copies"] = [[ids.get(pk), count] for pk, count in result["copies"]]
        result["groups"] = [
            group
            | {"kept": ids.get(group["kept"]), "members": [ids.get(pk) for pk in group["members"]]}
            | ({"pair": [ids.get(pk) for pk in group["pair"]]} if "pair" in group else {})
            for group in groups
        ]
    elif analysis.kind == AnalysisKind.TOPICS:
        ids = _instance_ids({pk for cell in result["examples"] for pk in cell["pairs"]})
        cells = result["examples"]
        result["examples"] = [cell | {"pairs": [ids.get(pk) for pk in cell["pairs"]]} for cell in cells]
    elif analysis.kind == AnalysisKind.CAPTIONS:
        ids = _instance_ids({item["pair"] for item in result["nearest"]})
        result["nearest"] = [item | {"pair": ids.get(item["pair"])} for item in result["nearest"]]
    return result


def _instance_ids(pks: Collection[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for chunk in id_chunks(sorted(pks)):
        rows = Pair.objects.filter(pk__in=chunk, image__taken_down_at__isnull=True)
        found |= dict(rows.values_list("pk", "instance_id"))
    return found


@dataclass(frozen=True, slots=True)
class QueuedText:
    """A text in the review queue: its score, and its latest review if any."""

    score: TextScore
    review: TextReview | None

    @property
    def split(self) -> str:
        """The split of its image, or empty."""
        return str(self.score.observation.image.split)


def toxicity_queue(analysis: TextAnalysis) -> list[QueuedText]:
    """Return the review queue of a finished analysis, by split, highest score first.

    Always two queries. Texts on images that were taken down are left out.
    """
    order = [pk for split in analysis.result.get("splits", []) for pk in split["queue"]]
    rows = TextScore.objects.filter(
        analysis=analysis, pk__in=order, observation__image__taken_down_at__isnull=True
    ).select_related("observation__image", "observation__submission__assignment")
    scores = {row.pk: row for row in rows}
    reviews = newest_reviews(row.observation_id for row in scores.values())
    return [
        QueuedText(scores[pk], reviews.get((scores[pk].observation_id, scores[pk].field)))
        for pk in order
        if pk in scores
    ]


def newest_reviews(pair_pks: Iterable[int]) -> dict[tuple[int, str], TextReview]:
    """Return the latest reviews by (pair, field)."""
    rows = TextReview.objects.filter(observation__in=set(pair_pks)).select_related("by").order_by("pk")
    return {(row.observation_id, row.field): row for row in rows}


def reviewer_letters(queue: Sequence[QueuedText]) -> dict[int, str]:
    """Return a letter for each reviewer in order of their first review, to anonymise files; one query."""
    texts = {(item.score.observation_id, item.score.field) for item in queue}
    rows = TextReview.objects.filter(observation__in={pair for pair, _ in texts}).order_by("pk")
    reviews = rows.values_list("observation_id", "field", "by_id")
    readers = [by for pair, field, by in reviews if (pair, field) in texts]
    return assign_letters(readers)


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """Progress and results of reviewing a queue."""

    total: int
    reviewed: int
    concerns: int

    @property
    def remaining(self) -> int:
        """The number of texts that nobody has reviewed."""
        return self.total - self.reviewed

    @property
    def harmless_share(self) -> float | None:
        """The share of reviewed texts without a concern: the scorer's false positives."""
        return 1 - self.concerns / self.reviewed if self.reviewed else None

    @property
    def harmless_interval(self) -> Interval | None:
        """Wilson's 95 % confidence interval of that share."""
        return wilson_interval(self.reviewed, 1 - self.concerns / self.reviewed) if self.reviewed else None


def count_reviews(queue: Iterable[QueuedText]) -> ReviewCounts:
    """Count a queue's reviews."""
    rows = list(queue)
    reviews = [row.review for row in rows if row.review is not None]
    return ReviewCounts(len(rows), len(reviews), sum(review.is_concern for review in reviews))


def top_score_ids(analysis: TextAnalysis, split: str, count: int) -> list[int]:
    """Return the keys of the highest scores in a split; ties are ordered by pair."""
    rows = TextScore.objects.filter(analysis=analysis, observation__image__split=split)
    return list(rows.order_by("-score", "observation_id", "field").values_list("pk", flat=True)[:count])
