"""Charts of box proposals: the share of pairs that the first n proposals cover, over n."""

from collections.abc import Sequence

from curation.proposals.overlap import Recall
from hits.charts.chart import Chart, PlotArea, Table, Tick
from hits.charts.scale import Scale

HEIGHT, SPARK_HEIGHT = 150, 24  # pixels
KINDS = ("strong", "second", "third")
_SHARES = Scale(0.0, 1.0)


def recall_chart(recall: Recall) -> Chart:
    """Return the curves of all IoU thresholds."""
    limit = max(len(curve) for curve in recall.curves.values())
    plot = PlotArea(Scale(1, max(2, limit)), _SHARES, HEIGHT)
    lines = [(curve[-1], f"IoU > {over:g}: {100 * curve[-1]:.1f}%") for over, curve in recall.curves.items()]
    steps = sorted({1, max(1, limit // 4), max(1, limit // 2), max(1, 3 * limit // 4), limit})
    return Chart(
        summary=f"Share of {recall.pairs} pairs covered by the first {limit} proposals. "
        + "; ".join(text for _, text in lines),
        height=HEIGHT,
        kind="line",
        x_label="proposals",
        y_label="pairs covered",
        curves=[
            plot.curve(kind, enumerate(curve, start=1))
            for kind, curve in zip(KINDS, recall.curves.values(), strict=False)
        ],
        labels=plot.end_labels(lines),
        x_ticks=[Tick(plot.x_scale.x(step), str(step)) for step in steps],
        y_ticks=plot.quarter_ticks(lambda share: f"{100 * share:.0f}%"),
        table=Table(
            ("Proposals", *(f"IoU > {over:g}" for over in recall.curves)),
            [
                (
                    str(step),
                    *(f"{100 * curve[min(step, len(curve)) - 1]:.1f}%" for curve in recall.curves.values()),
                )
                for step in steps
            ],
        ),
    )


def recall_spark(curve: Sequence[float]) -> Chart:
    """Return one curve as a small strip."""
    plot = PlotArea(Scale(0, max(1, len(curve) - 1)), _SHARES, SPARK_HEIGHT, top=0.0)
    curves = [plot.curve("strong", enumerate(curve))]
    return Chart("", SPARK_HEIGHT, kind="spark", is_strip=True, curves=curves)
