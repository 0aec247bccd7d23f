"""Launch a review round: select pairs, show the cost, launch."""

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Project
from hits.selectors.eligibility.eligibility import pool_worker_ids
from hits.selectors.money.pay_forecast import forecast_launch_pay
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.batches.launch import find_repeated_launch, report_launch
from hits.views.costs import add_balance_to_terms, launch_if_confirmed
from hits.views.pages import section_context
from hits.views.users import signed_in_user
from validation.domain.judging.quality_check_types import CheckRole
from validation.domain.judging.sampling import STRATUM_LABELS
from validation.selectors import judging as selectors
from validation.selectors.judging import SelectedPairs, review_spec
from validation.selectors.quality_checks import usable_gold_items
from validation.services.judging import default_pool, launch_review
from validation.views.judging_forms import ReviewRoundForm
from validation.views.pages import hidden_form_fields

_CHECK_LABELS = {CheckRole.GOLD: "gold", CheckRole.ATTENTION: "attention", CheckRole.REPEAT: "repeated"}


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def review_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Launch a review round in two steps; the query string sets initial values."""
    if find_repeated_launch(request, project) is not None:
        return redirect("judging", project.slug)
    authors = selectors.list_authors(project)
    waiting = sum(author.waiting for author in authors)
    form = ReviewRoundForm(
        authors,
        waiting,
        request.POST or None,
        gold_count=len(usable_gold_items(project, review_spec().name)),
        initial=_initial_from_query(request.GET),
        default_pool=default_pool(project),
    )
    suggest_reward(form, project=project, kind=form.kind)
    context: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change":
        found = selectors.find_pairs(project, form.selection) if form.is_valid() else None
        if found is not None and not found.pairs:
            form.add_error(None, "No pair matches this selection.")
            found = None
        elif found is not None and form.add_gold_shortage_error(len(found.pairs)):
            found = None
        if found is None:
            status = 400
        else:
            refusal = launch_if_confirmed(
                request, partial(_launch_review_round, request, project, form, found)
            )
            if isinstance(refusal, HttpResponse):
                return refusal
            context = _confirm_context(project, form, found) | refusal
            context["hidden_form_fields"] = hidden_form_fields(request.POST)
            status = 400 if refusal else 200
    context |= section_context(project, "judging") | {
        "form": form,
        "kind": form.kind,
        "authors": authors,
        "waiting": waiting,
        "accepted": sum(author.accepted for author in authors),
        "ticked": set(form["workers"].value() or ()),
    }
    return render(request, "validation/judging/review_round.html", context, status=status)


def _initial_from_query(query: QueryDict) -> dict[str, Any]:
    """Return initial values from the query string, such as those of the planner's link."""
    # A link must not choose who can work on the round.
    names = set(ReviewRoundForm.base_fields) - {"workers", "pool"}
    initial: dict[str, Any] = {name: query[name] for name in names & set(query)}
    return initial | ({"workers": query.getlist("workers")} if "workers" in query else {})


def _launch_review_round(
    request: HttpRequest, project: Project, form: ReviewRoundForm, found: SelectedPairs
) -> str:
    """Launch the round, and return the judging page's URL."""
    expected = request.POST.get("found", "")
    if expected and expected != str(len(found.pairs)):
        raise Refused(
            f"the selection finds {len(found.pairs)} pairs now and found {expected} before; check the cost again"
        )
    batch, _ = launch_review(
        project=project,
        observations=[pair.id for pair in found.pairs],
        by=signed_in_user(request),
        name=form.cleaned_data["name"],
        terms=add_balance_to_terms(form.terms),
        plan=form.plan,
        idempotency_key=read_idempotency_key(request.POST),
    )
    report_launch(request, batch)
    return reverse("judging", args=[project.slug])


def _confirm_context(project: Project, form: ReviewRoundForm, found: SelectedPairs) -> dict[str, Any]:
    pairs, redundancy, pool = len(found.pairs), form.cleaned_data["assignments"], form.selected_pool
    check_counts = form.rates.counts(pairs)
    units = pairs + sum(check_counts.values())
    reward: int = form.cleaned_data["reward"]
    return form.confirm_context(project, units) | {
        "found": found,
        "divided_by": STRATUM_LABELS[form.selection.stratify_by] if form.selection.stratify_by else "",
        "redundancy": redundancy,
        "quality_checks": [(count, _CHECK_LABELS[role]) for role, count in check_counts.items() if count],
        "quality_check_count": sum(check_counts.values()),
        "judges": len(pool_worker_ids(project, pool)) if pool else None,  # None: all workers can judge
        "eligibility": form.eligibility_summary,
        "forecast": forecast_launch_pay(project, form.kind, reward, redundancy=redundancy, units=units),
    }
