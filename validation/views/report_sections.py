"""Sections of the report page: labels, figures and charts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hits.charts.chart import Chart
from hits.charts.coefficients import coefficient_strip, heat_table
from hits.charts.histograms import histogram
from hits.charts.scale import decimal_text
from hits.charts.strips import shade_classes, share_strip, stacked_strip
from hits.domain.money.usd import format_dollars
from hits.models import Project
from validation.domain.judging.spec import Dimension, JudgingSpec, Scale
from validation.domain.reports.dimension_report import ALPHA_KEYS, alpha_metric_of
from validation.models import JudgingReport, WorkerQuality
from validation.selectors import report as selectors
from validation.selectors.report import ShownItem

COEFFICIENTS = {
    "alpha_ordinal": "Krippendorff’s α, ordinal",
    "alpha_nominal": "Krippendorff’s α, nominal",
    "alpha_interval": "Krippendorff’s α, interval",
    "fleiss": "Fleiss’ κ",
}
EVIDENCE_COLUMNS = (
    ("gold", "Gold items"),
    ("attention", "Attention checks"),
    ("repeat", "Repeats"),
    ("pace", "Pace"),
    ("varied", "Variety"),
)


def dimension_section(
    spec: JudgingSpec, dimension: Dimension, figures: Mapping[str, Any], shown: Mapping[str, ShownItem]
) -> dict[str, Any]:
    """Return the section of one dimension: bar, coefficients, heat table and hardest items, as its scale allows."""
    titles = [dimension.label_text(label) for label, _ in figures["labels"]]
    is_multiple, is_text = dimension.scale is Scale.MULTIPLE, dimension.scale is Scale.TEXT
    percent = figures["coefficients"].get("percent") or {}
    return {
        "name": dimension.name,
        "title": dimension.title,
        "question": dimension.question,
        "is_text": is_text,
        "texts": figures["ratings"] if is_text else 0,
        "median_words": figures.get("median_words"),
        "bar": ""
        if is_multiple or is_text
        else _label_bar(dimension.title, list(zip(titles, (n for _, n in figures["labels"]), strict=True))),
        "low": titles[0] if titles else "",
        "high": titles[-1] if titles else "",
        "is_ordered": dimension.is_ordered,
        "items": figures["items"],
        "ratings": figures["ratings"],
        "raters": figures["raters"],
        "coefficients": _coefficient_rows(figures["coefficients"]),
        "percent": {key: _percent(percent.get(key)) for key in ("value", "low", "high")}
        | {"items": percent.get("items", 0)},
        "unanimity": figures.get("unanimity"),
        "by_label": [_label_row(dimension, row) for row in figures.get("by_label", ())],
        "heat": heat_table(figures["confusion"], titles, figures["examples"]),
        "label_titles": titles,
        "hardest": [_hardest_row(dimension, row, shown.get(row["item"])) for row in figures["hardest"]],
        "kind": spec.name,
    }


def _label_bar(title: str, counts: list[tuple[str, int]]) -> dict[str, Any] | None:
    """Return one bar of all labels from low to high, and its legend."""
    segments = [(name, n, shade) for (name, n), shade in zip(counts, shade_classes(len(counts)), strict=True)]
    summary = f"{title}: {', '.join(f'{count} {name}' for name, count in counts)}"
    strip, total = stacked_strip(segments, summary=summary), sum(count for _, count in counts)
    return (
        None
        if strip is None
        else {"strip": strip, "legend": [(*segment, 100 * segment[1] / total) for segment in segments]}
    )


def _coefficient_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"title": title, **row, "dot": coefficient_strip(row["value"], row["low"], row["high"])}
        for key, title in COEFFICIENTS.items()
        if (row := found.get(key)) is not None
    ]


def _label_row(dimension: Dimension, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one label of a multiple choice with its frequency and the judges' agreement on it."""
    return {
        "label": dimension.label_text(row["label"]),
        "ticked": row["ticked"],
        "of": row["ratings"],
        "percent": 100 * row["ticked"] / row["ratings"] if row["ratings"] else None,
        "coefficients": _coefficient_rows(row["coefficients"]),
    }


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _hardest_row(dimension: Dimension, row: Mapping[str, Any], shown: ShownItem | None) -> dict[str, Any]:
    votes = [f"{count} {dimension.label_text(label)}" for label, count in row["labels"]]
    return {
        "item": row["item"],
        "disagreement": row["disagreement"],
        "votes": votes
        if dimension.has_fixed_labels
        else [f"{len(votes)} different {dimension.unit_labels[1]}"],
        "images": shown.images if shown else (),
        "boxes": shown.boxes if shown else [],
        "clue": shown.clue if shown else None,
        "text": shown.texts.get(row["part"], "") if shown else "",
    }


