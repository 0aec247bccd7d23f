"""Applicants: the list of rounds, starting one, one round's page, and answering its applicants."""

import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.money.costs import cost_table
from hits.domain.states import OPEN_JOB_STATES, AssignmentStatus
from hits.domain.workers.qualification_pools import Pool
from hits.forms import launch_key
from hits.forms.hourly import offer_fair_reward
from hits.models import Image, Job, Project
from hits.payments.summary import batch_money
from hits.selectors import console
from hits.selectors.eligibility.eligibility import holders
from hits.selectors.eligibility.requirement_labels import listed
from hits.selectors.images.images import facts, usable
from hits.selectors.money.pay_forecast import forecast_for
from hits.services.errors import Refused
from hits.services.launching import launch_estimate
from hits.views.access import project_page
from hits.views.balance import forget_balance
from hits.views.costs import cost_context, refusal_context, with_funds
from hits.views.who import person
from validation.domain.qualification.scores import score_chart
from validation.models import QualificationRound
from validation.selectors import rounds
from validation.services import answering
from validation.services import rounds as services
from validation.views.round_forms import QualificationForm, RoundForm, TrainingForm

PHOTOS_SHOWN = 60
PER_PAGE = 50
_SHOWN = {
    "all": ("waiting", "unexplained", "ready", "passed", "declined", "rejected"),
    "waiting": ("waiting",),
    "graded": ("ready", "unexplained"),
    "passed": ("passed",),
    "declined": ("declined",),
}
_WORDS = {
    "all": "All",
    "waiting": "Wait for grades",
    "graded": "Graded",
    "passed": "Passed",
    "declined": "Not passed",
}


