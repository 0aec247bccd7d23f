"""The page of judges' free texts, each with links to its item and its submission."""

from dataclasses import dataclass, replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hits.models import Project, Worker
from hits.views.access import project_page
from hits.views.pages import get_or_404, get_page, section_context
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import Scale
from validation.registry import judging_kinds, spec_of
from validation.selectors.ratings import read_judgments
from validation.selectors.report import ShownItem, shown_items
from validation.views.pages import kind_or_404

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class JudgeText:
    """One text of a judge: its judgment, the part of the item that it is about, and the judge."""

    row: JudgmentRow
    part: str
    text: str
    worker: Worker | None = None
    shown: ShownItem | None = None

    @property
    def judge_label(self) -> str:
        """The judge's label on pages."""
        return str(self.worker) if self.worker else f"Imported {self.row.rater[1:9]}"


@require_safe
@project_page()
def judge_text_list(request: HttpRequest, project: Project, kind: str, dimension: str) -> HttpResponse:
    """Show the judges' texts of one dimension, newest first."""
    spec = spec_of(kind_or_404(kind, judging_kinds()))
    spec_dimension = get_or_404(spec.dimensions_by_name.get(dimension))
    if spec_dimension.scale is not Scale.TEXT:
        raise Http404("There is no such page.")
    found = [
        JudgeText(row, part, str(label).strip())
        for row in read_judgments(project=project, kind=kind)
        for name, part, label in spec.labels(row.answer)
        if name == dimension and str(label).strip()
    ]
    page = get_page(request, found[::-1], PER_PAGE)
    context = section_context(project, "judging") | {
        "kind": kind,
        "spec": spec,
        "dimension": spec_dimension,
        "page": page,
        "texts": _add_judges_and_items(project, kind, list(page)),
    }
    return render(request, "validation/reports/texts.html", context)


def _add_judges_and_items(project: Project, kind: str, texts: list[JudgeText]) -> list[JudgeText]:
    """Add each text's judge and item."""
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
