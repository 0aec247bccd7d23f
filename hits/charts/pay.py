"""Charts of pay per hour, in integer cents."""

from collections.abc import Sequence
from dataclasses import dataclass

from hits.charts.chart import Bar, Chart, Label, PlotArea, ReferenceLine, Table, Tick
from hits.charts.histograms import HEIGHT as HISTOGRAM_HEIGHT
from hits.charts.scale import Scale, scale_with_round_quarters, svg_percent, svg_pixels
from hits.charts.strips import axis_strip, dot_strip
from hits.domain.money.pay import RateSpread
from hits.domain.quantiles import lower_quantile

HEIGHT = 150  # pixels
MAX_TICKS = 8
MAX_DOTS = 32
LABEL_WIDTH = 10.0  # percent of the chart's width that a sum such as $12,345 needs
HISTOGRAM_BINS = 24


@dataclass(frozen=True, slots=True)
class PayPoint:
    """One point of the x axis: its label, and the pay in cents per hour."""

    label: str
    median: int
    mean: int | None = None


def pay_chart(points: Sequence[PayPoint], *, target: int, x_unit: str) -> Chart | None:
    """Return pay per hour as a line chart from zero; ``None`` for fewer than two points.

    A point far above the others is drawn at the upper end with its value, so that it does not flatten the rest.
    ``x_unit`` is what the x axis counts, such as ``day``.
    """
    if len(points) < 2:  # noqa: PLR2004 - a line needs two ends
        return None
    limit = _axis_limit([point.median for point in points], target)
    drawn = [cents for point in points for cents in (point.median, point.mean or 0) if cents <= limit]
    plot = PlotArea(
        Scale(0, len(points) - 1), scale_with_round_quarters(1.02 * max([*drawn, target]), unit=100), HEIGHT
    )
    first, last = points[0], points[-1]
    ends = [(float(last.median), f"{'Latest' if last.mean is None else 'Median'} {_dollars(last.median)}")]
    ends.append((float(target), f"Target {_dollars(target)}"))
    curves = [plot.curve("strong", [(i, point.median) for i, point in enumerate(points)])]
    if last.mean is not None:
        ends.append((float(last.mean), f"Mean {_dollars(last.mean)}"))
        means = [(i, point.mean) for i, point in enumerate(points) if point.mean is not None]
        curves.insert(0, plot.curve("second", means))
    beyond = _overflow_labels(plot, points)
    return Chart(
        summary=(
            f"Pay per hour by {x_unit}, {first.label} to {last.label}: from ${first.median / 100:.2f} "
            f"to ${last.median / 100:.2f}. Target ${target / 100:.2f}."
        ),
        height=HEIGHT,
        kind="line",
        y_label="Dollars an hour",
        x_ticks=_ticks(plot, [point.label for point in points]),
        y_ticks=plot.quarter_ticks(lambda cents: f"{cents / 100:g}"),
        curves=curves,
        dots=[
            plot.dot((i, None, None), (point.median, None, None), f"{point.label}: {_dollars(point.median)}")
            for i, point in enumerate(points)
            if len(points) <= MAX_DOTS
        ],
        reference_lines=[ReferenceLine(y=svg_pixels(plot.y(target)))],
        labels=[*plot.end_labels(ends), *beyond],
        note="▲ marks a value beyond the axis; the number is that value." if beyond else "",
        table=Table(
            (x_unit.capitalize(), "Median, $/h", "Mean, $/h"),
            [
                (p.label, f"{p.median / 100:.2f}", "–" if p.mean is None else f"{p.mean / 100:.2f}")
                for p in points
            ],
        ),
    )


def _axis_limit(medians: Sequence[int], target: int) -> int:
    """Return the largest value of an axis in cents: four times the target, or twice the median if that is more."""
    return max(4 * target, 2 * lower_quantile(sorted(medians), 0.5))


def _overflow_labels(plot: PlotArea, points: Sequence[PayPoint]) -> list[Label]:
    """Return an arrow for each point beyond the axis, with its value if there is room."""
    labels, free_from = [], 0.0
    for index, point in enumerate(points):
        highest, x = max(point.median, point.mean or 0), plot.x_scale.position(index)
        if highest <= plot.y_scale.high:
            continue
        is_last = x > 100 - LABEL_WIDTH
        start = x - LABEL_WIDTH if is_last else x
        text = f"▲ ${highest / 100:,.0f}" if start >= free_from else "▲"
        labels.append(Label(svg_percent(x), "11", text, "end" if is_last else "start"))
        if start >= free_from:
            free_from = start + LABEL_WIDTH
    return labels


