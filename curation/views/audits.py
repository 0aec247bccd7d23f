"""The audit queue: begin a close reading, read pair by pair, see how readers agree, settle, close, take it out."""

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

from curation.audits.answers import check_answers
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
from curation.services.comparison import splits_in_use
from curation.views import audit_parts as parts
from curation.views.audit_forms import AuditForm
from curation.views.pages import action_messages, as_download, get_or_404, get_page, tab_context
from hits.domain.files.csv_download import csv_lines
from hits.models import Project
from hits.services.errors import Conflict, Refused
from hits.views.access import project_page
from hits.views.users import signed_in_user

DIFFERENCES_PER_PAGE = 10
View = Callable[..., HttpResponseBase]


def audit_page(view: View) -> View:
    """Turn ``view(request, audit, …)`` into a researcher's view of ``<slug:slug>`` and ``<int:audit_id>``."""

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
    """List the audits; begin one in two steps, the codebook and the sample being shown in between."""
    splits, analyses = splits_in_use(project), selectors.toxicity_analyses(project)
    form = AuditForm(builtin_codebooks(), splits, analyses, request.POST or None, request.FILES or None)
    look: services.AuditPlan | None = None
    if request.method == "POST" and form.is_valid():
        try:
            if request.POST.get("step") == "create":
                return _create(request, project, form)
            look = services.plan_audit(project=project, recipe=form.recipe)
        except (Refused, InvalidInput) as error:
            _blame(form, str(error))
    context = tab_context(project, "audits") | {
        "rows": selectors.audit_rows(project, signed_in_user(request)),
        "form": form,
        "look": look,
        "codebook": form.chosen if look else None,
        "pairs": bool(splits),
    }
    return render(request, "curation/audits/audits.html", context, status=400 if form.errors else 200)


def _create(request: HttpRequest, project: Project, form: AuditForm) -> HttpResponse:
    assert form.chosen is not None
    audit = services.create_audit(
        project=project,
        by=signed_in_user(request),
        name=form.cleaned_data["name"],
        codebook=form.chosen,
        recipe=form.recipe,
        readers=form.cleaned_data["readers"],
    )
    messages.success(request, f"{audit.name} is open for reading.{_short(audit.sample['missing'])}")
    return redirect("curation-audit", project.slug, audit.pk)


def _short(missing: int) -> str:
    return f" There were {missing} fewer pairs than asked for; all of them are in it." if missing else ""


def _blame(form: AuditForm, message: str) -> None:
    """Put a refusal at the field that it names."""
    field, _, rest = message.partition(": ")
    form.add_error(field if field in form.fields else None, f"{rest or message}.")


