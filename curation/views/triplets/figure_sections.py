"""Sections of an evaluation's page: every measure, answers without a position, corrections, and figures by group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.evaluation.nleye import PAIRS, TRIPLET
from curation.views.triplets.comparison_tables import ORDER_COLUMNS, PAIR_COLUMNS, gap_cell
from curation.views.triplets.evaluation_cells import (
    POINTS,
    Cell,
    Column,
    count_cell,
    figure_cell,
    interval_note,
    number_cell,
)
from curation.views.triplets.evaluation_charts import group_label, heat_step
from curation.views.triplets.evaluation_names import GROUPING_LABELS
from curation.views.triplets.people_section import MeasureRow

CHOICE_MEASURES: Mapping[str, tuple[str, str]] = {
    "consistency_accuracy": ("Consistency accuracy", "gold in both orders; chance is 25 %"),
    "gold_first_accuracy": ("Gold-first accuracy", "gold chosen where it stands first"),
    "gold_second_accuracy": ("Gold-second accuracy", "gold chosen where it stands second"),
    "order_gap": ("Order gap", "difference of the two"),
    "mean_single_order_accuracy": ("Mean accuracy in one order", "mean of the two"),
    "any_order_accuracy": ("Right in any order", "at least once"),
    "consistent": ("Consistent answers", "the same hypothesis both times, right or wrong"),
    "first_position_share": ("First position", "of the answers that name an image; ½ without a bias"),
}
SCORE_MEASURES: Mapping[str, tuple[str, str]] = {
    "order_faithful_accuracy": (
        "Order-faithful accuracy",
        "gold has the higher score; 45 % by chance of ten points",
    ),
    "equal_share": ("Equal scores", "both hypotheses have the same score; wrong"),
}
SCORE_MEANS: Mapping[str, tuple[str, str]] = {
    "mean_difference": ("Difference", "between the scores of both hypotheses"),
    "mean_difference_when_right": ("Difference when right", "where gold has the higher score"),
    "mean_difference_when_wrong": ("Difference when wrong", "elsewhere"),
    "mean_score_gold": ("Score of gold", "mean"),
    "mean_score_other": ("Score of the other hypothesis", "mean"),
}
REASON_LABELS: Mapping[str, str] = {
    "equal": "Both equally plausible",
    "none": "None of them",
    "refused": "Refused by the provider’s rules",
    "unparseable": "Could not be read",
    "missing": "Not asked or no answer",
}
GAP, MEAN_OF_GAPS = "order_gap", "mean of the gaps"
CORRECTED = ("consistency_accuracy", "gold_first_accuracy", "gold_second_accuracy", "order_gap")
CHECK_LABELS: Mapping[str, tuple[str, str]] = {
    "short": ("Short explanations", "candidates of at most the median length"),
    "long": ("Long explanations", "longer candidates; a gap to the short ones is a bias for length"),
    "other_triplet": ("Explanations of other triplets", "gold ones; must be about 0"),
    "people": ("People’s own", "each graded against the others"),
}


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Figures by the groups of one grouping. rows: label, cells with their columns, and the shade of the first."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[tuple[str, int, int, Sequence[tuple[Column, Cell]]]]
    macro: Sequence[tuple[Column, Cell]]
    note: str = ""


def measure_rows(figures: Mapping[str, Any], setup: str) -> list[MeasureRow]:
    """Return every measure of a setup with its interval and n."""
    n = figures["triplets"]
    if setup == PAIRS:
        rows = [MeasureRow(*labels, figure_cell(figures[name], n)) for name, labels in SCORE_MEASURES.items()]
        rows.append(MeasureRow("Without both scores", "triplets; wrong", count_cell(figures["missing"])))
        return rows + [
            MeasureRow(*labels, figure_cell(figures[name], unit=POINTS))
            for name, labels in SCORE_MEANS.items()
        ]
    rows = []
    for name, labels in CHOICE_MEASURES.items():
        count = figures["valid_presentations"] if name == "first_position_share" else n
        cell = gap_cell(figures, n) if name == GAP else figure_cell(figures[name], count)
        rows.append(MeasureRow(*labels, cell))
    p = Cell(
        f"{figures['position_p']:.3g}", repr(figures["position_p"]), count=figures["valid_presentations"]
    )
    rows.append(MeasureRow("Position test, p", "exact test of the first position against one half", p))
    return rows


def reason_rows(figures: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return how many answers name no image, by reason; empty if all name one."""
    reasons: Mapping[str, int] = figures.get("reasons", {})
    return [(REASON_LABELS[name], count) for name, count in reasons.items() if count]


@dataclass(frozen=True, slots=True)
class Corrections:
    """Figures with the replies that people read, beside those without. share: percent of all answers."""

    replies: int
    share: Cell
    rows: Sequence[tuple[str, Cell, Cell]]


def correction_rows(figures: Mapping[str, Any]) -> Corrections | None:
    """Return the figures with and without corrections; None if nobody corrected a reply."""
    found = figures.get("corrections")
    if not found:
        return None
    n = figures[TRIPLET]["triplets"]
    rows = [
        (
            CHOICE_MEASURES[name][0],
            figure_cell(figures[TRIPLET][name], n),
            figure_cell(found["as_parsed"][name], n),
        )
        for name in CORRECTED
    ]
    return Corrections(found["replies"], number_cell(found["share"]), rows)


def group_tables(figures: Mapping[str, Any], setup: str) -> list[GroupTable]:
    """Return a table for each grouping; groups without triplets are left out."""
    names = tuple(SCORE_MEASURES) if setup == PAIRS else CORRECTED
    columns = PAIR_COLUMNS[: len(names)] if setup == PAIRS else ORDER_COLUMNS[: len(names)]
    tables = []
    for grouping, title in GROUPING_LABELS.items():
        found = figures["groups"][grouping]
        rows = [
            (
                group_label(label),
                group[setup]["triplets"],
                heat_step(group[setup][names[0]]["value"]),
                [
                    (column, gap_cell(group[setup]) if name == GAP else figure_cell(group[setup][name]))
                    for column, name in zip(columns, names, strict=True)
                ],
            )
            for label, group in found["groups"].items()
            if group[setup]["triplets"]
        ]
        macro = [
            (column, figure_cell(found["macro"][setup].get(name), note=MEAN_OF_GAPS if name == GAP else ""))
            for column, name in zip(columns, names, strict=True)
        ]
        cells = [cell for *_, shown in rows for _, cell in shown] + [cell for _, cell in macro]
        tables.append(GroupTable(title, columns, rows, macro, interval_note(cells)))
    return tables


def check_rows(figures: Mapping[str, Any]) -> list[MeasureRow]:
    """Return a judge's scores on its checks."""
    rows = []
    for name, check in figures["checks"].items():
        label, meaning = CHECK_LABELS.get(name, (name, ""))
        rows.append(MeasureRow(label, meaning, figure_cell(check["score"], check["explanations"])))
        if "bertscore" in check:
            rows.append(
                MeasureRow(label, "BERTScore", figure_cell(check["bertscore"], check["explanations"]))
            )
    return rows
