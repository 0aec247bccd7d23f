"""Read judging reports: the newest one, new judgments since then, its workers, and all judgments of one item."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Sum

from hits.domain.images.image_facts import ImageFacts
from hits.models import Assignment, Batch, Image, Job, Project, Unit, Worker
from hits.selectors import records as collected
from hits.selectors.images.images import image_facts_by_id
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import JudgingSpec, Material
from validation.models import ImportedJudgment, ItemDecision, JudgingReport, WorkerQuality
from validation.registry import spec_of
from validation.selectors.ratings import counted_assignment_filter, read_judgments

COMPUTE_TASK = "validation.compute_report"
MAKE_ROWS_TASK = "validation.make_rater_rows"


def newest_report(project: Project, kind: str) -> JudgingReport | None:
    """Return the newest report about a kind; one query."""
    return JudgingReport.objects.filter(project=project, kind=kind).select_related("computed_by").first()


def count_judgments(project: Project, kind: str) -> int:
    """Return the number of judgments of a kind, imported ones included, without reading them; three queries.

    A worker's second judgment of an item counts here, unlike in a report.
    """
    imported = ImportedJudgment.objects.filter(source__project=project, source__kind=kind).count()
    return _not_rejected_assignments(project, kind).count() + imported


def first_judged_kind(project: Project, kinds: Sequence[str]) -> str:
    """Return the first of ``kinds`` that has judgments, imported ones included, else the first kind; two queries."""
    not_rejected = Assignment.objects.filter(
        counted_assignment_filter(), hit__unit__batch=OuterRef("pk"), hit__unit__quality_check=None
    )
    batches = Batch.objects.filter(Exists(not_rejected), project=project, kind__in=kinds)
    imported = ImportedJudgment.objects.filter(source__project=project, source__kind__in=kinds)
    found = set(batches.order_by().values_list("kind", flat=True).distinct())
    found |= set(imported.order_by().values_list("source__kind", flat=True).distinct())
    return next((kind for kind in kinds if kind in found), kinds[0])


def data_fingerprint(project: Project, kind: str) -> list[int]:
    """Return numbers that change when a report's data changes; four queries, no answer is read.

    They are the number of judgments and quality checks with the sum of their primary keys (one may be rejected while
    another arrives), the number and last key of imported ones, and the number of images that were taken down.
    """
    answers = _not_rejected_assignments(project, kind, with_checks=True).aggregate(
        n=Count("pk"), keys=Sum("pk")
    )
    imported = ImportedJudgment.objects.filter(source__project=project, source__kind=kind)
    files = imported.aggregate(n=Count("pk"), last=Max("pk"))
    taken_down = Image.objects.filter(project=project, taken_down_at__isnull=False).count()
    # PostgreSQL sums integers as Decimal, which JSON cannot hold.
    return [answers["n"], int(answers["keys"] or 0), files["n"], files["last"] or 0, taken_down]


def count_new_judgments(report: JudgingReport) -> int:
    """Return the number of judgments since the report; negative if some were rejected since."""
    return count_judgments(report.project, report.kind) - int(report.figures.get("counted", report.judgments))


def is_report_outdated(report: JudgingReport) -> bool:
    """Return whether the report's data has changed since it was computed or checked."""
    return bool(report.figures.get("standing") != data_fingerprint(report.project, report.kind))


def _not_rejected_assignments(
    project: Project, kind: str, *, with_checks: bool = False
) -> "QuerySet[Assignment]":
    batches = list(Batch.objects.filter(project=project, kind=kind).values_list("pk", flat=True))
    rows = Assignment.objects.filter(counted_assignment_filter(), hit__unit__batch__in=batches)
    return rows if with_checks else rows.filter(hit__unit__quality_check=None)


def report_job_key(project: Project, kind: str) -> str:
    """Return the exclusive key of the jobs that compute reports of a kind."""
    return f"judging-report:{project.pk}:{kind}"


def rater_rows_job_key(project: Project, kind: str) -> str:
    """Return the exclusive key of the jobs that write per-rater rows of a kind."""
    return f"rater-rows:{project.pk}:{kind}"


def newest_jobs_by_key(project: Project, kind: str) -> dict[str, Job]:
    """Return the newest report job and file job of a kind, by exclusive key; one query."""
    keys = [report_job_key(project, kind), rater_rows_job_key(project, kind)]
    jobs = Job.objects.filter(exclusive_key__in=keys).order_by("pk")
    return {job.exclusive_key: job for job in jobs}


def list_report_workers(report: JudgingReport) -> "QuerySet[WorkerQuality]":
    """Return the report's figures of each worker, most reliable first."""
    return report.workers.select_related("worker").order_by("rank")


