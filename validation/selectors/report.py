"""Read judging reports: the newest one, what came in since, its workers, and everything said about one item."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Sum

from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Match
from hits.models import Assignment, Batch, Image, Job, Project, Unit, Worker
from hits.selectors import records as collected
from hits.selectors.images.images import facts_of
from hits.selectors.records import NOT_REJECTED
from validation.domain.judging.ratings import Judged
from validation.domain.judging.spec import JudgingSpec, Material
from validation.models import ImportedJudgment, ItemDecision, JudgingReport, WorkerQuality
from validation.registry import spec_of
from validation.selectors.ratings import judged

COMPUTE = "validation.compute_report"
MAKE_ROWS = "validation.make_rater_rows"
_NOT_REJECTED = [status.value for status in NOT_REJECTED]


def latest(project: Project, kind: str) -> JudgingReport | None:
    """Return the newest report about a kind; one query."""
    return JudgingReport.objects.filter(project=project, kind=kind).select_related("computed_by").first()


def counted(project: Project, kind: str) -> int:
    """Return how many judgments of a kind there are now, imported ones too, without reading them; three queries.

    Somebody's second answer about an item counts here, unlike in a report.
    """
    imported = ImportedJudgment.objects.filter(source__project=project, source__kind=kind).count()
    return _standing(project, kind).count() + imported


def first_judged(project: Project, kinds: Sequence[str]) -> str:
    """Return the first of ``kinds`` that has judgments, imported ones too, else the first of all; two queries."""
    standing = Assignment.objects.filter(
        hit__unit__batch=OuterRef("pk"),
        hit__unit__control=None,
        match=Match.MATCHED,
        status__in=_NOT_REJECTED,
    )
    batches = Batch.objects.filter(Exists(standing), project=project, kind__in=kinds)
    imported = ImportedJudgment.objects.filter(source__project=project, source__kind__in=kinds)
    found = set(batches.order_by().values_list("kind", flat=True).distinct())
    found |= set(imported.order_by().values_list("source__kind", flat=True).distinct())
    return next((kind for kind in kinds if kind in found), kinds[0])


def standing_now(project: Project, kind: str) -> list[int]:
    """Return numbers that change when anything changes that a report is made of; four queries, no answer is read.

    They are how many judgments and control answers stand and the sum of their keys, so that one that was rejected is
    seen although another one came in; the same of imported ones; and how many images were taken down.
    """
    answers = _standing(project, kind, controls=True).aggregate(n=Count("pk"), keys=Sum("pk"))
    imported = ImportedJudgment.objects.filter(source__project=project, source__kind=kind)
    files = imported.aggregate(n=Count("pk"), last=Max("pk"))
    gone = Image.objects.filter(project=project, withdrawn_at__isnull=False).count()
    # PostgreSQL adds whole numbers up to a Decimal, which no JSON can hold.
    return [answers["n"], int(answers["keys"] or 0), files["n"], files["last"] or 0, gone]


def since(report: JudgingReport) -> int:
    """Return by how many judgments the report is behind; below 0 when some were rejected since."""
    return counted(report.project, report.kind) - int(report.figures.get("counted", report.judgments))


def is_behind(report: JudgingReport) -> bool:
    """Tell whether anything that the report is made of has changed since it was computed or checked."""
    return bool(report.figures.get("standing") != standing_now(report.project, report.kind))


def _standing(project: Project, kind: str, *, controls: bool = False) -> "QuerySet[Assignment]":
    batches = list(Batch.objects.filter(project=project, kind=kind).values_list("pk", flat=True))
    rows = Assignment.objects.filter(
        hit__unit__batch__in=batches,
        match=Match.MATCHED,
        status__in=_NOT_REJECTED,
    )
    return rows if controls else rows.filter(hit__unit__control=None)


def report_key(project: Project, kind: str) -> str:
    """Return the exclusive key under which reports of a kind are computed."""
    return f"judging-report:{project.pk}:{kind}"


def rows_key(project: Project, kind: str) -> str:
    """Return the exclusive key under which files of per-rater rows are made."""
    return f"rater-rows:{project.pk}:{kind}"


def last_jobs(project: Project, kind: str) -> dict[str, Job]:
    """Return the newest job by its key, of those about this kind's report and files; one query."""
    keys = [report_key(project, kind), rows_key(project, kind)]
    jobs = Job.objects.filter(exclusive_key__in=keys).order_by("pk")
    return {job.exclusive_key: job for job in jobs}


def workers_of(report: JudgingReport) -> "QuerySet[WorkerQuality]":
    """Return what the report found about each worker, the most reliable first."""
    return report.workers.select_related("worker").order_by("rank")


