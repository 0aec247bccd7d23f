"""Charts of a training run: losses, validation figures and learning rates by step."""

from collections.abc import Callable, Sequence
from math import ceil, floor

from curation.scorer.training.journal import LossRow, ValidationRow
from hits.charts.chart import Chart, PlotArea, Point, Table
from hits.charts.scale import Scale
from hits.domain.binning import next_round_number

HEIGHT = 120  # pixels
MAX_POINTS = 400  # of a curve; more cannot be told apart on a wide screen
MAX_DOTS = 60  # if there are more validations, only the kept one has a dot
WINDOWS_PER_RUN = 25  # the smoothing window is this part of the run
Y_TICKS = 3
TABLE_ROWS = 20


def training_panels(losses: Sequence[LossRow], validations: Sequence[ValidationRow]) -> tuple[Chart, ...]:
    """Return the plots of loss, validation P@1 and learning rate, without those that have no values."""
    end_step = max([row["step"] for row in (*losses, *validations)], default=0)
    if not end_step:
        return ()
    panels = []
    if losses:
        panels.append(_loss_panel([(row["step"], row["loss"]) for row in losses], end_step))
    ranked = [row for row in validations if row["p_at_1"] is not None]
    if ranked:
        panels.append(_validation_panel(ranked, end_step))
    if losses:
        panels.append(_learning_rate_panel([(row["step"], row["learning_rate"]) for row in losses], end_step))
    return tuple(panels)


def _loss_panel(points: Sequence[Point], end_step: int) -> Chart:
    window = max(1, len(points) // WINDOWS_PER_RUN)
    smoothed = smooth(points, window)
    smoothing = f"; the dark line is smoothed over {window:,} steps" if window > 1 else ""
    plot = _plot_area(end_step, [value for _, value in points])
    return Chart(
        title="Loss",
        note=f"Loss of each step’s batch{smoothing}.",
        summary=f"Loss by step, from {points[0][1]:.3f} to {smoothed[-1][1]:.3f} at step {end_step:,}",
        height=HEIGHT,
        kind="line",
        x_label="step",
        curves=[plot.curve("light", envelope_points(points)), plot.curve("strong", thin_points(smoothed))],
        table=_step_table("Loss", smoothed),
        x_ticks=plot.x_ticks(min_step=1, format_value=lambda step: f"{step:,.0f}"),
        y_ticks=plot.y_ticks(Y_TICKS),
        labels=plot.end_labels([(smoothed[-1][1], f"{smoothed[-1][1]:.3f}")]),
    )


def _validation_panel(rows: Sequence[ValidationRow], end_step: int) -> Chart:
    points = [(row["step"], row["p_at_1"] or 0.0) for row in rows]
    best = max(range(len(rows)), key=lambda index: (rows[index]["kept"], rows[index]["step"]))
    plot = _plot_area(end_step, [value for _, value in points])
    step, value = points[best]
    return Chart(
        title="Validation P@1",
        note=f"In percent. The ringed checkpoint is kept: {value:.1f}% at step {step:,}.",
        summary=f"Validation P@1 by step: {value:.1f}% at step {step:,} is kept, {points[-1][1]:.1f}% is the latest",
        height=HEIGHT,
        kind="line",
        x_label="step",
        curves=[plot.curve("strong", points)],
        dots=[
            plot.dot(
                (x, None, None),
                (y, None, None),
                f"Step {x:,}: P@1 {y:.1f}%",
                kind="best" if number == best else "step",
            )
            for number, (x, y) in enumerate(points)
            if number == best or len(points) <= MAX_DOTS
        ],
        x_ticks=plot.x_ticks(min_step=1, format_value=lambda step: f"{step:,.0f}"),
        y_ticks=plot.y_ticks(Y_TICKS),
        labels=plot.end_labels([(points[-1][1], f"{points[-1][1]:.1f}")]),
        table=_step_table("P@1, %", points, "{:.1f}".format),
    )


def _learning_rate_panel(points: Sequence[Point], end_step: int) -> Chart:
    most = max(value for _, value in points)
    plot = _plot_area(end_step, [0.0, most])
    return Chart(
        title="Learning rate",
        note="The learning rate of AdamW.",
        summary=f"Learning rate by step: {most:.1e} at most, {points[-1][1]:.1e} now",
        height=HEIGHT,
        kind="line",
        x_label="step",
        curves=[plot.curve("strong", thin_points(points))],
        x_ticks=plot.x_ticks(min_step=1, format_value=lambda step: f"{step:,.0f}"),
        y_ticks=plot.y_ticks(Y_TICKS, _format_scientific),
        labels=plot.end_labels([(points[-1][1], _format_scientific(points[-1][1]))]),
        table=_step_table("Learning rate", points, _format_scientific),
    )


def _step_table(title: str, points: Sequence[Point], text: Callable[[float], str] = "{:.3f}".format) -> Table:
    """Return about ``TABLE_ROWS`` of the points as a table."""
    rows = thin_points(points, TABLE_ROWS)
    return Table(("Step", title), [(f"{step:,.0f}", text(value)) for step, value in rows])


def smooth(points: Sequence[Point], window: int) -> list[Point]:
    """Return the bias-corrected exponential moving average of the values over about ``window`` points."""
    decay = 1 - 2 / (window + 1)
    total = weight = 0.0
    found = []
    for step, value in points:
        total, weight = decay * total + value, decay * weight + 1
        found.append((step, total / weight))
    return found


def thin_points(points: Sequence[Point], limit: int = MAX_POINTS) -> list[Point]:
    """Return evenly spaced points, about ``limit`` at most, always with the first and the last."""
    every = -(-len(points) // limit)
    selected = list(points[::every])
    return selected if selected[-1] == points[-1] else [*selected, points[-1]]


def envelope_points(points: Sequence[Point], limit: int = MAX_POINTS) -> list[Point]:
    """Return the points; if they are more than ``limit``, the minimum and maximum of equal intervals."""
    if len(points) <= limit:
        return list(points)
    each = -(-2 * len(points) // limit)
    found: list[Point] = []
    for start in range(0, len(points), each):
        part = points[start : start + each]
        ends = {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
        found.extend(sorted(ends))
    return found


def _plot_area(end_step: int, values: Sequence[float]) -> PlotArea:
    """Return axes for steps (horizontal) and values (vertical, between round numbers with two grid lines or more)."""
    low, high = min(values), max(values)
    step = next_round_number((high - low or abs(high) or 1.0) / (Y_TICKS - 1))
    bottom, top = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    if bottom == top:  # a flat curve is drawn between two grid lines
        bottom, top = bottom - (bottom > 0), top + 1
    return PlotArea(Scale(0, end_step), Scale(step * bottom, step * top), HEIGHT)


def _format_scientific(value: float) -> str:
    """Return ``1e−5`` for 0.00001; 0 as it is."""
    if not value:
        return "0"
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power)}".replace("-", "−")
