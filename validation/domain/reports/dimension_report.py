"""Figures of one dimension of a judging report as plain data: counts, shares, agreement, confusion, hardest items.

The dimension's scale decides which figures it has. Sources of the measures: ``validation.domain.agreement``.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from hits.domain.quantiles import quantile
from validation.domain.agreement.coefficients import CoefficientName, coefficients
from validation.domain.agreement.krippendorff import Metric, coincidence_matrix, hardest_items
from validation.domain.judging.ratings import IntArray, JudgmentRow, RatingTable
from validation.domain.judging.spec import Dimension, JudgingSpec, Scale
from validation.domain.reports.planner import wilson_interval

SEED = 20221023  # for all bootstrap intervals
REPLICATES = 1_000  # bootstrap samples
HARDEST_COUNT = 6
MAX_CELLS = 20_000_000  # items × labels; larger tables get only counts, no other figures
HALF = 0.5
# The meaningful coefficients of each scale. Labels that differ by unit have no common expected agreement.
STATISTICS: Mapping[Scale, tuple[CoefficientName, ...]] = {
    Scale.NOMINAL: (CoefficientName.ALPHA_NOMINAL, CoefficientName.FLEISS, CoefficientName.PERCENT),
    Scale.ORDINAL: tuple(CoefficientName),
    Scale.INTERVAL: (CoefficientName.ALPHA_INTERVAL, CoefficientName.PERCENT),
    Scale.MULTIPLE: (CoefficientName.ALPHA_NOMINAL, CoefficientName.FLEISS, CoefficientName.PERCENT),
}
_METRICS = {Scale.ORDINAL: Metric.ORDINAL, Scale.INTERVAL: Metric.INTERVAL}
ALPHA_KEYS = {metric: f"alpha_{metric}" for metric in Metric}


def alpha_metric_of(dimension: Dimension) -> Metric:
    """Return how alpha measures the difference of two labels: by rank, by value, or as equal or unequal."""
    return _METRICS.get(dimension.scale, Metric.NOMINAL)


def dimension_figures(dimension: Dimension, table: RatingTable, *, stream: int = 0) -> dict[str, Any]:
    """Return all figures of the report about one dimension.

    Args:
        stream: a number added to the bootstrap's seed, so that each dimension has its own random numbers.
    """
    per_label = np.bincount(table.labels, minlength=len(table.scale))
    labels = [[str(label), int(count)] for label, count in zip(table.scale, per_label, strict=True)]
    items, raters = int(np.unique(table.items).size), int(np.unique(table.raters).size)
    figures = _initial_figures(labels if dimension.has_fixed_labels else [], items, table.size, raters)
    if not table.size or len(table.item_ids) * len(table.scale) > MAX_CELLS:
        return figures
    if dimension.scale is Scale.MULTIPLE:
        return figures | {"by_label": _label_rows(dimension, table, stream)}
    counts = table.label_counts()
    if dimension.favourable and dimension.share_heading:
        figures["share"] = majority_share(counts, [label in dimension.favourable for label in table.scale])
    if dimension.is_numeric:
        figures["mean"] = float(table.values[table.labels].mean())
    statistics = STATISTICS[dimension.scale] if dimension.has_fixed_labels else (CoefficientName.PERCENT,)
    figures["coefficients"] = _coefficient_figures(table, statistics, stream)
    if dimension.has_fixed_labels:
        figures["confusion"] = coincidence_matrix(table).tolist()
        figures["examples"] = _example_items_by_label_pair(counts, table)
    if dimension.scale is Scale.NOMINAL and dimension.has_fixed_labels:
        figures["unanimity"] = unanimity_figures(counts)
    figures["hardest"] = hardest_item_rows(table, counts, alpha_metric_of(dimension))
    return figures


def _initial_figures(labels: list[list[Any]], items: int, ratings: int, raters: int) -> dict[str, Any]:
    """Return the figures of a dimension with its counts; all other figures are still empty."""
    return {
        "labels": labels,
        "items": items,
        "ratings": ratings,
        "raters": raters,
        "share": None,
        "mean": None,
        "coefficients": {},
        "confusion": [],
        "examples": {},
        "hardest": [],
    }


def unanimity_figures(counts: IntArray) -> dict[str, Any]:
    """Count the items with at least two judges on which all judges agree; counts are (items, labels)."""
    votes = counts.sum(axis=1)
    is_shared = votes > 1
    unanimous = int((counts[is_shared].max(axis=1, initial=0) == votes[is_shared]).sum())
    total = int(is_shared.sum())
    return {"count": unanimous, "of": total, "percent": 100 * unanimous / total if total else None}


def _label_rows(dimension: Dimension, table: RatingTable, stream: int) -> list[dict[str, Any]]:
    """Return a row for each label of a multiple choice: how often judges ticked it, and their agreement on it."""
    item_labels = np.array([str(item[-1]) for item in table.item_ids if isinstance(item, tuple)])
    rows = []
    for number, label in enumerate(dimension.labels):
        label_table = table.where((item_labels == str(label))[table.items])
        rows.append(
            {
                "label": str(label),
                "ticked": int(label_table.labels.sum()),
                "ratings": label_table.size,
                "coefficients": _coefficient_figures(label_table, STATISTICS[Scale.MULTIPLE], stream, number),
            }
        )
    return rows


def text_figures(dimension: Dimension, rows: Iterable[JudgmentRow], spec: JudgingSpec) -> dict[str, Any]:
    """Return a report's figures about free text: how many texts there are, their length, and how many raters."""
    texts = [
        (row, str(label))
        for row in rows
        for name, _, label in spec.labels(row.answer)
        if name == dimension.name and str(label).strip()
    ]
    lengths = sorted(len(text.split()) for _, text in texts)
    items, raters = {row.item for row, _ in texts}, {row.rater for row, _ in texts}
    median_words = quantile(lengths, 0.5) if lengths else None
    return _initial_figures([], len(items), len(texts), len(raters)) | {"median_words": median_words}


