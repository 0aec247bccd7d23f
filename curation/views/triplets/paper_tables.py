"""Published tables of Ventura et al. 2025 that have no counterpart of ours on the comparisons page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from curation.evaluation.nleye_paper import PaperRow, paper_figures
from curation.views.triplets.evaluation_cells import Cell, paper_cell
from curation.views.triplets.evaluation_names import PAPER_STRATEGIES


@dataclass(frozen=True, slots=True)
class FurtherTable:
    """A published table: its title, the headings of its figures, and rows of name, detail and figures."""

    title: str
    headings: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[tuple[str, Cell]]]]


def further_tables() -> list[FurtherTable]:
    """Return the further tables, in the order of the paper."""
    return [
        _table(
            "captions",
            "Descriptions by a model (tables 3 and 13)",
            {"triplet": "Consistency, %"},
            lambda row: f"read by {row.predictor}",
        ),
        _table("candidates", "Judged explanations (table 10)", {"explanations": "Explanations"}),
        _table(
            "people",
            "Models beside people (table 11)",
            {
                "both_right": "Both right, %",
                "model_only": "Model alone, %",
                "both_wrong": "Both wrong, %",
                "people_only": "People alone, %",
            },
        ),
        _table("open_models", "Further models (table 12)", {"triplet": "Consistency, %"}),
        _table(
            "prompts",
            "Variants of the prompt (table 14)",
            {"triplet": "Consistency, %"},
            lambda row: row.variant.replace("-", " "),
        ),
        _table(
            "photographs",
            "Photographs (appendix D.2.2)",
            {"triplet": "Consistency, %"},
            lambda row: row.variant,
        ),
        _table(
            "failures",
            "Causes of wrong choices (figure 7)",
            {
                "comparison": "Comparison, %",
                "details": "Details, %",
                "knowledge": "Knowledge, %",
                "style": "Style, %",
                "time": "Time, %",
            },
        ),
        _table(
            "related",
            "Other benchmarks, in their own measures",
            {"people": "People", "best_model": "Best model"},
            lambda row: row.source,
        ),
    ]


def _saw(row: PaperRow) -> str:
    return PAPER_STRATEGIES.get(row.strategy, row.strategy)


def _table(
    name: str, title: str, headings: dict[str, str], detail: Callable[[PaperRow], str] = _saw
) -> FurtherTable:
    rows = [
        (
            row.model,
            detail(row),
            [(heading, paper_cell(row.figures.get(figure))) for figure, heading in headings.items()],
        )
        for row in paper_figures().tables[name]
    ]
    return FurtherTable(title, list(headings.values()), rows)
