"""Strips: small charts of one line in a table row, such as a dot with its interval."""

from collections.abc import Sequence

from hits.charts.chart import STRIP_HEIGHT, Bar, Chart, Dot, Label, ReferenceLine, Tick, ValueWithInterval
from hits.charts.scale import Scale, svg_percent, svg_pixels

SHADES = 4
MIN_LABEL_WIDTH = 7.0  # percent of the width; narrower parts of a bar have no figure
BAR_HEIGHT = 28  # pixels
STRIP_MIDDLE = svg_pixels(STRIP_HEIGHT / 2)


def dot_strip(
    dots: Sequence[tuple[str, ValueWithInterval, str]],
    scale: Scale,
    *,
    summary: str,
    reference_lines: Sequence[ReferenceLine] = (),
    end_label: str = "",
    kind: str = "dots",
) -> Chart:
    """Return dots with their intervals on one line.

    Args:
        dots: CSS class, value with interval, and tooltip of each. end_label: text at the right end, such as a value
            beyond the scale.
    """
    return Chart(
        summary=summary,
        height=STRIP_HEIGHT,
        kind=kind,
        is_strip=True,
        reference_lines=reference_lines,
        bars=[
            Bar(scale.x(low), svg_pixels(STRIP_HEIGHT / 2 - 2), scale.width(low, high), "4", kind="interval")
            for _, (_, low, high), _ in dots
            if low is not None and high is not None
        ],
        dots=[Dot(name, scale.x(value), STRIP_MIDDLE, title) for name, (value, _, _), title in dots],
        labels=[Label("100%", "14", end_label, anchor="end")] if end_label else [],
    )


def axis_strip(ticks: Sequence[tuple[float, str, str]], scale: Scale, *, summary: str = "") -> Chart:
    """Return the axis above or below strips. ``ticks``: value, text and CSS class of each."""
    placed = [Tick(scale.x(value), text, kind) for value, text, kind in ticks]
    return Chart(summary=summary, height=STRIP_HEIGHT - 5, kind="axis", is_strip=True, x_ticks=placed)


def share_strip(
    share: float,
    *,
    summary: str,
    low: float | None = None,
    high: float | None = None,
    references: Sequence[float] = (),
    kind: str = "share",
    darker_share: float | None = None,
) -> Chart:
    """Return one bar for a share of 0 to 1, with its interval, and reference lines at other shares.

    Args:
        darker_share: the part of the share that is drawn darker.
    """
    scale = Scale(0.0, 1.0)
    bars = [Bar("0", "4", scale.width(0.0, share), "12", kind="bar")]
    if darker_share is not None:
        bars.append(Bar("0", "4", scale.width(0.0, darker_share), "12", kind="within"))
    dots = []
    if low is not None and high is not None:
        dots.append(Dot("hidden", scale.x(share), STRIP_MIDDLE, "", x_low=scale.x(low), x_high=scale.x(high)))
    lines = [ReferenceLine(x=scale.x(reference)) for reference in references]
    return Chart(summary, STRIP_HEIGHT, kind=kind, is_strip=True, bars=bars, dots=dots, reference_lines=lines)


def stacked_strip(
    parts: Sequence[tuple[str, int, str]], *, summary: str, with_figures: bool = True
) -> Chart | None:
    """Return one bar of several parts (name, count, CSS class); ``None`` if all counts are 0."""
    total = sum(count for _, count, _ in parts)
    if not total:
        return None
    height = BAR_HEIGHT if with_figures else STRIP_HEIGHT - 8
    bars, labels, left = [], [], 0.0
    for name, count, kind in parts:
        width = 100 * count / total
        bars.append(Bar(svg_percent(left), "0", svg_percent(width), str(height), f"{name}: {count}", kind))
        if with_figures and width >= MIN_LABEL_WIDTH:
            labels.append(
                Label(svg_percent(left + width / 2), "19", f"{width:.0f}%", "middle", kind=f"on-{kind}")
            )
        left += width
    return Chart(summary, height, kind="stacked", is_strip=True, bars=bars, labels=labels)


def shade_classes(count: int) -> list[str]:
    """Return the CSS classes of ``count`` ordered parts of a stacked bar, light to dark."""
    return [f"shade-{1 + round(index * (SHADES - 1) / max(1, count - 1))}" for index in range(count)]