@require_safe
@project_page()
def applicants(request: HttpRequest, project: Project) -> HttpResponse:
    """List qualification and training rounds."""
    training = rounds.training_batches(project)
    progress = console.progress_of(training)
    qualified, trained = holders(project, Pool.QUALIFIED), holders(project, Pool.TRAINED)
    context = {
        "project": project,
        "section": "people",
        "tab": "applicants",
        "lines": rounds.round_lines(project),
        "training": [(batch, progress[batch.pk]) for batch in training],
        "qualified": len(qualified),
        "trained": len(trained),
        "invited": len(qualified - trained),
    }
    return render(request, "validation/qualification/applicants.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def qualification_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Start a qualification round in two steps."""
    images = usable(project)[:PHOTOS_SHOWN]
    form = QualificationForm(images, request.POST or None)
    offer_fair_reward(form, project=project, kind=form.kind)

    def start() -> str:
        found, _ = services.launch_qualification_round(
            project=project,
            image_sets=form.image_sets,
            applicants=form.cleaned_data["applicants"],
            by=person(request),
            name=form.cleaned_data["name"],
            admission=form.admission,
            terms=with_funds(form.terms),
            once=launch_key(request.POST),
        )
        messages.success(request, f"{found.batch.name} is launched; its tasks are being published.")
        return reverse("qualification-round", args=[project.slug, found.pk])

    def plan() -> tuple[int, int]:
        return len(form.image_sets), form.cleaned_data["applicants"]

    context = {"title": "Start a qualification round", "exam": True}
    return _new(request, project, form, images, start=start, plan=plan, context=context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def training_new(request: HttpRequest, project: Project) -> HttpResponse:
    """Start a training round in two steps."""
    images = usable(project)[:PHOTOS_SHOWN]
    invited = len(holders(project, Pool.QUALIFIED) - holders(project, Pool.TRAINED))
    form = TrainingForm(images, request.POST or None, places=max(1, invited))
    offer_fair_reward(form, project=project, kind=form.kind)

    def start() -> str:
        batch, _ = services.launch_training_round(
            project=project,
            images=form.photos,
            places=form.cleaned_data["places"],
            by=person(request),
            name=form.cleaned_data["name"],
            countries=form.cleaned_data["countries"],
            terms=with_funds(form.terms),
            once=launch_key(request.POST),
        )
        messages.success(request, f"{batch.name} is launched; its tasks are being published.")
        return reverse("batch-detail", args=[batch.pk])

    def plan() -> tuple[int, int]:
        return len(form.photos), form.cleaned_data["places"]

    context = {"title": "Start a training round", "invited": invited}
    return _new(request, project, form, images, start=start, plan=plan, context=context)


def _new(
    request: HttpRequest,
    project: Project,
    form: RoundForm,
    images: list[Image],
    *,
    start: Callable[[], str],
    plan: Callable[[], tuple[int, int]],
    context: dict[str, Any],
) -> HttpResponse:
    """Show the form, then what it costs, then launch: ``plan`` returns how much there is to show, and the places."""
    status = 200
    step = request.POST.get("step")
    if request.method == "POST" and images and step != "change":
        if not form.is_valid():
            status = 400
        else:
            try:
                if step == "launch":
                    there = start()
                    forget_balance()
                    return redirect(there)
            except Refused as error:
                context |= refusal_context(request.POST, error)
                status = 400
            where = listed(form.cleaned_data["countries"])
            context |= _estimate(project, form, *plan()) | {"carried": _carried(request.POST), "where": where}
    context |= {
        "project": project,
        "section": "people",
        "tab": "applicants",
        "form": form,
        "kind": form.kind,
        "photos": [facts(image) for image in images],
        "ticked": set(form["photos"].value() or ()),
    }
    return render(request, "validation/qualification/round_new.html", context, status=status)


def _estimate(project: Project, form: RoundForm, over: int, places: int) -> dict[str, Any]:
    wanted = services.planned(places=places, over=over)
    terms = replace(form.terms, opinions=wanted.each)
    reward: int = form.cleaned_data["reward"]
    found = launch_estimate.estimate(kind=form.kind, terms=terms, units=wanted.hits)
    rewards = f"Rewards, {_counted(wanted.hits, 'task')} × {_counted(wanted.each, 'worker')}"
    return cost_context(
        project=project,
        cost=cost_table(found, rewards=rewards, reward_cents=reward),
        held_cents=found.held_cents,
        most_cents=found.most_cents,
    ) | {
        "estimate": found,
        "terms": terms,
        "spread": wanted,
        "over": over,
        "places": places,
        "forecast": forecast_for(
            project=project,
            kind=form.kind,
            reward_cents=reward,
            bonus_cents=0,
            opinions=wanted.each,
            units=wanted.hits,
        ),
        "launch_key": uuid.uuid4().hex,
    }


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _carried(data: QueryDict) -> list[tuple[str, str]]:
    """Return what was typed, for the confirming page to send once more."""
    own = {"csrfmiddlewaretoken", "step", "launch_key", "typed_cost"}
    return [(name, value) for name, values in data.lists() if name not in own for value in values]


def round_of(project: Project, pk: int) -> QualificationRound:
    """Return a round of the project, or raise Http404."""
    found = rounds.round_numbered(project, pk)
    if found is None:
        raise Http404("There is no such page.")
    return found


@require_safe
@project_page()
def qualification_round(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Show one round: who applied, how far grading is, agreement, money."""
    found = round_of(project, round_id)
    page = rounds.round_page(found, person(request))
    wanted = request.GET.get("show", "all")
    shown = page.of(*_SHOWN.get(wanted, _SHOWN["all"]))
    counts = Counter(applicant.state for applicant in page.applicants)
    job = Job.objects.filter(exclusive_key=f"answer:{found.pk}").order_by("-pk").first()
    context = {
        "project": project,
        "section": "people",
        "tab": "applicants",
        "round": found,
        "look": page,
        "batch": found.batch,
        "rule": page.rule,
        "counts": counts,
        "tabs": [(key, _WORDS[key], len(page.of(*states))) for key, states in _SHOWN.items()],
        "shown": wanted if wanted in _SHOWN else "all",
        "page": Paginator(shown, PER_PAGE).get_page(request.GET.get("page")),
        "ready": page.of("ready"),
        "would_pass": (passing := sum(rounds.would_pass(a, page.rule) for a in page.of("ready"))),
        "would_fail": len(page.of("ready")) - passing,
        "answered": counts["passed"] + counts["declined"],
        "has_exam": any(a.score.exam.asked for a in page.applicants),
        "unpaid": (
            unpaid := sum(a.assignment.status == AssignmentStatus.SUBMITTED for a in page.of("ready"))
        ),
        "answers_cents": unpaid * found.batch.slot_cents(found.batch.assignments_per_hit),
        "chart": score_chart(page.scores, needed=page.rule.needed),
        "money": batch_money(found.batch),
        "running": job if job is not None and job.state in OPEN_JOB_STATES else None,
        "last_job": job,
    }
    return render(request, "validation/qualification/round.html", context)


@require_POST
@project_page()
def answer(request: HttpRequest, project: Project, round_id: int) -> HttpResponse:
    """Queue the answers to everybody who is completely graded."""
    found = round_of(project, round_id)
    try:
        answering.request_answers(found=found, by=person(request))
    except Refused as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, "The applicants are being answered and paid one by one.")
    return redirect("qualification-round", project.slug, found.pk)
