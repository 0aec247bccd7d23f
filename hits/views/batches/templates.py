"""Uploaded pages with variables: upload, check, preview with a row, and launch of a batch over the rows."""

import uuid
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_http_methods

from hits import registry
from hits.domain.answers.text import parse_digits
from hits.domain.money.pay import cents_per_hour
from hits.domain.task_template.check import check_template
from hits.domain.task_template.rows import RowsError, Table, parse_rows
from hits.domain.task_template.variables import fill_variables
from hits.domain.units.redundancy import slice_sizes
from hits.forms.hourly_rate import suggest_reward
from hits.forms.launch import read_idempotency_key
from hits.forms.templates import TemplateForm, TemplateLaunchForm, TemplateRowsForm, uploaded_or_pasted_text
from hits.models import Project, TaskTemplate
from hits.selectors.templates import KIND, find_template, list_templates
from hits.services.errors import Refused
from hits.services.launching import launch_estimate, template_launch
from hits.views.access import project_page
from hits.views.batches.launch import find_repeated_launch, redirect_to_launched_batch
from hits.views.costs import add_balance_to_terms, estimate_context, refusal_context
from hits.views.pages import get_or_404
from hits.views.task_pages.template_frame import frame_policy, framed_document_response
from hits.views.users import signed_in_user


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def project_templates(request: HttpRequest, project: Project) -> HttpResponse:
    """List a project's pages, and add one."""
    form = TemplateForm(request.POST or None, request.FILES or None)
    status = 200
    if request.method == "POST":
        if form.is_valid():
            try:
                template = template_launch.save_template(
                    project=project,
                    name=form.cleaned_data["name"],
                    html=uploaded_or_pasted_text(form.cleaned_data, "page", "html"),
                    by=signed_in_user(request),
                )
                return redirect("template-detail", project.slug, template.pk)
            except Refused as error:
                field = "name" if str(error).startswith("name") else "html"
                form.add_error(field, f"{str(error).partition(': ')[2].capitalize()}.")
        status = 400
    context = {"project": project, "section": "batches", "form": form, "templates": list_templates(project)}
    return render(request, "hits/batches/templates.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def template_detail(request: HttpRequest, project: Project, template_id: int) -> HttpResponse:
    """Check a page with its rows, then launch over them; nothing is published before the confirmation."""
    template = _get_template_or_404(project, template_id)
    launched_batch = find_repeated_launch(request, project)
    if launched_batch is not None:
        return redirect("batch-detail", launched_batch.pk)
    context: dict[str, Any] = {"project": project, "section": "batches", "template": template}
    rows_form = TemplateRowsForm(request.POST or None, request.FILES or None)
    table, text = _read_posted_rows(request, rows_form, template)
    context |= {"rows_form": rows_form, "table": table, "rows": text}
    if table is None:
        context["report"] = check_template(template.html)
        status = 200 if request.method != "POST" else 400
        return render(request, "hits/batches/template.html", context, status=status)
    return _launch_or_render(request, project, template, table, context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@xframe_options_exempt
@project_page()
def template_document(request: HttpRequest, project: Project, template_id: int) -> HttpResponse:
    """Show a page in a sandboxed frame: unchanged, or with a row of the posted CSV filled in."""
    template = _get_template_or_404(project, template_id)
    values: dict[str, str] = {}
    try:
        table = parse_rows(request.POST.get("rows", ""))
    except RowsError:
        pass  # without rows the page shows its variables' names
    else:
        typed = request.POST.get("row", "").strip() or "1"
        row_index = parse_digits(typed)
        if row_index is None or not 1 <= row_index <= len(table.rows):
            return _missing_row_response(typed, len(table.rows))
        values = table.row_values(row_index - 1)
    html = fill_variables(template.html, values)
    return framed_document_response(
        html, origin=settings.PUBLIC_URL, hosts=(), framed_by=(settings.PUBLIC_URL,)
    )


def _missing_row_response(typed_row: str, row_count: int) -> HttpResponse:
    """Return the frame's error message for a row that the CSV does not have."""
    message = f"There is no row {typed_row[:20]}: the CSV has {row_count} row{'' if row_count == 1 else 's'}."
    reply = HttpResponse(format_html("<!doctype html><title>Preview</title><p>{}</p>", message), status=400)
    reply["Content-Security-Policy"] = frame_policy(
        origin=settings.PUBLIC_URL, hosts=(), framed_by=(settings.PUBLIC_URL,)
    )
    return reply


def _get_template_or_404(project: Project, template_id: int) -> TaskTemplate:
    return get_or_404(find_template(project, template_id))


def _read_posted_rows(
    request: HttpRequest, form: TemplateRowsForm, template: TaskTemplate
) -> tuple[Table | None, str]:
    """Return the posted rows and their text for the next step; errors are added to their fields."""
    if request.method != "POST" or not form.is_valid():
        return None, ""
    raw = uploaded_or_pasted_text(form.cleaned_data, "rows_file", "rows")
    try:
        table = parse_rows(raw, variables=template.variables)
    except RowsError as error:
        message = str(error)
        form.add_error("rows", f"{message[:1].upper()}{message[1:]}.")
        return None, ""
    return table, raw if isinstance(raw, str) else raw.decode("utf-8-sig")


def _launch_or_render(
    request: HttpRequest, project: Project, template: TaskTemplate, table: Table, context: dict[str, Any]
) -> HttpResponse:
    kind = registry.get_kind(KIND)
    step = request.POST.get("step", "")
    typed = request.POST if step in {"estimate", "launch", "change"} else None
    form = TemplateLaunchForm(kind, template, typed)
    suggest_reward(form, project=project, kind=kind)
    valid = typed is not None and form.is_valid()
    hosts = form.host_names if valid else ()
    context |= {"form": form, "report": check_template(template.html, table, allowed=hosts)}
    status = 400 if typed is not None and not valid else 200
    if valid and step == "launch":
        ignore_findings = form.cleaned_data["ignore_findings"]
        plan = template_launch.TemplateLaunch(
            template, table, form.listing, hosts, ignore_findings=ignore_findings
        )
        try:
            return _launch(request, project, plan, form)
        except Refused as error:
            context |= refusal_context(request.POST, error)
            status = 400
    if valid and step != "change":
        context |= _cost_context(project, form, len(table.rows))
        context["idempotency_key"] = read_idempotency_key(request.POST) or uuid.uuid4().hex
        return render(request, "hits/batches/template_confirm.html", context, status=status)
    return render(request, "hits/batches/template.html", context, status=status)


def _cost_context(project: Project, form: TemplateLaunchForm, rows: int) -> dict[str, Any]:
    terms = form.terms
    reward, each = terms.reward_cents or 0, terms.redundancy or 1
    cost_estimate = launch_estimate.estimate_cost(kind=registry.get_kind(KIND), terms=terms, units=rows)
    rows_label = f"{rows} row{'' if rows == 1 else 's'} × {each} worker{'' if each == 1 else 's'}"
    rate = cents_per_hour(reward, form.listing.expected_seconds) or 0
    return estimate_context(
        project=project,
        estimate=cost_estimate,
        rewards=f"Rewards, {rows_label}",
        reward_cents=reward,
        batch_cap_cents=terms.budget_cap_cents,
    ) | {
        "terms": terms,
        "listing": form.listing,
        "hosts": form.host_names,
        "eligibility": form.eligibility_summary,
        "parts": slice_sizes(each),
        "rate": rate,
        "under": max(0, project.target_cents_per_hour - rate),
    }


def _launch(
    request: HttpRequest, project: Project, plan: template_launch.TemplateLaunch, form: TemplateLaunchForm
) -> HttpResponse:
    """Launch and redirect to the batch."""
    batch, _ = template_launch.launch_template(
        project=project,
        plan=plan,
        name=form.cleaned_data["name"],
        terms=add_balance_to_terms(form.terms),
        by=signed_in_user(request),
        idempotency_key=read_idempotency_key(request.POST),
    )
    return redirect_to_launched_batch(request, batch, len(plan.table.rows))
