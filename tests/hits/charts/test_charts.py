"""Charts as plain data: positions, labels that never overlap, summaries and tables."""

import re
from itertools import pairwise
from typing import Any

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from hits.charts.chart import Chart, PlotArea, Table
from hits.charts.coefficients import coefficient_axis, coefficient_strip, heat_table
from hits.charts.flows import FlowSide, flow_chart_and_undrawn_count
from hits.charts.histograms import bar_chart, histogram, overlaid_histograms
from hits.charts.pay import PayPoint, pay_chart, pay_histogram, pay_ranges
from hits.charts.scale import (
    Scale,
    decimal_text,
    scale_over,
    scale_with_round_quarters,
    spread_label_positions,
)
from hits.charts.scatters import ScatterPoint, scatter
from hits.charts.strips import share_strip, stacked_strip
from hits.domain.binning import bin_counts, next_round_number
from hits.domain.money.pay import rate_spread


def number(position: str) -> float:
    return float(position.rstrip("%"))


def label_texts(chart: Chart) -> list[str]:
    return [label.text for label in chart.labels]


def test_scale_has_round_values_and_holds_every_value() -> None:
    scale = scale_over([3.0, 41.0, -2.0])
    assert all(0 < scale.position(value) < 100 for value in (3.0, 41.0, -2.0))
    assert scale.round_tick_values()[0] == [0, 10, 20, 30, 40]
    assert scale_over([5.0, 5.0]).position(5.0) == pytest.approx(50)
    assert Scale(4, 512, is_log=True).position(45.2548) == pytest.approx(50, abs=0.01)
    assert Scale(10, 0).position(10) == 0, "a scale may run from high to low"


@given(value=st.floats(0.1, 1e7), unit=st.sampled_from([1.0, 100.0]))
def test_quarter_scale_has_whole_units_and_reaches_the_value(value: float, unit: float) -> None:
    scale = scale_with_round_quarters(value, unit=unit)
    step = scale.high / 4
    assert scale.high >= value * (1 - 1e-9)
    assert step / unit == pytest.approx(round(step / unit))
    assert scale.high <= max(8 * unit, 8 * value)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_spread_labels_never_overlap(positions: list[float]) -> None:
    placed = spread_label_positions(positions, top=0, bottom=100)
    assert all(lower - upper >= 14.99 for upper, lower in pairwise(sorted(placed)))
    assert max(placed) <= max(100, 15 * (len(positions) - 1)) + 0.01


def test_decimals_has_a_real_minus_sign() -> None:
    assert decimal_text(-0.0876, 2) == "−0.09"
    assert decimal_text(-0.0004, 3) == "0.000"
    assert decimal_text(0.5, 3) == "0.500"


def test_pay_chart_stands_on_zero_and_keeps_its_labels_apart() -> None:
    assert pay_chart([PayPoint("1", 1500)], target=1500, x_unit="submission") is None
    chart = pay_chart(
        [PayPoint("14 Nov", 1160, 1590), PayPoint("15 Nov", 1530, 1540)], target=1500, x_unit="day"
    )
    assert chart is not None
    assert [tick.text for tick in chart.y_ticks] == ["0", "5", "10", "15", "20"]
    assert chart.y_ticks[0].position == chart.plot_bottom == "164.0"
    assert chart.reference_lines[0].y == "51.5"  # 14 + 150 × (1 − 15 / 20)
    heights = sorted(number(label.y) for label in chart.labels)
    assert all(lower - upper >= 15 for upper, lower in pairwise(heights))
    assert set(label_texts(chart)) == {"Median $15.30", "Mean $15.40", "Target $15.00"}
    assert chart.table == Table(
        ("Day", "Median, $/h", "Mean, $/h"), [("14 Nov", "11.60", "15.90"), ("15 Nov", "15.30", "15.40")]
    )


def test_pay_chart_writes_each_day_once() -> None:
    points = [PayPoint(day, 1500) for day in ["26 Nov"] * 6 + ["27 Nov"] * 2]
    chart = pay_chart(points, target=1500, x_unit="submission")
    assert chart is not None
    assert [(tick.text, tick.position) for tick in chart.x_ticks] == [
        ("26 Nov", "0.00%"),
        ("27 Nov", "85.71%"),
    ]


