"""Pages about qualification and training rounds: the list, new rounds, and one round with its applicants."""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits import registry
from hits.charts.chart import Chart
from hits.charts.histograms import bar_chart
from hits.domain.states import AssignmentStatus
from hits.domain.workers.qualification_pools import Pool
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Job, Project
from hits.payments.summary import sum_batch_money
from hits.selectors import console
from hits.selectors.eligibility.eligibility import pool_worker_ids
from hits.selectors.eligibility.requirement_labels import join_country_names
from hits.selectors.images.images import image_facts, list_usable_images
from hits.selectors.money.pay_forecast import forecast_launch_pay
from hits.selectors.unit_planners import planner_of
from hits.services.launching import launch_estimate
from hits.views.access import project_page
from hits.views.batches.launch import report_launch
from hits.views.costs import add_balance_to_terms, estimate_context, launch_if_confirmed
from hits.views.pages import action_messages, get_or_404, get_page, job_if_open, section_context
from hits.views.users import signed_in_user
from validation.domain.qualification.outcome import has_passed
from validation.models import QualificationRound
from validation.selectors import rounds
from validation.services import applicant_decisions
from validation.services import rounds as services
from validation.views.pages import hidden_form_fields
from validation.views.round_forms import QualificationRoundForm, RoundForm, TrainingRoundForm

MAX_PHOTOS = 60
PER_PAGE = 50
_TABS = {  # label, and the states of the applicants
    "all": ("All", ("waiting", "unexplained", "ready", "passed", "declined", "rejected")),
    "waiting": ("Waiting for grades", ("waiting",)),
    "graded": ("Graded", ("ready", "unexplained")),
    "passed": ("Passed", ("passed",)),
    "declined": ("Not passed", ("declined",)),
}


