"""Launch a review round: choose pairs, see what it costs, launch."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits.domain.workers.qualification_pools import Pool
from hits.forms import launch_key
from hits.forms.hourly import offer_fair_reward
from hits.models import Project
from hits.selectors.eligibility.eligibility import holders
from hits.selectors.money.pay_forecast import forecast_for
from hits.services.errors import Refused
from hits.services.launching import launch
from hits.views.access import project_page
from hits.views.balance import forget_balance
from hits.views.costs import refusal_context, with_funds
from hits.views.who import person
from validation.domain.judging.quality_check_types import ControlRole
from validation.domain.judging.sampling import WORDS
from validation.selectors import judging as selectors
from validation.selectors.judging import Found, review
from validation.selectors.quality_checks import usable_golds
from validation.services.judging import launch_review, usual_pool
from validation.views.judging_forms import ReviewForm

_OWN = {"csrfmiddlewaretoken", "step", "launch_key", "typed_cost", "found"}
_ROLES = {
    ControlRole.GOLD: "gold",
    ControlRole.ATTENTION: "attention",
    ControlRole.REPEAT: "repeated",
}


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def review_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Launch a review round in two steps; what the address says is filled in beforehand."""
    if launch.launched_before(project=project, once=launch_key(request.POST)) is not None:
        return redirect("judging", project.slug)
    authors = selectors.authors(project)
    waiting = sum(author.waiting for author in authors)
    form = ReviewForm(
        authors,
        waiting,
        request.POST or None,
        golds=len(usable_golds(project, review().name)),
        initial=_wished(request.GET),
        usual_pool=usual_pool(project),
    )
    offer_fair_reward(form, project=project, kind=form.kind)
    context: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change":
        found = selectors.found_by(project, form.selection) if form.is_valid() else None
        if found is not None and not found.pairs:
            form.add_error(None, "This selection finds no pair.")
            found = None
        elif found is not None and form.needs_more_gold(len(found.pairs)):
            found = None
        if found is None:
            status = 400
        else:
            refused = _launch(request, project, form, found) if request.POST.get("step") == "launch" else None
            if isinstance(refused, HttpResponse):
                return refused
            context = _estimate(project, form, found) | {"carried": _carried(request.POST)}
            if refused is not None:
                context |= refusal_context(request.POST, refused)
                status = 400
    context |= {
        "project": project,
        "section": "judging",
        "form": form,
        "kind": form.kind,
        "authors": authors,
        "waiting": waiting,
        "accepted": sum(author.accepted for author in authors),
        "ticked": set(form["workers"].value() or ()),
    }
    return render(request, "validation/judging/review_round.html", context, status=status)


def _wished(asked: QueryDict) -> dict[str, Any]:
    """Return what the address asks for: a link such as the planner's may fill the form in."""
    # Whom the round is open to is chosen on the page alone.
    names = set(ReviewForm.base_fields) - {"workers", "pool"}
    wished: dict[str, Any] = {name: asked[name] for name in names & set(asked)}
    return wished | ({"workers": asked.getlist("workers")} if "workers" in asked else {})


def _launch(request: HttpRequest, project: Project, form: ReviewForm, found: Found) -> HttpResponse | Refused:
    """Launch and go to the judging page, or return why not."""
    seen = request.POST.get("found", "")
    if seen and seen != str(len(found.pairs)):
        return Refused(
            f"the selection finds {len(found.pairs)} pairs now and found {seen} before; look at the cost again"
        )
    try:
        batch, _ = launch_review(
            project=project,
            observations=[pair.id for pair in found.pairs],
            by=person(request),
            name=form.cleaned_data["name"],
            terms=with_funds(form.terms),
            plan=form.plan,
            once=launch_key(request.POST),
        )
    except Refused as error:
        return error
    forget_balance()
    messages.success(request, f"{batch.name} is launched; its tasks are being published.")
    return redirect("judging", project.slug)


def _estimate(project: Project, form: ReviewForm, found: Found) -> dict[str, Any]:
    pairs, each = len(found.pairs), form.cleaned_data["assignments"]
    controls = form.rates.counts(pairs)
    units = pairs + sum(controls.values())
    return form.costs(project, units) | {
        "found": found,
        "divided_by": WORDS[form.selection.strata] if form.selection.strata else "",
        "each": each,
        "controls": [(count, _ROLES[role]) for role, count in controls.items() if count],
        "controls_sum": sum(controls.values()),
        "judges": _judges(project, form.pool_asked),
        "who_may": form.who_may,
        "forecast": forecast_for(
            project=project,
            kind=form.kind,
            reward_cents=form.cleaned_data["reward"],
            bonus_cents=0,
            opinions=each,
            units=units,
        ),
    }


def _judges(project: Project, pool: Pool | None) -> int | None:
    """Return how many workers hold what judges need; ``None`` where everybody may."""
    return None if pool is None else len(holders(project, pool))


def _carried(data: QueryDict) -> list[tuple[str, str]]:
    """Return what was typed, for the confirming page to send once more."""
    return [(name, value) for name, values in data.lists() if name not in _OWN for value in values]
