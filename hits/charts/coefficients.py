"""Agreement coefficients as strips over one axis, and heat tables of the labels that two people gave to one item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from hits.charts.chart import Chart, ReferenceLine
from hits.charts.scale import Scale
from hits.charts.strips import axis_strip, dot_strip

HEAT_STEPS = 9
# Bands of agreement with their upper ends: Landis and Koch 1977, doi:10.2307/2529310.
_BANDS = (
    (0.0, "poor"),
    (0.2, "slight"),
    (0.4, "fair"),
    (0.6, "moderate"),
    (0.8, "substantial"),
    (1.0, "almost perfect"),
)
# Krippendorff, K. (2004). Reliability in content analysis. doi:10.1111/j.1468-2958.2004.tb00738.x
RELIABLE, TENTATIVE = 0.8, 0.667
_SCALE = Scale(-0.5, 1.0)
_GRID = (
    (-0.4, "−0.4", "grid"),
    (0.0, "0", "grid"),
    (0.4, "0.4", "grid"),
    (TENTATIVE, ".667", "target"),
    (RELIABLE, ".800", "target"),
    (1.0, "1", "grid"),
)


@dataclass(frozen=True, slots=True)
class CoefficientStrip:
    """A coefficient as a strip, and the name of its band (Landis and Koch 1977)."""

    strip: Chart
    band: str


def coefficient_strip(value: float | None, low: float | None, high: float | None) -> CoefficientStrip | None:
    """Return a coefficient on an axis from −0.5 to 1; ``None`` without a value.

    A value below −0.5 is drawn at the axis's end; the page shows the exact value beside the strip.
    """
    if value is None or not isfinite(value):
        return None
    interval = "no interval" if low is None or high is None else f"95% interval {low:.3f} to {high:.3f}"
    strip = dot_strip(
        [("", (value, low, high), "")],
        _SCALE,
        reference_lines=[ReferenceLine(x=_SCALE.x(at), kind=kind) for at, _, kind in _GRID],
        summary=f"{value:.3f}, {interval}",
    )
    return CoefficientStrip(strip, next(word for end, word in _BANDS if value <= end or end == 1.0))


def coefficient_axis() -> Chart:
    """Return the axis that stands above the strips of coefficients."""
    ticks = [(at, text, "strong" if kind == "target" else "") for at, text, kind in _GRID]
    return axis_strip(ticks, _SCALE, summary="Axis from −0.5 to 1; lines at .667 and .800")


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One pair of labels in a heat table. ``heat``: colour step 0 to 9. ``item``: an example item, if any."""

    first: str
    second: str
    percent: float  # of all pairs
    heat: int
    is_agreement: bool
    item: str


def heat_table(
    confusion: Sequence[Sequence[float]], labels: Sequence[str], examples: Mapping[str, str]
) -> list[tuple[str, list[HeatCell]]]:
    """Return a heat table of pairs of labels that two people gave to the same item.

    Args:
        confusion: (L, L) coincidences, symmetric. labels: the L labels. examples: by ``"row,column"`` (row ≤ column),
            an item with that pair of labels.
    """
    total = sum(sum(row) for row in confusion)
    largest = max((value for row in confusion for value in row), default=0)
    rows = []
    for i, row in enumerate(confusion):
        cells = []
        for j, value in enumerate(row):
            step = -(-int(1000 * value / largest) * HEAT_STEPS // 1000) if largest else 0
            item = examples.get(f"{min(i, j)},{max(i, j)}", "")
            share = 100 * value / total if total else 0.0
            cells.append(HeatCell(labels[i], labels[j], share, min(HEAT_STEPS, step), i == j, item))
        rows.append((labels[i], cells))
    return rows
