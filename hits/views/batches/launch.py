"""Launch a batch: choose, see what it costs, confirm."""

import uuid
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits import registry
from hits.domain.money.costs import cost_table
from hits.domain.states import Purpose
from hits.domain.units.redundancy import parts
from hits.forms import BatchTermsForm, LaunchForm, Photos, launch_key
from hits.forms.hourly import offer_fair_reward
from hits.kind import HitKind
from hits.models import Project
from hits.selectors.images import image_selection
from hits.selectors.images.images import unused_images, usable_images
from hits.selectors.instructions import of_kind
from hits.selectors.money.pay_forecast import forecast_for
from hits.services.errors import Refused
from hits.services.launching import launch, launch_estimate
from hits.views.access import project_page
from hits.views.balance import forget_balance
from hits.views.costs import cost_context, refusal_context, with_funds
from hits.views.who import person


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def batch_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Plan a batch over photos; nothing leaves before the second, confirming press."""
    kinds = photo_kinds()
    kind = next((k for k in kinds if k.name == request.GET.get("kind")), kinds[0] if kinds else None)
    context: dict[str, Any] = {"project": project, "section": "batches", "kinds": kinds, "kind": kind}
    if kind is None:
        return render(request, "hits/batches/batch_new.html", context)
    known = launch.launched_before(project=project, once=launch_key(request.POST))
    if known is not None:
        return redirect("batch-detail", known.pk)
    photos = _photos(project, kind)
    versions = list(of_kind(project, kind.name).defer("body", "examples"))
    again = {"again": "again" in request.GET}
    form = LaunchForm(kind, photos, versions, request.POST or None, initial=again)
    offer_fair_reward(form, project=project, kind=kind)
    context |= {
        "form": form,
        "available": photos.available,
        "shown_before": photos.all - photos.available,
        "usual_minutes": max(1, round(kind.usual_seconds / 60)),
    }
    status = 200
    if request.method == "POST" and photos.all:
        if form.is_valid():
            if request.POST.get("step") == "launch":
                launched = _launch(request, project, kind, form)
                if isinstance(launched, HttpResponse):
                    return launched
                context |= refusal_context(request.POST, launched)
                status = 400
            if request.POST.get("step") != "change":
                key = launch_key(request.POST) or uuid.uuid4().hex
                units = len(kind.plan_units(form.chosen))
                context |= launch_context(project, kind, form, units) | {"launch_key": key}
                return render(request, "hits/batches/batch_confirm.html", context, status=status)
        else:
            status = 400
    return render(request, "hits/batches/batch_new.html", context, status=status)


def _photos(project: Project, kind: HitKind) -> Photos:
    return Photos(
        available=unused_images(project, kind.name).count(),
        all=usable_images(project).count(),
        splits=image_selection.splits(project),
        sources=sorted(image_selection.sources(project)),
        choose=partial(image_selection.choose, project, kind.name),
    )


def photo_kinds() -> list[HitKind]:
    """Return the collecting kinds whose units are planned from photos; others are launched from their own pages."""
    kinds = [registry.get(name) for name in registry.names()]
    return [kind for kind in kinds if kind.purpose is Purpose.COLLECTING and kind.takes_photos]


def launch_context(project: Project, kind: HitKind, form: BatchTermsForm, units: int) -> dict[str, Any]:
    """Return what a launch's confirming page shows: costs, terms, and how soon it may be done."""
    terms = form.terms
    reward, bonus, each = terms.reward_cents or 0, terms.bonus_cents or 0, terms.opinions or 1
    found = launch_estimate.estimate(kind=kind, terms=terms, units=units)
    counted = f"{units} {kind.unit_word[units != 1]}"
    rewards = f"Rewards, {counted} × {each} worker{'' if each == 1 else 's'}"
    return cost_context(
        project=project,
        cost=cost_table(found, rewards=rewards, reward_cents=reward, bonus_cents=bonus),
        held_cents=found.held_cents,
        most_cents=found.most_cents,
        own_cap_cents=terms.budget_cap_cents,
    ) | {
        "estimate": found,
        "terms": terms,
        "who_may": form.who_may,
        "scope": form.scope_words,
        "units": units,
        "parts": parts(each),
        "forecast": forecast_for(
            project=project,
            kind=kind,
            reward_cents=reward,
            bonus_cents=bonus,
            opinions=each,
            units=units,
        ),
    }


def _launch(
    request: HttpRequest, project: Project, kind: HitKind, form: LaunchForm
) -> HttpResponse | Refused:
    """Launch and go to the batch, or return why not."""
    units = [launch.PlannedUnit(kind.unit_key(unit), unit) for unit in kind.plan_units(form.chosen)]
    try:
        batch, _ = launch.launch_batch(
            project=project,
            kind_name=kind.name,
            name=form.cleaned_data["name"],
            units=units,
            by=person(request),
            terms=with_funds(form.terms),
            provenance={"photos": form.choice.as_row()},
            once=launch_key(request.POST),
        )
    except Refused as error:
        return error
    forget_balance()
    tasks = len(units) * len(parts(batch.opinions))
    said = "its only task is" if tasks == 1 else f"its {tasks} tasks are"
    messages.success(request, f"{batch.name} is launched; {said} being published.")
    return redirect("batch-detail", batch.pk)
