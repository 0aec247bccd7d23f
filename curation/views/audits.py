"""Audit pages: create an audit, label its pairs, compare readers, settle disagreements, close and download it."""

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.audits.answers import parse_answers
from curation.audits.codebook import Codebook
from curation.audits.export import csv_columns, csv_rows
from curation.audits.figures import count_by_state
from curation.audits.labels import ItemState
from curation.audits.parsing import builtin_codebooks
from curation.audits.sampling import SampleRecipe
from curation.models import Audit, AuditState
from curation.records import InvalidInput
from curation.selectors import audits as selectors
from curation.services import audits as services
from curation.services.comparison import accepted_pair_splits
from curation.views import audit_parts as parts
from curation.views.audit_forms import AuditForm
from curation.views.pages import as_download, tab_context
from hits.domain.files.csv_download import csv_lines
from hits.models import Project
from hits.services.errors import Conflict, Refused
from hits.views.access import project_page
from hits.views.pages import action_messages, get_or_404, get_page
from hits.views.users import signed_in_user

DIFFERENCES_PER_PAGE = 10
View = Callable[..., HttpResponseBase]


def audit_page(view: View) -> View:
    """Decorate ``view(request, audit, …)`` as a researcher's view of ``<slug:slug>`` and ``<int:audit_id>``."""

    @project_page()
    @wraps(view)
    def wrapped(
        request: HttpRequest, project: Project, audit_id: int, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        audit = get_or_404(selectors.get_audit(project, audit_id))
        return view(request, audit, *args, **kwargs)

    return wrapped


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def audit_list(request: HttpRequest, project: Project) -> HttpResponse:
    """List the audits; create one in two steps, with a preview of its codebook and sample."""
    splits, analyses = accepted_pair_splits(project), selectors.finished_toxicity_analyses(project)
    form = AuditForm(builtin_codebooks(), splits, analyses, request.POST or None, request.FILES or None)
    preview: services.AuditPlan | None = None
    if request.method == "POST" and form.is_valid():
        try:
            if request.POST.get("step") == "create":
                return _create_audit(request, project, form)
            preview = services.plan_audit(project=project, recipe=form.recipe)
        except (Refused, InvalidInput) as error:
            _add_service_error(form, str(error))
    context = tab_context(project, "audits") | {
        "rows": selectors.audit_rows(project, signed_in_user(request)),
        "form": form,
        "preview": preview,
        "codebook": form.selected_codebook if preview else None,
        "pairs": bool(splits),
    }
    return render(request, "curation/audits/audits.html", context, status=400 if form.errors else 200)


def _create_audit(request: HttpRequest, project: Project, form: AuditForm) -> HttpResponse:
    assert form.selected_codebook is not None
    audit = services.create_audit(
        project=project,
        by=signed_in_user(request),
        name=form.cleaned_data["name"],
        codebook=form.selected_codebook,
        recipe=form.recipe,
        readers=form.cleaned_data["readers"],
    )
    messages.success(
        request,
        f"{audit.name} is open; readers can label its pairs.{_describe_missing(audit.sample['missing'])}",
    )
    return redirect("curation-audit", project.slug, audit.pk)


def _describe_missing(missing: int) -> str:
    return f" It has all available pairs, {missing} fewer than requested." if missing else ""


def _add_service_error(form: AuditForm, message: str) -> None:
    """Add a service's error message to the field that it names."""
    field, _, rest = message.partition(": ")
    form.add_error(field if field in form.fields else None, f"{rest or message}.")


@require_safe
@audit_page
def audit_detail(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Show an audit's progress, its figures over the complete pairs, and its readers' disagreements."""
    codebook = selectors.audit_codebook(audit)
    labelled = selectors.load_labelled_audit(audit)
    states = count_by_state(labelled.items, codebook)
    page = get_page(request, parts.items_with_disagreement(labelled.items, codebook), DIFFERENCES_PER_PAGE)
    rows = selectors.items_by_position(audit, [item.position for item in page])
    queue = selectors.audit_queue(audit, signed_in_user(request))
    context = _audit_context(audit, codebook) | {
        "labelled": labelled,
        "pairs": len(labelled.items),
        "complete": len(labelled.items) - states[ItemState.INCOMPLETE],
        "agreed": states[ItemState.AGREED],
        "differ": states[ItemState.DIFFERS],
        "settled": states[ItemState.SETTLED],
        "parts": parts.code_sections(selectors.audit_figures(audit, labelled)),
        "page": page,
        "differences": parts.make_disagreements(list(page), rows, codebook),
        "queue": queue,
        "recipe": SampleRecipe.from_row(audit.sample),
        "can_close": selectors.can_close(request.user, audit),
    }
    return render(request, "curation/audits/audit.html", context)


def _audit_context(audit: Audit, codebook: Codebook) -> dict[str, Any]:
    return tab_context(audit.project, "audits") | {
        "audit": audit,
        "codebook": codebook,
        "is_open": audit.state == AuditState.OPEN,
    }


@require_safe
@never_cache
@audit_page
def next_audit_item(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Redirect to the next pair that waits for this reader, or show that none waits."""
    queue = selectors.audit_queue(audit, signed_in_user(request))
    if queue.position is not None:
        url = reverse("curation-audit-item", args=[audit.project.slug, audit.pk, queue.position])
        return redirect(f"{url}?saved={saved}" if (saved := _saved_position(request)) else url)
    context = _audit_context(audit, selectors.audit_codebook(audit)) | {"queue": queue}
    return render(request, "curation/audits/audit_done.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@audit_page
def audit_item(request: HttpRequest, audit: Audit, position: int) -> HttpResponse:
    """Show one pair with only the reader's own answers, and save them."""
    codebook = selectors.audit_codebook(audit)
    errors: Mapping[str, str] = {}
    given = parts.posted_answers(request.POST, codebook)
    if request.method == "POST":
        errors = parse_answers(codebook, given).errors
        if not errors:
            return _save_label(request, audit, position, given)
    queue = selectors.audit_queue(audit, signed_in_user(request), position)
    item = get_or_404(
        selectors.get_item(audit, position),
        "There is no such pair in this audit, or its photo was taken down.",
    )
    label = selectors.newest_label(item, signed_in_user(request))
    answers = given if request.method == "POST" else label.answers if label else {}
    context = _audit_context(audit, codebook) | {
        "queue": queue,
        "position": position,
        "pair": parts.make_shown_pair(item, codebook),
        "questions": parts.make_questions(codebook, answers, errors),
        "note": request.POST.get("note", label.note if label else ""),
        "label": label,
        "saved": _saved_position(request),
        "max_note": services.MAX_NOTE_LENGTH,
        "errors": errors,
    }
    return render(request, "curation/audits/audit_item.html", context, status=400 if errors else 200)


def _save_label(
    request: HttpRequest, audit: Audit, position: int, given: Mapping[str, list[str]]
) -> HttpResponse:
    """Save a label and redirect to the next pair."""
    try:
        by, note = signed_in_user(request), request.POST.get("note", "")
        saved_label = services.record_label(audit=audit, position=position, by=by, posted=given, note=note)
    except Refused as error:
        messages.error(request, f"Not saved: {error}.")
        if isinstance(error, Conflict):
            return redirect("curation-audit", audit.project.slug, audit.pk)
        return redirect("curation-audit-item", audit.project.slug, audit.pk, position)
    if saved_label.is_surplus:
        messages.info(
            request,
            f"Pair {position} was complete before you saved. Your label is stored, but no figure counts it.",
        )
    return redirect(f"{reverse('curation-audit-read', args=[audit.project.slug, audit.pk])}?saved={position}")


def _saved_position(request: HttpRequest) -> int | None:
    """Return the position that was just saved, from the query string; the page deletes its draft."""
    position = request.GET.get("saved", "")
    return int(position) if position.isdecimal() and len(position) < len("10000") else None


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@audit_page
def audit_settle(request: HttpRequest, audit: Audit, position: int) -> HttpResponse:
    """Show a pair on which readers differ with each reader's answers, and save the agreed ones."""
    codebook = selectors.audit_codebook(audit)
    errors: Mapping[str, str] = {}
    given = parts.posted_answers(request.POST, codebook)
    if request.method == "POST":
        errors = parse_answers(codebook, given).errors
        if not errors:
            return _settle_pair(request, audit, position, given)
    labelled_item, item = (
        selectors.load_labelled_audit(audit).item_at(position),
        selectors.get_item(audit, position),
    )
    if item is None or labelled_item is None:
        raise Http404("There is no such pair in this audit, or its photo was taken down.")
    if labelled_item.labels.state(codebook) not in {ItemState.DIFFERS, ItemState.SETTLED}:
        messages.info(request, f"There is nothing to settle about pair {position}.")
        return redirect("curation-audit", audit.project.slug, audit.pk)
    answers = given if request.method == "POST" else labelled_item.labels.agreed_answers(codebook)
    settlement = labelled_item.labels.settlement
    context = _audit_context(audit, codebook) | {
        "position": position,
        "pair": parts.make_shown_pair(item, codebook),
        "questions": parts.make_questions(codebook, answers, errors, labelled_item),
        "note": request.POST.get("note", settlement.note if settlement else ""),
        "settles": True,
        "max_note": services.MAX_NOTE_LENGTH,
        "errors": errors,
    }
    return render(request, "curation/audits/audit_item.html", context, status=400 if errors else 200)


def _settle_pair(
    request: HttpRequest, audit: Audit, position: int, given: Mapping[str, list[str]]
) -> HttpResponse:
    by, note = signed_in_user(request), request.POST.get("note", "")
    with action_messages(request, "Not saved", f"Pair {position} is settled."):
        services.settle_disagreement(audit=audit, position=position, by=by, posted=given, note=note)
    return redirect("curation-audit", audit.project.slug, audit.pk)


@require_POST
@audit_page
def audit_close(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Close the audit; only the project's admins and the audit's creator may."""
    if not selectors.can_close(request.user, audit):
        raise PermissionDenied("Only an admin of the project or the audit’s creator may close it.")
    services.close_audit(audit=audit, by=signed_in_user(request))
    messages.success(request, f"{audit.name} is closed. It accepts no more labels.")
    return redirect("curation-audit", audit.project.slug, audit.pk)


@require_safe
@never_cache
@audit_page
def audit_csv(request: HttpRequest, audit: Audit) -> StreamingHttpResponse:
    """Download the labels as CSV, a row for each pair and code."""
    labelled = selectors.load_labelled_audit(audit)
    codebook = selectors.audit_codebook(audit)
    rows = csv_rows(labelled.items, codebook, labelled.letters, is_open=audit.state == AuditState.OPEN)
    text = (line.encode() for line in csv_lines(csv_columns(labelled.letters), rows))
    reply = StreamingHttpResponse(text, content_type="text/csv; charset=utf-8")
    return as_download(reply, _file_name(audit, "csv"))


@require_safe
@never_cache
@audit_page
def audit_json(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Download the whole audit as one JSON document."""
    document = selectors.audit_document(audit, selectors.load_labelled_audit(audit))
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    return as_download(HttpResponse(text, content_type="application/json"), _file_name(audit, "json"))


def _file_name(audit: Audit, suffix: str) -> str:
    mark = "-rehearsal" if audit.project.is_rehearsal else ""
    return f"{audit.project.slug}-audit-{audit.pk}{mark}.{suffix}"