def _ticks(plot: PlotArea, texts: Sequence[str]) -> list[Tick]:
    every = -(-len(texts) // MAX_TICKS)
    shown = [at for at in range(0, len(texts), every) if at == 0 or texts[at] != texts[at - every]]
    kinds = ("", "minor", "middle-minor", "minor") if len(shown) > MAX_TICKS // 2 else ("",)
    return [
        Tick(plot.x_scale.x(index), texts[index], kinds[number % len(kinds)])
        for number, index in enumerate(shown)
    ]


def _dollars(cents: int) -> str:
    """Return an amount for a label, without cents from a thousand dollars on, for lack of room."""
    return f"${cents / 100:.2f}" if cents < 100_000 else f"${cents / 100:,.0f}"  # noqa: PLR2004 - cents


@dataclass(frozen=True, slots=True)
class PayRanges:
    """Median and quartiles of several groups, a strip for each, over one axis from zero."""

    axis: Chart
    rows: Sequence[Chart]


def pay_ranges(spreads: Sequence[RateSpread], *, target: int) -> PayRanges:
    """Return one strip for each group; a quartile far above the others is drawn at the end, with its value."""
    uppers = [row.upper_quartile for row in spreads]
    limit = _axis_limit([row.median for row in spreads], target) if spreads else 0
    top = min(max([*uppers, target * 4 // 3, 1]), max(limit, 1))
    # The axis leaves room at the right end if a value stands there.
    scale = Scale(0, top * 1.25 if any(upper > top for upper in uppers) else top)
    rows = [
        dot_strip(
            [("", (min(row.median, top), min(row.lower_quartile, top), min(row.upper_quartile, top)), "")],
            scale,
            reference_lines=[ReferenceLine(x=scale.x(target))],
            end_label=f"▶ {row.upper_quartile / 100:,.0f}" if row.upper_quartile > top else "",
            kind="range",
            summary=(
                f"Half of the submissions between ${row.lower_quartile / 100:.2f} and "
                f"${row.upper_quartile / 100:.2f} an hour, "
                f"median ${row.median / 100:.2f}, target ${target / 100:.2f}"
            ),
        )
        for row in spreads
    ]
    ticks = [(0.0, "0", "start"), (float(target), f"target {target / 100:g}", "strong")]
    last = top // 100 * 100
    if scale.position(last) - scale.position(target) > 2 * LABEL_WIDTH:
        ticks.append((float(last), f"{last // 100}", ""))
    return PayRanges(axis_strip(ticks, scale, summary=f"Axis from 0; target ${target / 100:.2f}"), rows)


def pay_histogram(rates: Sequence[int], *, target: int) -> Chart | None:
    """Return the histogram of hourly rates in cents; one bar ends at the target, so that no bar contains it."""
    if not rates or target <= 0:
        return None
    third = HISTOGRAM_BINS // 3  # this many bars up to the target, twice as many above
    width = -(-target // third)
    counts = [0] * HISTOGRAM_BINS
    for rate in rates:
        # Counted from the target, so that the eighth bar's end is the target itself.
        counts[max(0, min(HISTOGRAM_BINS - 1, third + (rate - target) // width))] += 1
    plot = PlotArea(Scale(0, HISTOGRAM_BINS), scale_with_round_quarters(max(counts)), HISTOGRAM_HEIGHT)
    edges = [max(0, target + (index - third) * width) / 100 for index in range(HISTOGRAM_BINS + 1)]
    texts = [f"${edges[index]:.2f} to ${edges[index + 1]:.2f}" for index in range(HISTOGRAM_BINS)]
    texts[-1] = f"{texts[-1].partition(' to ')[0]} or more"
    bars: list[Bar] = [
        plot.bar(index, index + 1, count, f"{count}: {texts[index]}", kind="" if index < third else "light")
        for index, count in enumerate(counts)
        if count
    ]
    under = sum(rate < target for rate in rates)
    ends = ["$0", f"${target / 100:g}", f"${target / 50:g}", f"${target * 3 / 100:g}+"]
    line = plot.x_scale.x(third)
    return Chart(
        summary=f"{under} of {len(rates)} submissions paid under ${target / 100:.2f} an hour.",
        height=HISTOGRAM_HEIGHT,
        kind="bars",
        x_label="Dollars an hour",
        y_label="Submissions",
        bars=bars,
        reference_lines=[ReferenceLine(x=line)],
        labels=[Label(line, "11", f"Target ${target / 100:.2f}/h", "start", 6, "strong")],
        x_ticks=[Tick(plot.x_scale.x(index * third), text) for index, text in enumerate(ends)],
        y_ticks=plot.quarter_ticks(lambda value: f"{value:g}"),
        table=Table(
            ("Pay per hour", "Submissions"),
            [(texts[index], str(count)) for index, count in enumerate(counts) if count],
        ),
    )