def headline_tiles(spec: JudgingSpec, figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tiles at the top of the page: title, figure, denominator and note."""
    tiles = []
    for dimension in spec.dimensions:
        found = figures["dimensions"].get(dimension.name) or {}
        share, (title, note) = found.get("share"), dimension.share_heading or ("", "")
        if share and share["percent"] is not None:
            undecided = f"; {share['undecided']:,} undecided" if share["undecided"] else ""
            note = f"{note}{undecided}; {_describe_interval(share, unit='%')}"
            counts = f"{share['count']:,} of {share['of']:,}"
            tiles.append(_tile(title, f"{share['percent']:.1f}%", counts, note))
        if dimension.is_numeric and found.get("ratings") and found["mean"] is not None:
            low, high = dimension.labels[0], dimension.labels[-1]
            denominator, note = f"of {low} to {high}", f"{found['ratings']:,} ratings."
            tiles.append(_tile(f"Mean {dimension.title.lower()}", f"{found['mean']:.2f}", denominator, note))
    pairwise = figures.get("pairwise")
    if pairwise and pairwise["value"] is not None:
        note = f"Agreement between judges as the leaderboard measures it. Chance is 0; {_describe_interval(pairwise)}"
        tiles.append(
            _tile("Pairwise accuracy", f"{pairwise['value']:.1f}", f"in {pairwise['sets']:,} sets", note)
        )
        note = "Candidate pairs that two judges put in the same order. Chance is 50%."
        tiles.append(
            _tile(
                "Same order",
                f"{pairwise['accuracy']:.1f}%",
                f"over {pairwise['pairs']:,} ordered pairs of judges",
                note,
            )
        )
    baseline = figures.get("baseline")
    if baseline and baseline["accuracy"] is not None:
        chance = f"Chance {baseline['chance']:.1f}%."
        counted, noun, plural = spec.truth_labels_text
        interval = _describe_interval(baseline, unit="%")
        note = f"{counted} per {noun}, mean over {plural}; {interval} {chance}"
        tiles.append(
            _tile(
                "Human accuracy", f"{baseline['accuracy']:.1f}%", f"on {baseline['images']:,} {plural}", note
            )
        )
    return tiles


def _tile(title: str, figure: str, denominator: str, note: str) -> dict[str, str]:
    return {"title": title, "figure": figure, "denominator": denominator, "note": note}


def _describe_interval(row: Mapping[str, Any], *, unit: str = "") -> str:
    if row["low"] is None:
        return "no interval."
    return f"95% interval {row['low']:.1f} to {row['high']:.1f}{unit}."


def box_facts(boxes: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the agreement on boxes as (label, value); empty if no image has two authors."""
    if not boxes:
        return []
    alpha = "undefined" if boxes["alpha"] is None else decimal_text(boxes["alpha"], 3)
    if boxes["low"] is not None:
        alpha += f" (95% interval {decimal_text(boxes['low'], 3)} to {decimal_text(boxes['high'], 3)})"
    facts = [("IoU-α of the marked areas", alpha)]
    if boxes["mean_iou"] is not None:
        facts.append(("Mean IoU of matched boxes", f"{boxes['mean_iou']:.3f}"))
    if boxes["f1"] is not None:
        facts.append(("F1 of boxes with IoU over .5", f"{boxes['f1']:.3f}"))
    if boxes["estimated"]:
        facts.append(("Expected disagreement", "estimated from a million random pairs of regions"))
    return facts


def time_section(time: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the plots of active seconds and of dollars per hour."""
    if not time:
        return None
    pay = time["pay"]
    seconds = histogram(
        time["bins"],
        references=[
            (time["median"], f"Median {time['median']:.0f} s", "mark"),
            (time["mean"], f"Mean {time['mean']:.0f} s", "target"),
        ],
        unit="s",
        summary="Judgments by active seconds",
    )
    rates = pay and histogram(
        pay["bins"],
        references=[
            (pay["median"] / 100, f"Median {format_dollars(pay['median'])}", "mark"),
            (pay["target"] / 100, f"Target {format_dollars(pay['target'])}", "target"),
        ],
        unit="dollars an hour",
        summary="Judgments by US dollars an hour",
    )
    return {"seconds": seconds, "rates": rates, **time}


def rounds_section(spec: JudgingSpec, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of rounds with their figures by dimension."""
    names = selectors.batch_names(row["batch"] for row in figures["batches"])
    dimensions = [
        spec.dimension(name)
        for name, _ in spec.in_dimension_order(figures["dimensions"])
        if spec.dimension(name).scale is not Scale.TEXT
    ]
    rows = []
    for row in figures["batches"]:
        cells = [
            (dimension.title, _round_cell(dimension, row["dimensions"].get(dimension.name)))
            for dimension in dimensions
        ]
        rows.append({**row, "name": names.get(row["batch"], f"Batch {row['batch']}"), "cells": cells})
    return {
        "titles": [dimension.title for dimension in dimensions],
        "rows": rows,
        "note": dimensions[0].round_note if dimensions else "",
    }


def _round_cell(dimension: Dimension, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not row:
        return None
    return {**row, "alpha": row.get(ALPHA_KEYS[alpha_metric_of(dimension)]), "same": _percent(row["percent"])}


def workers_section(rows: Iterable[WorkerQuality]) -> dict[str, Any]:
    """Return the table of workers, most reliable first, without empty columns of evidence."""
    found = list(rows)
    columns = [
        (key, title)
        for key, title in EVIDENCE_COLUMNS
        if any(_denominator(row.figures.get(key)) for row in found)
    ]
    table_rows = [
        {
            "rank": row.rank,
            "worker": row.worker,
            **row.figures,
            "meter": _reliability_meter(row.figures.get("reliability")),
            "alike": _ratio_percent(row.figures.get("agreement")),
            "evidence": [(title, row.figures.get(key)) for key, title in columns],
        }
        for row in found
    ]
    return {"titles": [title for _, title in columns], "rows": table_rows}


def _denominator(count_and_total: Sequence[int] | None) -> int:
    return count_and_total[1] if count_and_total else 0


def _reliability_meter(reliability: float | None) -> Chart | None:
    """Return a bar for a reliability; the bar is empty if the reliability is below chance."""
    return None if reliability is None else share_strip(reliability, summary="", kind="meter")


def _ratio_percent(count_and_total: Sequence[int] | None) -> float | None:
    return 100 * count_and_total[0] / count_and_total[1] if count_and_total and count_and_total[1] else None


def changes_since_report(report: JudgingReport, project: Project) -> dict[str, Any]:
    """Return how many judgments the report lacks, and whether its data or the project's target pay changed."""
    behind = selectors.count_new_judgments(report)
    target = bool(report.figures.get("time")) and (report.figures["time"]["pay"] or {}).get("target")
    return {
        "behind": behind,
        "fewer": -behind,
        "changed": selectors.is_report_outdated(report),
        "target_moved": bool(target) and target != project.target_cents_per_hour,
    }
