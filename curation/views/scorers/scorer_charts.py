"""Charts of a training: losses, validations and learning rates over its steps."""

from collections.abc import Callable, Sequence
from math import ceil, floor

from curation.scorer.training.journal import LossRow, ValidationRow
from hits.charts.chart import Chart, Plane, Point, Table
from hits.charts.scale import Scale
from hits.domain.binning import round_up

HEIGHT = 120  # pixels
MAX_POINTS = 400  # of a curve; more cannot be told apart on a wide screen
MAX_DOTS = 60  # beside one another; of more validations the kept one alone has a dot
WINDOWS_PER_RUN = 25  # a smoothed point looks back over this part of the run
Y_TICKS = 3
TABLE_ROWS = 20


def training_panels(losses: Sequence[LossRow], validations: Sequence[ValidationRow]) -> tuple[Chart, ...]:
    """Return the plots of loss, validation P@1 and learning rate; those alone of which there are values."""
    last = max([row["step"] for row in (*losses, *validations)], default=0)
    if not last:
        return ()
    panels = []
    if losses:
        panels.append(_loss_panel([(row["step"], row["loss"]) for row in losses], last))
    ranked = [row for row in validations if row["p_at_1"] is not None]
    if ranked:
        panels.append(_validation_panel(ranked, last))
    if losses:
        panels.append(_rate_panel([(row["step"], row["learning_rate"]) for row in losses], last))
    return tuple(panels)


def _loss_panel(points: Sequence[Point], last: int) -> Chart:
    window = max(1, len(points) // WINDOWS_PER_RUN)
    smooth = smoothed(points, window)
    light = f", the dark line smoothed over {window:,} steps" if window > 1 else ""
    plane = _plane(last, [value for _, value in points])
    return Chart(
        title="Loss",
        note=f"Loss of each step’s batch{light}.",
        summary=f"Loss by step, from {points[0][1]:.3f} to {smooth[-1][1]:.3f} at step {last:,}",
        height=HEIGHT,
        kind="line",
        x_label="step",
        curves=[plane.curve("light", enveloped(points)), plane.curve("strong", thinned(smooth))],
        table=_table("Loss", smooth),
        x_ticks=plane.x_ticks(min_step=1, text=lambda step: f"{step:,.0f}"),
        y_ticks=plane.y_ticks(Y_TICKS),
        labels=plane.end_labels([(smooth[-1][1], f"{smooth[-1][1]:.3f}")]),
    )


def _validation_panel(rows: Sequence[ValidationRow], last: int) -> Chart:
    points = [(row["step"], row["p_at_1"] or 0.0) for row in rows]
    best = max(range(len(rows)), key=lambda place: (rows[place]["kept"], rows[place]["step"]))
    plane = _plane(last, [value for _, value in points])
    step, value = points[best]
    return Chart(
        title="Validation P@1",
        note=f"In percent. The ringed checkpoint is kept: {value:.1f}% at step {step:,}.",
        summary=f"Validation P@1 by step: {value:.1f}% at step {step:,} is kept, {points[-1][1]:.1f}% is the latest",
        height=HEIGHT,
        kind="line",
        x_label="step",
        curves=[plane.curve("strong", points)],
        dots=[
            plane.dot(
                (x, None, None),
                (y, None, None),
                f"Step {x:,}: P@1 {y:.1f}%",
                kind="best" if number == best else "step",
            )
            for number, (x, y) in enumerate(points)
            if number == best or len(points) <= MAX_DOTS
        ],
        x_ticks=plane.x_ticks(min_step=1, text=lambda step: f"{step:,.0f}"),
        y_ticks=plane.y_ticks(Y_TICKS),
        labels=plane.end_labels([(points[-1][1], f"{points[-1][1]:.1f}")]),
        table=_table("P@1, %", points, "{:.1f}".format),
    )


def _rate_panel(points: Sequence[Point], last: int) -> Chart:
    most = max(value for _, value in points)
    plane = _plane(last, [0.0, most])
    return Chart(
        title="Learning rate",
        note="The learning rate of AdamW.",
        summary=f"Learning rate by step: {most:.1e} at most, {points[-1][1]:.1e} now",
        height=HEIGHT,
        kind="line",
        x_label="step",
        curves=[plane.curve("strong", thinned(points))],
        x_ticks=plane.x_ticks(min_step=1, text=lambda step: f"{step:,.0f}"),
        y_ticks=plane.y_ticks(Y_TICKS, _power),
        labels=plane.end_labels([(points[-1][1], _power(points[-1][1]))]),
        table=_table("Learning rate", points, _power),
    )


def _table(title: str, points: Sequence[Point], text: Callable[[float], str] = "{:.3f}".format) -> Table:
    """Return about ``TABLE_ROWS`` of the points as a table."""
    left = thinned(points, TABLE_ROWS)
    return Table(("Step", title), [(f"{step:,.0f}", text(value)) for step, value in left])


def smoothed(points: Sequence[Point], window: int) -> list[Point]:
    """Return the exponential moving average of the values over about ``window`` points, free of its start's bias."""
    keep = 1 - 2 / (window + 1)
    total = weight = 0.0
    found = []
    for step, value in points:
        total, weight = keep * total + value, keep * weight + 1
        found.append((step, total / weight))
    return found


def thinned(points: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """Return every so many-th point, so that at most about ``most`` are left; the first and the last always."""
    every = -(-len(points) // most)
    left = list(points[::every])
    return left if left[-1] == points[-1] else [*left, points[-1]]


def enveloped(points: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """Return the points; of many, the least and the greatest of each stretch, so that no spike is lost."""
    if len(points) <= most:
        return list(points)
    each = -(-2 * len(points) // most)
    found: list[Point] = []
    for start in range(0, len(points), each):
        part = points[start : start + each]
        ends = {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
        found.extend(sorted(ends))
    return found


def _plane(last: int, values: Sequence[float]) -> Plane:
    """Steps across; upwards an axis between round numbers, with room for two lines at least."""
    low, high = min(values), max(values)
    step = round_up((high - low or abs(high) or 1.0) / (Y_TICKS - 1))
    bottom, top = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return Plane(Scale(0, last), Scale(step * bottom, step * max(top, bottom + 1)), HEIGHT)


def _power(value: float) -> str:
    """Return ``1e−5`` for 0.00001; 0 as it is."""
    if not value:
        return "0"
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power)}".replace("-", "−")
