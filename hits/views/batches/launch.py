"""Launch a batch: form, cost, confirmation."""

import uuid
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits import registry
from hits.domain.states import Purpose
from hits.domain.units.redundancy import slice_sizes
from hits.forms import BatchTermsForm, LaunchForm, PhotoOptions, read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.kind import HitKind
from hits.models import Batch, Project
from hits.selectors.images import image_selection
from hits.selectors.instructions import kind_versions
from hits.selectors.money.pay_forecast import forecast_launch_pay
from hits.selectors.unit_planners import UnitPlanner, planner_of
from hits.services.errors import Refused
from hits.services.launching import launch, launch_estimate
from hits.views.access import project_page
from hits.views.balance import clear_cached_balance
from hits.views.costs import add_balance_to_terms, estimate_context, refusal_context
from hits.views.users import signed_in_user


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def batch_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Plan a batch over photos; nothing is published before the confirmation."""
    kinds = photo_kinds(project)
    kind = next((k for k in kinds if k.name == request.GET.get("kind")), kinds[0] if kinds else None)
    context: dict[str, Any] = {"project": project, "section": "batches", "kinds": kinds, "kind": kind}
    if kind is None:
        return render(request, "hits/batches/batch_new.html", context)
    launched_batch = find_repeated_launch(request, project)
    if launched_batch is not None:
        return redirect("batch-detail", launched_batch.pk)
    planner = _planner(kind)
    photos = _photo_options(project, kind, planner)
    versions = list(kind_versions(project, kind.name).defer("body", "examples"))
    initial_values = {"again": "again" in request.GET} | {
        option.name: request.GET[option.name] for option in planner.options if option.name in request.GET
    }
    form = LaunchForm(kind, photos, versions, request.POST or None, initial=initial_values)
    suggest_reward(form, project=project, kind=kind)
    context |= {
        "form": form,
        "planner": planner,
        "available": photos.unused_count,
        "shown_before": photos.usable_count - photos.unused_count,
    }
    status = 200
    if request.method == "POST" and (photos.usable_count or planner.options):
        if form.is_valid():
            if request.POST.get("step") == "launch":
                try:
                    return _launch(request, project, kind, form)
                except Refused as error:
                    context |= refusal_context(request.POST, error)
                    status = 400
            if request.POST.get("step") != "change":
                key = read_idempotency_key(request.POST) or uuid.uuid4().hex
                units = len(planner.units(project, form.selected_ids))
                context |= launch_context(project, kind, form, units) | {"idempotency_key": key}
                return render(request, "hits/batches/batch_confirm.html", context, status=status)
        else:
            status = 400
    return render(request, "hits/batches/batch_new.html", context, status=status)


def _planner(kind: HitKind) -> UnitPlanner:
    """Return the planner of a kind of ``photo_kinds``."""
    planner = planner_of(kind)
    assert planner is not None
    return planner


def _photo_options(project: Project, kind: HitKind, planner: UnitPlanner) -> PhotoOptions:
    unused, usable = image_selection.count_photos(project, kind.name, {})
    return PhotoOptions(
        unused_count=unused,
        usable_count=usable,
        splits=image_selection.count_photos_by_split(project),
        sources=sorted(image_selection.image_ids_by_source(project)),
        select=partial(image_selection.select_photos, project, kind.name),
        planner_options=planner.options,
    )


def photo_kinds(project: Project) -> list[HitKind]:
    """Return the collecting kinds whose units are planned from photos, first those of the project's family.

    Others are launched from their own pages.
    """
    kinds = [registry.get_kind(name) for name in registry.kind_names()]
    found = [kind for kind in kinds if kind.purpose is Purpose.COLLECTING and planner_of(kind) is not None]
    return sorted(found, key=lambda kind: (project.family not in kind.families, bool(kind.families)))


def launch_context(project: Project, kind: HitKind, form: BatchTermsForm, units: int) -> dict[str, Any]:
    """Return the context of a launch's confirmation page: costs, terms and pay forecast."""
    terms = form.terms
    reward, bonus, each = terms.reward_cents or 0, terms.bonus_cents or 0, terms.redundancy or 1
    cost_estimate = launch_estimate.estimate_cost(kind=kind, terms=terms, units=units)
    units_label = f"{units} {kind.unit_word[units != 1]}"
    rewards = f"Rewards, {units_label} × {each} worker{'' if each == 1 else 's'}"
    return estimate_context(
        project=project,
        estimate=cost_estimate,
        rewards=rewards,
        reward_cents=reward,
        bonus_cents=bonus,
        batch_cap_cents=terms.budget_cap_cents,
    ) | {
        "terms": terms,
        "eligibility": form.eligibility_summary,
        "unit_scope": form.unit_scope_label,
        "units": units,
        "parts": slice_sizes(each),
        "forecast": forecast_launch_pay(
            project, kind, reward, redundancy=each, units=units, bonus_cents=bonus
        ),
    }


def _launch(request: HttpRequest, project: Project, kind: HitKind, form: LaunchForm) -> HttpResponse:
    """Launch and redirect to the batch."""
    planned = _planner(kind).units(project, form.selected_ids)
    units = [launch.PlannedUnit(kind.unit_key(unit), unit) for unit in planned]
    batch, _ = launch.launch_batch(
        project=project,
        kind_name=kind.name,
        name=form.cleaned_data["name"],
        units=units,
        by=signed_in_user(request),
        terms=add_balance_to_terms(form.terms),
        provenance={"photos": form.selection.as_row()},
        idempotency_key=read_idempotency_key(request.POST),
    )
    return redirect_to_launched_batch(request, batch, len(units))


def find_repeated_launch(request: HttpRequest, project: Project) -> Batch | None:
    """Return the batch that an equal request, such as a double click, launched before, or ``None``."""
    key = read_idempotency_key(request.POST)
    return launch.find_launched_batch(project=project, idempotency_key=key)


def report_launch(request: HttpRequest, batch: Batch, tasks_phrase: str = "its tasks are") -> None:
    """Show the message that a batch is launched; ``tasks_phrase`` may say how many tasks it has."""
    messages.success(request, f"{batch.name} is launched; {tasks_phrase} being published.")


def redirect_to_launched_batch(request: HttpRequest, batch: Batch, units: int) -> HttpResponse:
    """Report that a batch of ``units`` units is launched, and redirect to it."""
    clear_cached_balance()
    tasks = units * len(slice_sizes(batch.redundancy))
    report_launch(request, batch, "its only task is" if tasks == 1 else f"its {tasks} tasks are")
    return redirect("batch-detail", batch.pk)
