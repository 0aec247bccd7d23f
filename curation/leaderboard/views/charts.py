"""The two plots of a leaderboard. Better is always up and to the right."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from curation.evaluation.measures import COMPARISON, P_AT_1, Better, Measure, pearson
from curation.leaderboard.models import LeaderboardEntry
from curation.leaderboard.selectors.tables import Reference, format_figure, measure_figure
from curation.views.evaluation.evaluation_charts import axis_label
from hits.charts.chart import Chart, Dot, PlotArea, Point, ReferenceLine, Table, Tick, ValueWithInterval
from hits.charts.scale import Scale, decimal_text, scale_over, svg_pixels
from hits.charts.scatters import ScatterPoint, scatter

HEIGHT = 240  # pixels
DATES = 4
FEW_DAYS = timedelta(days=3)
MIN_WIDTH = 350.0  # pixels across of two plots beside one another


def over_time(
    entries: Sequence[LeaderboardEntry], measure: Measure, references: Sequence[Reference], place: int
) -> Chart | None:
    """Return a measure of all entries by the time they came in, with the line of the best so far.

    Args:
        entries: oldest first. place: the measure's place among the references' figures.
    """
    found = [(entry, one) for entry in entries if (one := _measured(entry, measure)) is not None]
    if not found:
        return None
    lines = _values_of(references, place)
    moments = [entry.created_at.timestamp() for entry, _ in found]
    up = scale_over([value for _, one in found for value in one if value is not None] + [v for v, _ in lines])
    # Where low is good the low end is up.
    up = up if measure.better is Better.HIGH else Scale(up.high, up.low)
    plot = PlotArea(scale_over(moments, min_span=7200.0), up, HEIGHT)
    dots: list[Dot] = []
    corners: list[Point] = []
    best = found[0][1][0]
    for moment, (entry, one) in zip(moments, found, strict=True):
        leads = not corners or up.position(one[0]) > up.position(best)
        if leads:
            corners += [(moment, best), (moment, one[0])]
            best = one[0]
        when = f"{entry.created_at.day} {entry.created_at:%b %Y}"
        words = f"{entry.team.name}, {entry.model}, {when}: {measure.label} {format_figure(one[0])}"
        dots.append(plot.dot((moment, None, None), one, words, kind="" if leads else "other"))
    return Chart(
        height=HEIGHT,
        kind="line",
        summary=f"{measure.title}, of {len(found)} entries over time. Best so far: {format_figure(best)}.",
        x_ticks=_dates(plot.x_scale),
        y_ticks=plot.y_ticks(),
        table=Table(
            ("Entry", measure.title),
            [(dot.title, format_figure(one[0])) for dot, (_, one) in zip(dots, found, strict=True)],
        ),
        x_label="Submitted",
        y_label=axis_label(measure),
        curves=[plot.curve("best", [*corners, (plot.x_scale.high, best)])],
        dots=dots,
        reference_lines=[ReferenceLine(y=svg_pixels(plot.y(value))) for value, _ in lines],
        labels=plot.end_labels([(best, f"Best {format_figure(best)}"), *lines]),
    )


def human_agreement(
    shown: Sequence[LeaderboardEntry], references: Sequence[Reference], places: Mapping[str, int]
) -> Chart | None:
    """Return agreement with people over P@1, a dot an entry; nothing where either is not measured.

    Args:
        shown: the entries of the table. places: of each measure's name among the references' figures.
    """
    if not {P_AT_1.name, COMPARISON.name} <= set(places):
        return None
    models: list[ScatterPoint] = []
    named: set[int] = set()
    for entry in shown:
        p_at_1, agreement = _measured(entry, P_AT_1), _measured(entry, COMPARISON)
        if p_at_1 is None or agreement is None:
            continue
        words = (
            f"{entry.team.name}, {entry.model}: P@1 {format_figure(p_at_1[0])}, "
            f"human agreement {format_figure(agreement[0])}"
        )
        name = "" if entry.team_id in named else entry.team.name
        models.append(ScatterPoint(p_at_1, agreement, words, name))
        named.add(entry.team_id)
    if not models:
        return None
    related = pearson([one.x[0] for one in models], [one.y[0] for one in models])
    return scatter(
        models,
        references=_values_of(references, places[COMPARISON.name]),
        x_label=axis_label(P_AT_1),
        y_label=axis_label(COMPARISON),
        min_width=MIN_WIDTH,
        summary=f"Human agreement against P@1 of {len(models)} entries. The table has every number.",
        note="" if related is None else f"Pearson’s r = {decimal_text(related, 2)}",
    )


def _measured(entry: LeaderboardEntry, measure: Measure) -> ValueWithInterval | None:
    one = measure_figure(entry.figures, measure)
    return None if one.value is None else (one.value, one.low, one.high)


def _values_of(references: Sequence[Reference], place: int) -> list[tuple[float, str]]:
    """Return the values of the references that have a figure of a measure, with what they are and reach."""
    known = [(one.figures[place].value, one.label) for one in references]
    return [(value, f"{words} {format_figure(value)}") for value, words in known if value is not None]


def _dates(axis: Scale) -> list[Tick]:
    """Return a few moments along the axis, as days or, where all lies within a few days, with the time."""
    close = axis.high - axis.low < FEW_DAYS.total_seconds()
    ticks = []
    for step in range(DATES):
        value = axis.low + (axis.high - axis.low) * (step + 0.5) / DATES
        moment = datetime.fromtimestamp(value, tz=UTC)
        words = f"{moment.day} {moment:%b}" + (f" {moment:%H:%M}" if close else "")
        ticks.append(Tick(axis.x(value), words))
    return ticks
