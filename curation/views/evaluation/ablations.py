"""Published tables next to our results: values, dot plots, the batch-size curve, and commands for missing rows."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from curation.families.sherlock.evaluation_plan import ALL
from curation.models import DatasetVersion
from curation.scorer import recipes
from curation.scorer.recipes import COLUMN_MEASURES, Recipe, RecipeKind
from curation.selectors.jobs import ABLATIONS, latest_job
from curation.selectors.versions import sealed_versions, version_splits
from curation.services.ablation_tables import AblationRow, Cell, RowState, ablation_table, batch_size_curve
from curation.versions.families import family_of
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation.evaluation_sections import split_label
from curation.views.pages import tab_context
from hits.charts.chart import Chart
from hits.charts.scale import decimal_text
from hits.models import Project
from hits.views.access import project_page
from hits.views.pages import job_if_failed, job_if_open

STATE_BADGES = {
    RowState.MADE: ("", ""),
    RowState.TRAINED: ("badge--info", "Trained, not evaluated"),
    RowState.MISSING: ("", "Not made"),
    RowState.OTHERS: ("", "Not reproduced"),
}
DOT_PLOT_TABLES = ("Table 3", "Figure 4a", "Table 4")
CURVE_MEASURES = ("comparison", "gt_accuracy", "p_at_1")


@dataclass(frozen=True, slots=True)
class FormattedCell:
    """A formatted measure of a row."""

    short: str
    paper: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class FormattedRow:
    """A formatted row of a table; ``url`` is our evaluation's page, ``command`` makes a missing row.

    differences: how its training differs from the recipe. known_pairs_warning: a note if it was trained or validated
    on these pairs.
    """

    label: str
    note: str
    badge: str
    state: str
    cells: tuple[FormattedCell, ...]
    counts: str
    model: str
    differences: str
    known_pairs_warning: str
    url: str
    command: str


@dataclass(frozen=True, slots=True)
class FormattedTable:
    """A published table with our results."""

    name: str
    headings: tuple[str, ...]
    rows: tuple[FormattedRow, ...]
    plots: tuple[charts.DotPlot, ...]


@require_safe
@project_page()
def ablations(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the published tables and our results on a sealed version and split."""
    family = family_of(project)
    versions = sealed_versions(project) if family.can_evaluate else []
    chosen = [version for version in versions if str(version.pk) == request.GET.get("version")]
    version = next(iter([*chosen, *versions]), None)
    latest = latest_job(project, ABLATIONS)
    context: dict[str, Any] = tab_context(project, "ablations", "scorers") | {
        "family": family,
        "versions": versions,
        "version": version,
        "jobs": list(filter(None, [job_if_open(latest)])),
        "failed": job_if_failed(latest),
    }
    if version is not None:
        context |= _tables_context(version, request.GET.get("split"))
    return render(request, "curation/scorers/ablations.html", context)


def _tables_context(version: DatasetVersion, requested_split: str | None) -> dict[str, Any]:
    splits = version_splits(version)
    split = requested_split if requested_split in splits else (splits[0] if splits else "")
    rows = ablation_table(version, split)
    models = sorted({row.scorer.config.get("model", "") for row in rows if row.scorer is not None} - {""})
    missing = [row for row in rows if row.state in {RowState.MISSING, RowState.TRAINED}]
    return {
        "split": split,
        "splits": [(name, split_label(name)) for name in splits],
        "tables": [_table(name, rows, version, split) for name in recipes.TABLES],
        "curves": _batch_size_charts(rows),
        "models": models,
        "made": sum(row.state is RowState.MADE for row in rows),
        "missing": len(missing),
        "everything": ablation_command(version, split, []),
    }


def ablation_command(version: DatasetVersion, split: str, names: Sequence[str]) -> str:
    """Return the command that makes some rows, or all of them."""
    arguments = ["manage.py", "ablations", "--project", version.project.slug, "--version", version.name]
    arguments += ["--split", split or ALL]
    return shlex.join([*arguments, "--recipes", ",".join(names)] if names else arguments)