@require_safe
@audit_page
def audit_detail(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Show how far the reading is, what it found over the complete pairs, and where readers differ."""
    codebook = selectors.audit_codebook(audit)
    read = selectors.load_labelled_audit(audit)
    states = count_by_state(read.items, codebook)
    page = get_page(request, parts.in_question(read.items, codebook), DIFFERENCES_PER_PAGE)
    rows = selectors.items_by_position(audit, [item.position for item in page])
    queue = selectors.audit_queue(audit, signed_in_user(request))
    context = _context(audit, codebook) | {
        "read": read,
        "pairs": len(read.items),
        "complete": len(read.items) - states[ItemState.INCOMPLETE],
        "agreed": states[ItemState.AGREED],
        "differ": states[ItemState.DIFFERS],
        "settled": states[ItemState.SETTLED],
        "parts": parts.code_sections(selectors.audit_figures(audit, read)),
        "page": page,
        "differences": parts.differences(list(page), rows, codebook),
        "queue": queue,
        "recipe": SampleRecipe.from_row(audit.sample),
        "can_close": selectors.can_close(request.user, audit),
    }
    return render(request, "curation/audits/audit.html", context)


def _context(audit: Audit, codebook: Codebook) -> dict[str, Any]:
    return tab_context(audit.project, "audits") | {
        "audit": audit,
        "codebook": codebook,
        "is_open": audit.state == AuditState.OPEN,
    }


@require_safe
@never_cache
@audit_page
def audit_read(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Go to the next pair that waits for this reader, or show that none waits."""
    queue = selectors.audit_queue(audit, signed_in_user(request))
    if queue.position is not None:
        there = reverse("curation-audit-item", args=[audit.project.slug, audit.pk, queue.position])
        return redirect(f"{there}?saved={saved}" if (saved := _saved(request)) else there)
    context = _context(audit, selectors.audit_codebook(audit)) | {"queue": queue}
    return render(request, "curation/audits/audit_done.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@audit_page
def audit_item(request: HttpRequest, audit: Audit, place: int) -> HttpResponse:
    """Show one pair with the reader's own answers alone, and take them."""
    codebook = selectors.audit_codebook(audit)
    errors: Mapping[str, str] = {}
    given = parts.given_in(request.POST, codebook)
    if request.method == "POST":
        errors = check_answers(codebook, given).errors
        if not errors:
            return _keep(request, audit, place, given)
    queue = selectors.audit_queue(audit, signed_in_user(request), place)
    item = get_or_404(
        selectors.get_item(audit, place), "There is no such pair in this audit, or its photo was taken down."
    )
    label = selectors.newest_label(item, signed_in_user(request))
    answers = given if request.method == "POST" else label.answers if label else {}
    context = _context(audit, codebook) | {
        "queue": queue,
        "place": place,
        "pair": parts.shown(item, codebook),
        "questions": parts.questions(codebook, answers, errors),
        "note": request.POST.get("note", label.note if label else ""),
        "label": label,
        "saved": _saved(request),
        "max_note": services.MAX_NOTE_LENGTH,
        "errors": errors,
    }
    return render(request, "curation/audits/audit_read.html", context, status=400 if errors else 200)


def _keep(request: HttpRequest, audit: Audit, place: int, given: Mapping[str, list[str]]) -> HttpResponse:
    """Keep a reading and turn the page."""
    try:
        by, note = signed_in_user(request), request.POST.get("note", "")
        saved_label = services.record_label(audit=audit, position=place, by=by, posted=given, note=note)
    except Refused as error:
        messages.error(request, f"Not saved: {error}.")
        if isinstance(error, Conflict):
            return redirect("curation-audit", audit.project.slug, audit.pk)
        return redirect("curation-audit-item", audit.project.slug, audit.pk, place)
    if saved_label.is_surplus:
        messages.info(
            request,
            f"Pair {place} had its readers before you saved. Yours is kept as surplus, and no figure counts it.",
        )
    return redirect(f"{reverse('curation-audit-read', args=[audit.project.slug, audit.pk])}?saved={place}")


def _saved(request: HttpRequest) -> int | None:
    """Return the place that was just saved, from the address: its draft is deleted."""
    place = request.GET.get("saved", "")
    return int(place) if place.isdecimal() and len(place) < len("10000") else None


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@audit_page
def audit_settle(request: HttpRequest, audit: Audit, place: int) -> HttpResponse:
    """Show a pair on which readers differ with each reader's answers, and save the agreed ones."""
    codebook = selectors.audit_codebook(audit)
    errors: Mapping[str, str] = {}
    given = parts.given_in(request.POST, codebook)
    if request.method == "POST":
        errors = check_answers(codebook, given).errors
        if not errors:
            return _settle(request, audit, place, given)
    read, item = selectors.load_labelled_audit(audit).item_at(place), selectors.get_item(audit, place)
    if item is None or read is None:
        raise Http404("There is no such pair in this audit, or its photo was taken down.")
    if read.labels.state(codebook) not in {ItemState.DIFFERS, ItemState.SETTLED}:
        messages.info(request, f"There is nothing to settle about pair {place}.")
        return redirect("curation-audit", audit.project.slug, audit.pk)
    answers = given if request.method == "POST" else read.labels.agreed(codebook)
    settlement = read.labels.settlement
    context = _context(audit, codebook) | {
        "place": place,
        "pair": parts.shown(item, codebook),
        "questions": parts.questions(codebook, answers, errors, read),
        "note": request.POST.get("note", settlement.note if settlement else ""),
        "settles": True,
        "max_note": services.MAX_NOTE_LENGTH,
        "errors": errors,
    }
    return render(request, "curation/audits/audit_read.html", context, status=400 if errors else 200)


def _settle(request: HttpRequest, audit: Audit, place: int, given: Mapping[str, list[str]]) -> HttpResponse:
    by, note = signed_in_user(request), request.POST.get("note", "")
    with action_messages(request, "Not saved", f"Pair {place} is settled."):
        services.settle_disagreement(audit=audit, position=place, by=by, posted=given, note=note)
    return redirect("curation-audit", audit.project.slug, audit.pk)


@require_POST
@audit_page
def audit_close(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Close the audit: for the project's admins and for who began it."""
    if not selectors.can_close(request.user, audit):
        raise PermissionDenied("An audit is closed by an admin of the project, or by who began it.")
    services.close_audit(audit=audit, by=signed_in_user(request))
    messages.success(request, f"{audit.name} is closed. It takes no more labels.")
    return redirect("curation-audit", audit.project.slug, audit.pk)


@require_safe
@never_cache
@audit_page
def audit_csv(request: HttpRequest, audit: Audit) -> StreamingHttpResponse:
    """Send a line per pair and code."""
    read = selectors.load_labelled_audit(audit)
    codebook = selectors.audit_codebook(audit)
    rows = csv_rows(read.items, codebook, read.letters, is_open=audit.state == AuditState.OPEN)
    text = (line.encode() for line in csv_lines(csv_columns(read.letters), rows))
    reply = StreamingHttpResponse(text, content_type="text/csv; charset=utf-8")
    return as_download(reply, _file_name(audit, "csv"))


@require_safe
@never_cache
@audit_page
def audit_json(request: HttpRequest, audit: Audit) -> HttpResponse:
    """Send the whole audit as one JSON document."""
    document = selectors.audit_document(audit, selectors.load_labelled_audit(audit))
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    return as_download(HttpResponse(text, content_type="application/json"), _file_name(audit, "json"))


def _file_name(audit: Audit, suffix: str) -> str:
    mark = "-rehearsal" if audit.project.is_rehearsal else ""
    return f"{audit.project.slug}-audit-{audit.pk}{mark}.{suffix}"
