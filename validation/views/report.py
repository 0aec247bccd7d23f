"""The judging report of a kind: its figures, the judged items, and files to download."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from hits.charts.coefficients import coefficient_axis
from hits.models import Batch, Job, Project
from hits.selectors.eligibility.arms import count_answers_by_arm
from hits.views.access import project_page
from hits.views.pages import (
    action_messages,
    get_or_404,
    get_page,
    job_if_failed,
    job_if_open,
    section_context,
)
from hits.views.users import signed_in_user
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import Dimension, JudgingSpec, Label, Scale
from validation.models import JudgingReport
from validation.registry import judging_kinds, spec_of, specs
from validation.selectors import report as selectors
from validation.selectors.localization import answer_keys
from validation.selectors.report import JudgedItem
from validation.services import rater_rows, report
from validation.views import report_sections as sections
from validation.views.pages import kind_or_404

COLOUR_COUNT = 5  # of regions, as in hits.templatetags.photo
WORKERS_PER_PAGE = 25
_CONTENT_TYPES = {
    rater_rows.CSV: "text/csv; charset=utf-8",
    rater_rows.PARQUET: "application/vnd.apache.parquet",
}


@require_safe
@project_page()
def judging_report(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the newest report of a kind, whether it is outdated, and the button for a new one."""
    requested = request.GET.get("kind") or selectors.first_judged_kind(project, judging_kinds())
    kind = kind_or_404(requested, judging_kinds())
    newest = selectors.newest_report(project, kind)
    jobs = selectors.newest_jobs_by_key(project, kind)
    job = jobs.get(selectors.report_job_key(project, kind))
    files_job = jobs.get(selectors.rater_rows_job_key(project, kind))
    context: dict[str, Any] = section_context(project, "judging") | {
        "kind": kind,
        "kinds": [(spec.name, spec.title) for spec in specs()],
        "report": newest,
        "job": job_if_open(job),
        "failed": None if _is_job_older_than_report(job, newest) else job_if_failed(job),
        "files": rater_rows.find_rater_row_files(project, kind),
        "files_job": job_if_open(files_job),
        "files_failed": job_if_failed(files_job),
    }
    if newest is None:
        context["judged"] = selectors.count_judgments(project, kind)
    else:
        context |= _report_context(request, project, newest)
    return render(request, "validation/reports/report.html", context)


def _report_context(request: HttpRequest, project: Project, newest: JudgingReport) -> dict[str, Any]:
    figures, kind = newest.figures, newest.kind
    spec = spec_of(kind)
    keys = [row["item"] for found in figures["dimensions"].values() for row in found["hardest"]]
    shown = selectors.shown_items(project, kind, keys)
    page = get_page(request, selectors.list_report_workers(newest), WORKERS_PER_PAGE)
    checked = figures.get("checked_at")
    return {
        "figures": figures,
        "spec": spec,
        "orders": count_answers_by_arm(Batch.objects.filter(project=project, kind=kind)),
        "age": sections.changes_since_report(newest, project),
        "checked_at": datetime.fromisoformat(checked) if checked else newest.computed_at,
        "tiles": sections.headline_tiles(spec, figures),
        "dimensions": [
            sections.dimension_section(spec, spec.dimension(name), found, shown)
            for name, found in spec.in_dimension_order(figures["dimensions"])
        ],
        "axis": coefficient_axis(),
        "box_facts": sections.box_facts(figures.get("boxes")),
        "time": sections.time_section(figures.get("time")),
        "batches": sections.rounds_section(spec, figures),
        "workers": sections.workers_section(page),
        "page": page,
    }


def _is_job_older_than_report(job: Job | None, newest: JudgingReport | None) -> bool:
    """Return whether the report is newer than the job."""
    return job is not None and newest is not None and newest.computed_at > job.created_at


@require_POST
@project_page()
def report_compute(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue the computation of a report."""
    kind = kind_or_404(request.POST.get("kind", ""), judging_kinds())
    with action_messages(request, "Not computed", conflict="The report is already being computed."):
        report.request_report(project=project, kind=kind, by=signed_in_user(request))
    return redirect(_report_url(project, kind))


@require_POST
@project_page()
def rater_rows_create(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue the creation of the files with per-rater rows."""
    kind = kind_or_404(request.POST.get("kind", ""), judging_kinds())
    with action_messages(request, "Not created", conflict="The files are already being created."):
        rater_rows.request_rater_rows(project=project, kind=kind, by=signed_in_user(request))
    return redirect(f"{_report_url(project, kind)}#files")


@require_safe
@project_page()
def rater_rows_file(request: HttpRequest, project: Project, kind: str, name: str) -> HttpResponseBase:
    """Download one of the files with per-rater rows."""
    made = rater_rows.find_rater_row_files(project, kind_or_404(kind, judging_kinds()))
    if made is None or name not in rater_rows.FILE_NAMES:
        raise Http404("There is no such file. Create the files on the report page.")
    path = rater_rows.rows_folder(project, kind) / name
    return FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=f"{project.slug}-{kind}-{name}",
        content_type=_CONTENT_TYPES[name],
    )


def _report_url(project: Project, kind: str) -> str:
    return f"{reverse('judging-report', args=[project.slug])}?kind={kind}"