def test_pay_chart_labels_points_beyond_the_axis() -> None:
    points = [PayPoint("1", 1_400), PayPoint("2", 198_000), PayPoint("3", 1_600), PayPoint("4", 190_000)]
    chart = pay_chart(points, target=1500, x_unit="submission")
    assert chart is not None
    assert [tick.text for tick in chart.y_ticks] == ["0", "5", "10", "15", "20"]
    beyond = [label for label in chart.labels if label.text.startswith("▲")]
    assert [(label.text, label.anchor) for label in beyond] == [("▲ $1,980", "start"), ("▲ $1,900", "end")]
    assert {"Latest $1,900", "Target $15.00"} <= set(label_texts(chart))
    assert "▲" in chart.note
    crowded = [PayPoint(str(n), 190_000 if 10 < n < 14 else 1_500) for n in range(100)]
    chart = pay_chart(crowded, target=1500, x_unit="submission")
    assert chart is not None
    found = [text for text in label_texts(chart) if text.startswith("▲")]
    assert found == ["▲ $1,900", "▲", "▲"], "figures do not lie upon one another"


def test_pay_ranges_share_an_axis_and_describe_themselves() -> None:
    rows = [rate_spread([(100, 400)] * 3, 1500), rate_spread([(100, 120), (100, 240), (100, 20)], 1500)]
    ranges = pay_ranges([row for row in rows if row], target=1500)
    slow, quick = ranges.rows
    assert slow.bars[0].width == "0.00%", "its quartiles are one value"
    target = number(slow.reference_lines[0].x)
    assert number(slow.dots[0].x) < target < number(quick.dots[0].x)
    assert label_texts(quick) == ["▶ 105"], "a rate of $180 an hour would press all others against the edge"
    assert label_texts(slow) == []
    assert "median $9.00, target $15.00" in slow.summary
    assert [tick.text for tick in ranges.axis.x_ticks] == ["0", "target 15", "60"]


def test_pay_ranges_are_not_flattened_by_one_very_quick_submission() -> None:
    """A reward for two seconds of work makes thousands of dollars an hour."""
    expected = [row for seconds in (200, 260, 330) if (row := rate_spread([(110, seconds)] * 3, 1500))]
    quick = rate_spread([(110, 2.0)], 1500)
    assert quick is not None
    ranges = pay_ranges([*expected, quick], target=1500)
    places = [number(row.dots[0].x) for row in ranges.rows]
    assert places[0] - places[2] > 8, "expected rates can be told apart"
    assert [label_texts(row) for row in ranges.rows] == [[], [], [], ["▶ 1,980"]]
    mixed = rate_spread([(110, 2.0), (110, 260.0), (110, 300.0)], 1500)
    assert mixed is not None
    alone = pay_ranges([mixed], target=1500)
    assert label_texts(alone.rows[0]), "nor are those of its own row, where there is only one"
    assert alone.axis.x_ticks[-1].text == "60"
    above = pay_ranges(expected, target=100)
    assert not any(label_texts(row) for row in above.rows), "where all are above the target, nothing is cut"


def test_pay_histogram_splits_at_the_target() -> None:
    chart = pay_histogram([1499, 1500, 900, 9_000], target=1500)
    assert chart is not None
    under = [bar for bar in chart.bars if not bar.kind]
    assert [bar.title for bar in under] == ["1: $7.48 to $9.36", "1: $13.12 to $15.00"]
    assert all(number(bar.x) + number(bar.width) <= number(chart.reference_lines[0].x) for bar in under)
    assert chart.summary == "2 of 4 submissions paid under $15.00 an hour."
    assert pay_histogram([], target=1500) is None


