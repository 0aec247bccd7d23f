"""Recall curves as coordinates of an SVG, drawn by a template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curation.proposals.overlap import Recall
from validation.domain.reports.plots import apart, pixels

LEFT, RIGHT, TOP, BOTTOM = 34.0, 488.0, 12.0, 162.0  # of the plot, in units of the 600 × 190 chart
SPARK = (96.0, 24.0)  # width and height of a small curve
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its points, the words at its end, and its style."""

    points: str
    words: str
    label_y: str
    style: str


@dataclass(frozen=True, slots=True)
class RecallChart:
    """Curves over the number of proposals, from none to the limit."""

    lines: Sequence[Line]
    grid: Sequence[tuple[str, str]]
    ticks: Sequence[tuple[str, str]]
    summary: str


def recall_chart(recall: Recall) -> RecallChart:
    """Return the curves of all thresholds: the share of pairs covered by the first n proposals."""
    limit = max(len(curve) for curve in recall.curves.values())
    styles = dict(zip(recall.curves, ("ln", "ln second", "ln third"), strict=False))
    ends = apart([_y(curve[-1]) for curve in recall.curves.values()], top=TOP, bottom=BOTTOM)
    lines = [
        Line(
            points=_points(curve, limit),
            words=f"IoU > {over:g}: {100 * curve[-1]:.1f}%",
            label_y=pixels(end),
            style=styles[over],
        )
        for (over, curve), end in zip(recall.curves.items(), ends, strict=True)
    ]
    steps = sorted({1, max(1, limit // 4), max(1, limit // 2), max(1, 3 * limit // 4), limit})
    return RecallChart(
        lines=lines,
        grid=[(pixels(_y(share)), f"{100 * share:.0f}%") for share in QUARTERS],
        ticks=[(pixels(_x(step, limit)), str(step)) for step in steps],
        summary=f"Share of {recall.pairs} pairs covered by the first {limit} proposals. "
        + "; ".join(line.words for line in lines),
    )


def spark(curve: Sequence[float]) -> str:
    """Return the points of a small curve of shares."""
    width, height = SPARK
    step = width / max(1, len(curve) - 1)
    return " ".join(
        f"{pixels(place * step)},{pixels(height * (1 - share))}" for place, share in enumerate(curve)
    )


def _points(curve: Sequence[float], limit: int) -> str:
    return " ".join(f"{pixels(_x(n, limit))},{pixels(_y(share))}" for n, share in enumerate(curve, start=1))


def _x(count: int, limit: int) -> float:
    return LEFT + (RIGHT - LEFT) * (count - 1) / max(1, limit - 1)


def _y(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share