@require_safe
@project_page()
def judging_item(request: HttpRequest, project: Project, kind: str, key: str) -> HttpResponse:
    """Show one item with all its judgments, each with a link to its submission."""
    item = selectors.find_item(project, kind_or_404(kind, judging_kinds()), key)
    found = get_or_404(item, "There is no such item.")
    spec = spec_of(kind)
    truth = answer_keys(project, spec).get(key, {})
    context = section_context(project, "judging") | {
        "kind": kind,
        "kind_title": spec.title,
        "spec": spec,
        "has_mean": any(dimension.is_numeric for dimension in spec.dimensions) and len(spec.dimensions) == 1,
        "item": found,
        "headings": [dimension.title for dimension in _whole_dimensions(spec)],
        "rounds": list(found.batches.items()),
        "judges": [_judge_row(spec, found, row) for row in found.judgments],
        "rated": _part_rows(spec, found, truth) if spec.has_parts else [],
        "decisions": [_decision_row(spec, found, row) for row in found.decisions],
    }
    return render(request, "validation/judging/item.html", context)


def _whole_dimensions(spec: JudgingSpec) -> list[Dimension]:
    return [dimension for dimension in spec.dimensions if dimension.is_whole or not spec.has_parts]


def _judge_row(spec: JudgingSpec, item: JudgedItem, row: JudgmentRow) -> dict[str, Any]:
    labels = {name: label for name, part, label in spec.labels(row.answer) if not part}
    numbers = item.shown.numbers if item.shown else {}
    return {
        "row": row,
        "worker": item.workers.get(row.worker) if row.worker is not None else None,
        "name": _judge_name(item, row),
        "labels": [
            (dimension.title, _describe_whole(dimension, labels.get(dimension.name, "–"), numbers))
            for dimension in _whole_dimensions(spec)
        ],
    }


def _judge_name(item: JudgedItem, row: JudgmentRow) -> str:
    worker = item.workers.get(row.worker) if row.worker is not None else None
    return str(worker) if worker else f"Imported {row.rater[1:9]}"


def _part_rows(spec: JudgingSpec, item: JudgedItem, truth: Mapping[str, Label]) -> list[dict[str, Any]]:
    """Return a row for each part of the item with each judge's labels, in the order of the judges."""
    answers = [_labels_by_part(spec, row) for row in item.judgments]
    texts = dict(item.shown.texts) if item.shown else {}
    regions = item.shown.numbers if item.shown else {}
    rows = []
    for part in dict.fromkeys([*texts, *(part for answer in answers for part in answer if part)]):
        labels = [answer.get(part, {}) for answer in answers]
        numbers = [
            label for part_labels in labels for label in part_labels.values() if isinstance(label, int)
        ]
        described = [_describe_part(spec, part_labels, truth.get(part), regions) for part_labels in labels]
        judge_labels = list(zip((_judge_name(item, row) for row in item.judgments), described, strict=True))
        mean = sum(numbers) / len(numbers) if numbers and len(spec.dimensions) == 1 else None
        own_region = regions.get(str(truth.get(part, "")))
        row = {"part": part, "text": texts.get(part) or part, "labels": judge_labels, "mean": mean}
        rows.append(row | {"own": own_region, "colour": own_region and (own_region - 1) % COLOUR_COUNT + 1})
    return rows


def _labels_by_part(spec: JudgingSpec, row: JudgmentRow) -> dict[str, dict[str, Any]]:
    """Return the labels of an answer by part and dimension."""
    found: dict[str, dict[str, Any]] = {}
    for name, part, label in spec.labels(row.answer):
        found.setdefault(part, {})[name] = label
    return found


def _describe_part(
    spec: JudgingSpec, labels: Mapping[str, Any], truth: Label | None, numbers: Mapping[str, int]
) -> str:
    """Return one judge's labels of a part as text, one per dimension."""
    if not labels:
        return "–"
    described = [_describe_label(spec, name, label, truth, numbers) for name, label in labels.items()]
    return "; ".join(described)


def _describe_whole(dimension: Dimension, label: Any, numbers: Mapping[str, int]) -> str:
    """Return a label of the whole item as text; one that the unit brings by its number."""
    number = None if dimension.has_fixed_labels else numbers.get(str(label))
    return f"{dimension.unit_labels[0]} {number}" if number else dimension.label_text(label)


def _describe_label(
    spec: JudgingSpec, name: str, label: Any, truth: Label | None, numbers: Mapping[str, int]
) -> str:
    dimension = spec.dimension(name)
    if not dimension.has_fixed_labels and dimension.scale is Scale.NOMINAL:
        number, noun = numbers.get(str(label)), dimension.unit_labels[0]
        return "right" if label == truth else f"{noun} {number}" if number else f"another {noun}"
    if dimension.is_numeric and dimension.label_texts:
        return f"{label} {dimension.label_text(label)}"
    return dimension.label_text(label)


def _decision_row(spec: JudgingSpec, item: JudgedItem, row: Any) -> dict[str, Any]:
    part = row.item.removeprefix(f"{item.key}/") if row.item != item.key else ""
    text = item.shown.texts.get(part, part) if item.shown and part else ""
    return {"title": spec.dimension_title(row.dimension), "text": text, "row": row}
