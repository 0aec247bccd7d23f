"""Extend a batch: more opinions for each unit or more days, what that costs, and the press that decides it."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hits import registry
from hits.domain.money.costs import cost_table
from hits.domain.states import UNPUBLISHED_HIT_STATES, BatchState, CallState
from hits.domain.units.redundancy import MOST_PER_HIT
from hits.forms import PageForm, launch_key, typed_cost
from hits.models import Batch, Hit
from hits.selectors.jobs import open_under
from hits.services.batches import extend as services
from hits.services.errors import Refused
from hits.services.launching.terms import MAX_OPINIONS
from hits.views.access import batch_page
from hits.views.balance import balance, forget_balance
from hits.views.costs import cost_context, refusal_context
from hits.views.who import person

DAY_SECONDS = 86_400
MOST_DAYS = services.MOST_SECONDS // DAY_SECONDS


class ExtendForm(PageForm):
    """How much more is wished for."""

    opinions = forms.IntegerField(
        label="More workers for each unit", min_value=0, max_value=MAX_OPINIONS, required=False
    )
    days = forms.IntegerField(label="More days", min_value=0, max_value=MOST_DAYS, required=False)

    @property
    def wish(self) -> tuple[int, int]:
        """Return opinions and days; 0 for what was left out."""
        return self.cleaned_data.get("opinions") or 0, self.cleaned_data.get("days") or 0


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def batch_extend(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Ask how much more, say what it costs, and extend when that is confirmed."""
    if request.method == "POST":
        return _extend(request, batch)
    return _page(request, batch, _form(request.GET) if request.GET else ExtendForm())


def _page(
    request: HttpRequest, batch: Batch, form: ExtendForm, refusal: Refused | None = None, status: int = 200
) -> HttpResponse:
    """Show the form, and what the wish costs once there is one; after a ``refusal`` with what was typed."""
    context: dict[str, Any] = {
        "project": batch.project,
        "section": "batches",
        "batch": batch,
        "form": form,
        "units": batch.units.count(),
        "unit_word": registry.get(batch.kind).unit_word,
        "room": MAX_OPINIONS - batch.opinions,
        "most_days": MOST_DAYS,
        "most_per_hit": MOST_PER_HIT,
        "may_extend": batch.state == BatchState.LIVE,
    } | _in_the_way(batch)
    if form.is_bound and form.is_valid() and any(form.wish):
        context |= _confirming(batch, *form.wish)
        context["shut"] = context["shut"] or bool(context["busy"] or context["unpublished"])
        context["once"] = launch_key(request.POST) or uuid.uuid4().hex
    if refusal is not None:
        context |= refusal_context(request.POST, refusal)
    return render(request, "hits/batches/extend.html", context, status=status)


def _in_the_way(batch: Batch) -> dict[str, Any]:
    """Return what has to be carried out before another extension, with what a person can press about it."""
    waiting = services.not_carried_out(batch)
    return {
        "not_extended": [call for call in waiting if call.state == CallState.REFUSED],
        "busy": bool(waiting),
        "unpublished": Hit.objects.filter(unit__batch=batch, state__in=UNPUBLISHED_HIT_STATES).count(),
        "running": list(open_under(f"publish:{batch.pk}", f"extend:{batch.pk}")),
    }


def _form(data: Mapping[str, Any]) -> ExtendForm:
    return ExtendForm({name: data.get(name, "") for name in ("opinions", "days")})


def _confirming(batch: Batch, opinions: int, days: int) -> dict[str, Any]:
    cost = services.estimate_extension(batch, opinions)
    units = batch.units.count()
    counted = f"{units} {registry.get(batch.kind).unit_word[units != 1]}"
    words = f"Rewards, {counted} × {opinions} worker{'s' if opinions != 1 else ''}"
    return cost_context(
        project=batch.project,
        batch=batch,
        cost=cost_table(cost, rewards=words, reward_cents=batch.reward_cents, bonus_cents=batch.bonus_cents),
        held_cents=cost.held_cents,
        most_cents=cost.most_cents,
    ) | {"wished": True, "opinions": opinions, "days": days, "most_cents": cost.most_cents}


def _extend(request: HttpRequest, batch: Batch) -> HttpResponse:
    form = _form(request.POST)
    if not form.is_valid() or not any(form.wish):
        return _page(request, batch, form, status=400)
    opinions, days = form.wish
    forget_balance()
    funds = balance() if opinions else None
    try:
        services.extend_batch(
            batch=batch,
            more_opinions=opinions,
            more_seconds=days * DAY_SECONDS,
            by=person(request),
            once=launch_key(request.POST),
            confirmed_cents=typed_cost(request.POST),
            available_cents=funds.available_cents if funds else None,
        )
    except Refused as error:
        batch.refresh_from_db()
        return _page(request, batch, form, error, status=400)
    messages.success(request, "The batch is being extended.")
    return redirect("batch-detail", batch.pk)


@require_POST
@batch_page()
def batch_extend_again(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Repeat what the marketplace refused, after its cause was mended."""
    try:
        services.extend_again(batch=batch, by=person(request))
    except Refused as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, "What was refused is tried again.")
    return redirect("batch-detail", batch.pk)