def test_bar_chart_stands_on_zero_and_marks_the_threshold() -> None:
    labels: dict[str, Any] = {
        "summary": "s",
        "x_label": "score",
        "unit": "Applicants",
        "threshold_label": "8 needed",
    }
    chart = bar_chart([0, 0, 0, 1, 0, 0, 2, 5, 4, 8], threshold=8, **labels)
    assert chart is not None
    assert [bar.title for bar in chart.bars if not bar.kind] == ["4 with 8", "8 with 9"]
    heights = [number(bar.height) for bar in chart.bars]
    assert heights[9] == pytest.approx(2 * heights[8], abs=0.2)
    assert heights[0] == 0
    assert number(chart.bars[7].x) < number(chart.reference_lines[0].x) <= number(chart.bars[8].x)
    assert bar_chart([0] * 10, threshold=8, **labels) is None


def test_histogram_counts_every_value_and_names_its_ranges() -> None:
    binned = bin_counts([float(n) for n in range(96)] + [500.0] * 4)
    assert binned["over"] == 4
    chart = histogram(
        binned,
        references=[(30.0, "Median 30 s", "mark"), (400.0, "Mean", "target")],
        unit="s",
        summary="Work",
    )
    assert chart is not None
    assert chart.table is not None
    assert sum(int(row[1]) for row in chart.table.rows) == 100
    assert chart.table.rows[-1][0].endswith("s or more")
    assert [rule.x for rule in chart.reference_lines][-1] == "100.00%", (
        "a value beyond the axis stands at its end"
    )
    assert [label.anchor for label in chart.labels] == ["start", "end"]
    assert chart.summary.startswith("Work: 5 0 to 5 s")
    assert histogram(bin_counts([]), references=[], unit="s", summary="") is None


def test_round_up_gives_the_next_round_number() -> None:
    assert [next_round_number(step) for step in (0.9, 1, 1.1, 2.1, 26, 0.03)] == [1, 1, 2, 2.5, 50, 0.05]


def test_overlaid_histograms_are_shares_of_their_own_whole() -> None:
    chart = overlaid_histograms(
        [("clues", [2, 2, 0, 0], 0.1), ("captions", [0, 0, 0, 8], 0.9)],
        (0.0, 1.0),
        summary="s",
        note="n",
        table_unit="Cosine",
    )
    heights = {bar.kind: number(bar.height) for bar in chart.bars}
    assert heights["captions"] == pytest.approx(2 * heights["clues"])
    assert chart.table is not None
    assert chart.table.rows[0] == ("0.00 to 0.25", "2", "0")


def test_overlaid_histograms_write_negative_values_with_a_minus_sign() -> None:
    chart = overlaid_histograms(
        [("clues", [1, 1], -0.25)], (-0.5, 0.5), summary="s", note="n", table_unit="Cosine"
    )
    assert chart.table is not None
    assert [row[0] for row in chart.table.rows] == ["−0.50 to 0.00", "0.00 to 0.50"]
    assert [label.text for label in chart.labels] == ["clues −0.25"]


def test_closed_histogram_ends_at_its_last_bin_and_leaves_out_empty_ones() -> None:
    binned = {"width": 0.25, "counts": [3, 0, 1, 0]}
    chart = histogram(binned, references=[], unit="score", summary="Texts", is_open=False)
    assert chart is not None
    assert len(chart.bars) == 2
    assert chart.summary == "Texts: 3 0 to 0.25 score, 1 0.5 to 0.75 score"
    assert chart.x_ticks[-1].text == "1"


def test_stacked_strip_fills_its_width_in_order() -> None:
    strip = stacked_strip(
        [("accept", 3, "accept"), ("undecided", 0, "undecided"), ("reject", 1, "reject")], summary=""
    )
    assert strip is not None
    assert [(bar.kind, bar.x, bar.width) for bar in strip.bars] == [
        ("accept", "0.00%", "75.00%"),
        ("undecided", "75.00%", "0.00%"),
        ("reject", "75.00%", "25.00%"),
    ]
    assert label_texts(strip) == ["75%", "25%"]
    assert stacked_strip([("accept", 0, "accept")], summary="") is None


def test_share_strip_draws_its_interval_and_the_papers_mark() -> None:
    strip = share_strip(0.5, low=0.4, high=0.6, references=[0.25], summary="50 %")
    assert strip.bars[0].width == "50.00%"
    assert (strip.dots[0].x_low, strip.dots[0].x_high, strip.reference_lines[0].x) == (
        "40.00%",
        "60.00%",
        "25.00%",
    )


