"""The pages of one evaluation of image triplets: figures, triplets by outcome, one triplet, and downloads."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from curation.evaluation.nleye import PAIRS, TRIPLET
from curation.models import CallState, TripletEvaluation, TripletSource
from curation.selectors.triplets.evaluation_results import (
    Outcome,
    call_counts,
    triplet_results,
)
from curation.selectors.triplets.evaluations import (
    count_unread_replies,
    evaluations,
    version_triplets,
)
from curation.selectors.triplets.model_calls import lost_calls
from curation.selectors.triplets.prediction_files import (
    FIGURES_FILE,
    FIGURES_TABLE,
    KEY_FILE,
    PAIRS_FILE,
    PREDICTIONS_FILE,
    TABLE_FILE,
    figures_json,
    figures_table,
    prediction_files,
    prediction_table,
)
from curation.views.evaluation.evaluation_sections import fact_rows
from curation.views.pages import as_download, tab_context, triplet_project_page
from curation.views.triplets.comparison_tables import judge_cells, judge_columns, judge_warning
from curation.views.triplets.evaluation_cells import interval_note
from curation.views.triplets.evaluation_names import (
    GROUPING_LABELS,
    SETUP_LABELS,
    evaluation_label,
    evaluation_state,
    settings_in_words,
    until_text,
    what_it_saw,
)
from curation.views.triplets.figure_sections import (
    check_rows,
    correction_rows,
    group_tables,
    measure_rows,
    reason_rows,
)
from curation.views.triplets.people_section import certainty_rows, people_rows
from curation.views.triplets.result_parts import OUTCOME_LABELS, shown_results
from hits.models import Project
from hits.views.pages import get_or_404, get_page, job_if_failed, job_if_open

TAB = "evaluations"
PER_PAGE = 24
MAX_LOST = 50
CONTENT_TYPES = {"json": "application/json", "jsonl": "application/x-ndjson", "csv": "text/csv"}
CALL_LABELS: Mapping[str, str] = {
    CallState.SENT: "In flight",
    CallState.SETTLED: "Answered",
    CallState.REFUSED: "Refused by the provider",
    CallState.FAILED: "Failed",
    CallState.LOST: "Lost in flight",
}
Maker = Callable[[TripletEvaluation], bytes]


def get_evaluation(project: Project, evaluation_id: int) -> TripletEvaluation:
    """Return an evaluation of the project, or raise Http404."""
    return get_or_404(evaluations(project).filter(pk=evaluation_id).first())


def has_answers(row: TripletEvaluation) -> bool:
    """Whether an evaluation has choices or scores of its own; people's answers and grades are stored elsewhere."""
    return row.setup in {TRIPLET, PAIRS} and row.source != TripletSource.PEOPLE


def get_answered_evaluation(project: Project, evaluation_id: int) -> TripletEvaluation:
    """Return an evaluation that has choices or scores, or raise Http404."""
    row = get_evaluation(project, evaluation_id)
    return get_or_404(row if has_answers(row) else None)


def evaluation_context(project: Project, row: TripletEvaluation) -> dict[str, Any]:
    """Return what the pages below an evaluation's page share."""
    settings = settings_in_words(row)
    return tab_context(project, TAB, "triplets") | {
        "evaluation": row,
        "label": evaluation_label(row),
        "saw": f"{what_it_saw(row)}, {settings}" if settings else what_it_saw(row),
        "setup_label": SETUP_LABELS.get(row.setup, row.setup),
    }


@require_safe
@triplet_project_page()
def triplet_evaluation(request: HttpRequest, project: Project, evaluation_id: int) -> HttpResponse:
    """Show an evaluation: its figures by group, its triplets by outcome, its calls and its provenance."""
    row = get_evaluation(project, evaluation_id)
    context = evaluation_context(project, row) | {
        "state": evaluation_state(row),
        "jobs": [row.job] if job_if_open(row.job) else [],
        "failed": job_if_failed(row.job),
        "has_predictions": has_answers(row),
        "answers_file": PREDICTIONS_FILE if row.setup == TRIPLET else PAIRS_FILE,
        "provenance": fact_rows(row.provenance, without=("prompts", "stopped")),
        "prompts": row.provenance.get("prompts", {}).items(),
        "stopped": row.provenance.get("stopped", ""),
        "unread": count_unread_replies([row.pk]).get(row.pk, 0),
        **_call_context(row),
    }
    if row.figures:
        context |= _figure_context(request, row)
    return render(request, "curation/triplets/evaluations/evaluation.html", context)


