"""The page of judges' free texts, each with links to its item and its submission."""

from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hits.models import Project, Worker
from hits.views.access import project_page
from hits.views.pages import get_page
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import Scale
from validation.registry import has_spec, spec_of
from validation.selectors.ratings import read_judgments
from validation.selectors.report import ShownItem, shown_items

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class WrittenText:
    """One text: its judgment, the part of the item that it is about, and its author."""

    row: JudgmentRow
    part: str
    text: str
    worker: Worker | None = None
    shown: ShownItem | None = None

    @property
    def author(self) -> str:
        """The author's label on pages."""
        return str(self.worker) if self.worker else f"Imported {self.row.rater[1:9]}"


@require_safe
@project_page()
def judging_texts(request: HttpRequest, project: Project, kind: str, dimension: str) -> HttpResponse:
    """Show the texts of one dimension, newest first."""
    if not has_spec(kind):
        raise Http404("There is no such page.")
    spec = spec_of(kind)
    spec_dimension = spec.dimensions_by_name.get(dimension)
    if spec_dimension is None or spec_dimension.scale is not Scale.TEXT:
        raise Http404("There is no such page.")
    found = [
        WrittenText(row, part, str(label).strip())
        for row in read_judgments(project=project, kind=kind)
        for name, part, label in spec.labels(row.answer)
        if name == dimension and str(label).strip()
    ]
    page = get_page(request, found[::-1], PER_PAGE)
    context: dict[str, Any] = {
        "project": project,
        "section": "judging",
        "kind": kind,
        "spec": spec,
        "dimension": spec_dimension,
        "page": page,
        "texts": _add_context(project, kind, list(page)),
    }
    return render(request, "validation/reports/texts.html", context)


def _add_context(project: Project, kind: str, texts: list[WrittenText]) -> list[WrittenText]:
    """Add each text's author and item."""
    workers = Worker.objects.in_bulk({text.row.worker for text in texts if text.row.worker is not None})
    shown = shown_items(project, kind, [text.row.item for text in texts])
    return [
        replace(
            text,
            worker=workers.get(text.row.worker) if text.row.worker else None,
            shown=shown.get(text.row.item),
        )
        for text in texts
    ]
