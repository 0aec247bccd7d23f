"""The gold desk: units with a known answer, which are mixed into rounds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.answers.text import row_number
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.who import person
from validation.models import GoldItem
from validation.registry import spec_of
from validation.selectors import quality_checks as selectors
from validation.selectors.quality_checks import JudgedUnit, gold_kinds
from validation.services import quality_checks as services

LONGEST_ID = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that may be right: its value in the form, its words, how many judges gave it."""

    value: str
    words: str
    votes: int
    ticked: bool


@dataclass(frozen=True, slots=True)
class Question:
    """What an answer is about, and its answers."""

    name: str
    text: str
    choices: Sequence[Choice]


@require_safe
@project_page()
def gold(request: HttpRequest, project: Project) -> HttpResponse:
    """List the gold items of a kind, with how they were answered."""
    kind = _kind(request.GET)
    retired = request.GET.get("show") == "retired"
    found = selectors.gold_page(project, kind, retired=retired, page=request.GET.get("page", "1"))
    context = _frame(project, kind) | {
        "found": found,
        "rows": [(line, expected_words(line.gold)) for line in found.lines],
        "page": found.page,
        "retired": retired,
    }
    return render(request, "validation/gold/gold.html", context)


@require_safe
@project_page()
def gold_choose(request: HttpRequest, project: Project) -> HttpResponse:
    """List judged units, from which a gold item is made."""
    kind = _kind(request.GET)
    item = request.GET.get("item", "").strip()[:LONGEST_ID]
    page, units = selectors.judged_units(project, kind, item=item, page=request.GET.get("page", "1"))
    rows = [(row, _questions(kind, row.unit.payload, row.votes, {})) for row in units]
    context = _frame(project, kind) | {"rows": rows, "page": page, "item": item}
    return render(request, "validation/gold/gold_choose.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def gold_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Make a gold item of a judged unit: which answers are right."""
    kind = _kind(request.GET)
    number = row_number(request.GET.get("unit", ""))
    unit = None if number is None else selectors.judged_unit(project, kind, number)
    if unit is None:
        raise Http404("There is no such page.")
    ticked = _suggested(unit)
    error = ""
    if request.method == "POST":
        ticked = _ticked(request.POST, kind, unit.unit.payload)
        try:
            services.add_gold(
                unit=unit.unit, expected=ticked, by=person(request), note=request.POST.get("note", "")
            )
        except Refused as refused:
            error = str(refused)
        else:
            messages.success(request, "The item is gold now. The next rounds may mix it in.")
            return _desk(project, kind)
    context = _frame(project, kind) | {
        "payload": unit.unit.payload,
        "looks": unit.looks,
        "judges": unit.judges,
        "questions": _questions(kind, unit.unit.payload, unit.votes, ticked),
        "note": request.POST.get("note", ""),
        "error": error,
    }
    return render(request, "validation/gold/gold_form.html", context, status=400 if error else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def gold_edit(request: HttpRequest, project: Project, gold_id: int) -> HttpResponse:
    """Change which answers are right, from the next round on."""
    row = _gold(project, gold_id)
    ticked: Mapping[str, Collection[str | int]] = row.expected
    error = ""
    if request.method == "POST":
        ticked = _ticked(request.POST, row.kind, row.payload)
        try:
            services.change_gold(
                gold=row, expected=ticked, note=request.POST.get("note", ""), by=person(request)
            )
        except Refused as refused:
            error = str(refused)
        else:
            messages.success(request, "Changed. Rounds that are out keep the answers of their launch.")
            return _desk(project, row.kind)
    context = _frame(project, row.kind) | {
        "gold": row,
        "payload": row.payload,
        "looks": selectors.looks_of(row),
        "questions": _questions(row.kind, row.payload, {}, ticked),
        "note": request.POST.get("note", row.note),
        "error": error,
    }
    return render(request, "validation/gold/gold_form.html", context, status=400 if error else 200)


@require_POST
@project_page()
def gold_switch(request: HttpRequest, project: Project, gold_id: int) -> HttpResponse:
    """Retire a gold item, or use it again."""
    row = _gold(project, gold_id)
    on = request.POST.get("on") == "yes"
    if services.switch_gold(gold=row, on=on, by=person(request)):
        said = "Used again from the next round on." if on else "Retired. Rounds that are out keep it."
        messages.success(request, said)
    return _desk(project, row.kind)


def expected_words(row: GoldItem) -> list[tuple[str, str]]:
    """Return what is right in words: rows of question (or statement) and answers."""
    ticked = row.expected
    return [
        (question.text, " or ".join(choice.words for choice in question.choices if choice.ticked))
        for question in _questions(row.kind, row.payload, {}, ticked)
        if question.name in ticked
    ]


def _desk(project: Project, kind: str) -> HttpResponse:
    return redirect(f"{reverse('gold', args=[project.slug])}?kind={kind}")


def _gold(project: Project, pk: int) -> GoldItem:
    row = selectors.gold_of(project, pk)
    if row is None or row.kind not in gold_kinds():
        raise Http404("There is no such page.")
    return row


def _kind(query: QueryDict) -> str:
    kinds = gold_kinds()
    asked = query.get("kind", kinds[0] if kinds else "")
    if asked not in kinds:
        raise Http404("There is no such page.")
    return asked


def _frame(project: Project, kind: str) -> dict[str, Any]:
    return {
        "project": project,
        "section": "judging",
        "kind": kind,
        "kinds": [(name, spec_of(name).title) for name in gold_kinds()],
    }


def _suggested(unit: JudgedUnit) -> dict[str, list[str | int]]:
    """Return the answers that the judges gave, where they are next to each other on the scale and not all of it.

    About a matter of taste nothing is suggested: there people differ, and nobody is wrong.
    """
    result: dict[str, list[str | int]] = {}
    spec = spec_of(unit.unit.batch.kind)
    for name, scale in spec.allowed(unit.unit.payload).items():
        given = [at for at, label in enumerate(scale) if unit.votes.get(name, {}).get(label)]
        narrow = 0 < len(given) < len(scale) and given[-1] - given[0] < len(given)
        if narrow and not spec.dimension_of(name).is_taste:
            result[name] = [scale[at] for at in given]
    return result


def _ticked(data: QueryDict, kind: str, payload: Mapping[str, Any]) -> dict[str, list[str | int]]:
    """Return the answers that the form has ticked; what no page offers is left out."""
    return {
        name: [label for label in labels if str(label) in data.getlist(f"right-{name}")]
        for name, labels in spec_of(kind).allowed(payload).items()
    }


def _questions(
    kind: str,
    payload: Mapping[str, Any],
    votes: Mapping[str, Mapping[str | int, int]],
    ticked: Mapping[str, Collection[str | int]],
) -> list[Question]:
    spec = spec_of(kind)
    result = []
    for name, labels in spec.allowed(payload).items():
        dimension = spec.dimension_of(name)
        choices = [
            Choice(
                str(label),
                f"{label} {dimension.label_words(label)}"
                if dimension.is_numeric
                else dimension.label_words(label),
                votes.get(name, {}).get(label, 0),
                label in ticked.get(name, ()),
            )
            for label in labels
        ]
        result.append(Question(name, spec.gold_text(payload, name), choices))
    return result
