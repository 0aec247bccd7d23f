"""The report on a kind of judgments: figures with their age, what lies behind them, and files to take away."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Batch, Job, Project
from hits.selectors.eligibility.arms import arm_counts
from hits.services.errors import Conflict, Refused
from hits.views.access import project_page
from validation.domain.judging.ratings import Judged
from validation.domain.judging.spec import JudgingSpec, Label, Scale
from validation.models import JudgingReport
from validation.registry import has_spec, names, spec_of, specs
from validation.selectors import report as selectors
from validation.selectors.localization import truths
from validation.selectors.report import Item
from validation.services import rater_rows, report
from validation.views import report_parts as parts

COLOURS = 5  # of observations, as hits.templatetags.photo gives them to regions
WORKERS_SHOWN = 25
_TYPES = {rater_rows.CSV: "text/csv; charset=utf-8", rater_rows.PARQUET: "application/vnd.apache.parquet"}


def _kind(name: str) -> str:
    if not has_spec(name):
        raise Http404("There is no such page.")
    return name


@require_safe
@project_page()
def judging_report(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the newest report of a kind, how old it is, and the way to a new one."""
    kind = _kind(request.GET.get("kind") or selectors.first_judged(project, names()))
    newest = selectors.latest(project, kind)
    jobs = selectors.last_jobs(project, kind)
    job = jobs.get(selectors.report_key(project, kind))
    context: dict[str, Any] = {
        "project": project,
        "section": "judging",
        "kind": kind,
        "kinds": [(spec.name, spec.title) for spec in specs()],
        "report": newest,
        "job": job if job and job.state in OPEN_JOB_STATES else None,
        "failed": _failed(job, newest),
        "files": rater_rows.made_rows(project, kind),
        "files_job": _open(jobs.get(selectors.rows_key(project, kind))),
        "files_failed": _failed(jobs.get(selectors.rows_key(project, kind)), None),
    }
    if newest is None:
        return render(
            request, "validation/reports/report.html", context | {"judged": selectors.counted(project, kind)}
        )
    return render(request, "validation/reports/report.html", context | _figures(request, project, newest))


def _figures(request: HttpRequest, project: Project, newest: JudgingReport) -> dict[str, Any]:
    figures, kind = newest.figures, newest.kind
    spec = spec_of(kind)
    keys = [row["item"] for found in figures["dimensions"].values() for row in found["hardest"]]
    shown = selectors.shown_items(project, kind, keys)
    page = Paginator(selectors.workers_of(newest), WORKERS_SHOWN).get_page(request.GET.get("page"))
    checked = figures.get("checked_at")
    return {
        "figures": figures,
        "spec": spec,
        "orders": arm_counts(Batch.objects.filter(project=project, kind=kind)),
        "age": parts.age(newest, project),
        "checked_at": datetime.fromisoformat(checked) if checked else newest.computed_at,
        "tiles": parts.headline(spec, figures),
        "dimensions": [
            parts.dimension_parts(spec, spec.dimension(name), found, shown)
            for name, found in spec.in_order(figures["dimensions"])
        ],
        "axis": parts.plots.axis(),
        "box_facts": parts.box_facts(figures.get("boxes")),
        "time": parts.time_parts(figures.get("time")),
        "batches": parts.batch_parts(spec, figures),
        "workers": parts.worker_parts(page),
        "page": page,
    }


def _open(job: Job | None) -> Job | None:
    return job if job is not None and job.state in OPEN_JOB_STATES else None


def _failed(job: Job | None, newest: JudgingReport | None) -> Job | None:
    """Return the last job where it failed and nothing newer stands on the page."""
    if job is None or job.state != JobState.FAILED:
        return None
    return None if newest is not None and newest.computed_at > job.created_at else job


@require_POST
@project_page()
def report_compute(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a report."""
    kind = _kind(request.POST.get("kind", ""))
    try:
        report.request_report(project=project, kind=kind, by=request.user)  # type: ignore[arg-type]
    except Conflict:
        messages.info(request, "The report is being computed already.")
    except Refused as error:
        messages.error(request, f"Not computed: {str(error).rstrip('.')}.")
    return redirect(_address(project, kind))


@require_POST
@project_page()
def rows_make(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue the making of the files."""
    kind = _kind(request.POST.get("kind", ""))
    try:
        rater_rows.request_rows(project=project, kind=kind, by=request.user)  # type: ignore[arg-type]
    except Conflict:
        messages.info(request, "The files are being made already.")
    except Refused as error:
        messages.error(request, f"Not made: {str(error).rstrip('.')}.")
    return redirect(f"{_address(project, kind)}#files")


@require_safe
@project_page()
def rows_file(request: HttpRequest, project: Project, kind: str, name: str) -> HttpResponseBase:
    """Send one of the files that lie ready."""
    made = rater_rows.made_rows(project, _kind(kind))
    if made is None or name not in rater_rows.NAMES:
        raise Http404("There is no such file; make the files on the report page.")
    path = rater_rows.rows_folder(project, kind) / name
    return FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=f"{project.slug}-{kind}-{name}",
        content_type=_TYPES[name],
    )


