"""Where a project's images came from, and what imports more: commands, and a form over a folder of the server."""

from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from curation.models import Source
from curation.selectors.sources import SPLITS, SourceRow, entity_counts, images_by_source, import_jobs
from curation.services.sources import TITLES, request_import
from curation.sources.vcr import MIN_ENTITIES
from curation.views.source_forms import FORMS, ImportForm, Offer, offered
from hits.domain.states import OPEN_JOB_STATES
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.who import person
from validation.domain.reports import plots

JOBS_SHOWN = 10
PROBLEMS_SHOWN = 5
OTHER = "Other ways"


@dataclass(frozen=True, slots=True)
class ImportCommand:
    """A command line that imports a collection, and what it does."""

    title: str
    about: str
    line: str


@require_safe
@project_page()
def sources(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what was imported, by collection and split, the last imports, and what starts another one."""
    offer = offered()
    form = _form_class(request.GET.get("collection", ""), offer)(offer) if offer.root else None
    return _page(request, project, offer, form)


@require_POST
@project_page()
def start_import(request: HttpRequest, project: Project, source: str) -> HttpResponse:
    """Queue the import of a collection that stands in the folder of imports, or a look at it."""
    offer = offered()
    if source not in set(Source) or offer.root is None:
        raise Http404("There is no such page.")
    form = FORMS[Source(source)](offer, request.POST)
    if not form.is_valid():
        return _page(request, project, offer, form, status=400)
    try:
        job = request_import(
            project=project, wanted=form.cleaned_data["wanted"], options=form.options, by=person(request)
        )
    except Refused as error:
        form.add_error(None, f"Not started: {error}.")
        return _page(request, project, offer, form, status=400)
    stores = (
        "The import is queued." if not form.options.dry_run else "A look is queued. Nothing will be stored."
    )
    messages.success(request, stores)
    return redirect("job-detail", job.pk)


def _form_class(collection: str, offer: Offer) -> type[ImportForm]:
    """The form of the collection that is asked for, else of the first that stands there."""
    if collection in set(Source):
        return FORMS[Source(collection)]
    standing = [form for form in FORMS.values() if form.found_in(offer.contents)]
    return next(iter([*standing, *FORMS.values()]))


def _page(
    request: HttpRequest, project: Project, offer: Offer, form: ImportForm | None, *, status: int = 200
) -> HttpResponse:
    rows = images_by_source(project)
    entities, without = entity_counts(project)
    jobs = import_jobs(project, JOBS_SHOWN)
    context = {
        "project": project,
        "section": "curation",
        "tab": "sources",
        "rows": [_row(row) for row in rows],
        "totals": [(_split(split), sum(row.counts[at] for row in rows)) for at, split in enumerate(SPLITS)],
        "images": sum(row.total for row in rows),
        "described": _described(rows),
        "plot": _plot(entities),
        "counted": sum(entities),
        "uncounted": without,
        "open_jobs": [job for job in jobs if job.state in OPEN_JOB_STATES],
        "ended": [(job, _words(job)) for job in jobs if job.state not in OPEN_JOB_STATES],
        "commands": commands(project),
        "offer": offer,
        "form": form,
        "collections": [(source.value, TITLES[source]) for source in FORMS],
    }
    return render(request, "curation/sources/sources.html", context, status=status)


def commands(project: Project) -> list[ImportCommand]:
    """Return the command lines for this project, with folders to put in."""
    return [
        ImportCommand(
            "Visual Genome",
            "The folder holds VG_100K, VG_100K_2 and image_data.json. The splits are a published list of image ids; "
            "without one, all images become train.",
            f"manage.py import_visual_genome FOLDER --project {project.slug} --splits densecap_splits.json "
            "--regions region_descriptions.json",
        ),
        ImportCommand(
            "VCR",
            "The folder holds vcr1images and the three annotation files, which give the splits. Only pictures that "
            f"VisualCOMET annotates, with at least {MIN_ENTITIES} entities.",
            f"manage.py import_vcr FOLDER --project {project.slug} --allowed train_annots.json "
            f"--allowed val_annots.json --allowed test_annots.json --min-entities {MIN_ENTITIES}",
        ),
    ]


def _row(row: SourceRow) -> dict[str, Any]:
    """One collection as the table shows it, each count with the name of its split."""
    title = TITLES[Source(row.source)] if row.source else OTHER
    cells = [(_split(split), count) for split, count in zip(SPLITS, row.counts, strict=True)]
    return {"title": title, "cells": cells, "total": row.total}


def _split(split: str) -> str:
    return split.capitalize() or "No split"


def _described(rows: list[SourceRow]) -> int:
    """How many images have a collection's own record."""
    return sum(row.total for row in rows if row.source)


def _plot(entities: list[int]) -> plots.Histogram | None:
    if not any(entities):
        return None
    marks = [(float(MIN_ENTITIES), f"the paper’s least, {MIN_ENTITIES}", True)]
    plot = plots.histogram({"width": 1, "counts": entities}, marks=marks, unit="entities")
    assert plot is not None
    numbers = [number for number, count in enumerate(entities) if count]
    last = len(entities) - 1
    words = [f"{number} or more entities" if number == last else f"{number} entities" for number in numbers]
    return replace(
        plot, bins=[replace(item, words=text) for item, text in zip(plot.bins, words, strict=True)]
    )


def _words(job: Job) -> dict[str, Any]:
    """What came of an import, as its row of the list tells it."""
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
        "problems": result["problems"][:PROBLEMS_SHOWN],
        "more": max(0, result["skipped"] - PROBLEMS_SHOWN),
    }
