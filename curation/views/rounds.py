"""Comparison rounds: building them, reviewing their sets and skipped pairs, and launching the best for rating."""

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import ComparisonRound
from curation.selectors import round_sets
from curation.selectors.features import used_encoders
from curation.selectors.jobs import COMPARISON_ROUND, latest_job
from curation.selectors.pairs import accepted_pairs, pairs_by_instance_id
from curation.selectors.rounds import comparison_rounds
from curation.selectors.scorers import round_versions, scorer_by_encoder, scorer_encoder_choices
from curation.services import comparison as services
from curation.services.scorers import known_pairs_warning
from curation.views.forms import RoundForm, RoundLaunchForm, SetFilterForm
from curation.views.pages import tab_context
from curation.views.round_sets import make_shown_sets
from curation.views.rule_labels import SKIP_REASON_LABELS, describe_options
from curation.views.selection_form import SelectionForm
from hits.charts.chart import Chart
from hits.charts.histograms import histogram
from hits.domain.binning import bin_counts
from hits.domain.quantiles import quantile
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Project
from hits.services.errors import Refused
from hits.services.launching import launch
from hits.views.access import project_page
from hits.views.balance import clear_cached_balance
from hits.views.costs import add_balance_to_terms, refusal_context
from hits.views.pages import action_messages, get_or_404, get_page, job_if_open
from hits.views.users import signed_in_user
from validation.selectors.judging import comparison_spec
from validation.services.judging import default_pool

SETS_PER_PAGE = 5
SKIPPED_PER_PAGE = 50
DEFAULT_REASON = "unsuitable for rating"


@require_safe
@project_page()
def round_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the project's comparison rounds, with a form that builds one; ``encoder`` may preselect the model."""
    form = _round_form(project, initial={"encoder": request.GET.get("encoder", "")})
    return _render_list(request, project, form=form)


