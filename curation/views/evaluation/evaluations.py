"""Evaluation pages: the list with a comparison and a form, one evaluation, and its error analyses."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import DatasetVersion, ErrorAnalysis, Evaluation
from curation.selectors import error_analyses as error_analysis_selectors
from curation.selectors.evaluations import evaluations as project_evaluations
from curation.selectors.evaluations import predictions_file
from curation.selectors.scorers import ready_scorers
from curation.selectors.versions import sealed_versions, version_splits
from curation.services.error_analysis import ErrorOptions, request_error_analysis
from curation.services.evaluations import request_evaluation
from curation.versions.families import family_of
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation import evaluation_sections as parts
from curation.views.features import ENCODER_LABELS, FOLDER_HELP
from curation.views.fields import choice_field
from curation.views.pages import tab_context
from hits.domain.images.region_drawing import RegionMode
from hits.forms import PageForm
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

PER_PAGE = 20
REGION_LABELS = {
    RegionMode.HIGHLIGHT: "Highlighted, as shown to people",
    RegionMode.NONE: "Not marked (no region)",
    RegionMode.ONLY_REGION: "Region only (no context)",
    RegionMode.HIDE: "Hidden (only context)",
    RegionMode.POSITION_ONLY: "Position only",
}
TEXT_LABELS = {"inference": "Inferences", "clue": "Clues (Hessel et al. 2022, table 4)"}
PREDICTOR_LABELS = {
    "image": "Features of the image",
    "text": "Mean vector of the inferences",
    "agreement": "Human agreement only",
}
SHOWN_FACTS = ("version", "split", "recipe", "weights_sha256", "path")  # shown by the page itself
GALLERIES = (
    ("false_positives", "Worst false positives", "Ranked high by the model, rated low by people."),
    ("false_negatives", "Worst false negatives", "Rated high by people, ranked low by the model."),
)


class EvaluationForm(PageForm):
    """A request for an evaluation. Folders of weights can only be given on the command line."""

    encoder = choice_field("Scorer or encoder", help_text=FOLDER_HELP)
    version = forms.TypedChoiceField(label="Sealed version", coerce=int)
    split = choice_field("Split", required=False)
    texts = choice_field("Texts to rank", TEXT_LABELS)
    region_mode = choice_field("Region", [("", "As trained"), *REGION_LABELS.items()], required=False)

    def __init__(self, project: Project, versions: list[DatasetVersion], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scorers = [(scorer.encoder_name, scorer.name) for scorer in ready_scorers(project)]
        encoders = [(name, label) for name, label in ENCODER_LABELS.items() if name != "efficientnet-lite0"]
        self.versions_by_pk = {version.pk: version for version in versions}
        splits = dict.fromkeys(split for version in versions for split in version_splits(version))
        named = [("Scorers of this project", scorers)] if scorers else []
        choices: dict[str, Any] = {
            "encoder": [*named, ("Encoders, not trained here", encoders)],
            "version": [(version.pk, version.name) for version in versions],
            "split": [(split, parts.split_label(split).capitalize()) for split in splits],
        }
        for name, offered in choices.items():
            self.fields[name].choices = offered  # type: ignore[attr-defined]


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def evaluations(request: HttpRequest, project: Project) -> HttpResponse:
    """List and compare the project's evaluations, and start new ones."""
    versions = sealed_versions(project) if family_of(project).can_evaluate else []
    start = {"encoder": request.GET.get("encoder", "")}
    form = EvaluationForm(
        project,
        versions,
        request.POST if request.method == "POST" else None,
        auto_id="evaluate_%s",
        initial=start,
    )
    if request.method == "POST" and form.is_valid() and _start_evaluation(request, project, form):
        return redirect("evaluations", project.slug)
    context, status = _list_context(request, project, form), 400 if form.errors else 200
    return render(request, "curation/scorers/evaluations.html", context, status=status)


def _start_evaluation(request: HttpRequest, project: Project, form: EvaluationForm) -> bool:
    given = form.cleaned_data
    try:
        request_evaluation(
            project=project,
            by=signed_in_user(request),
            **given | {"version": form.versions_by_pk[given["version"]]},
        )
    except Refused as error:
        form.add_error(None, f"Not started: {error}.")
        return False
    messages.success(request, "The evaluation is queued.")
    return True


def _list_context(request: HttpRequest, project: Project, form: EvaluationForm) -> dict[str, Any]:
    rows = list(project_evaluations(project))
    groups = parts.group_evaluations(rows)
    chosen = next((row for row in groups if row.key == request.GET.get("of")), parts.default_group(groups))
    page = get_page(request, rows, PER_PAGE)
    return tab_context(project, "evaluations", "scorers") | {
        "form": form,
        "versions": form.versions_by_pk,
        "page": page,
        "rows": [(row, parts.evaluation_state(row), parts.figure_cells(row)) for row in page],
        "jobs": [row.job for row in rows if job_if_open(row.job)],
        "failed": job_if_failed(rows[0].job) if rows else None,
        "groups": groups,
        "chosen": chosen,
        "plots": parts.dot_plots(chosen.rows, project.slug) if chosen else [],
        "plotted": parts.MAX_PLOTTED,
        "more": max(0, len(chosen.rows) - parts.MAX_PLOTTED) if chosen else 0,
        "scatter": parts.comparison_scatter_plot(chosen.rows, project.slug) if chosen else None,
    }


