"""The comparisons page of image triplets: our evaluations beside the published tables, and two models compared."""

import json
from collections.abc import Container, Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from curation.evaluation.nleye import PAIRS, TRIPLET
from curation.evaluation.nleye_paper import paper_figures
from curation.models import DatasetVersion, TripletEvaluation, TripletSource
from curation.selectors.triplets.evaluation_comparisons import compare_evaluations
from curation.selectors.triplets.evaluations import (
    count_unread_replies,
    evaluations,
    version_triplets,
)
from curation.selectors.triplets.people import compare_evaluation_with_people
from curation.selectors.versions import sealed_versions
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.comparison_tables import comparison_tables, newest_of
from curation.views.triplets.evaluation_cells import Cell, figure_cell, number_cell
from curation.views.triplets.evaluation_charts import dumbbell_plot, heat_map
from curation.views.triplets.evaluation_names import (
    CATEGORY,
    GROUPING_LABELS,
    SETUP_LABELS,
    evaluation_label,
    evaluation_state,
    full_name,
    settings_in_words,
    until_text,
    what_it_saw,
)
from curation.views.triplets.paper_tables import further_tables
from curation.views.triplets.people_section import certainty_rows, people_rows
from curation.views.triplets.steps import Step, count_words
from hits.models import Project
from hits.views.pages import get_or_404, get_page, job_if_failed, job_if_open

TAB = "evaluations"
PER_PAGE = 10
ACCURACY, ORDER, GROUPS, SCORES, PEOPLE = "accuracy", "order", "groups", "scores", "people"
EXPLANATIONS, PUBLISHED = "explanations", "published"
VIEWS: Mapping[str, str] = {
    ACCURACY: "Accuracy",
    ORDER: "Order",
    GROUPS: "Groups",
    SCORES: "Scores",
    PEOPLE: "People",
    EXPLANATIONS: "Explanations",
    PUBLISHED: "Published",
}
TABLES_OF: Mapping[str, Sequence[str]] = {
    ACCURACY: ("overview",),
    ORDER: ("orders",),
    GROUPS: (),
    SCORES: ("scores",),
    PEOPLE: (),
    EXPLANATIONS: ("explanations", "judge"),
    PUBLISHED: (),
}
"""The tables of each part of the page."""

PEOPLE_SHARES = {
    "both_right": "Both right",
    "model_only": "Model alone right",
    "both_wrong": "Both wrong",
    "people_only": "People alone right",
    "agreement": "Agreement",
    "model_right_when_people_wrong": "Model right where people are wrong",
    "model_errors_shared_with_people": "Model’s errors that people share",
}


@require_safe
@triplet_project_page()
def triplet_evaluations(request: HttpRequest, project: Project) -> HttpResponse:
    """List a version's evaluations, and compare them with one another, with people and with the published ones."""
    versions = sealed_versions(project)
    every = list(evaluations(project))
    version = _chosen_version(request, versions, {row.version_id for row in every})
    rows = [row for row in every if version is not None and row.version_id == version.pk]
    finished = [row for row in rows if row.figures]
    view = request.GET.get("view", "")
    view = view if view in VIEWS else ACCURACY
    context = tab_context(project, TAB, "triplets") | {
        "versions": versions,
        "version": version,
        "view": view,
        "views": VIEWS.items(),
        "steps": _steps(project, version, rows, count_unread_replies(row.pk for row in finished)),
        "jobs": [row.job for row in rows if job_if_open(row.job)],
        "failed": job_if_failed(rows[0].job) if rows else None,
        "citation": paper_figures().citation,
        "arxiv": paper_figures().arxiv,
        "tables": [table for table in comparison_tables(finished) if table.id in TABLES_OF[view]],
    }
    if view == ACCURACY:
        context |= _list_context(request, rows, finished)
    elif view == ORDER:
        context["dumbbells"] = dumbbell_plot(finished)
    elif view == GROUPS:
        context |= _group_context(request, finished)
    elif view == PEOPLE:
        context |= _people_section(finished)
    elif view == PUBLISHED:
        context |= {"further": further_tables(), "notes": paper_figures().notes}
    return render(request, "curation/triplets/evaluations/evaluations.html", context)


def _list_context(
    request: HttpRequest, rows: Sequence[TripletEvaluation], finished: Sequence[TripletEvaluation]
) -> dict[str, Any]:
    page = get_page(request, rows, PER_PAGE)
    comparable = [row for row in finished if _is_comparable(row)]
    return {
        "page": page,
        "rows": [
            (
                row,
                evaluation_label(row),
                SETUP_LABELS.get(row.setup, row.setup),
                _saw(row),
                evaluation_state(row),
            )
            for row in page
        ],
        "comparable": [(row, full_name(row)) for row in comparable],
        "second": next((row for row in comparable[1:] if not _incomparable(comparable[0], row)), None),
    }


def _group_context(request: HttpRequest, finished: Sequence[TripletEvaluation]) -> dict[str, Any]:
    by = request.GET.get("by", "")
    grouping = by if by in GROUPING_LABELS else CATEGORY
    setup = PAIRS if request.GET.get("of") == PAIRS else TRIPLET
    return {
        "heat": heat_map(finished, grouping, setup),
        "groupings": GROUPING_LABELS.items(),
        "grouping": grouping,
        "setup": setup,
    }


