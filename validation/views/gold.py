"""Pages about gold items: units with a known answer that rounds use as quality checks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.answers.text import parse_digits
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import get_or_404, section_context
from hits.views.users import signed_in_user
from validation.models import GoldItem
from validation.registry import spec_of
from validation.selectors import quality_checks as selectors
from validation.selectors.quality_checks import JudgedUnit, gold_kinds
from validation.services import quality_checks as services
from validation.views.pages import kind_or_404

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
    kind = _gold_kind_or_404(request.GET)
    retired = request.GET.get("show") == "retired"
    found = selectors.gold_page(project, kind, retired=retired, page=request.GET.get("page", "1"))
    context = _gold_context(project, kind) | {
        "found": found,
        "rows": [(row, describe_expected_answers(row.gold)) for row in found.rows],
        "page": found.page,
        "retired": retired,
    }
    return render(request, "validation/gold/gold.html", context)


@require_safe
@project_page()
def gold_choose(request: HttpRequest, project: Project) -> HttpResponse:
    """List judged units that can become gold items."""
    kind = _gold_kind_or_404(request.GET)
    item = request.GET.get("item", "").strip()[:MAX_ID_LENGTH]
    page, units = selectors.judged_unit_page(project, kind, item=item, page=request.GET.get("page", "1"))
    rows = [(row, _build_questions(kind, row.unit.payload, row.votes, {})) for row in units]
    context = _gold_context(project, kind) | {"rows": rows, "page": page, "item": item}
    return render(request, "validation/gold/gold_choose.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def gold_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Create a gold item from a judged unit and its expected answers."""
    kind = _gold_kind_or_404(request.GET)
    number = get_or_404(parse_digits(request.GET.get("unit", "")))
    unit = get_or_404(selectors.judged_unit(project, kind, number))
    context = _gold_context(project, kind) | {"preview": unit.preview, "judges": unit.judge_count}
    return _show_or_save_gold_form(
        request,
        context | {"payload": unit.unit.payload, "note": ""},
        votes=unit.votes,
        ticked=_suggest_answers(unit),
        save=partial(services.add_gold_item, unit=unit.unit),
        success="Gold item added. Later rounds can use it.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def gold_edit(request: HttpRequest, project: Project, gold_id: int) -> HttpResponse:
    """Change the expected answers of a gold item for later rounds."""
    row = _get_gold_item_or_404(project, gold_id)
    preview = SimpleLazyObject(partial(selectors.gold_preview, row))  # not read when the form is saved
    context = _gold_context(project, row.kind) | {"preview": preview, "gold": row}
    return _show_or_save_gold_form(
        request,
        context | {"payload": row.payload, "note": row.note},
        votes={},
        ticked=row.expected,
        save=partial(services.change_gold_item, gold=row),
        success="Gold item changed. Rounds that were launched before keep their expected answers.",
    )


def _show_or_save_gold_form(
    request: HttpRequest,
    context: dict[str, Any],
    *,
    votes: Mapping[str, Mapping[str | int, int]],
    ticked: Mapping[str, Collection[str | int]],
    save: Callable[..., GoldItem],
    success: str,
) -> HttpResponse:
    """Show the form of a unit's expected answers; when it is posted, save them and return to the list."""
    project, kind, payload = context["project"], context["kind"], context["payload"]
    error = ""
    if request.method == "POST":
        ticked = _read_ticked_answers(request.POST, kind, payload)
        context["note"] = request.POST.get("note", context["note"])
        try:
            save(expected=ticked, note=request.POST.get("note", ""), by=signed_in_user(request))
        except Refused as refused:
            error = str(refused)
        else:
            messages.success(request, success)
            return _redirect_to_gold_list(project, kind)
    context |= {"questions": _build_questions(kind, payload, votes, ticked), "error": error}
    return render(request, "validation/gold/gold_form.html", context, status=400 if error else 200)


@require_POST
@project_page()
def gold_item_set_active(request: HttpRequest, project: Project, gold_id: int) -> HttpResponse:
    """Retire or reactivate a gold item."""
    row = _get_gold_item_or_404(project, gold_id)
    activate = request.POST.get("on") == "yes"
    if services.set_gold_item_active(gold=row, is_active=activate, by=signed_in_user(request)):
        message = (
            "Gold item reactivated for later rounds."
            if activate
            else "Gold item retired. Rounds that were launched before keep it."
        )
        messages.success(request, message)
    return _redirect_to_gold_list(project, row.kind)


def describe_expected_answers(row: GoldItem) -> list[tuple[str, str]]:
    """Return the expected answers as rows of (question or statement, answers)."""
    ticked = row.expected
    return [
        (question.text, " or ".join(choice.label for choice in question.choices if choice.is_expected))
        for question in _build_questions(row.kind, row.payload, {}, ticked)
        if question.name in ticked
    ]


def _redirect_to_gold_list(project: Project, kind: str) -> HttpResponse:
    return redirect(f"{reverse('gold', args=[project.slug])}?kind={kind}")


def _get_gold_item_or_404(project: Project, pk: int) -> GoldItem:
    row = get_object_or_404(GoldItem, project=project, pk=pk)
    kind_or_404(row.kind, gold_kinds())
    return row


def _gold_kind_or_404(query: QueryDict) -> str:
    kinds = gold_kinds()
    return kind_or_404(query.get("kind", kinds[0] if kinds else ""), kinds)


def _gold_context(project: Project, kind: str) -> dict[str, Any]:
    return section_context(project, "judging") | {
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


def _read_ticked_answers(
    data: QueryDict, kind: str, payload: Mapping[str, Any]
) -> dict[str, list[str | int]]:
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
