"""Launch a batch: choose, see what it costs, confirm."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits import registry
from hits.domain.pay import cents_per_hour
from hits.domain.states import Purpose
from hits.forms import LaunchForm, launch_key
from hits.kind import HitKind
from hits.models import Image, Project
from hits.mturk.environments import current
from hits.selectors.images import unused
from hits.selectors.instructions import of_kind
from hits.services import launch
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.balance import balance, forget_balance
from hits.views.who import person


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def batch_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Plan a batch over photos; nothing leaves before the second, confirming press."""
    kinds = photo_kinds()
    kind = next((k for k in kinds if k.name == request.GET.get("kind")), kinds[0] if kinds else None)
    context: dict[str, Any] = {"project": project, "section": "batches", "kinds": kinds, "kind": kind}
    if kind is None:
        return render(request, "hits/batch_new.html", context)
    known = launch.launched_before(project=project, once=launch_key(request.POST))
    if known is not None:
        return redirect("batch-detail", known.pk)
    images = unused(project, kind.name)
    versions = list(of_kind(project, kind.name).defer("body", "examples"))
    form = LaunchForm(kind, len(images), versions, request.POST or None)
    context |= {
        "form": form,
        "available": len(images),
        "usual_minutes": max(1, round(kind.usual_seconds / 60)),
    }
    status = 200
    if request.method == "POST" and images:
        if form.is_valid():
            if request.POST.get("step") == "launch":
                return _launch(request, project, kind, form, images)
            context |= _estimate(project, kind, form) | {"launch_key": uuid.uuid4().hex}
        else:
            status = 400
    return render(request, "hits/batch_new.html", context, status=status)


def photo_kinds() -> list[HitKind]:
    """Return the collecting kinds whose unit is one photo; others are launched from their own pages."""
    kinds = [registry.get(name) for name in registry.names()]
    return [
        kind
        for kind in kinds
        if kind.purpose is Purpose.COLLECTING and set(kind.Unit.model_fields) == {"image"}
    ]


def _estimate(project: Project, kind: HitKind, form: LaunchForm) -> dict[str, Any]:
    terms = form.terms
    reward = terms.reward_cents or 0
    rate = cents_per_hour(reward, kind.usual_seconds) or 0
    fair = -(-project.target_cents_per_hour * kind.usual_seconds // 3600)
    funds = balance()
    cost = launch.estimate(kind=kind, terms=terms, units=form.units)
    return {
        "estimate": cost,
        "terms": terms,
        "who_may": form.who_may,
        "units": form.units,
        "rate": rate,
        "under": max(0, project.target_cents_per_hour - rate),
        "fair_reward": fair,
        "balance": funds,
        "environment": current(),
        "short": max(0, cost.held_cents - funds.available_cents) if funds else 0,
    }


def _launch(
    request: HttpRequest, project: Project, kind: HitKind, form: LaunchForm, images: list[Image]
) -> HttpResponse:
    chosen = [image.pk for image in images[: form.units]]
    units = [launch.PlannedUnit(f"image-{pk}", {"image": pk}) for pk in chosen]
    try:
        batch, _ = launch.launch_batch(
            project=project,
            kind_name=kind.name,
            name=form.cleaned_data["name"],
            units=units,
            by=person(request),
            terms=form.terms,
            once=launch_key(request.POST),
        )
    except Refused as error:
        messages.error(request, f"Not launched: {error}.")
        return redirect("batch-new", project.slug)
    forget_balance()
    messages.success(request, f"{batch.name} is launched; its {len(units)} tasks are being published.")
    return redirect("batch-detail", batch.pk)