def _people_section(finished: Sequence[TripletEvaluation]) -> dict[str, Any]:
    people = newest_of(finished, TripletSource.PEOPLE)
    return {
        "people": people_rows(people),
        "people_evaluation": people,
        "until": until_text(people) if people else "",
        "certainty": certainty_rows(people.figures) if people else (),
    }


def _saw(row: TripletEvaluation) -> str:
    settings = settings_in_words(row)
    return f"{what_it_saw(row)}, {settings}" if settings else what_it_saw(row)


def _chosen_version(
    request: HttpRequest, versions: Sequence[DatasetVersion], measured: Container[int | None]
) -> DatasetVersion | None:
    """Return the version that the address names, or else the newest one with evaluations, or else the newest.

    None if none is sealed. measured: the keys of the versions with evaluations.
    """
    named = request.GET.get("version", "")
    chosen = next((row for row in versions if str(row.pk) == named), None)
    newest = next((row for row in versions if row.pk in measured), versions[0] if versions else None)
    return chosen or newest


def _is_comparable(row: TripletEvaluation) -> bool:
    return row.source not in {TripletSource.PEOPLE, TripletSource.JUDGE}


def _steps(
    project: Project,
    version: DatasetVersion | None,
    rows: Sequence[TripletEvaluation],
    unread: dict[int, int],
) -> list[Step]:
    """Return what is to do next on this page."""
    if version is None:
        url = reverse("versions", args=[project.slug])
        return [
            Step("Models are measured on a sealed version, and none is sealed yet", "Seal a version", url)
        ]
    start = reverse("triplet-evaluation-start", args=[project.slug]) + f"?version={version.pk}"
    steps = [
        Step(
            f"{count_words(unread[row.pk], 'reply', 'replies')} of {evaluation_label(row)} could not be read",
            "Read them",
            reverse("triplet-evaluation-replies", args=[project.slug, row.pk]),
        )
        for row in rows
        if row.pk in unread
    ]
    measured = {row.source for row in rows}
    if TripletSource.PEOPLE.value not in measured:
        text = f"People are not measured on {version.name} yet"
        steps.append(Step(text, "Measure people", f"{start}#baseline"))
    if TripletSource.MODEL.value not in measured:
        steps.append(
            Step(f"No model is measured on {version.name} yet", "Evaluate a model", f"{start}#model")
        )
    elif TripletSource.JUDGE.value not in measured:
        steps.append(
            Step("No judge has graded the models’ explanations yet", "Start a judge", f"{start}#judge")
        )
    return steps


@require_safe
@triplet_project_page()
def compare_triplet_evaluations(request: HttpRequest, project: Project) -> HttpResponse:
    """Compare two evaluations of the same triplets, or one with people."""
    first = _named_evaluation(project, request.GET.get("first", ""))
    against = request.GET.get("second", "")
    second = None if against == PEOPLE else _named_evaluation(project, against)
    problem = _incomparable(first, second)
    context = tab_context(project, TAB, "triplets") | {
        "first": first,
        "second": second,
        "first_name": full_name(first),
        "second_name": full_name(second) if second else "People, by majority",
        "problem": problem,
        "citation": paper_figures().citation,
    }
    if not problem:
        assert first.version is not None
        triplets = version_triplets(first.version, first.options.get("split", ""))
        context |= (
            _people_context(compare_evaluation_with_people(first, triplets))
            if second is None
            else _pair_context(compare_evaluations(first, second, triplets))
        )
    return render(request, "curation/triplets/evaluations/compare.html", context)


def _named_evaluation(project: Project, number: str) -> TripletEvaluation:
    rows = {str(row.pk): row for row in evaluations(project)}
    found = get_or_404(rows.get(number))
    if not found.figures or not _is_comparable(found):
        raise Http404("There are no figures to compare.")
    return found


def _incomparable(first: TripletEvaluation, second: TripletEvaluation | None) -> str:
    """Return why two evaluations cannot be compared; empty if they can."""
    if second is None:
        return ""
    if first.version_id != second.version_id:
        return "They are measured on different versions. Choose two of one version."
    if first.options.get("split", "") != second.options.get("split", ""):
        return "They are measured on different splits. Choose two of one split."
    if first.setup != second.setup:
        return "One gives choices, the other scores. Choose two of one kind."
    return ""


def _pair_context(found: dict[str, Any]) -> dict[str, Any]:
    measure, figures = next(iter(found.items()))
    return {
        "measure": measure,
        "difference": figure_cell(figures["difference"], figures["triplets"]),
        "figures": figures,
        "p": Cell(f"{figures['p']:.4f}", json.dumps(figures["p"])),
    }


def _people_context(figures: dict[str, Any]) -> dict[str, Any]:
    published = paper_figures()
    averages = next(row for row in published.tables["people"] if row.model == "Average").figures
    beside = {**published.single, **averages}
    shares = [
        (label, number_cell(figures[name], figures["triplets"]), beside.get(name))
        for name, label in PEOPLE_SHARES.items()
    ]
    return {"shares": shares, "judged": figures["triplets"]}
