"""What the plots of a training show: its journal's losses, validations and learning rates over the steps."""

from collections.abc import Sequence
from math import ceil, floor

from curation.scorer.training.journal import LossRow, ValidationRow
from curation.views.plots import Axis, Frame, Place, Plot, Tick
from validation.domain.reports.plots import round_up

HEIGHT = 120  # pixels
MOST_POINTS = 400  # of a curve; more cannot be told apart on a wide screen
MOST_DOTS = 60  # beside one another; of more validations the kept one alone has a dot
SMOOTHED_PARTS = 25  # a smoothed point looks back over this part of the run
Y_TICKS = 3


def training_panels(losses: Sequence[LossRow], validations: Sequence[ValidationRow]) -> tuple[Plot, ...]:
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


def _loss_panel(points: Sequence[Place], last: int) -> Plot:
    window = max(1, len(points) // SMOOTHED_PARTS)
    smooth = smoothed(points, window)
    light = f", the dark line smoothed over {window:,} steps" if window > 1 else ""
    frame = _frame(last, [value for _, value in points])
    return Plot(
        title="Loss",
        note=f"Of each step’s batch{light}.",
        summary=f"Loss by step, from {points[0][1]:.3f} to {smooth[-1][1]:.3f} at step {last:,}",
        frame=frame,
        paths=[frame.path("light", enveloped(points)), frame.path("dark", thinned(smooth))],
        x_ticks=_steps(frame),
        y_ticks=frame.y_ticks(Y_TICKS),
        ends=frame.ends([(smooth[-1][1], f"{smooth[-1][1]:.3f}")]),
    )


def _validation_panel(rows: Sequence[ValidationRow], last: int) -> Plot:
    points = [(row["step"], row["p_at_1"] or 0.0) for row in rows]
    best = max(range(len(rows)), key=lambda place: (rows[place]["kept"], rows[place]["step"]))
    frame = _frame(last, [value for _, value in points])
    step, value = points[best]
    return Plot(
        title="Validation P@1",
        note=f"In percent. The ringed one is kept: {value:.1f}% at step {step:,}.",
        summary=f"Validation P@1 by step: {value:.1f}% at step {step:,} is kept, {points[-1][1]:.1f}% is the latest",
        frame=frame,
        paths=[frame.path("dark", points)],
        points=[
            frame.point(
                (x, None, None),
                (y, None, None),
                f"Step {x:,}: P@1 {y:.1f}%",
                kind="best" if number == best else "step",
            )
            for number, (x, y) in enumerate(points)
            if number == best or len(points) <= MOST_DOTS
        ],
        x_ticks=_steps(frame),
        y_ticks=frame.y_ticks(Y_TICKS),
        ends=frame.ends([(points[-1][1], f"{points[-1][1]:.1f}")]),
    )


def _rate_panel(points: Sequence[Place], last: int) -> Plot:
    most = max(value for _, value in points)
    frame = _frame(last, [0.0, most])
    return Plot(
        title="Learning rate",
        note="Of AdamW.",
        summary=f"Learning rate by step: {most:.1e} at most, {points[-1][1]:.1e} now",
        frame=frame,
        paths=[frame.path("dark", thinned(points))],
        x_ticks=_steps(frame),
        y_ticks=frame.y_ticks(Y_TICKS, _power),
        ends=frame.ends([(points[-1][1], _power(points[-1][1]))]),
    )


def smoothed(points: Sequence[Place], window: int) -> list[Place]:
    """Return the exponential moving average of the values over about ``window`` points, free of its start's bias."""
    keep = 1 - 2 / (window + 1)
    total = weight = 0.0
    found = []
    for step, value in points:
        total, weight = keep * total + value, keep * weight + 1
        found.append((step, total / weight))
    return found


def thinned(points: Sequence[Place], most: int = MOST_POINTS) -> list[Place]:
    """Return every so many-th point, so that at most about ``most`` are left; the first and the last always."""
    every = -(-len(points) // most)
    left = list(points[::every])
    return left if left[-1] == points[-1] else [*left, points[-1]]


def enveloped(points: Sequence[Place], most: int = MOST_POINTS) -> list[Place]:
    """Return the points; of many, the least and the greatest of each stretch, so that no spike is lost."""
    if len(points) <= most:
        return list(points)
    each = -(-2 * len(points) // most)
    found: list[Place] = []
    for start in range(0, len(points), each):
        part = points[start : start + each]
        ends = {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
        found.extend(sorted(ends))
    return found


def _frame(last: int, values: Sequence[float]) -> Frame:
    """Steps across; upwards an axis between round numbers, with room for two lines at least."""
    low, high = min(values), max(values)
    step = round_up((high - low or abs(high) or 1.0) / (Y_TICKS - 1))
    bottom, top = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return Frame(Axis(0, last), Axis(step * bottom, step * max(top, bottom + 1)), HEIGHT)


def _steps(frame: Frame) -> list[Tick]:
    return [(frame.across.x(step), f"{step:,.0f}") for step in frame.across.values(least=1)[0]]


def _power(value: float) -> str:
    """Return ``1e−5`` for 0.00001; 0 as it is."""
    if not value:
        return "0"
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power)}".replace("-", "−")