def _table(name: str, rows: Sequence[AblationRow], version: DatasetVersion, split: str) -> FormattedTable:
    members = [row for row in rows if name in row.recipe.tables]
    if name == recipes.BATCH_CURVE:
        members = [row for _, row in batch_size_curve(rows)]
    columns = recipes.TABLE_COLUMNS[name]
    plotted = [column for column in columns if any(row.cells[column].value is not None for row in members)]
    drawn = plotted if name in DOT_PLOT_TABLES else []
    plots = [_dot_plot(name, column, members, version.project.slug) for column in drawn]
    return FormattedTable(
        name=name,
        headings=tuple(COLUMN_MEASURES[column].short for column in columns),
        rows=tuple(_row(row, columns, version, split) for row in members),
        plots=tuple(plot for plot in plots if plot is not None),
    )


def _row(row: AblationRow, columns: Sequence[str], version: DatasetVersion, split: str) -> FormattedRow:
    badge, state = STATE_BADGES[row.state]
    is_missing = row.state in {RowState.MISSING, RowState.TRAINED} and row.recipe.kind is not RecipeKind.BOUND
    return FormattedRow(
        label=row.recipe.label,
        note=row.recipe.note,
        badge=badge,
        state=state,
        cells=tuple(_cell(COLUMN_MEASURES[name].short, row.cells[name]) for name in columns),
        counts=row.describe_sample_sizes(columns),
        model=row.model if row.model != recipes.default_model() else "",
        differences=", ".join(row.differences),
        known_pairs_warning=row.known_pairs_warning,
        url=_evaluation_url(row, version.project.slug),
        command=_row_command(row.recipe, version, split) if is_missing else "",
    )


def _row_command(recipe: Recipe, version: DatasetVersion, split: str) -> str:
    """Return the command that makes a row, with a placeholder for weights if needed."""
    trained = recipes.get_recipe(recipe.trains_as) if recipe.kind is RecipeKind.EVALUATED else recipe
    needs_model = trained.changes.get("model") == ""
    return ablation_command(version, split, [recipe.name]) + (" --model scorer:NAME" if needs_model else "")


def _evaluation_url(row: AblationRow, project_slug: str) -> str:
    return reverse("evaluation", args=[project_slug, row.evaluation.pk]) if row.evaluation is not None else ""


def _cell(short: str, cell: Cell) -> FormattedCell:
    return FormattedCell(
        short=short,
        paper="–" if cell.paper is None else decimal_text(cell.paper, 1),
        value="–" if cell.value is None else decimal_text(cell.value, 1),
        interval=charts.format_interval(_cell_figure(cell)),
    )


def _cell_figure(cell: Cell) -> dict[str, float | None]:
    return {"value": cell.value, "low": cell.low, "high": cell.high}


def _dot_plot(table: str, name: str, rows: Sequence[AblationRow], project_slug: str) -> charts.DotPlot | None:
    measure = COLUMN_MEASURES[name]
    named = [
        charts.DotRowData(
            row.recipe.label,
            _evaluation_url(row, project_slug),
            {"paper": {"value": row.cells[name].paper}, "ours": _cell_figure(row.cells[name])},
        )
        for row in rows
    ]
    return charts.dot_plot(f"{table}: {measure.title}", named, unit=measure.axis)


def _batch_size_charts(rows: Sequence[AblationRow]) -> list[Chart]:
    points = batch_size_curve(rows)
    found = [
        charts.batch_size_chart(
            COLUMN_MEASURES[name].title,
            {
                "paper": [(size, {"value": row.cells[name].paper}) for size, row in points],
                "ours": [(size, _cell_figure(row.cells[name])) for size, row in points],
            },
        )
        for name in CURVE_MEASURES
    ]
    return [plot for plot in found if plot is not None]
