"""The section about people on the pages of evaluations, beside what Ventura et al. 2025 report of people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.evaluation.nleye_paper import paper_figures
from curation.models import TripletEvaluation
from curation.views.triplets.evaluation_cells import ALPHA, Cell, count_cell, figure_cell, paper_cell


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """A measure with its meaning, our figure and the published one."""

    label: str
    meaning: str
    cell: Cell
    paper: Cell = field(default_factory=Cell)


def people_rows(evaluation: TripletEvaluation | None) -> list[MeasureRow]:
    """Return the measures of people; without an evaluation, dashes beside the published figures."""
    figures: Mapping[str, Any] = evaluation.figures if evaluation else {}
    people, ratings = figures.get("people", {}), figures.get("ratings", {})
    published = next(row for row in paper_figures().tables["main"] if row.strategy == "people").figures
    judged, threes = people.get("judged"), people.get("three_answers")
    return [
        MeasureRow(
            "Individual accuracy",
            "one answer of one person",
            figure_cell(people.get("individual_accuracy"), people.get("answers")),
        ),
        MeasureRow(
            "Majority accuracy",
            "most votes; a tie is wrong",
            figure_cell(people.get("majority_accuracy"), judged),
            paper_cell(published["triplet"]),
        ),
        MeasureRow("Ties", "triplets without a majority", count_cell(people.get("ties"))),
        MeasureRow(
            "Against gold", "gold has no majority; a tie is none", count_cell(people.get("against_gold"))
        ),
        MeasureRow(
            "Unanimous",
            "of the triplets with exactly three answers",
            figure_cell(people.get("unanimous"), threes),
            paper_cell(paper_figures().single["unanimity"]),
        ),
        MeasureRow(
            "Unanimous and right",
            "of the triplets with exactly three answers",
            figure_cell(people.get("unanimous_right"), threes),
        ),
        MeasureRow(
            "Krippendorff’s α",
            "nominal, over hypotheses",
            figure_cell(people.get("alpha_nominal"), judged, unit=ALPHA),
        ),
        MeasureRow(
            "Mean ratings in order",
            "gold has the higher mean rating",
            figure_cell(ratings.get("of_means"), ratings.get("triplets")),
            paper_cell(published["pairs"]),
        ),
        MeasureRow(
            "Own ratings in order",
            "of people who rated both hypotheses",
            figure_cell(ratings.get("individual"), ratings.get("answers")),
        ),
    ]


def certainty_rows(figures: Mapping[str, Any]) -> Sequence[tuple[str, Cell]]:
    """Return the accuracy of people's answers by how certain they were."""
    found: Mapping[str, Mapping[str, Any]] = figures.get("certainty", {})
    return [
        (label.replace("_", " ").capitalize(), figure_cell(row["accuracy"], row["answers"]))
        for label, row in found.items()
    ]