def _address(project: Project, kind: str) -> str:
    return f"{reverse('judging-report', args=[project.slug])}?kind={kind}"


@require_safe
@project_page()
def judging_item(request: HttpRequest, project: Project, kind: str, key: str) -> HttpResponse:
    """Show one item with every judgment of it, each with the way to its submission."""
    found = selectors.item_of(project, _kind(kind), key)
    if found is None:
        raise Http404("There is no such item.")
    spec = spec_of(kind)
    truth = truths(project, spec).get(key, {})
    context = {
        "project": project,
        "section": "judging",
        "kind": kind,
        "kind_title": spec.title,
        "spec": spec,
        "has_mean": any(one.is_numeric for one in spec.dimensions) and len(spec.dimensions) == 1,
        "item": found,
        "headings": [] if spec.has_parts else [one.title for one in spec.dimensions],
        "rounds": list(found.batches.items()),
        "judges": [_judge(spec, found, row) for row in found.judgments],
        "rated": _rated(spec, found, truth) if spec.has_parts else [],
        "decisions": [_decision(spec, found, row) for row in found.decisions],
    }
    return render(request, "validation/judging/item.html", context)


def _judge(spec: JudgingSpec, item: Item, row: Judged) -> dict[str, Any]:
    given = {name: label for name, _, label in spec.labels(row.answer)}
    return {
        "row": row,
        "worker": item.workers.get(row.worker) if row.worker is not None else None,
        "name": _name(item, row),
        "labels": []
        if spec.has_parts
        else [(one.title, one.label_words(given.get(one.name, "–"))) for one in spec.dimensions],
    }


def _name(item: Item, row: Judged) -> str:
    worker = item.workers.get(row.worker) if row.worker is not None else None
    return str(worker) if worker else f"Imported {row.rater[1:9]}"


def _rated(spec: JudgingSpec, item: Item, truth: Mapping[str, Label]) -> list[dict[str, Any]]:
    """Return a row for each part of the item with what each judge said of it, in the judges' order."""
    given = [_by_part(spec, row) for row in item.judgments]
    texts = dict(item.shown.texts) if item.shown else {}
    regions = item.shown.numbers if item.shown else {}
    rows = []
    for part in dict.fromkeys([*texts, *(part for answer in given for part in answer)]):
        labels = [answer.get(part, {}) for answer in given]
        numbers = [label for one in labels for label in one.values() if isinstance(label, int)]
        words = [_part_words(spec, one, truth.get(part), regions) for one in labels]
        said = list(zip((_name(item, row) for row in item.judgments), words, strict=True))
        mean = sum(numbers) / len(numbers) if numbers and len(spec.dimensions) == 1 else None
        own = regions.get(str(truth.get(part, "")))
        row = {"part": part, "text": texts.get(part) or part, "labels": said, "mean": mean}
        rows.append(row | {"own": own, "colour": own and (own - 1) % COLOURS + 1})
    return rows


def _by_part(spec: JudgingSpec, row: Judged) -> dict[str, dict[str, Any]]:
    """Return an answer's labels by part and dimension."""
    found: dict[str, dict[str, Any]] = {}
    for name, part, label in spec.labels(row.answer):
        found.setdefault(part, {})[name] = label
    return found


def _part_words(
    spec: JudgingSpec, labels: Mapping[str, Any], truth: Label | None, numbers: Mapping[str, int]
) -> str:
    """Return what a judge said of one part: the label of each dimension."""
    if not labels:
        return "–"
    words = [_one_label(spec, name, label, truth, numbers) for name, label in labels.items()]
    return "; ".join(words)


def _one_label(
    spec: JudgingSpec, name: str, label: Any, truth: Label | None, numbers: Mapping[str, int]
) -> str:
    dimension = spec.dimension(name)
    if not dimension.is_fixed and dimension.scale is Scale.NOMINAL:
        number = numbers.get(str(label))
        return "right" if label == truth else f"region {number}" if number else "another region"
    if dimension.is_numeric and dimension.words:
        return f"{label} {dimension.label_words(label)}"
    return dimension.label_words(label)


def _decision(spec: JudgingSpec, item: Item, row: Any) -> dict[str, Any]:
    part = row.item.removeprefix(f"{item.key}/") if row.item != item.key else ""
    text = item.shown.texts.get(part, part) if item.shown and part else ""
    return {"title": spec.title_of(row.dimension), "text": text, "row": row}
