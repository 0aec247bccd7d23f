"""A project's money: costs of its batches, budget caps, and the ledger for accounting."""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.files.csv_download import csv_lines, escape_formula
from hits.domain.money.usd import format_bare_usd
from hits.domain.states import Role
from hits.forms.money import BatchCapForm, ProjectMoneyForm, cap_label
from hits.models import Batch, Project
from hits.payments import statement
from hits.payments.ledger import sum_entries
from hits.payments.summary import sum_project_batches
from hits.selectors.money.budget import committed_cents
from hits.selectors.roles import visitor_has_role
from hits.services.errors import Refused
from hits.services.money import budget
from hits.views.access import batch_page, project_page
from hits.views.pages import get_page, section_context
from hits.views.users import signed_in_user

PER_PAGE = 50
COLUMNS = ("date", "batch", "batch_name", "entry", "amount", "spent", "on_hold", "worker")


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def project_money(request: HttpRequest, project: Project) -> HttpResponse:
    """Show spent, held and committed money; admins change target, cap and threshold."""
    admin = visitor_has_role(request, project, Role.ADMIN)
    if request.method == "POST" and not admin:
        raise PermissionDenied("Only a project admin can change the budget.")
    form = ProjectMoneyForm(project, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            changed = budget.set_project_money(
                project=project,
                target_cents_per_hour=form.cleaned_data["target"],
                budget_cap_cents=form.cleaned_data["cap"],
                confirm_above_cents=form.cleaned_data["threshold"],
                by=signed_in_user(request),
            )
        except Refused as error:
            form.add_error(None, f"{error}.")
        else:
            messages.success(request, "Saved." if changed else "Nothing was changed.")
            return redirect("project-money", project.slug)
    return render(
        request,
        "hits/money/money.html",
        _context(request, project, form, admin),
        status=400 if form.errors else 200,
    )


def _context(request: HttpRequest, project: Project, form: ProjectMoneyForm, admin: bool) -> dict[str, Any]:
    page = get_page(request, Batch.objects.filter(project=project).order_by("-pk"), PER_PAGE)
    committed = committed_cents(project=project)
    cap = project.budget_cap_cents
    sums = sum_entries(project=project)
    return section_context(project, "pay", "money") | {
        "form": form,
        "admin": admin,
        "page": page,
        "rows": sum_project_batches(list(page)),
        "committed": committed,
        "left": None if cap is None else cap - committed,
        "over": None if cap is None else max(0, committed - cap),
        "spent": sums.spent,
        "held": sums.held,
    }


@require_POST
@batch_page(Role.ADMIN)
def batch_set_cap(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Change a batch's budget cap."""
    form = BatchCapForm(batch, request.POST)
    if not form.is_valid():
        messages.error(request, f"Not changed. {form.error_message}")
    else:
        cap = form.cleaned_data["cap"]
        budget.set_batch_cap(batch=batch, budget_cap_cents=cap, by=signed_in_user(request))
        messages.success(request, f"The budget cap of {batch.name} is now {cap_label(cap)}.")
    return redirect("project-money", batch.project.slug)


@require_safe
@project_page()
def project_ledger_csv(request: HttpRequest, project: Project) -> StreamingHttpResponse:
    """Download the project's ledger for accounting."""
    reply = StreamingHttpResponse(
        csv_lines(COLUMNS, _ledger_csv_rows(statement.statement_rows(project=project))),
        content_type="text/csv; charset=utf-8",
    )
    reply["Content-Disposition"] = f'attachment; filename="{project.slug}-ledger.csv"'
    reply["Cache-Control"] = "no-store"
    return reply


def _ledger_csv_rows(lines: Iterator[statement.StatementRow]) -> Iterator[tuple[str | int, ...]]:
    for line in lines:
        row = line.entry
        yield (
            row.at.isoformat(timespec="seconds"),
            row.batch_id,
            escape_formula(row.batch.name),
            row.entry,
            format_bare_usd(row.amount_cents),
            format_bare_usd(line.spent),
            format_bare_usd(line.held),
            str(row.assignment.worker) if row.assignment is not None else "",
        )
