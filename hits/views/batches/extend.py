"""Extend a batch by more workers per unit or more days: form, cost and confirmation."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hits import registry
from hits.domain.states import UNPUBLISHED_HIT_STATES, BatchState, CallState
from hits.domain.units.redundancy import MAX_ASSIGNMENTS
from hits.forms import PageForm, read_idempotency_key, typed_cost_cents
from hits.models import Batch, Hit
from hits.selectors.jobs import find_open_jobs
from hits.services.batches import extensions as services
from hits.services.errors import Refused
from hits.services.launching.terms import MAX_REDUNDANCY
from hits.views.access import batch_page
from hits.views.balance import account_balance, clear_cached_balance
from hits.views.batches.batches import run_service
from hits.views.costs import estimate_context, refusal_context
from hits.views.pages import batch_context
from hits.views.users import signed_in_user

DAY_SECONDS = 86_400
MAX_DAYS = services.MAX_SECONDS // DAY_SECONDS


class ExtendForm(PageForm):
    """Additional workers per unit and additional days."""

    redundancy = forms.IntegerField(
        label="Additional workers per item", min_value=0, max_value=MAX_REDUNDANCY, required=False
    )
    days = forms.IntegerField(label="Additional days", min_value=0, max_value=MAX_DAYS, required=False)

    @property
    def redundancy_and_days(self) -> tuple[int, int]:
        """Return additional redundancy and days; 0 for an empty field."""
        return self.cleaned_data.get("redundancy") or 0, self.cleaned_data.get("days") or 0


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def batch_extend(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show the form and the cost, and extend after the confirmation."""
    if request.method == "POST":
        return _extend(request, batch)
    return _render_page(request, batch, _bind_form(request.GET) if request.GET else ExtendForm())


def _render_page(
    request: HttpRequest, batch: Batch, form: ExtendForm, refusal: Refused | None = None, status: int = 200
) -> HttpResponse:
    """Show the form, and the cost of a valid request; after a ``refusal``, also the typed amount."""
    context = (
        batch_context(batch)
        | {
            "form": form,
            "units": batch.units.count(),
            "unit_word": registry.get_kind(batch.kind).unit_word,
            "max_redundancy": MAX_REDUNDANCY - batch.redundancy,
            "max_days": MAX_DAYS,
            "max_assignments": MAX_ASSIGNMENTS,
            "may_extend": batch.state == BatchState.LIVE,
        }
        | _blocker_context(batch)
    )
    if form.is_bound and form.is_valid() and any(form.redundancy_and_days):
        context |= _confirmation_context(batch, *form.redundancy_and_days)
        context["is_blocked"] = context["is_blocked"] or bool(context["busy"] or context["unpublished"])
        context["idempotency_key"] = read_idempotency_key(request.POST) or uuid.uuid4().hex
    if refusal is not None:
        context |= refusal_context(request.POST, refusal)
    return render(request, "hits/batches/extend.html", context, status=status)


def _blocker_context(batch: Batch) -> dict[str, Any]:
    """Return what has to finish before another extension, and the jobs that are working on it."""
    unfinished = services.unfinished_extension_calls(batch)
    return {
        "not_extended": [call for call in unfinished if call.state == CallState.REFUSED],
        "busy": bool(unfinished),
        "unpublished": Hit.objects.filter(unit__batch=batch, state__in=UNPUBLISHED_HIT_STATES).count(),
        "running": list(find_open_jobs(f"publish:{batch.pk}", f"extend:{batch.pk}")),
    }


def _bind_form(data: Mapping[str, Any]) -> ExtendForm:
    return ExtendForm({name: data.get(name, "") for name in ("redundancy", "days")})


def _confirmation_context(batch: Batch, redundancy: int, days: int) -> dict[str, Any]:
    cost = services.estimate_extension(batch, redundancy)
    units = batch.units.count()
    units_label = f"{units} {registry.get_kind(batch.kind).unit_word[units != 1]}"
    rewards_label = f"Rewards, {units_label} × {redundancy} worker{'s' if redundancy != 1 else ''}"
    return estimate_context(
        project=batch.project,
        batch=batch,
        estimate=cost,
        rewards=rewards_label,
        reward_cents=batch.reward_cents,
        bonus_cents=batch.bonus_cents,
    ) | {"is_requested": True, "redundancy": redundancy, "days": days, "max_cents": cost.max_cents}


def _extend(request: HttpRequest, batch: Batch) -> HttpResponse:
    form = _bind_form(request.POST)
    if not form.is_valid() or not any(form.redundancy_and_days):
        return _render_page(request, batch, form, status=400)
    redundancy, days = form.redundancy_and_days
    clear_cached_balance()
    funds = account_balance() if redundancy else None
    try:
        services.extend_batch(
            batch=batch,
            more_redundancy=redundancy,
            more_seconds=days * DAY_SECONDS,
            by=signed_in_user(request),
            idempotency_key=read_idempotency_key(request.POST),
            confirmed_cents=typed_cost_cents(request.POST),
            available_cents=funds.available_cents if funds else None,
        )
    except Refused as error:
        batch.refresh_from_db()
        return _render_page(request, batch, form, error, status=400)
    messages.success(request, "The batch is being extended.")
    return redirect("batch-detail", batch.pk)


@require_POST
@batch_page()
def batch_retry_extension(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Retry what the marketplace refused, after its cause was fixed."""
    return run_service(request, batch, "The refused extension is being retried.", services.retry_extension)