def _figure_context(request: HttpRequest, row: TripletEvaluation) -> dict[str, Any]:
    if row.source == TripletSource.PEOPLE:
        rows, certainty = people_rows(row), certainty_rows(row.figures)
        return {
            "people": rows,
            "certainty": certainty,
            "until": until_text(row),
            "interval_note": interval_note(
                [*(found.cell for found in rows), *(cell for _, cell in certainty)]
            ),
        }
    if row.source == TripletSource.JUDGE:
        figures = row.figures["judge"]
        checks = check_rows(figures)
        columns = judge_columns([figures])
        total = judge_cells(figures, columns)
        models = [(name, judge_cells(found, columns)) for name, found in row.figures["models"].items()]
        return {
            "judge": total,
            "checks": checks,
            "checks_note": interval_note(found.cell for found in checks),
            "judged_models": models,
            "judge_warning": judge_warning(figures),
            "until": until_text(row),
            "interval_note": interval_note(cell for _, cells in [("", total), *models] for _, cell in cells),
        }
    measures = measure_rows(row.figures[row.setup], row.setup)
    return {
        "measures": measures,
        "interval_note": interval_note(found.cell for found in measures),
        "reasons": reason_rows(row.figures[row.setup]),
        "corrections": correction_rows(row.figures),
        "group_tables": group_tables(row.figures, row.setup),
        "grouping_labels": GROUPING_LABELS,
        **_result_context(request, row),
    }


def _result_context(request: HttpRequest, row: TripletEvaluation) -> dict[str, Any]:
    """Return a page of the triplets, the worst outcomes first, or those of one outcome."""
    assert row.version is not None
    results = triplet_results(row, version_triplets(row.version, row.options.get("split", "")))
    counts = Counter(result.outcome for result in results)
    selected = request.GET.get("outcome", "")
    shown = [result for result in results if not selected or result.outcome == selected]
    page = get_page(request, shown, PER_PAGE)
    return {
        "outcomes": [
            (outcome.value, OUTCOME_LABELS[row.setup, outcome], counts[outcome])
            for outcome in Outcome
            if (row.setup, outcome) in OUTCOME_LABELS
        ],
        "outcome": selected,
        "total": len(results),
        "page": page,
        "results": shown_results(row, page),
    }


def _call_context(row: TripletEvaluation) -> dict[str, Any]:
    if row.run is None:
        return {}
    lost = lost_calls(row.run)
    counts = call_counts(row.run)
    return {
        "run": row.run,
        "calls": counts,
        "call_states": [(CALL_LABELS[state], count) for state, count in sorted(counts.by_state.items())],
        "lost": lost[:MAX_LOST] if counts.lost else (),
        "lost_left_out": max(0, counts.lost - MAX_LOST),
    }


@require_safe
@triplet_project_page()
def download_triplet_evaluation(
    request: HttpRequest, project: Project, evaluation_id: int, name: str
) -> HttpResponse:
    """Download the answers, their key, or the figures."""
    row = get_evaluation(project, evaluation_id)
    make = get_or_404(_makers(row).get(name), "There is no such file of this evaluation.")
    kind = CONTENT_TYPES[name.rpartition(".")[2]]
    return as_download(HttpResponse(make(row), content_type=kind), f"evaluation-{row.pk}-{name}")


def _makers(row: TripletEvaluation) -> Mapping[str, Maker]:
    """Return what makes each file of an evaluation, by name."""
    found: dict[str, Maker] = (
        {FIGURES_FILE: figures_json, FIGURES_TABLE: figures_table} if row.figures else {}
    )
    if has_answers(row):
        answers = PREDICTIONS_FILE if row.setup == TRIPLET else PAIRS_FILE
        found |= {name: _file_maker(name) for name in (KEY_FILE, answers)}
        found[TABLE_FILE] = prediction_table
    return found


def _file_maker(name: str) -> Maker:
    return lambda row: prediction_files(row)[name]