def batch_names(ids: Iterable[int]) -> dict[int, str]:
    """Return the names of batches by primary key; one query."""
    return dict(Batch.objects.filter(pk__in=list(ids)).values_list("pk", "name"))


BoxesByAuthor = dict[int, list[tuple[float, float, float, float]]]


def boxes_by_multi_author_image(project: Project, spec: JudgingSpec) -> dict[int, BoxesByAuthor]:
    """Return image -> author -> all boxes of their accepted records, for images of several authors; one query.

    Empty unless ``spec`` judges single records. A box is (left, top, right, bottom) as fractions of the image.
    """
    if spec.material is not Material.RECORDS:
        return {}
    rows = collected.approved_records(project, str(spec.record_type)).values_list(
        "image_id", "image__width", "image__height", "submission__attempt__worker_id", "fields"
    )
    by_image: dict[int, BoxesByAuthor] = defaultdict(lambda: defaultdict(list))
    for image, width, height, author, fields in rows.iterator(2_000):
        by_image[image][author] += [
            (
                box["left"] / width,
                box["top"] / height,
                (box["left"] + box["width"]) / width,
                (box["top"] + box["height"]) / height,
            )
            for box in spec.record_boxes(fields)
        ]
    return {image: dict(authors) for image, authors in by_image.items() if len(authors) > 1}


@dataclass(frozen=True, slots=True)
class ShownItem:
    """What a page shows of an item: its images, the regions on the first one, and the texts by part."""

    images: Sequence[ImageFacts]
    groups: list[dict[str, Any]]
    texts: Mapping[str, str]
    clue: str | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)  # of regions that have an id of their own

    @property
    def image(self) -> ImageFacts | None:
        """The first image, or ``None``."""
        return next(iter(self.images), None)

    @property
    def boxes(self) -> list[dict[str, Any]]:
        """All boxes on the first image."""
        return [box for group in self.groups for box in group["boxes"]]


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One item with its judgments in the order of submission, without quality checks."""

    key: str
    shown: ShownItem | None
    judgments: list[JudgmentRow]
    workers: Mapping[int, Worker]
    batches: Mapping[int, str]
    decisions: list[ItemDecision] = field(default_factory=list)
    author: Worker | None = None


def find_item(project: Project, kind: str, key: str) -> JudgedItem | None:
    """Return an item that was launched for judging or has imported judgments, or ``None``."""
    found = list(read_judgments(project=project, kind=kind, items=[key]))
    shown = shown_items(project, kind, [key]).get(key)
    if not found and shown is None:
        return None
    is_record = spec_of(kind).material is Material.RECORDS
    pairs = collected.records_by_instance_id(project, [key]) if is_record else {}
    return JudgedItem(
        key=key,
        shown=shown,
        judgments=found,
        workers=Worker.objects.in_bulk({row.worker for row in found if row.worker is not None}),
        batches=batch_names({row.batch for row in found if row.batch is not None}),
        decisions=_newest_decisions(project, kind, key),
        author=collected.record_author(pairs[key]) if key in pairs else None,
    )


def _newest_decisions(project: Project, kind: str, key: str) -> list[ItemDecision]:
    """Return the newest run's decisions about an item and its parts."""
    newest = project.decision_runs.filter(kind=kind).order_by("-id").first()
    if newest is None:
        return []
    about = Q(item=key)
    if spec_of(kind).has_parts:  # skipped for pairs: a prefix search uses no index
        about |= Q(item__startswith=f"{key}/")
    return list(newest.decisions.filter(about).select_related("run").order_by("pk"))


def shown_items(project: Project, kind: str, keys: Iterable[str]) -> dict[str, ShownItem]:
    """Return the views of items by key; two queries, three for records with imported judgments only.

    A unit's payload is what judges saw. A record without a unit is read from the corpus.
    """
    spec = spec_of(kind)
    required = list(dict.fromkeys(keys))
    units = Unit.objects.filter(
        batch__project=project, batch__kind=kind, key__in=required, quality_check=None
    )
    views = {
        key: spec.item_view(payload) for key, payload in units.order_by("-pk").values_list("key", "payload")
    }
    missing = [key for key in required if key not in views]
    if missing and spec.record_type is not None:
        records = collected.records_by_instance_id(project, missing)
        images_by = collected.image_ids_by_record(records.values())
        record_views = {
            key: spec.item_view_of_record(images_by[row.pk], row.index, row.fields)
            for key, row in records.items()
        }
        views |= {key: view for key, view in record_views.items() if view is not None}
    images = image_facts_by_id({pk for view in views.values() for pk in view.images})
    return {
        key: ShownItem(
            [images[pk] for pk in view.images], list(view.groups), view.texts, view.clue, view.numbers
        )
        for key, view in views.items()
        if all(pk in images for pk in view.images)
    }
