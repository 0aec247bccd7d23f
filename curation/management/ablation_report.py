"""The tables of Hessel et al. 2022 next to our figures, for a terminal and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from curation.models import DatasetVersion
from curation.scorer.recipes import COLUMN_MEASURES, TABLE_COLUMNS, TABLES
from curation.services.ablation_tables import AblationRow, Cell, RowState, batch_size_curve

STATE_LABELS = {
    RowState.TRAINED: "trained, not evaluated",
    RowState.MISSING: "not trained",
    RowState.OTHERS: "published only",
}


def describe_comparison_limits(version: DatasetVersion, split: str, rows: Iterable[AblationRow]) -> str:
    """Describe the limits of the comparison: the datasets differ, and some models differ."""
    models = sorted({row.scorer.config.get("model", "") for row in rows if row.scorer is not None} - {""})
    started = f", with models trained from {', '.join(models)}" if models else ""
    return (
        f"Our figures are of {version.name}, {split or 'all splits'}{started}. The published figures are of the test "
        "set of Sherlock (comparison: also of its validation set). Datasets differ, and some models differ. Compare "
        "the order of rows, not the values. Ranks and P@1 also depend on how many texts are ranked at a time, about "
        "990 in Hessel et al. 2022."
    )


def table_lines(rows: Sequence[AblationRow]) -> Iterator[str]:
    """Yield the lines of all tables; each cell is the published figure | our figure (interval)."""
    for table in TABLES:
        members = [row for row in rows if table in row.recipe.tables]
        shown = TABLE_COLUMNS[table]
        lines = [["", *(COLUMN_MEASURES[name].short for name in shown), ""]]
        for row in _order_rows(table, members):
            cells = [_format_cell(row.cells[name]) for name in shown]
            lines.append([row.recipe.label, *cells, _describe_row(row, shown)])
        yield ""
        yield f"{table}: paper | ours (95 % interval)"
        yield from _align_columns(lines)


def _align_columns(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines of aligned columns: the first and the last column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *cells, last in lines:
        middle = "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths[1:-1], strict=True))
        yield f"{first:{widths[0]}}{middle}  {last}".rstrip()


def _order_rows(table: str, rows: Sequence[AblationRow]) -> list[AblationRow]:
    return [row for _, row in batch_size_curve(rows)] if table == "Figure 5" else list(rows)


def _format_cell(cell: Cell) -> str:
    paper = "–" if cell.paper is None else f"{cell.paper:.1f}"
    if cell.value is None:
        return f"{paper} | –"
    if cell.low is None or cell.high is None:
        return f"{paper} | {cell.value:.1f}"
    return f"{paper} | {cell.value:.1f} ({cell.low:.1f}–{cell.high:.1f})"


def _describe_row(row: AblationRow, measures: Sequence[str]) -> str:
    """Describe a row: its state or sample sizes, its model, and warnings about its figures."""
    counted = row.describe_sample_sizes(measures)
    parts = [
        STATE_LABELS.get(row.state, "") or (f"n: {counted}" if counted else ""),
        f"from {row.model}" if row.model else "",
        f"differs from the recipe: {', '.join(row.differences)}" if row.differences else "",
        f"! {row.known_pairs_warning}" if row.known_pairs_warning else "",
    ]
    return "; ".join(filter(None, parts))


def rows_as_json(rows: Iterable[AblationRow]) -> list[dict[str, Any]]:
    """Return the rows as JSON."""
    return [
        {
            "recipe": row.recipe.name,
            "words": row.recipe.label,
            "tables": list(row.recipe.tables),
            "state": row.state.value,
            "scorer": row.scorer.pk if row.scorer is not None else None,
            "evaluation": row.evaluation.pk if row.evaluation is not None else None,
            "differs": list(row.differences),
            "pairs_known_from_training": row.known_pairs,
            "cells": {name: asdict(cell) for name, cell in row.cells.items()},
        }
        for row in rows
    ]