def _get_evaluation(project: Project, pk: int) -> Evaluation:
    return get_or_404(project_evaluations(project).filter(pk=pk).first())


@require_safe
@project_page()
def evaluation(request: HttpRequest, project: Project, evaluation_id: int) -> HttpResponse:
    """Show all figures of an evaluation, its provenance, and its error analyses."""
    found = _get_evaluation(project, evaluation_id)
    context = tab_context(project, "evaluations", "scorers") | {
        "evaluation": found,
        "state": parts.evaluation_state(found),
        "source": parts.SOURCE_LABELS.get(found.source, found.source),
        "split": parts.split_label(found.split),
        "texts": parts.TEXT_LABELS.get(found.texts, found.texts),
        "cells": parts.figure_cells_with_bertscore(found),
        "compared": parts.comparison_plot(found),
        "meaning": parts.baseline_meaning(found),
        "provenance": parts.fact_rows(found.provenance, without=SHOWN_FACTS),
        # Once finished, the provenance has a better name of the encoder: "Scorer first" for "scorer:1".
        "options": parts.fact_rows(
            found.options, without=(*SHOWN_FACTS, *({"encoder"} & found.provenance.keys()))
        ),
        "has_predictions": predictions_file(found) is not None,
        "analyses": error_analysis_selectors.error_analyses(found),
        "jobs": [found.job] if job_if_open(found.job) else [],
    }
    return render(request, "curation/scorers/evaluation.html", context)


@require_safe
@project_page()
def download_predictions(request: HttpRequest, project: Project, evaluation_id: int) -> HttpResponseBase:
    """Download the scores of an evaluation in the leaderboard's layout."""
    found = predictions_file(_get_evaluation(project, evaluation_id))
    found = get_or_404(found, "There are no predictions to download.")
    return FileResponse(found.open("rb"), as_attachment=True, filename=found.name)


@require_POST
@project_page()
def start_error_analysis(request: HttpRequest, project: Project, evaluation_id: int) -> HttpResponse:
    """Queue an analysis of an evaluation's errors."""
    found = _get_evaluation(project, evaluation_id)
    try:
        row = request_error_analysis(evaluation=found, options=ErrorOptions(), by=signed_in_user(request))
    except Refused as error:
        messages.error(request, f"Not started: {str(error).rstrip('.')}.")
        return redirect("evaluation", project.slug, found.pk)
    messages.success(request, "The error analysis is queued.")
    return redirect("error-analysis", project.slug, row.pk)


@require_safe
@project_page()
def error_analysis(request: HttpRequest, project: Project, analysis_id: int) -> HttpResponse:
    """Show how predictable an evaluation's errors are, and its worst errors."""
    found = get_or_404(error_analysis_selectors.get_error_analysis(project, analysis_id))
    job = found.job
    context = tab_context(project, "evaluations", "scorers") | {
        "analysis": found,
        "evaluation": found.evaluation,
        "split": parts.split_label(found.evaluation.split),
        "jobs": [job] if job_if_open(job) else [],
        "failed": job_if_failed(job),
        "plot": _predictor_auc_plot(found),
        "predictors": _predictor_rows(found),
        "galleries": [
            (name, title, description, error_analysis_selectors.gallery(found, name))
            for name, title, description in GALLERIES
        ],
        "provenance": parts.fact_rows(found.provenance),
    }
    return render(request, "curation/scorers/errors.html", context)


def _predictor_auc_plot(found: ErrorAnalysis) -> charts.DotPlot | None:
    predictors = found.figures.get("predictors", {})
    rows = [
        charts.DotRowData(
            label, "", {"ours": _auc_figure(predictors[name]), "paper": {"value": predictors[name]["paper"]}}
        )
        for name, label in PREDICTOR_LABELS.items()
        if name in predictors
    ]
    chance = {"Chance": found.figures.get("chance", 50.0)}
    return charts.dot_plot("Area under the ROC curve", rows, lines=chance, interval_label="95% by chance")


def _auc_figure(predictor: Mapping[str, Any]) -> dict[str, float | None]:
    """Return an AUC with its 95 % band by chance; analyses of earlier releases have no band."""
    chance = predictor.get("chance", {})
    return {"value": predictor["value"], "low": chance.get("low"), "high": chance.get("high")}


def _predictor_rows(found: ErrorAnalysis) -> list[tuple[str, dict[str, Any], str]]:
    predictors = found.figures.get("predictors", {})
    return [
        (
            label,
            predictors[name].get("chance", {}),
            ", ".join(f"{fold:.0f}" for fold in predictors[name]["folds"]),
        )
        for name, label in PREDICTOR_LABELS.items()
        if name in predictors
    ]