@require_POST
@project_page()
def build_round(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a comparison round."""
    form, chosen = _round_form(project, request.POST), SelectionForm(project, request.POST)
    if not (form.is_valid() and chosen.is_valid()):
        return _render_list(request, project, form=form, chosen=chosen, status=400)
    try:
        services.request_comparison_round(
            project=project,
            by=signed_in_user(request),
            options=replace(form.options, selection=chosen.selection.as_json()),
            encoder=form.encoder,
        )
    except Refused as error:
        messages.error(request, f"Not started: {error}.")
        return _render_list(request, project, form=form, chosen=chosen, status=400)
    messages.success(request, "A comparison round is queued.")
    return redirect("curation-rounds", project.slug)


def _round_form(project: Project, *given: Any, **initial: Any) -> RoundForm:
    used, scorers = used_encoders(project), scorer_encoder_choices(project)
    splits = services.accepted_pair_splits(project)
    return RoundForm(splits, *given, used=used, scorers=scorers, auto_id="round_%s", **initial)


def _scorer_warning(form: RoundForm) -> str:
    """Return a warning about the scorer chosen in the form; empty for other encoders."""
    chosen = str(form["encoder"].value() or "")
    scorer = scorer_by_encoder(chosen) if chosen in dict(form.fields["encoder"].choices) else None  # type: ignore[attr-defined]
    return known_pairs_warning(scorer) if scorer is not None else ""


def _render_list(
    request: HttpRequest,
    project: Project,
    *,
    form: RoundForm | None = None,
    chosen: SelectionForm | None = None,
    status: int = 200,
) -> HttpResponse:
    form = form or _round_form(project)
    latest = latest_job(project, COMPARISON_ROUND)
    running = job_if_open(latest)
    context = tab_context(project, "rounds") | {
        "form": form,
        "chosen": chosen or SelectionForm(project),
        "warning": _scorer_warning(form),
        "job": running,
        "ended": latest if running is None else None,
        "pairs": accepted_pairs(project).count(),
        "rounds": [(found, found.sets.count(), _skip_rows(found)) for found in comparison_rounds(project)],
    }
    return render(request, "curation/comparison/rounds.html", context, status=status)


def _skip_rows(found: ComparisonRound) -> list[tuple[str, str, int]]:
    """Return each reason with its label and its number of pairs without a set."""
    counts = found.skip_counts.items()
    return [(reason, SKIP_REASON_LABELS.get(reason, reason), count) for reason, count in counts if count]


def _get_round(project: Project, round_id: int) -> ComparisonRound:
    rows = ComparisonRound.objects.select_related("batch", "scorer__version")
    return get_or_404(rows.filter(pk=round_id, project=project).first())


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def comparison_round(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Show one round's sets; launch the best of them for rating in two steps."""
    found = _get_round(project, round_id)
    key = read_idempotency_key(request.POST)
    if launch.find_launched_batch(project=project, idempotency_key=key) is not None:
        return redirect("comparison-round", project.slug, found.pk)
    total = services.launchable_sets(found).count()
    pool = default_pool(project)
    form = RoundLaunchForm(comparison_spec().name, total, request.POST or None, default_pool=pool)
    suggest_reward(form, project=project, kind=form.kind)
    confirm: dict[str, Any] = {}
    status = 200
    if request.method == "POST":
        if not form.is_valid():
            status = 400
        elif request.POST.get("step") == "launch":
            launched = _launch_round(request, project, found, form)
            if isinstance(launched, HttpResponse):
                return launched
            confirm, status = form.estimate(project) | refusal_context(request.POST, launched), 400
        elif request.POST.get("step") != "change":
            confirm = form.estimate(project)
    context = _round_context(project, found) | _sets_context(request, project, found)
    context |= {"form": form, "kind": form.kind} | confirm
    return render(request, "curation/comparison/round.html", context, status=status)


def _round_context(project: Project, found: ComparisonRound) -> dict[str, Any]:
    skips = _skip_rows(found)
    total, left_out = found.sets.count(), found.sets.exclude(left_out="").count()
    return tab_context(project, "rounds") | {
        "round": found,
        "scorer_knows": known_pairs_warning(found.scorer) if found.scorer is not None else "",
        "judged_in": round_versions(found) if found.scorer is not None and found.batch is not None else [],
        "sets": total,
        "left_out": left_out,
        "launchable": total - left_out,
        "options": describe_options(found.options),
        "floor": found.options.get("min_candidates"),
        "provenance": describe_options(
            {name: value for name, value in found.provenance.items() if name not in {"rules", *found.options}}
        ),
        "skipped": skips,
        "without": sum(count for _, _, count in skips),
    }


def _sets_context(request: HttpRequest, project: Project, found: ComparisonRound) -> dict[str, Any]:
    """Return the requested page of sets, filtered and ordered as requested."""
    search = SetFilterForm(round_sets.round_splits(found), request.GET)
    rows = round_sets.find_sets(found, **search.filters)
    pages = Paginator(rows, SETS_PER_PAGE)
    target_rank = search.target_rank
    number = request.GET.get("page") if target_rank is None else _page_of_rank_or_first(rows, target_rank)
    page = pages.get_page(number)
    return {
        "search": search,
        "target_rank": target_rank,
        "page": page,
        "rows": make_shown_sets(project, found, list(page.object_list)),
    }


def _page_of_rank_or_first(rows: Any, rank: int) -> int:
    """Return the page of the set with this rank, or the first if it is not listed."""
    ranks: list[int] = list(rows.values_list("rank", flat=True))
    return ranks.index(rank) // SETS_PER_PAGE + 1 if rank in ranks else 1


@require_POST
@project_page()
def toggle_set_exclusion(request: HttpRequest, project: Project, round_id: int, set_id: int) -> HttpResponse:
    """Exclude a set from the launch with a reason, or include it again."""
    found = _get_round(project, round_id)
    item = get_or_404(found.sets.filter(pk=set_id).first(), "There is no such set.")
    takes_back = request.POST.get("act") == "take-back"
    reason = "" if takes_back else request.POST.get("why", "").strip() or DEFAULT_REASON
    outcome = "will be launched" if takes_back else "will not be launched"
    with action_messages(request, "Not done", f"Set {item.rank} {outcome}."):
        services.leave_out_or_restore_set(item=item, reason=reason, by=signed_in_user(request))
    query = urlencode({"set": item.rank})
    return redirect(f"{reverse('comparison-round', args=[project.slug, found.pk])}?{query}#set-{item.rank}")


@require_safe
@project_page()
def round_skipped(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Show the pairs without a set with the reasons, and the numbers of candidates of all pairs."""
    found = _get_round(project, round_id)
    reason = request.GET.get("reason", "")
    reason = reason if reason in found.skip_counts else ""
    page = get_page(request, round_sets.skipped_pairs(found, reason), SKIPPED_PER_PAGE)
    texts = pairs_by_instance_id(project, [row.instance for row in page])
    context = _round_context(project, found) | {
        "reason": reason,
        "page": page,
        "rows": [
            (row, SKIP_REASON_LABELS.get(row.reason, row.reason), texts.get(row.instance)) for row in page
        ],
        "plot": _candidate_count_histogram(found),
    }
    return render(request, "curation/comparison/round_skipped.html", context)


def _candidate_count_histogram(found: ComparisonRound) -> Chart | None:
    """Return a histogram of the pairs' numbers of candidates, with the required minimum."""
    counts = [float(count) for count in round_sets.candidate_counts(found)]
    floor = found.options.get("min_candidates")
    if not counts or floor is None:
        return None
    end = max(quantile(counts, 0.95), 1.25 * floor)
    return histogram(
        bin_counts(counts, end=end),
        references=[(float(floor), f"minimum {floor}", "target")],
        unit="candidates",
        summary="Pairs by number of candidates",
    )


def _launch_round(
    request: HttpRequest, project: Project, found: ComparisonRound, form: RoundLaunchForm
) -> HttpResponse | Refused:
    """Launch and redirect, or return the error."""
    try:
        batch, _ = services.launch_comparison_batch(
            round=found,
            by=signed_in_user(request),
            limit=form.cleaned_data["units"],
            name=form.cleaned_data["name"],
            terms=add_balance_to_terms(form.terms),
            page=form.judge_page_options,
            rates=form.rates,
            idempotency_key=read_idempotency_key(request.POST),
        )
    except Refused as error:
        return error
    clear_cached_balance()
    messages.success(request, f"{batch.name} is launched; its tasks are being published.")
    return redirect("comparison-round", project.slug, found.pk)