def _coefficient_figures(
    table: RatingTable, statistics: Iterable[CoefficientName], *streams: int
) -> dict[str, dict[str, Any]]:
    """Return the coefficients by name as plain data; ``streams`` are added to the bootstrap's seed."""
    rng = np.random.default_rng([SEED, *streams])
    results = coefficients(table, statistics, rng=rng, replicates=REPLICATES)
    return {
        name.value: {key: plain_number_or_none(value) for key, value in asdict(result).items()}
        for name, result in results.items()
    }


def plain_number_or_none(value: Any) -> Any:
    """Return a Python number that JSON can hold, or ``None``."""
    if value is None or isinstance(value, bool):
        return value
    number = float(value)
    if not np.isfinite(number):
        return None
    return int(value) if isinstance(value, int | np.integer) else number


def majority_share(counts: IntArray, positive: Sequence[bool]) -> dict[str, Any]:
    """Return the share of items with a positive majority; ties are undecided and stay in the total.

    Args:
        counts: (items, labels). positive: (labels,) the mask of positive labels.

    Returns:
        ``count``, ``of``, ``undecided``; ``percent``, ``low`` and ``high`` from 0 to 100, ``None`` without items. The
        interval is Wilson's (1927, doi:10.1080/01621459.1927.10502953) over items.
    """
    votes = counts.sum(axis=1)
    judged = votes > 0
    positive_shares = counts[judged][:, np.array(positive, dtype=bool)].sum(axis=1) / votes[judged]
    total, count, tied = (
        int(judged.sum()),
        int((positive_shares > HALF).sum()),
        int((positive_shares == HALF).sum()),
    )
    if not total:
        return {"count": 0, "of": 0, "undecided": 0, "percent": None, "low": None, "high": None}
    interval = wilson_interval(total, count / total)
    return {
        "count": count,
        "of": total,
        "undecided": tied,
        "percent": 100 * count / total,
        "low": 100 * interval.low,
        "high": 100 * interval.high,
    }


def item_key_and_part(item: Hashable) -> tuple[str, str]:
    """Return an item's key and its rated part; the part is empty if the whole item was rated."""
    return (str(item[0]), str(item[1])) if isinstance(item, tuple) else (str(item), "")


def hardest_item_rows(table: RatingTable, counts: IntArray, metric: Metric) -> list[dict[str, Any]]:
    """Return the items with the most disagreement, with their labels from low to high; counts are (items, labels)."""
    index_of = {item: number for number, item in enumerate(table.item_ids)}
    rows = []
    for item, disagreement in hardest_items(table, metric, HARDEST_COUNT):
        if disagreement <= 0:
            continue
        key, part = item_key_and_part(item)
        labels = [
            [str(label), int(n)] for label, n in zip(table.scale, counts[index_of[item]], strict=True) if n
        ]
        rows.append({"item": key, "part": part, "disagreement": float(disagreement), "labels": labels})
    return rows


def _example_items_by_label_pair(counts: IntArray, table: RatingTable) -> dict[str, str]:
    """Return an example item for each ``"low,high"`` pair of scale positions: the most-judged one with both."""
    examples = {}
    votes = counts.sum(axis=1)
    for low in range(len(table.scale)):
        for high in range(low, len(table.scale)):
            both = np.minimum(counts[:, low], counts[:, high] if high > low else counts[:, low] - 1)
            if both.max(initial=0) > 0:
                best = int(np.argmax(np.where(both > 0, votes, -1)))
                examples[f"{low},{high}"] = item_key_and_part(table.item_ids[best])[0]
    return examples
