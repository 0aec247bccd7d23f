"""The papers' tables beside ours: values, dots on one axis, the batch-size curve, and what makes a row that lacks."""

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
from curation.scorer.recipes import (
    BATCH_CURVE,
    COLUMN_MEASURES,
    TABLE_COLUMNS,
    TABLES,
    Recipe,
    RecipeKind,
    default_model,
)
from curation.selectors.jobs import ABLATIONS, latest_job
from curation.selectors.versions import sealed_versions, splits_of
from curation.services.ablation_tables import AblationRow, Cell, RowState, ablation_table, curve
from curation.versions.families import family_of
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation.evaluation_sections import split_words
from curation.views.plots import Plot
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Project
from hits.views.access import project_page
from validation.domain.reports.plots import decimals

STATES = {
    RowState.MADE: ("", ""),
    RowState.TRAINED: ("badge--info", "Trained, not evaluated"),
    RowState.MISSING: ("", "Not made"),
    RowState.OTHERS: ("", "Not ours"),
}
DOTTED = ("Table 3", "Figure 4a", "Table 4")
CURVES = ("comparison", "gt_accuracy", "p_at_1")


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A measure of a row as words."""

    short: str
    paper: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of a table as words; ``url`` leads to what ours rests on, ``command`` makes it.

    differs: where its training differs from the recipe. known: that it was trained or chosen with these pairs.
    """

    words: str
    note: str
    look: str
    state: str
    cells: tuple[ShownCell, ...]
    counts: str
    model: str
    differs: str
    known: str
    url: str
    command: str


@dataclass(frozen=True, slots=True)
class ShownTable:
    """One of the paper's tables."""

    name: str
    heads: tuple[str, ...]
    rows: tuple[ShownRow, ...]
    plots: tuple[charts.DotPlot, ...]


@require_safe
@project_page()
def ablations(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the paper's tables and ours for a sealed version and split."""
    family = family_of(project)
    versions = sealed_versions(project) if family.evaluates else []
    version = next((one for one in versions if str(one.pk) == request.GET.get("version")), None)
    version = version or (versions[0] if versions else None)
    latest = latest_job(project, ABLATIONS)
    context: dict[str, Any] = {
        "project": project,
        "section": "scorers",
        "tab": "ablations",
        "family": family,
        "versions": versions,
        "version": version,
        "jobs": [latest] if latest is not None and latest.state in OPEN_JOB_STATES else [],
        "failed": latest if latest is not None and latest.state == JobState.FAILED else None,
    }
    if version is not None:
        context |= _tables(version, request.GET.get("split"))
    return render(request, "curation/scorers/ablations.html", context)


def _tables(version: DatasetVersion, asked: str | None) -> dict[str, Any]:
    splits = splits_of(version)
    split = asked if asked in splits else (splits[0] if splits else "")
    rows = ablation_table(version, split)
    models = sorted({row.scorer.config.get("model", "") for row in rows if row.scorer is not None} - {""})
    missing = [row for row in rows if row.state in {RowState.MISSING, RowState.TRAINED}]
    return {
        "split": split,
        "splits": [(one, split_words(one)) for one in splits],
        "tables": [_table(name, rows, version, split) for name in TABLES],
        "curves": _curves(rows),
        "models": models,
        "made": sum(row.state is RowState.MADE for row in rows),
        "missing": len(missing),
        "everything": command(version, split, []),
    }


def command(version: DatasetVersion, split: str, names: Sequence[str]) -> str:
    """Return the command that makes some rows, or all of them."""
    words = ["manage.py", "ablations", "--project", version.project.slug, "--version", version.name]
    words += ["--split", split or ALL]
    return shlex.join([*words, "--recipes", ",".join(names)] if names else words)


def _table(name: str, rows: Sequence[AblationRow], version: DatasetVersion, split: str) -> ShownTable:
    members = [row for row in rows if name in row.recipe.tables]
    if name == BATCH_CURVE:
        members = [row for _, row in curve(rows)]
    kept = TABLE_COLUMNS[name]
    plotted = [one for one in kept if any(row.cells[one].value is not None for row in members)]
    plots = [_dots(name, one, members, version.project.slug) for one in plotted] if name in DOTTED else []
    return ShownTable(
        name=name,
        heads=tuple(COLUMN_MEASURES[one].short for one in kept),
        rows=tuple(_row(row, kept, version, split) for row in members),
        plots=tuple(plot for plot in plots if plot is not None),
    )


def _row(row: AblationRow, kept: Sequence[str], version: DatasetVersion, split: str) -> ShownRow:
    look, state = STATES[row.state]
    is_missing = row.state in {RowState.MISSING, RowState.TRAINED} and row.recipe.kind is not RecipeKind.BOUND
    return ShownRow(
        words=row.recipe.words,
        note=row.recipe.note,
        look=look,
        state=state,
        cells=tuple(_cell(COLUMN_MEASURES[name].short, row.cells[name]) for name in kept),
        counts=row.counted(kept),
        model=row.model if row.model != default_model() else "",
        differs=", ".join(row.differs),
        known=row.known_words,
        url=_url(row, version.project.slug),
        command=_command(row.recipe, version, split) if is_missing else "",
    )


def _command(recipe: Recipe, version: DatasetVersion, split: str) -> str:
    """Return the command that makes one row, with a place for weights that have to be named."""
    trained = recipes.get(recipe.trains_as) if recipe.kind is RecipeKind.EVALUATED else recipe
    needs_model = trained.changes.get("model") == ""
    return command(version, split, [recipe.name]) + (" --model scorer:NAME" if needs_model else "")


def _url(row: AblationRow, slug: str) -> str:
    return reverse("evaluation", args=[slug, row.evaluation.pk]) if row.evaluation is not None else ""


def _cell(short: str, cell: Cell) -> ShownCell:
    return ShownCell(
        short=short,
        paper="–" if cell.paper is None else decimals(cell.paper, 1),
        value="–" if cell.value is None else decimals(cell.value, 1),
        interval=charts.interval(_figure(cell)),
    )


def _figure(cell: Cell) -> dict[str, float | None]:
    return {"value": cell.value, "low": cell.low, "high": cell.high}


def _dots(table: str, name: str, rows: Sequence[AblationRow], slug: str) -> charts.DotPlot | None:
    measure = COLUMN_MEASURES[name]
    named = [
        charts.Named(
            row.recipe.words,
            _url(row, slug),
            {"paper": {"value": row.cells[name].paper}, "ours": _figure(row.cells[name])},
        )
        for row in rows
    ]
    return charts.dot_plot(f"{table}: {measure.title}", named, unit=measure.axis)


def _curves(rows: Sequence[AblationRow]) -> list[Plot]:
    points = curve(rows)
    found = [
        charts.curve(
            COLUMN_MEASURES[name].title,
            {
                "paper": [(size, {"value": row.cells[name].paper}) for size, row in points],
                "ours": [(size, _figure(row.cells[name])) for size, row in points],
            },
        )
        for name in CURVES
    ]
    return [one for one in found if one is not None]
