"""Pages of multiple-choice evaluations: Q→A, QA→R and Q→AR beside the published results."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from curation.models import ChoiceEvaluation, Chooser, QuestionSet
from curation.selectors.choice_evaluations import choice_evaluations as project_evaluations
from curation.selectors.choice_evaluations import predictions_csv
from curation.selectors.choosers import choosers
from curation.selectors.questions import is_built, question_sets
from curation.services.choice_evaluations import (
    PEOPLE_LABEL,
    request_chooser_evaluation,
    request_people_evaluation,
)
from curation.views.evaluation import choice_sections as sections
from curation.views.evaluation.evaluation_sections import evaluation_state, fact_rows, split_label
from curation.views.fields import choice_field
from curation.views.pages import tab_context
from hits.forms import PageForm
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

TAB = "choices"
PER_PAGE = 20
SPLITS = ("", "train", "val", "test")
SHOWN_FACTS = ("question_set", "predictions", "changed")  # shown by the page itself, or server paths


class ChoiceEvaluationForm(PageForm):
    """A request to measure people or a chooser. Predictions are given on the command line."""

    subject = choice_field("People or chooser")
    question_set = forms.TypedChoiceField(label="Question set", coerce=int)
    split = choice_field("Split", [(name, split_label(name).capitalize()) for name in SPLITS], required=False)

    def __init__(self, sets: list[QuestionSet], choosers: list[Chooser], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sets = {row.pk: row for row in sets}
        self.choosers = {str(row.pk): row for row in choosers}
        named = [(str(row.pk), row.name) for row in choosers]
        self.fields["subject"].choices = [("", PEOPLE_LABEL), *named]  # type: ignore[attr-defined]
        self.fields["subject"].required = False
        self.fields["question_set"].choices = [(row.pk, row.name) for row in sets]  # type: ignore[attr-defined]


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def choice_evaluations(request: HttpRequest, project: Project) -> HttpResponse:
    """List and compare the project's multiple-choice evaluations, and measure people or a chooser."""
    sets = [row for row in question_sets(project) if is_built(row)]
    ready = list(choosers(project).filter(is_ready=True))
    given = request.POST if request.method == "POST" else None
    form = ChoiceEvaluationForm(sets, ready, given, auto_id="evaluate_%s")
    if request.method == "POST" and form.is_valid() and _start_evaluation(request, form):
        return redirect("choice-evaluations", project.slug)
    context, status = _list_context(request, project, form), 400 if form.errors else 200
    return render(request, "curation/scorers/choice_evaluations.html", context, status=status)


def _start_evaluation(request: HttpRequest, form: ChoiceEvaluationForm) -> bool:
    given = form.cleaned_data
    common: dict[str, Any] = {
        "question_set": form.sets[given["question_set"]],
        "split": given["split"],
        "by": signed_in_user(request),
    }
    try:
        if given["subject"]:
            request_chooser_evaluation(chooser=form.choosers[given["subject"]], **common)
        else:
            request_people_evaluation(**common)
    except Refused as error:
        form.add_error(None, f"Not started: {error}.")
        return False
    messages.success(request, "The evaluation is queued.")
    return True


def _list_context(request: HttpRequest, project: Project, form: ChoiceEvaluationForm) -> dict[str, Any]:
    rows = list(project_evaluations(project))
    groups = sections.group_choice_evaluations(rows)
    chosen = next((group for group in groups if group.key == request.GET.get("of")), None)
    chosen = chosen or (groups[0] if groups else None)
    page = get_page(request, rows, PER_PAGE)
    return tab_context(project, TAB, "scorers") | {
        "form": form,
        "sets": form.sets,
        "page": page,
        "rows": [
            (row, evaluation_state(row), sections.choice_cells(row), split_label(row.split)) for row in page
        ],
        "jobs": [row.job for row in rows if job_if_open(row.job)],
        "failed": job_if_failed(rows[0].job) if rows else None,
        "groups": groups,
        "chosen": chosen,
        "ours": [(row, sections.choice_cells(row)) for row in chosen.rows] if chosen else [],
        "published": sections.published_table(chosen.split if chosen else ""),
        "plots": sections.choice_plots(chosen, project.slug) if chosen else [],
        "measures": sections.MEASURE_LABELS.values(),
    }


def _get_evaluation(project: Project, pk: int) -> ChoiceEvaluation:
    return get_or_404(project_evaluations(project).filter(pk=pk).first())


@require_safe
@project_page()
def choice_evaluation(request: HttpRequest, project: Project, choice_evaluation_id: int) -> HttpResponse:
    """Show an evaluation's figures, its wrong choices by match round, and its provenance."""
    found = _get_evaluation(project, choice_evaluation_id)
    context = tab_context(project, TAB, "scorers") | {
        "evaluation": found,
        "state": evaluation_state(found),
        "source": sections.SOURCE_LABELS.get(found.source, found.source),
        "split": split_label(found.split),
        "cells": sections.choice_cells(found),
        "rounds": sections.round_rows(found.figures),
        "joint": sections.joint_rows(found),
        "drops": sections.drop_rows(found),
        "provenance": fact_rows(found.provenance, without=SHOWN_FACTS),
        "has_predictions": predictions_csv(found) is not None,
        "jobs": [found.job] if job_if_open(found.job) else [],
    }
    return render(request, "curation/scorers/choice_evaluation.html", context)


@require_safe
@project_page()
def download_choice_predictions(
    request: HttpRequest, project: Project, choice_evaluation_id: int
) -> HttpResponseBase:
    """Download the predictions of an evaluation in the published layout."""
    evaluation = _get_evaluation(project, choice_evaluation_id)
    found = get_or_404(predictions_csv(evaluation), "There are no predictions to download.")
    return FileResponse(
        found.open("rb"),
        as_attachment=True,
        filename=f"predictions-{evaluation.pk}.csv",
        content_type="text/csv",
    )
