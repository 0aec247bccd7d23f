"""An audit's figure on an axis, with chance and the limits beyond which it is flagged."""

from collections.abc import Mapping, Sequence
from typing import Any

from hits.charts.chart import Chart, ReferenceLine
from hits.charts.coefficients import coefficient_strip
from hits.charts.scale import Scale, decimal_text
from hits.charts.strips import axis_strip, dot_strip

SCALE = Scale(0.0, 100.0)
ALPHA = "alpha"


def audit_axis() -> Chart:
    """Return the axis below the strips of shares."""
    return axis_strip([(at, f"{at}%", "") for at in (0, 50, 100)], SCALE)


def audit_plot(row: Mapping[str, Any], limits: Sequence[float]) -> Chart | None:
    """Return the strip of an audit: percent from 0 to 100, or alpha from −0.5 to 1; None without a figure."""
    value, low, high = row["figure"], row["low"], row["high"]
    if value is None:
        return None
    if row["unit"] == ALPHA:
        strip = coefficient_strip(value, low, high)
        return strip.strip if strip else None
    lines = [ReferenceLine(x=SCALE.x(limit), kind="target") for limit in limits]
    if row["chance"] is not None:
        lines.append(ReferenceLine(x=SCALE.x(row["chance"]), kind="chance"))
    interval = "" if low is None else f", interval {decimal_text(low, 1)} to {decimal_text(high, 1)}"
    limit = f", limit {' and '.join(f'{limit:g}' for limit in limits)}" if limits else ""
    summary = f"{decimal_text(value, 1)} percent{interval}{limit}"
    kind = "best" if row["flagged"] else ""
    return dot_strip([(kind, (value, low, high), summary)], SCALE, reference_lines=lines, summary=summary)