def test_coefficient_has_a_band_and_stays_on_its_axis() -> None:
    found = coefficient_strip(0.7, 0.6, 0.8)
    assert found is not None
    assert found.band == "substantial"
    assert found.strip.dots[0].x == "80.00%"
    low = coefficient_strip(-0.9, None, None)
    assert low is not None
    assert (low.band, low.strip.dots[0].x, low.strip.bars) == ("poor", "0.00%", [])
    assert coefficient_strip(None, None, None) is coefficient_strip(float("nan"), None, None) is None
    assert [tick.text for tick in coefficient_axis().x_ticks] == ["−0.4", "0", "0.4", ".667", ".800", "1"]


def test_scatter_names_leave_interval_lines_free() -> None:
    points = [
        ScatterPoint((5, 0, 9), (5, None, None), "wide", "wide"),
        ScatterPoint((5, 4, 6), (9, 8, 10), "cross", "cross"),
    ]
    chart = scatter(points, x_label="x", y_label="y", min_width=400, summary="s")
    names = [dot.name for dot in chart.dots]
    assert [(name.anchor, name.dy) for name in names if name] == [("middle", -9), ("start", -8)]


def test_heat_table_shades_by_the_largest_cell() -> None:
    rows = heat_table([[6.0, 2.0], [2.0, 0.0]], ["yes", "no"], {"0,1": "item-1"})
    cells = [[(cell.percent, cell.heat, cell.item, cell.is_agreement) for cell in row] for _, row in rows]
    assert cells == [
        [(60.0, 9, "", True), (20.0, 3, "item-1", False)],
        [(20.0, 3, "item-1", False), (0.0, 0, "", True)],
    ]


def test_flow_chart_has_a_node_for_each_group_and_ribbons_as_high_as_their_counts() -> None:
    counts = [[3, 1], [0, 4]]
    chart, undrawn = flow_chart_and_undrawn_count(
        counts,
        FlowSide([["rain", "wet"], ["sun"]], "pairs"),
        FlowSide([["storm"], ["heat"]], "pairs"),
        titles=[["a", "b"], ["c", "d"]],
        summary="s",
    )
    assert undrawn == 0
    assert [bar.title for bar in chart.bars] == [
        "1: rain, wet (4 pairs)",
        "2: sun (4 pairs)",
        "1: storm (3 pairs)",
        "2: heat (5 pairs)",
    ]
    assert [curve.title for curve in chart.curves] == ["a", "b", "d"]
    sides = [
        sum(number(bar.height) for bar in chart.bars[:2]),
        sum(number(bar.height) for bar in chart.bars[2:]),
    ]
    assert sides[0] == pytest.approx(sides[1], abs=0.2)


def test_chart_template_draws_all_marks_with_a_summary_and_a_table() -> None:
    plot = PlotArea(Scale(0, 10), Scale(0, 100), 100)
    chart = Chart(
        summary="A line & more",
        height=100,
        title="Line",
        x_label="steps",
        x_ticks=plot.x_ticks(),
        y_ticks=plot.y_ticks(),
        curves=[plot.curve("strong", [(0, 0), (10, 100)])],
        dots=[plot.dot((5, None, None), (50, 40, 60), "half", url="/there")],
        bars=[plot.bar(0, 5, 20, "twenty")],
        labels=plot.end_labels([(100, "Latest")]),
        table=Table(("Step", "Value"), [("0", "0"), ("10", "100")]),
    )
    page = re.sub(r"\s+", " ", render_to_string("hits/charts/chart.html", {"chart": chart}))
    assert 'role="img" aria-label="A line &amp; more"' in page
    for mark in (
        'd="M0.0 100.0L1000.0 0.0"',
        '<a href="/there">',
        'class="whisker"',
        "<title> twenty </title>",
    ):
        assert mark in page or mark.replace("> ", ">").replace(" <", "<") in page, mark
    assert page.count("<td") == 4
    assert "style=" not in page, "the content security policy allows no inline style"
