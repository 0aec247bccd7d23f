"""Pages about gold items: units with a known answer that rounds use as quality checks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.answers.text import parse_row_number
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.users import signed_in_user
from validation.models import GoldItem
from validation.registry import spec_of
from validation.selectors import quality_checks as selectors
from validation.selectors.quality_checks import JudgedUnit, gold_kinds
from validation.services import quality_checks as services

MAX_ID_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """A possible answer: its form value, its label, the judges who gave it, and whether it is expected."""

    value: str
    label: str
    votes: int
    is_expected: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a unit, and its possible answers."""

    name: str
    text: str
    choices: Sequence[Choice]


@require_safe
@project_page()
def gold(request: HttpRequest, project: Project) -> HttpResponse:
    """List the gold items of a kind with the counts of their answers."""
    kind = _get_kind(request.GET)
    retired = request.GET.get("show") == "retired"
    found = selectors.gold_page(project, kind, retired=retired, page=request.GET.get("page", "1"))
    context = _base_context(project, kind) | {
        "found": found,
        "rows": [(row, describe_expected(row.gold)) for row in found.rows],
        "page": found.page,
        "retired": retired,
    }
    return render(request, "validation/gold/gold.html", context)


@require_safe
@project_page()
def gold_choose(request: HttpRequest, project: Project) -> HttpResponse:
    """List judged units that can become gold items."""
    kind = _get_kind(request.GET)
    item = request.GET.get("item", "").strip()[:MAX_ID_LENGTH]
    page, units = selectors.judged_units(project, kind, item=item, page=request.GET.get("page", "1"))
    rows = [(row, _build_questions(kind, row.unit.payload, row.votes, {})) for row in units]
    context = _base_context(project, kind) | {"rows": rows, "page": page, "item": item}
    return render(request, "validation/gold/gold_choose.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def gold_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Create a gold item from a judged unit and its expected answers."""
    kind = _get_kind(request.GET)
    number = parse_row_number(request.GET.get("unit", ""))
    unit = None if number is None else selectors.judged_unit(project, kind, number)
    if unit is None:
        raise Http404("There is no such page.")
    ticked = _suggest_answers(unit)
    error = ""
    if request.method == "POST":
        ticked = _read_ticked(request.POST, kind, unit.unit.payload)
        try:
            services.add_gold_item(
                unit=unit.unit, expected=ticked, by=signed_in_user(request), note=request.POST.get("note", "")
            )
        except Refused as refused:
            error = str(refused)
        else:
            messages.success(request, "Gold item added. Later rounds can use it.")
            return _redirect_to_list(project, kind)
    context = _base_context(project, kind) | {
        "payload": unit.unit.payload,
        "preview": unit.preview,
        "judges": unit.judge_count,
        "questions": _build_questions(kind, unit.unit.payload, unit.votes, ticked),
        "note": request.POST.get("note", ""),
        "error": error,
    }
    return render(request, "validation/gold/gold_form.html", context, status=400 if error else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def gold_edit(request: HttpRequest, project: Project, gold_id: int) -> HttpResponse:
    """Change the expected answers of a gold item for later rounds."""
    row = _get_gold_item(project, gold_id)
    ticked: Mapping[str, Collection[str | int]] = row.expected
    error = ""
    if request.method == "POST":
        ticked = _read_ticked(request.POST, row.kind, row.payload)
        try:
            services.change_gold_item(
                gold=row, expected=ticked, note=request.POST.get("note", ""), by=signed_in_user(request)
            )
        except Refused as refused:
            error = str(refused)
        else:
            messages.success(
                request, "Gold item changed. Rounds that were launched before keep their expected answers."
            )
            return _redirect_to_list(project, row.kind)
    context = _base_context(project, row.kind) | {
        "gold": row,
        "payload": row.payload,
        "preview": selectors.gold_preview(row),
        "questions": _build_questions(row.kind, row.payload, {}, ticked),
        "note": request.POST.get("note", row.note),
        "error": error,
    }
    return render(request, "validation/gold/gold_form.html", context, status=400 if error else 200)


@require_POST
@project_page()
def gold_switch(request: HttpRequest, project: Project, gold_id: int) -> HttpResponse:
    """Retire or reactivate a gold item."""
    row = _get_gold_item(project, gold_id)
    activate = request.POST.get("on") == "yes"
    if services.set_gold_active(gold=row, is_active=activate, by=signed_in_user(request)):
        message = (
            "Gold item reactivated for later rounds."
            if activate
            else "Gold item retired. Rounds that were launched before keep it."
        )
        messages.success(request, message)
    return _redirect_to_list(project, row.kind)


def describe_expected(row: GoldItem) -> list[tuple[str, str]]:
    """Return the expected answers as rows of (question or statement, answers)."""
    ticked = row.expected
    return [
        (question.text, " or ".join(choice.label for choice in question.choices if choice.is_expected))
        for question in _build_questions(row.kind, row.payload, {}, ticked)
        if question.name in ticked
    ]


def _redirect_to_list(project: Project, kind: str) -> HttpResponse:
    return redirect(f"{reverse('gold', args=[project.slug])}?kind={kind}")


def _get_gold_item(project: Project, pk: int) -> GoldItem:
    row = selectors.find_gold_item(project, pk)
    if row is None or row.kind not in gold_kinds():
        raise Http404("There is no such page.")
    return row


def _get_kind(query: QueryDict) -> str:
    kinds = gold_kinds()
    kind = query.get("kind", kinds[0] if kinds else "")
    if kind not in kinds:
        raise Http404("There is no such page.")
    return kind


def _base_context(project: Project, kind: str) -> dict[str, Any]:
    return {
        "project": project,
        "section": "judging",
        "kind": kind,
        "kinds": [(name, spec_of(name).title) for name in gold_kinds()],
    }


def _suggest_answers(unit: JudgedUnit) -> dict[str, list[str | int]]:
    """Return the labels that judges gave as suggestions, if they are adjacent and not the whole scale.

    Subjective dimensions get no suggestion, since they have no wrong answer.
    """
    result: dict[str, list[str | int]] = {}
    spec = spec_of(unit.unit.batch.kind)
    for name, scale in spec.allowed_labels(unit.unit.payload).items():
        indexes = [index for index, label in enumerate(scale) if unit.votes.get(name, {}).get(label)]
        is_narrow = 0 < len(indexes) < len(scale) and indexes[-1] - indexes[0] < len(indexes)
        if is_narrow and not spec.dimension_of(name).is_subjective:
            result[name] = [scale[index] for index in indexes]
    return result


def _read_ticked(data: QueryDict, kind: str, payload: Mapping[str, Any]) -> dict[str, list[str | int]]:
    """Return the answers that are ticked in the form, without unknown values."""
    return {
        name: [label for label in labels if str(label) in data.getlist(f"right-{name}")]
        for name, labels in spec_of(kind).allowed_labels(payload).items()
    }


def _build_questions(
    kind: str,
    payload: Mapping[str, Any],
    votes: Mapping[str, Mapping[str | int, int]],
    ticked: Mapping[str, Collection[str | int]],
) -> list[Question]:
    spec = spec_of(kind)
    result = []
    for name, labels in spec.allowed_labels(payload).items():
        dimension = spec.dimension_of(name)
        choices = [
            Choice(
                str(label),
                f"{label} {dimension.label_text(label)}"
                if dimension.is_numeric
                else dimension.label_text(label),
                votes.get(name, {}).get(label, 0),
                label in ticked.get(name, ()),
            )
            for label in labels
        ]
        result.append(Question(name, spec.gold_question(payload, name), choices))
    return result
