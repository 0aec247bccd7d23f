"""Charts of evaluations of image triplets: accuracy by the position of gold, and figures by group as a heat map."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from curation.evaluation.nleye_paper import paper_figures
from curation.models import TripletEvaluation, TripletSource
from curation.services.triplets.evaluations import PAIRS, TRIPLET
from curation.views.triplets.comparison_tables import newest_of, newest_rows
from curation.views.triplets.evaluation_cells import Cell, figure_cell
from curation.views.triplets.evaluation_names import (
    CATEGORY,
    PAPER_STRATEGIES,
    evaluation_label,
    settings_in_words,
    what_it_saw,
)
from curation.views.triplets.labels import CATEGORY_LABELS, CELL_LABELS
from hits.charts.chart import STRIP_HEIGHT, Bar, Chart, Dot, Label, ReferenceLine
from hits.charts.coefficients import HEAT_STEPS
from hits.charts.scale import Scale, decimal_text, svg_pixels
from hits.charts.strips import STRIP_MIDDLE, axis_strip

SCALE = Scale(0.0, 100.0)
TICKS = (0, 25, 50, 75, 100)
MAX_PLOTTED = 12
LABEL_SIDE = 70.0  # percent of the width; labels further right are left of their line
CHANCE = 25.0
GROUP_LABELS: Mapping[str, str] = {**CATEGORY_LABELS, **CELL_LABELS}


@dataclass(frozen=True, slots=True)
class Dumbbell:
    """One model: accuracy where gold stands first and second, joined by a line, and consistency as a mark."""

    name: str
    saw: str
    url: str
    strip: Chart
    first: str
    second: str
    consistency: str
    is_paper: bool


@dataclass(frozen=True, slots=True)
class DumbbellPlot:
    """Dumbbells over one axis of percent."""

    rows: Sequence[Dumbbell]
    axis: Chart
    line_labels: Chart


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One evaluation in a heat map: for each group its label, figure and shade, and the macro mean."""

    name: str
    saw: str
    url: str
    cells: Sequence[tuple[str, Cell, int]]
    macro: Cell


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Accuracy by group. counts: the triplets of each group."""

    groups: Sequence[tuple[str, int]]
    rows: Sequence[HeatRow]


def dumbbell_plot(rows: Sequence[TripletEvaluation], *, with_paper: bool = True) -> DumbbellPlot | None:
    """Return the dumbbells of the newest evaluations of choices, then those of the paper; None without any."""
    people = newest_of(rows, TripletSource.PEOPLE)
    majority = people.figures["people"]["majority_accuracy"]["value"] if people else None
    published = next(row for row in paper_figures().tables["main"] if row.strategy == "people").figures[
        "triplet"
    ]
    lines = {"Chance": CHANCE}
    if majority is None:
        lines["People, published"] = published
    else:
        lines["People’s majority"] = majority
    rules = [ReferenceLine(x=SCALE.x(at), kind=f"line-{n}") for n, at in enumerate(lines.values(), start=1)]
    found = [
        _dumbbell(
            _name(row),
            what_it_saw(row),
            [
                row.figures[TRIPLET][f"{name}_accuracy"]["value"]
                for name in ("gold_first", "gold_second", "consistency")
            ],
            rules,
            url=reverse("triplet-evaluation", args=[row.project.slug, row.pk]),
        )
        for row in list(newest_rows(rows, TRIPLET).values())[:MAX_PLOTTED]
    ]
    if with_paper:
        found += [
            _dumbbell(
                row.model,
                PAPER_STRATEGIES[row.strategy],
                [row.figures[name] for name in ("gold_first", "gold_second", "consistency")],
                rules,
            )
            for row in paper_figures().tables["orders"]
        ]
    if not found:
        return None
    axis = axis_strip([(at, str(at), "") for at in TICKS], SCALE)
    return DumbbellPlot(found, axis, _line_labels(lines, rules))


def _name(row: TripletEvaluation) -> str:
    settings = settings_in_words(row)
    return f"{evaluation_label(row)} ({settings})" if settings else evaluation_label(row)


def _dumbbell(
    name: str, saw: str, values: Sequence[float], rules: Sequence[ReferenceLine], *, url: str = ""
) -> Dumbbell:
    first, second, consistency = values
    texts = [decimal_text(value, 1) for value in values]
    summary = f"{name}, {saw.lower()}: gold first {texts[0]}, gold second {texts[1]}, consistency {texts[2]} percent"
    low, high = sorted((first, second))
    strip = Chart(
        summary=summary,
        height=STRIP_HEIGHT,
        kind="dumbbell",
        is_strip=True,
        reference_lines=list(rules),
        bars=[
            Bar(SCALE.x(low), svg_pixels(STRIP_HEIGHT / 2 - 1.5), SCALE.width(low, high), "3", kind="link")
        ],
        dots=[
            Dot(kind, SCALE.x(value), STRIP_MIDDLE, f"{label} {text}")
            for kind, label, value, text in zip(
                ("second", "first", "mark"),
                ("Gold second", "Gold first", "Consistency"),
                (second, first, consistency),
                (texts[1], texts[0], texts[2]),
                strict=True,
            )
        ],
    )
    return Dumbbell(name, saw, url, strip, texts[0], texts[1], texts[2], is_paper=not url)


def _line_labels(lines: Mapping[str, float], rules: Sequence[ReferenceLine]) -> Chart:
    labels = []
    for index, (text, value) in enumerate(lines.items()):
        anchor = "end" if SCALE.position(value) > LABEL_SIDE else "start"
        label = f"{text} {decimal_text(value, 1)}"
        labels.append(Label(SCALE.x(value), str(10 + 14 * index), label, anchor, kind=rules[index].kind))
    return Chart("", 16 + 14 * len(lines), kind="lines", is_strip=True, labels=labels)


def heat_map(rows: Sequence[TripletEvaluation], grouping: str, setup: str = TRIPLET) -> HeatMap | None:
    """Return accuracy by the groups of a grouping, one row an evaluation; None without evaluations in the setup.

    People's majority is a row of its own in the grouping by category. Groups without triplets are left out.
    """
    measure = "order_faithful_accuracy" if setup == PAIRS else "consistency_accuracy"
    shown = list(newest_rows(rows, setup).values())[:MAX_PLOTTED]
    found: list[tuple[TripletEvaluation, Mapping[str, Any], Any]] = [
        (
            row,
            {
                label: (group[setup][measure], group[setup]["triplets"])
                for label, group in row.figures["groups"][grouping]["groups"].items()
                if group[setup]["triplets"]
            },
            row.figures["groups"][grouping]["macro"][setup].get(measure),
        )
        for row in shown
    ]
    people = newest_of(rows, TripletSource.PEOPLE)
    if people is not None and grouping == CATEGORY and setup == TRIPLET:
        by_group = people.figures["category"]
        counted = {
            label: (group["majority_accuracy"], group["judged"])
            for label, group in by_group["groups"].items()
            if group["judged"]
        }
        found.insert(0, (people, counted, {"value": by_group["macro"]}))
    labels = list(dict.fromkeys(label for _, cells, _ in found for label in cells))
    if not shown or not labels:
        return None
    counts = {label: max(cells[label][1] for _, cells, _ in found if label in cells) for label in labels}
    return HeatMap(
        [(group_label(label), counts[label]) for label in labels],
        [_heat_row(row, cells, macro, labels) for row, cells, macro in found],
    )


def group_label(name: str) -> str:
    """Return the label of a category, a temporal cell or a domain."""
    return GROUP_LABELS.get(name, name[:1].upper() + name[1:])


def heat_step(value: float | None) -> int:
    """Return the shade of a share in percent, 0 to 9."""
    return 0 if value is None else min(HEAT_STEPS, int(value / 100 * (HEAT_STEPS + 1)))


def _heat_row(row: TripletEvaluation, cells: Mapping[str, Any], macro: Any, labels: Sequence[str]) -> HeatRow:
    shown = []
    for label in labels:
        figure, count = cells.get(label, (None, None))
        shade = heat_step(figure["value"] if figure else None)
        shown.append((group_label(label), figure_cell(figure, count), shade))
    url = reverse("triplet-evaluation", args=[row.project.slug, row.pk])
    return HeatRow(_name(row), what_it_saw(row), url, shown, figure_cell(macro))
