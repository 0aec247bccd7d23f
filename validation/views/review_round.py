"""Launch a review round: select pairs, show the cost, launch."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits.domain.workers.qualification_pools import Pool
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Project
from hits.selectors.eligibility.eligibility import pool_worker_ids
from hits.selectors.money.pay_forecast import forecast_launch_pay
from hits.services.errors import Refused
from hits.services.launching import launch
from hits.views.access import project_page
from hits.views.balance import forget_balance
from hits.views.costs import add_available_funds, refusal_context
from hits.views.users import signed_in_user
from validation.domain.judging.quality_check_types import CheckRole
from validation.domain.judging.sampling import STRATUM_LABELS
from validation.selectors import judging as selectors
from validation.selectors.judging import SelectedPairs, review_spec
from validation.selectors.quality_checks import usable_gold_items
from validation.services.judging import default_pool, launch_review
from validation.views.judging_forms import ReviewRoundForm

_OTHER_FIELDS = {"csrfmiddlewaretoken", "step", "idempotency_key", "typed_cost", "found"}
_CHECK_LABELS = {CheckRole.GOLD: "gold", CheckRole.ATTENTION: "attention", CheckRole.REPEAT: "repeated"}


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def review_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Launch a review round in two steps; the query string sets initial values."""
    if (
        launch.find_launched_batch(project=project, idempotency_key=read_idempotency_key(request.POST))
        is not None
    ):
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
        elif found is not None and form.lacks_gold_items(len(found.pairs)):
            found = None
        if found is None:
            status = 400
        else:
            refused = _launch(request, project, form, found) if request.POST.get("step") == "launch" else None
            if isinstance(refused, HttpResponse):
                return refused
            context = _confirm_context(project, form, found) | {
                "carried_fields": _carried_fields(request.POST)
            }
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


def _initial_from_query(query: QueryDict) -> dict[str, Any]:
    """Return initial values from the query string, such as those of the planner's link."""
    # A link must not choose who can work on the round.
    names = set(ReviewRoundForm.base_fields) - {"workers", "pool"}
    initial: dict[str, Any] = {name: query[name] for name in names & set(query)}
    return initial | ({"workers": query.getlist("workers")} if "workers" in query else {})


def _launch(
    request: HttpRequest, project: Project, form: ReviewRoundForm, found: SelectedPairs
) -> HttpResponse | Refused:
    """Launch the round and redirect to the judging page, or return the error."""
    expected = request.POST.get("found", "")
    if expected and expected != str(len(found.pairs)):
        return Refused(
            f"the selection finds {len(found.pairs)} pairs now and found {expected} before; check the cost again"
        )
    try:
        batch, _ = launch_review(
            project=project,
            observations=[pair.id for pair in found.pairs],
            by=signed_in_user(request),
            name=form.cleaned_data["name"],
            terms=add_available_funds(form.terms),
            plan=form.plan,
            idempotency_key=read_idempotency_key(request.POST),
        )
    except Refused as error:
        return error
    forget_balance()
    messages.success(request, f"{batch.name} is launched; its tasks are being published.")
    return redirect("judging", project.slug)


def _confirm_context(project: Project, form: ReviewRoundForm, found: SelectedPairs) -> dict[str, Any]:
    pairs, redundancy = len(found.pairs), form.cleaned_data["assignments"]
    check_counts = form.rates.counts(pairs)
    units = pairs + sum(check_counts.values())
    return form.confirm_context(project, units) | {
        "found": found,
        "divided_by": STRATUM_LABELS[form.selection.stratify_by] if form.selection.stratify_by else "",
        "redundancy": redundancy,
        "quality_checks": [(count, _CHECK_LABELS[role]) for role, count in check_counts.items() if count],
        "quality_check_count": sum(check_counts.values()),
        "judges": _count_judges(project, form.selected_pool),
        "eligibility": form.eligibility_summary,
        "forecast": forecast_launch_pay(
            project=project,
            kind=form.kind,
            reward_cents=form.cleaned_data["reward"],
            bonus_cents=0,
            redundancy=redundancy,
            units=units,
        ),
    }


def _count_judges(project: Project, pool: Pool | None) -> int | None:
    """Return the number of workers in the pool; ``None`` if all workers can judge."""
    return None if pool is None else len(pool_worker_ids(project, pool))


def _carried_fields(data: QueryDict) -> list[tuple[str, str]]:
    """Return the form's values as hidden fields of the confirmation step."""
    return [(name, value) for name, values in data.lists() if name not in _OTHER_FIELDS for value in values]