def batch_names(ids: Iterable[int]) -> dict[int, str]:
    """Return the names of batches; one query."""
    return dict(Batch.objects.filter(pk__in=list(ids)).values_list("pk", "name"))


Regions = dict[int, list[tuple[float, float, float, float]]]


def regions_by_author(project: Project, spec: JudgingSpec) -> dict[int, Regions]:
    """Return image -> author -> all boxes of their accepted records, for images of several authors; one query.

    Only the records that ``spec`` judges one by one are looked at, and only where they have boxes. A box is
    (left, top, right, bottom) as fractions of the image.
    """
    if spec.material is not Material.RECORDS:
        return {}
    rows = collected.accepted(project, str(spec.record_type)).values_list(
        "image_id", "image__width", "image__height", "submission__attempt__worker_id", "fields"
    )
    found: dict[int, Regions] = defaultdict(lambda: defaultdict(list))
    for image, width, height, author, fields in rows.iterator(2_000):
        found[image][author] += [
            (
                box["left"] / width,
                box["top"] / height,
                (box["left"] + box["width"]) / width,
                (box["top"] + box["height"]) / height,
            )
            for box in spec.record_boxes(fields)
        ]
    return {image: dict(authors) for image, authors in found.items() if len(authors) > 1}


@dataclass(frozen=True, slots=True)
class Shown:
    """An item as a page shows it: its pictures, the regions on the first, and the texts to be judged by part."""

    images: Sequence[ImageFacts]
    groups: list[dict[str, Any]]
    texts: Mapping[str, str]
    clue: str | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)  # of regions that have an id of their own

    @property
    def image(self) -> ImageFacts | None:
        """The first picture, if there is one."""
        return next(iter(self.images), None)

    @property
    def boxes(self) -> list[dict[str, Any]]:
        """All boxes on the first picture."""
        return [box for group in self.groups for box in group["boxes"]]


@dataclass(frozen=True, slots=True)
class Item:
    """Everything about one item. ``judgments`` are in their order; controls are not among them."""

    key: str
    shown: Shown | None
    judgments: list[Judged]
    workers: Mapping[int, Worker]
    batches: Mapping[int, str]
    decisions: list[ItemDecision] = field(default_factory=list)
    author: Worker | None = None


def item_of(project: Project, kind: str, key: str) -> Item | None:
    """Return an item that was launched for judging or judged elsewhere; ``None`` where there is none such."""
    found = list(judged(project=project, kind=kind, items=[key]))
    shown = shown_items(project, kind, [key]).get(key)
    if not found and shown is None:
        return None
    is_record = spec_of(kind).material is Material.RECORDS
    pairs = collected.by_instance_ids(project, [key]) if is_record else {}
    return Item(
        key=key,
        shown=shown,
        judgments=found,
        workers=Worker.objects.in_bulk({row.worker for row in found if row.worker is not None}),
        batches=batch_names({row.batch for row in found if row.batch is not None}),
        decisions=_decisions(project, kind, key),
        author=collected.author_of(pairs[key]) if key in pairs else None,
    )


def _decisions(project: Project, kind: str, key: str) -> list[ItemDecision]:
    """Return what the newest run decided about an item and its parts."""
    newest = project.decision_runs.filter(kind=kind).order_by("-id").first()
    if newest is None:
        return []
    about = Q(item=key)
    if spec_of(kind).has_parts:  # a pair has none, and the beginning of a name is in no index
        about |= Q(item__startswith=f"{key}/")
    return list(newest.decisions.filter(about).select_related("run").order_by("pk"))


def shown_items(project: Project, kind: str, keys: Iterable[str]) -> dict[str, Shown]:
    """Return how items look, by key; two queries, three for records that were judged elsewhere.

    A unit's own payload says what judges saw. A record that no unit here shows is read from the corpus.
    """
    spec = spec_of(kind)
    wanted = list(dict.fromkeys(keys))
    units = Unit.objects.filter(batch__project=project, batch__kind=kind, key__in=wanted, control=None)
    views = {key: spec.view(payload) for key, payload in units.order_by("-pk").values_list("key", "payload")}
    missing = [key for key in wanted if key not in views]
    if missing and spec.record_type is not None:
        records = collected.by_instance_ids(project, missing)
        images_by = collected.images_of(records.values())
        found = {
            key: spec.record_view(images_by[row.pk], row.index, row.fields) for key, row in records.items()
        }
        views |= {key: view for key, view in found.items() if view is not None}
    images = facts_of({pk for view in views.values() for pk in view.images})
    return {
        key: Shown(
            [images[pk] for pk in view.images],
            list(view.groups),
            view.texts,
            view.clue,
            view.numbers,
        )
        for key, view in views.items()
        if all(pk in images for pk in view.images)
    }
