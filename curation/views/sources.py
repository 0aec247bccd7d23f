"""Sources of a project's images, and importing more, by command or from a folder of the server."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from curation.models import Source
from curation.selectors.sources import (
    SPLITS,
    SourceCounts,
    entity_histogram_and_uncounted,
    image_counts_by_source,
    latest_import_jobs,
)
from curation.services.sources import SOURCE_TITLES, request_source_import
from curation.sources.vcr import MIN_ENTITIES
from curation.views.pages import tab_context
from curation.views.source_forms import FORMS, ImportFolderContents, ImportForm, read_import_folder
from hits.charts.chart import Chart
from hits.charts.histograms import bar_chart
from hits.domain.states import OPEN_JOB_STATES
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.users import signed_in_user

MAX_JOBS = 10
MAX_PROBLEMS = 5
OTHER_TITLE = "Other photos"


@dataclass(frozen=True, slots=True)
class ImportCommandLine:
    """A command line that imports a collection, with an explanation."""

    title: str
    about: str
    command: str


@require_safe
@project_page()
def sources(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the images by collection and split, the latest imports, and how to import more."""
    import_folder = read_import_folder()
    form = (
        _requested_or_first_form_class(request.GET.get("collection", ""), import_folder)(import_folder)
        if import_folder.root
        else None
    )
    return _render_page(request, project, import_folder, form)


@require_POST
@project_page()
def start_import(request: HttpRequest, project: Project, source: str) -> HttpResponse:
    """Queue the import of a collection in the import folder, or a dry run."""
    import_folder = read_import_folder()
    if source not in set(Source) or import_folder.root is None:
        raise Http404("There is no such page.")
    form = FORMS[Source(source)](import_folder, request.POST)
    if not form.is_valid():
        return _render_page(request, project, import_folder, form, status=400)
    try:
        job = request_source_import(
            project=project,
            spec=form.cleaned_data["spec"],
            options=form.options,
            by=signed_in_user(request),
        )
    except Refused as error:
        form.add_error(None, f"Not started: {error}.")
        return _render_page(request, project, import_folder, form, status=400)
    message = "The import is queued."
    if form.options.dry_run:
        message = "The dry run is queued. Nothing will be stored."
    messages.success(request, message)
    return redirect("job-detail", job.pk)


def _requested_or_first_form_class(collection: str, import_folder: ImportFolderContents) -> type[ImportForm]:
    """Return the form of the requested collection, or of the first available one."""
    if collection in set(Source):
        return FORMS[Source(collection)]
    available = [form for form in FORMS.values() if form.find_folders(import_folder.contents)]
    return next(iter([*available, *FORMS.values()]))


def _render_page(
    request: HttpRequest,
    project: Project,
    import_folder: ImportFolderContents,
    form: ImportForm | None,
    *,
    status: int = 200,
) -> HttpResponse:
    rows = image_counts_by_source(project)
    entities, without = entity_histogram_and_uncounted(project)
    jobs = latest_import_jobs(project, MAX_JOBS)
    context = tab_context(project, "sources") | {
        "rows": [_source_row(row) for row in rows],
        "totals": [
            (_split_label(split), sum(row.counts[index] for row in rows))
            for index, split in enumerate(SPLITS)
        ],
        "images": sum(row.total for row in rows),
        "described": _count_images_with_source(rows),
        "plot": _entity_chart(entities),
        "counted": sum(entities),
        "uncounted": without,
        "open_jobs": [job for job in jobs if job.state in OPEN_JOB_STATES],
        "ended": [(job, _result_row(job)) for job in jobs if job.state not in OPEN_JOB_STATES],
        "commands": import_command_lines(project),
        "import_folder": import_folder,
        "form": form,
        "collections": [(source.value, SOURCE_TITLES[source]) for source in FORMS],
    }
    return render(request, "curation/sources/sources.html", context, status=status)


def import_command_lines(project: Project) -> list[ImportCommandLine]:
    """Return the command lines for this project, with placeholders for folders."""
    return [
        ImportCommandLine(
            "Visual Genome",
            "The folder has VG_100K, VG_100K_2 and image_data.json. The splits come from a published list of image "
            "ids; without one, all images are put into train.",
            f"manage.py import_visual_genome FOLDER --project {project.slug} --splits densecap_splits.json "
            "--regions region_descriptions.json",
        ),
        ImportCommandLine(
            "VCR",
            "The folder has vcr1images and the three annotation files, which give the splits. The command imports "
            f"only images that VisualCOMET annotates and that have at least {MIN_ENTITIES} entities.",
            f"manage.py import_vcr FOLDER --project {project.slug} --allowed train_annots.json "
            f"--allowed val_annots.json --allowed test_annots.json --min-entities {MIN_ENTITIES}",
        ),
    ]


def _source_row(row: SourceCounts) -> dict[str, Any]:
    """Return a collection's table row, each count with its split's name."""
    title = SOURCE_TITLES[Source(row.source)] if row.source else OTHER_TITLE
    cells = [(_split_label(split), count) for split, count in zip(SPLITS, row.counts, strict=True)]
    return {"title": title, "cells": cells, "total": row.total}


def _split_label(split: str) -> str:
    return split.capitalize() or "No split"


def _count_images_with_source(rows: list[SourceCounts]) -> int:
    """Return the number of images with a source record."""
    return sum(row.total for row in rows if row.source)


def _entity_chart(entities: list[int]) -> Chart | None:
    if not any(entities):
        return None
    return bar_chart(
        entities,
        summary="Photos by number of entities",
        x_label="entities in a photo; the last bar includes all with more",
        unit="Photos",
        threshold=MIN_ENTITIES,
        threshold_label=f"minimum in the paper: {MIN_ENTITIES}",
    )


def _result_row(job: Job) -> dict[str, Any]:
    """Return the results of an import, for the list."""
    result = job.result
    if not result:
        return {}
    return {
        "dry_run": result["dry_run"],
        "images": result["images"],
        "new": result["new"],
        "known": result["known"] + result["described"],
        "skipped": result["skipped"],
        "left_out": sum(result["left_out"].values()),
        "splits": [(split, result["splits"][split]) for split in SPLITS if split in result["splits"]],
        "warning": result.get("warning", ""),  # imports of earlier releases have none
        "problems": result["problems"][:MAX_PROBLEMS],
        "more": max(0, result["skipped"] - MAX_PROBLEMS),
    }
