"""Charts of the analyses of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hits.charts.chart import Chart
from hits.charts.coefficients import HEAT_STEPS
from hits.charts.flows import FlowSide, flow_chart_and_undrawn_count
from hits.charts.histograms import histogram, overlaid_histograms
from hits.charts.scale import decimal_text


def caption_chart(result: Mapping[str, Any]) -> Chart:
    """Return the histograms of a comparison with captions: inferences, clues, and captions among themselves."""
    low, high, _ = result["axis"]
    names = [name for name in ("inferences", "clues", "captions") if result[name]["count"]]
    medians = ", ".join(f"median of {name} {decimal_text(result[name]['median'], 2)}" for name in names)
    return overlaid_histograms(
        [(name, result[name]["bins"], result[name]["median"]) for name in names],
        (low, high),
        summary=f"Cosine with captions: {medians}",
        note="Each histogram shows shares of its own texts. Captions are compared with one another.",
        table_unit="Cosine",
    )


def toxicity_chart(counts: Sequence[int]) -> Chart | None:
    """Return a histogram of toxicity scores; ``None`` if all scores are 0."""
    if not any(counts):
        return None
    binned = {"width": 1 / len(counts), "counts": counts}
    return histogram(binned, references=[], unit="score", summary="Texts by score", is_open=False)


def topic_flow_chart(result: Mapping[str, Any]) -> tuple[Chart, int]:
    """Return the flow from topics of clues to topics of inferences, and the number of pairs in undrawn flows."""
    counts: list[list[int]] = result["flow"]
    clues, inferences = (
        [[word for word, _ in topic["words"]] for topic in result[name]["topics"]]
        for name in ("clues", "inferences")
    )
    largest = max(range(len(counts)), key=lambda row: sum(counts[row]))
    return flow_chart_and_undrawn_count(
        counts,
        FlowSide(clues, "pairs"),
        FlowSide(inferences, "pairs"),
        titles=[
            [
                f"{i + 1} to {j + 1}: {count} pairs, {result['times_chance'][i][j]:.1f} times chance"
                for j, count in enumerate(row)
            ]
            for i, row in enumerate(counts)
        ],
        summary=f"{result['in_flow']} pairs from {len(clues)} topics of clues to {len(inferences)} topics of "
        f"inferences; the largest topic of clues is {', '.join(clues[largest][:3])}. "
        "The table on the analysis’ page has every number.",
    )


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of the flow table: number of pairs, lift over chance, and a shade by its share of the row."""

    count: int
    lift: float
    shade: int


def heat_cells(result: Mapping[str, Any]) -> list[list[HeatCell]]:
    """Return the flow's cells, rows by clue topic."""
    table = []
    for counts, chances in zip(result["flow"], result["times_chance"], strict=True):
        total = max(1, sum(counts))
        table.append(
            [
                HeatCell(
                    count, chance, min(HEAT_STEPS, round(HEAT_STEPS * count / total + 0.49) if count else 0)
                )
                for count, chance in zip(counts, chances, strict=True)
            ]
        )
    return table
