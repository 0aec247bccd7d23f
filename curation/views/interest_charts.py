"""The chart of a model of interestingness: precision by recall, with the threshold."""

from collections.abc import Mapping, Sequence
from typing import Any

from hits.charts.chart import Chart, PlotArea, ReferenceLine, Table
from hits.charts.scale import Scale, percent_text, svg_pixels

HEIGHT = 180  # pixels
TABLE_ROWS = 12
_SHARES = Scale(0.0, 1.0)
CurvePoint = Sequence[float]  # score, precision, recall, kept


def precision_recall_chart(figures: Mapping[str, Any], *, min_precision: float, min_kept: int) -> Chart:
    """Return precision by recall over all thresholds; a thin line where too few images are kept to be sure.

    Args:
        figures: those of ``curation.models.InterestModel``.
    """
    curve, threshold = figures["curve"], figures["threshold"]
    plot = PlotArea(_SHARES, _SHARES, HEIGHT)
    few, enough = _split_curve(curve, min_kept)
    low, high = threshold["interval"]
    text = (
        f"score {threshold['score']:.3f}: precision {percent_text(threshold['precision'])}, "
        f"recall {percent_text(threshold['recall'])}"
    )
    dot = plot.dot((threshold["recall"], None, None), (threshold["precision"], low, high), text, kind="best")
    return Chart(
        title="Precision by recall",
        note=f"Measured on films that the model had not seen. The ring is the threshold, with its 95% interval. The "
        f"thin line has thresholds that keep fewer than {min_kept} labelled photos.",
        summary=f"Precision by recall. Threshold at {text}",
        height=HEIGHT,
        kind="line",
        x_label="recall",
        y_label="precision",
        curves=[
            plot.curve(kind, [(row[2], row[1]) for row in rows])
            for kind, rows in (("light", few), ("strong", enough))
            if rows
        ],
        dots=[dot],
        reference_lines=[ReferenceLine(y=svg_pixels(plot.y(min_precision)))],
        x_ticks=plot.x_ticks(format_value=percent_label),
        y_ticks=plot.quarter_ticks(percent_label),
        table=_curve_table(curve),
    )


def percent_label(share: float) -> str:
    """Return ``25%`` for 0.25."""
    return f"{100 * share:.0f}%"


def _split_curve(
    curve: Sequence[CurvePoint], min_kept: int
) -> tuple[Sequence[CurvePoint], Sequence[CurvePoint]]:
    """Return the thresholds that keep few images, up to the first that keeps enough, and those that keep enough."""
    first = next((index for index, row in enumerate(curve) if row[3] >= min_kept), len(curve))
    return curve[: first + 1], curve[first:]


def _curve_table(curve: Sequence[CurvePoint]) -> Table:
    every = max(1, -(-len(curve) // TABLE_ROWS))
    rows = [*curve[::every], *([] if (len(curve) - 1) % every == 0 else [curve[-1]])]
    return Table(
        ("Score", "Precision", "Recall", "Photos kept"),
        [(f"{row[0]:.3f}", percent_text(row[1]), percent_text(row[2]), f"{row[3]:,.0f}") for row in rows],
    )