@require_safe
@project_page()
def round_list(request: HttpRequest, project: Project) -> HttpResponse:
    """List qualification and training rounds."""
    training = rounds.training_batches(project)
    progress = console.progress_by_batch(training)
    qualified, trained = pool_worker_ids(project, Pool.QUALIFIED), pool_worker_ids(project, Pool.TRAINED)
    context = section_context(project, "people", "applicants") | {
        "qualification_rounds": rounds.round_rows(project),
        "kind": registry.get_kind(rounds.qualification_kind(project)),
        "has_training": rounds.training_kind(project) is not None,
        "training_rounds": [(batch, progress[batch.pk]) for batch in training],
        "qualified": len(qualified),
        "trained": len(trained),
        "invited": len(qualified - trained),
    }
    return render(request, "validation/qualification/rounds.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def qualification_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Launch a qualification round in two steps."""
    kind = registry.get_kind(rounds.qualification_kind(project))
    images = rounds.images_for_kind(project, kind)[:MAX_PHOTOS]
    form = QualificationRoundForm(kind.name, images, request.POST or None)

    def launch_round() -> str:
        qualification_round, _ = services.launch_qualification_round(
            project=project,
            image_sets=form.image_sets,
            applicants=form.cleaned_data["assignments"],
            by=signed_in_user(request),
            name=form.cleaned_data["name"],
            admission=form.admission,
            terms=add_balance_to_terms(form.terms),
            idempotency_key=read_idempotency_key(request.POST),
        )
        report_launch(request, qualification_round.batch)
        return reverse("qualification-round", args=[project.slug, qualification_round.pk])

    planner = planner_of(kind)
    context = {
        "title": "Launch a qualification round",
        "exam": True,
        "no_photos_message": planner.no_photos_message if planner else "",
    }
    return _launch_in_steps(request, project, form, launch_round, context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def training_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Launch a training round in two steps."""
    kind_name = get_or_404(rounds.training_kind(project), "This project's tasks need no training.")
    images = list_usable_images(project)[:MAX_PHOTOS]
    invited = len(pool_worker_ids(project, Pool.QUALIFIED) - pool_worker_ids(project, Pool.TRAINED))
    form = TrainingRoundForm(kind_name, images, request.POST or None, assignments=max(1, invited))

    def launch_round() -> str:
        batch, _ = services.launch_training_round(
            project=project,
            images=form.photos,
            slots=form.cleaned_data["assignments"],
            by=signed_in_user(request),
            name=form.cleaned_data["name"],
            countries=form.cleaned_data["countries"],
            terms=add_balance_to_terms(form.terms),
            idempotency_key=read_idempotency_key(request.POST),
        )
        report_launch(request, batch)
        return reverse("batch-detail", args=[batch.pk])

    context = {"title": "Launch a training round", "invited": invited}
    return _launch_in_steps(request, project, form, launch_round, context)


def _launch_in_steps(
    request: HttpRequest,
    project: Project,
    form: RoundForm,
    launch_round: Callable[[], str],
    context: dict[str, Any],
) -> HttpResponse:
    """Show the form, then its cost, then launch."""
    suggest_reward(form, project=project, kind=form.kind)
    status = 200
    if request.method == "POST" and form.images and request.POST.get("step") != "change":
        if not form.is_valid():
            status = 400
        else:
            refusal = launch_if_confirmed(request, launch_round)
            if isinstance(refusal, HttpResponse):
                return refusal
            context |= _confirm_context(project, form) | refusal
            context["hidden_form_fields"] = hidden_form_fields(request.POST)
            status = 400 if refusal else 200
    context |= section_context(project, "people", "applicants") | {
        "form": form,
        "kind": form.kind,
        "photos": [image_facts(image) for image in form.images],
        "max_photos": MAX_PHOTOS,
        "ticked": set(form["photos"].value() or ()),
    }
    return render(request, "validation/qualification/round_new.html", context, status=status)


def _confirm_context(project: Project, form: RoundForm) -> dict[str, Any]:
    variants, slots = len(form.image_sets), form.cleaned_data["assignments"]
    slot_plan = services.plan_round_slots(slots, variants=variants)
    terms = replace(form.terms, redundancy=slot_plan.redundancy)
    reward: int = form.cleaned_data["reward"]
    estimate = launch_estimate.estimate_cost(kind=form.kind, terms=terms, units=slot_plan.hits)
    rewards = f"Rewards, {_pluralize(slot_plan.hits, 'task')} × {_pluralize(slot_plan.redundancy, 'worker')}"
    return estimate_context(project=project, estimate=estimate, rewards=rewards, reward_cents=reward) | {
        "countries": join_country_names(form.cleaned_data["countries"]),
        "terms": terms,
        "slot_plan": slot_plan,
        "variants": variants,
        "slots": slots,
        "forecast": forecast_launch_pay(
            project, form.kind, reward, redundancy=slot_plan.redundancy, units=slot_plan.hits
        ),
        "idempotency_key": uuid.uuid4().hex,
    }


def _pluralize(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def get_round_or_404(project: Project, pk: int) -> QualificationRound:
    """Return a round of the project, or raise Http404."""
    return get_or_404(rounds.find_round(project, pk))


@require_safe
@project_page()
def qualification_round(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Show one round: applicants, progress of grading, agreement and money."""
    round_row = get_round_or_404(project, round_id)
    kind = registry.get_kind(round_row.batch.kind)
    overview = rounds.round_overview(round_row, signed_in_user(request))
    requested = request.GET.get("show", "all")
    tab = requested if requested in _TABS else "all"
    counts = Counter(submission.state for submission in overview.submissions)
    job = Job.objects.filter(exclusive_key=f"answer:{round_row.pk}").order_by("-pk").first()
    ready = overview.in_states("ready")
    passing = sum(has_passed(submission.score, overview.rule) for submission in ready)
    unpaid = sum(submission.assignment.status == AssignmentStatus.SUBMITTED for submission in ready)
    context = section_context(project, "people", "applicants") | {
        "round": round_row,
        "overview": overview,
        "batch": round_row.batch,
        "rule": overview.rule,
        "kind": kind,
        "item": kind.record_word[0],
        "items": kind.record_word[1],
        "counts": counts,
        "tabs": [(key, label, len(overview.in_states(*states))) for key, (label, states) in _TABS.items()],
        "shown": tab,
        "page": get_page(request, overview.in_states(*_TABS[tab][1]), PER_PAGE),
        "ready": ready,
        "would_pass": passing,
        "would_fail": len(ready) - passing,
        "answered": counts["passed"] + counts["declined"],
        "has_exam": any(submission.score.exam.total for submission in overview.submissions),
        "unpaid": unpaid,
        "answers_cents": unpaid * round_row.batch.slot_cents(round_row.batch.max_assignments),
        "chart": _score_chart(
            overview.score_counts,
            needed=overview.rule.needed,
            items=kind.record_word[1],
        ),
        "money": sum_batch_money(round_row.batch),
        "running": job_if_open(job),
        "last_job": job,
    }
    return render(request, "validation/qualification/round.html", context)


def _score_chart(counts: Sequence[int], *, needed: int, items: str) -> Chart | None:
    """Return a chart of how many applicants have each score, with the minimum to pass."""
    passed = sum(counts[needed:])
    with_scores = ", ".join(f"{count} with {score}" for score, count in enumerate(counts) if count)
    return bar_chart(
        counts,
        summary=f"Reasonable {items} of each applicant: {with_scores}. {passed} of {sum(counts)} reach {needed}.",
        x_label=f"reasonable {items} of an applicant",
        unit="Applicants",
        threshold=needed,
        threshold_label=f"{needed} needed",
    )


@require_POST
@project_page()
def applicants_decide(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Queue the decisions about all completely graded applicants."""
    round_row = get_round_or_404(project, round_id)
    done = "The applicants are being paid and informed of the result one by one."
    with action_messages(request, success=done, level=messages.WARNING):
        applicant_decisions.request_applicant_decisions(
            qualification_round=round_row, by=signed_in_user(request)
        )
    return redirect("qualification-round", project.slug, round_row.pk)
