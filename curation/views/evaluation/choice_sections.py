"""Sections of the pages of multiple-choice evaluations: tables beside the published results, plots, and details."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from curation.evaluation.choice_paper import (
    ABLATIONS,
    CITATION,
    PEOPLE_ROW,
    WITH_BERT,
    PublishedResult,
    Triple,
    published_rows,
)
from curation.evaluation.choices import CHANCE, CHOICES_TASK, MATCH_ROUNDS, MEASURE_NAMES
from curation.models import ChoiceEvaluation, EvaluationSource
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation.evaluation_charts import DotPlot, DotRowData
from curation.views.evaluation.evaluation_sections import split_label
from hits.charts.scale import decimal_text

MEASURE_LABELS: Mapping[str, tuple[str, str]] = {
    "q_a": ("Q→A", "the answer, given the question"),
    "qa_r": ("QA→R", "the rationale, given question and right answer"),
    "q_ar": ("Q→AR", "both are right"),
}
SOURCE_LABELS = {
    EvaluationSource.PREDICTIONS.value: "Predictions file",
    EvaluationSource.JUDGMENTS.value: "People, by majority",
    EvaluationSource.SCORER.value: "Chooser",
}
STAGE_NOUNS = {"answer": "Answers", "rationale": "Rationales"}
MAX_PLOTTED = 12
CHANCE_ROW = "Chance"  # like people, a line in plots and no row


@dataclass(frozen=True, slots=True)
class ChoiceCell:
    """A formatted measure: its value in percent, its interval, and the number of questions."""

    label: str
    meaning: str
    value: str
    interval: str
    count: int | None


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """Comparable evaluations: of the same question set and split, newest first."""

    key: str
    label: str
    split: str
    rows: tuple[ChoiceEvaluation, ...]


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A formatted published row: name, the tables' part, its three figures, and its source."""

    name: str
    group: str
    values: Sequence[str]
    source: str


def choice_cells(evaluation: ChoiceEvaluation) -> list[ChoiceCell]:
    """Return the three measures; missing ones are dashes."""
    figures: Mapping[str, Any] = evaluation.figures.get(CHOICES_TASK, {})
    counts: Mapping[str, int] = figures.get("counts", {})
    return [
        ChoiceCell(
            label,
            meaning,
            _percent(figures.get(name, {}).get("value")),
            charts.format_interval(figures.get(name, {}))
            or ("no interval" if figures.get(name, {}).get("value") is not None else ""),
            counts.get(name),
        )
        for name, (label, meaning) in MEASURE_LABELS.items()
    ]


def _percent(value: float | None) -> str:
    return "–" if value is None else decimal_text(value, 1)


def group_choice_evaluations(evaluations: Iterable[ChoiceEvaluation]) -> list[ChoiceGroup]:
    """Return the finished evaluations in groups, the group with the newest one first."""
    found: dict[tuple[int, str], list[ChoiceEvaluation]] = {}
    for row in evaluations:
        if row.figures:
            found.setdefault((row.question_set_id, row.split), []).append(row)
    return [
        ChoiceGroup(
            f"{set_id}:{split}", f"{rows[0].question_set.name}, {split_label(split)}", split, tuple(rows)
        )
        for (set_id, split), rows in found.items()
    ]


def published_table(split: str) -> list[PublishedRow]:
    """Return the published results to show beside those of a split."""
    return [
        PublishedRow(row.name, row.group, [_percent(value) for value in triple], row.source)
        for row, triple in published_rows(split)
    ]


def choice_plots(group: ChoiceGroup, project_slug: str) -> list[DotPlot]:
    """Return a dot plot of each measure: ours, and the published results, between chance and people."""
    published = published_rows(group.split)
    candidates = [
        charts.dot_plot(
            f"{label}: {meaning}",
            [*_our_rows(group, name, project_slug), *_published_plot_rows(published, position)],
            lines=_reference_lines(published, name, position),
            note=f"Published: {CITATION}, table 1, on other images and questions.",
        )
        for position, (name, (label, meaning)) in enumerate(MEASURE_LABELS.items())
    ]
    return [plot for plot in candidates if plot is not None]


def _our_rows(group: ChoiceGroup, measure: str, project_slug: str) -> list[DotRowData]:
    return [
        DotRowData(
            row.label,
            reverse("choice-evaluation", args=[project_slug, row.pk]),
            {"ours": row.figures[CHOICES_TASK].get(measure, {})},
        )
        for row in group.rows[:MAX_PLOTTED]
    ]


def _published_plot_rows(
    published: Sequence[tuple[PublishedResult, Triple]], position: int
) -> list[DotRowData]:
    return [
        DotRowData(row.name, "", {"paper": {"value": triple[position]}})
        for row, triple in published
        if row.name not in {PEOPLE_ROW, CHANCE_ROW} and row.group not in {ABLATIONS, WITH_BERT}
    ]


def _reference_lines(
    published: Sequence[tuple[PublishedResult, Triple]], measure: str, position: int
) -> dict[str, float]:
    people = [triple[position] for row, triple in published if row.name == PEOPLE_ROW]
    return {CHANCE_ROW: CHANCE[measure]} | ({"People, published": people[0]} if people else {})


@dataclass(frozen=True, slots=True)
class RoundRow:
    """How often a model chose the wrong response of a match round, and scored the right one above it; formatted."""

    stage: str
    round: int
    chosen: str
    right_above: str


def round_rows(figures: Mapping[str, Any]) -> list[RoundRow]:
    """Return the rows of the table of match rounds; empty if they are not known."""
    found: Mapping[str, Mapping[str, Any]] = figures.get("rounds", {})
    return [
        RoundRow(
            STAGE_NOUNS[stage],
            number,
            _percent(found[stage][str(number)]["chosen"]),
            _percent(found[stage][str(number)]["right_above"]),
        )
        for stage in STAGE_NOUNS
        if stage in found
        for number in MATCH_ROUNDS
    ]


def joint_rows(evaluation: ChoiceEvaluation) -> list[tuple[str, str, str, str]]:
    """Return (stage, alone, together, lift in points) of the joint choice; empty if sources are not known."""
    found: Mapping[str, Mapping[str, Any]] = evaluation.figures.get("joint", {})
    return [
        (STAGE_NOUNS[stage], _percent(row["alone"]), _percent(row["together"]), _points(row["lift"]))
        for stage, row in found.items()
    ]


def drop_rows(evaluation: ChoiceEvaluation) -> list[tuple[str, int, list[tuple[str, str, str, str]]]]:
    """Return (copy, questions, [(measure, before, after, change in points)]) for each changed copy."""
    found: Mapping[str, Mapping[str, Any]] = evaluation.figures.get("drops", {})
    return [
        (
            name,
            drop["questions"],
            [
                (
                    MEASURE_LABELS[measure][0],
                    _percent(drop[measure]["before"]),
                    _percent(drop[measure]["after"]),
                    _points(-drop[measure]["drop"]),
                )
                for measure in MEASURE_NAMES
            ],
        )
        for name, drop in found.items()
    ]


def _points(value: float | None) -> str:
    """Return a signed difference in points, with a proper minus sign."""
    return "–" if value is None else f"{'+' if value > 0 else ''}{decimal_text(value, 1)}"
