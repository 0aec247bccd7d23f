"""The two plots of a leaderboard. Better is always up and to the right."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from curation.evaluation.measures import COMPARISON, P_AT_1, Direction, Measure, pearson
from curation.leaderboard.models import LeaderboardEntry
from curation.leaderboard.selectors.tables import ReferenceFigures, format_figure, get_measure_figure
from curation.views.evaluation.evaluation_charts import axis_label
from hits.charts.chart import Chart, Dot, PlotArea, Point, ReferenceLine, Table, Tick, ValueWithInterval
from hits.charts.scale import Scale, decimal_text, scale_over, svg_pixels
from hits.charts.scatters import ScatterPoint, scatter

HEIGHT = 240  # pixels
TICK_COUNT = 4  # of the time axis
FEW_DAYS = timedelta(days=3)
MIN_WIDTH = 350.0  # pixels of each of two plots side by side


def measure_over_time_plot(
    entries: Sequence[LeaderboardEntry], measure: Measure, references: Sequence[ReferenceFigures], column: int
) -> Chart | None:
    """Return a chart of a measure of all entries by submission time, with a line of the best value so far.

    Args:
        entries: oldest first. column: the measure's index among the references' figures.
    """
    estimates = [
        (entry, value) for entry in entries if (value := _value_with_interval(entry, measure)) is not None
    ]
    if not estimates:
        return None
    lines = _reference_values(references, column)
    times = [entry.created_at.timestamp() for entry, _ in estimates]
    numbers = [number for _, estimate in estimates for number in estimate if number is not None]
    y_scale = scale_over(numbers + [value for value, _ in lines])
    # If lower values are better, they are at the top.
    y_scale = y_scale if measure.better is Direction.HIGH else Scale(y_scale.high, y_scale.low)
    plot = PlotArea(scale_over(times, min_span=600.0), y_scale, HEIGHT)
    dots: list[Dot] = []
    corners: list[Point] = []
    best = estimates[0][1][0]
    for time, (entry, estimate) in zip(times, estimates, strict=True):
        is_best = not corners or y_scale.position(estimate[0]) > y_scale.position(best)
        if is_best:
            corners += [(time, best), (time, estimate[0])]
            best = estimate[0]
        date = f"{entry.created_at.day} {entry.created_at:%b %Y}"
        title = f"{entry.team.name}, {entry.model}, {date}: {measure.label} {format_figure(estimate[0])}"
        dots.append(plot.dot((time, None, None), estimate, title, kind="" if is_best else "other"))
    return Chart(
        height=HEIGHT,
        kind="line",
        summary=f"{measure.title}, of {len(estimates)} entries over time. Best so far: {format_figure(best)}.",
        x_ticks=_time_ticks(plot.x_scale),
        y_ticks=plot.y_ticks(),
        table=Table(
            ("Entry", measure.title),
            [
                (dot.title, format_figure(estimate[0]))
                for dot, (_, estimate) in zip(dots, estimates, strict=True)
            ],
        ),
        x_label="Submitted",
        y_label=axis_label(measure),
        curves=[plot.curve("best", [*corners, (plot.x_scale.high, best)])],
        dots=dots,
        reference_lines=[ReferenceLine(y=svg_pixels(plot.y(value))) for value, _ in lines],
        labels=plot.end_labels([(best, f"Best {format_figure(best)}"), *lines]),
    )


def human_agreement_plot(
    entries: Sequence[LeaderboardEntry], references: Sequence[ReferenceFigures], columns: Mapping[str, int]
) -> Chart | None:
    """Return a chart of human agreement against P@1, with a dot per entry; None if no entry has both measures.

    Args:
        entries: those of the table. columns: each measure's index among the references' figures, by name.
    """
    if not {P_AT_1.name, COMPARISON.name} <= set(columns):
        return None
    points: list[ScatterPoint] = []
    named_teams: set[int] = set()
    for entry in entries:
        p_at_1, agreement = _value_with_interval(entry, P_AT_1), _value_with_interval(entry, COMPARISON)
        if p_at_1 is None or agreement is None:
            continue
        title = (
            f"{entry.team.name}, {entry.model}: P@1 {format_figure(p_at_1[0])}, "
            f"human agreement {format_figure(agreement[0])}"
        )
        name = "" if entry.team_id in named_teams else entry.team.name
        points.append(ScatterPoint(p_at_1, agreement, title, name))
        named_teams.add(entry.team_id)
    if not points:
        return None
    correlation = pearson([point.x[0] for point in points], [point.y[0] for point in points])
    return scatter(
        points,
        references=_reference_values(references, columns[COMPARISON.name]),
        x_label=axis_label(P_AT_1),
        y_label=axis_label(COMPARISON),
        min_width=MIN_WIDTH,
        summary=f"Human agreement against P@1 of {len(points)} entries. The table has every number.",
        note="" if correlation is None else f"Pearson’s r = {decimal_text(correlation, 2)}",
    )


def _value_with_interval(entry: LeaderboardEntry, measure: Measure) -> ValueWithInterval | None:
    """Return an entry's value of a measure with its interval; None if it was not measured."""
    figure = get_measure_figure(entry.figures, measure)
    return None if figure.value is None else (figure.value, figure.low, figure.high)


def _reference_values(references: Sequence[ReferenceFigures], column: int) -> list[tuple[float, str]]:
    """Return the references' values of a measure, each with a label; references without a value are left out."""
    figures = [(reference.figures[column].value, reference.label) for reference in references]
    return [(value, f"{label} {format_figure(value)}") for value, label in figures if value is not None]


def _time_ticks(axis: Scale) -> list[Tick]:
    """Return ticks along a time axis, labelled by the day; if the axis spans only a few days, also by the time."""
    needs_time = axis.high - axis.low < FEW_DAYS.total_seconds()
    ticks = []
    for step in range(TICK_COUNT):
        value = axis.low + (axis.high - axis.low) * (step + 0.5) / TICK_COUNT
        time = datetime.fromtimestamp(value, tz=UTC)
        label = f"{time.day} {time:%b}" + (f" {time:%H:%M}" if needs_time else "")
        ticks.append(Tick(axis.x(value), label, "" if step in {0, TICK_COUNT - 1} else "minor"))
    return ticks
