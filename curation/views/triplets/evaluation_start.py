"""Start an evaluation, a judge, or the measurement of an uploaded file of predictions."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from curation.models import TripletEvaluation
from curation.selectors.triplets.evaluations import evaluations
from curation.selectors.versions import sealed_versions
from curation.services.triplets.evaluations import request_evaluation
from curation.services.triplets.judging import request_judge
from curation.services.triplets.prediction_uploads import evaluate_upload
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.evaluation_forms import (
    FORMS,
    BaselineForm,
    JudgeForm,
    ModelForm,
    PredictionsForm,
    VersionForm,
    initial_like,
)
from hits.models import Project
from hits.services.errors import Refused
from hits.views.users import signed_in_user

TAB = "evaluations"
CHOICE_CALLS, SCORE_CALLS, CAPTION_CALLS = 2, 2, 3
"""Calls a triplet: both orders, both hypotheses, and a description of each image."""

PREFILLED = ("version", "setup", "strategy", "subject", "model")


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def start_triplet_evaluation(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the forms, with the number of calls that each version takes; start what one of them asks for."""
    versions = sealed_versions(project)
    what = request.POST.get("what", "") if request.method == "POST" else ""
    initial = _initial(request, project)
    forms: dict[str, VersionForm] = {
        name: form(versions, request.POST, request.FILES) if name == what else form(versions, initial=initial)
        for name, form in FORMS.items()
    }
    asked = forms.get(what)
    if asked is not None and asked.is_valid() and (done := _start(request, project, asked)):
        return done
    context = tab_context(project, TAB, "triplets") | {
        "versions": versions,
        "forms": forms,
        "what": what,
        "calls": [_calls(row.name, row.statistics.get("triplets", 0)) for row in versions],
    }
    status = 400 if asked is not None and asked.errors else 200
    return render(request, "curation/triplets/evaluations/start.html", context, status=status)


def _initial(request: HttpRequest, project: Project) -> dict[str, Any]:
    """Return initial values: those of the evaluation that the address names, then those that it gives."""
    rows = {str(row.pk): row for row in evaluations(project)} if "like" in request.GET else {}
    like = rows.get(request.GET.get("like", ""))
    found = initial_like(like) if like else {}
    return found | {name: request.GET[name] for name in PREFILLED if request.GET.get(name)}


def _calls(name: str, triplets: int) -> tuple[str, int, int, int, int]:
    counts = (CHOICE_CALLS * triplets, SCORE_CALLS * triplets, CAPTION_CALLS * triplets)
    return (name, triplets, *counts)


def _start(request: HttpRequest, project: Project, form: VersionForm) -> HttpResponseRedirect | None:
    """Start what a valid form asks for; on a refusal, show it on the form and return None."""
    try:
        row = _request(request, form)
    except Refused as error:
        form.add_refusal(error)
        return None
    messages.success(
        request, "The file is measured." if isinstance(form, PredictionsForm) else "The evaluation is queued."
    )
    return redirect("triplet-evaluation", project.slug, row.pk)


def _request(request: HttpRequest, form: VersionForm) -> TripletEvaluation:
    common: dict[str, Any] = {"version": form.chosen_version, "by": signed_in_user(request)}
    if isinstance(form, PredictionsForm):
        return evaluate_upload(upload=form.upload(), **common)
    if isinstance(form, JudgeForm):
        job = request_judge(options=form.options, **common)
    else:
        assert isinstance(form, ModelForm | BaselineForm)
        job = request_evaluation(options=form.options, **common)
    return TripletEvaluation.objects.get(job=job)
