"""Figures of a judging report as plain data: shares, agreement, confusion, hardest items, time and pay, raters.

The functions take rating tables or plain rows and return data for a JSON column; pages add labels and drawings.
Sources of the measures: ``agreement`` and ``dawid_skene`` in ``validation.domain.agreement``.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from statistics import fmean
from typing import Any

import numpy as np

from hits.domain.binning import bin_counts
from hits.domain.hashing import canonical_json
from hits.domain.money.pay import HOUR_SECONDS, rate_spread
from hits.domain.quantiles import quantile
from validation.domain.agreement import dawid_skene
from validation.domain.agreement.fleiss import percent_agreement
from validation.domain.agreement.krippendorff import krippendorff_alpha
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow, RatingTable
from validation.domain.judging.spec import Dimension, JudgingSpec, Label, Scale
from validation.domain.reports.dimension_report import (
    ALPHA_KEYS,
    MAX_CELLS,
    alpha_metric_of,
    majority_share,
    plain_number_or_none,
)
from validation.domain.reports.localization import count_correct

FIGURES_FORMAT = 1  # changing it changes all fingerprints, so that reports are computed again


def figures_fingerprint(rows: Iterable[JudgmentRow], *context: object) -> str:
    """Return a SHA-256 over the judgments, in any order, and the other inputs of the figures (``context``).

    It covers each row's item, rater, answer, batch, unit, seconds, reward, time, role and whether it was simulated.
    """
    row_hashes = sorted(
        hashlib.sha256(
            canonical_json(
                [
                    row.item,
                    row.rater,
                    row.answer,
                    row.batch,
                    row.unit,
                    row.seconds,
                    row.cents,
                    row.at.isoformat() if row.at else None,
                    row.role,
                    row.simulated,
                ]
            )
        ).digest()
        for row in rows
    )
    digest = hashlib.sha256(canonical_json([FIGURES_FORMAT, *context]))
    for row_hash in row_hashes:
        digest.update(row_hash)
    return digest.hexdigest()


def agreement_counts_by_rater(table: RatingTable) -> dict[str, tuple[int, int]]:
    """Return by rater: how many ratings by others of the same items are equal to theirs, and how many there are."""
    if not table.size:
        return {}
    pair = table.items * len(table.scale) + table.labels
    _, cell_index, cell_counts = np.unique(pair, return_inverse=True, return_counts=True)
    votes = np.bincount(table.items)
    raters = len(table.rater_ids)
    agreeing = np.bincount(table.raters, cell_counts[cell_index] - 1, raters)
    total = np.bincount(table.raters, votes[table.items] - 1, raters)
    return {str(r): (int(agreeing[n]), int(total[n])) for n, r in enumerate(table.rater_ids)}


def reliability_by_rater(
    rating_tables: Mapping[str, RatingTable], spec: JudgingSpec
) -> dict[str, dict[str, float]]:
    """Return by rater and dimension the reliability of the labels, -1 to 1; see ``dawid_skene.rater_reliabilities``.

    Raters without a shared item are left out. Dimensions whose labels come with each unit, and multiple choices,
    are left out: their labels do not mean the same on each item, so the model cannot use them.
    """
    by_rater: dict[str, dict[str, float]] = defaultdict(dict)
    for name, table in rating_tables.items():
        dimension = spec.dimension(name)
        if not dimension.has_fixed_labels or dimension.scale is Scale.MULTIPLE or not table.size:
            continue
        fitted = dawid_skene.fit(table, smoothing=dawid_skene.SMOOTHING)
        values = dawid_skene.rater_reliabilities(fitted, table)
        for rater, value in zip(table.rater_ids, values.tolist(), strict=True):
            if isfinite(value):
                by_rater[str(rater)][name] = value
    return dict(by_rater)


def time_figures(rows: Iterable[JudgmentRow], target_cents_per_hour: int) -> dict[str, Any] | None:
    """Return the distribution of active seconds and of pay per hour over judgments; ``None`` without times.

    Seconds are active seconds. Pay per hour counts only the reward.
    """
    timed = [(row.cents, row.seconds) for row in rows if row.seconds is not None and row.seconds > 0]
    if not timed:
        return None
    seconds = sorted(seconds for _, seconds in timed)
    figures: dict[str, Any] = {
        "n": len(seconds),
        "median": quantile(seconds, 0.5),
        "mean": fmean(seconds),
        "lower": quantile(seconds, 0.25),
        "upper": quantile(seconds, 0.75),
        "bins": bin_counts(seconds),
        "pay": None,
    }
    paid = [(cents, seconds_taken) for cents, seconds_taken in timed if cents is not None]
    pay = rate_spread(paid, target_cents_per_hour)
    if pay is not None:
        rates = sorted(cents * HOUR_SECONDS / seconds_taken / 100 for cents, seconds_taken in paid)
        figures["pay"] = {
            "n": pay.n,
            "median": pay.median,
            "interval": list(pay.interval) if pay.interval else None,
            "mean": pay.mean,
            "overall": pay.overall_cents_per_hour,
            "under": pay.under_count,
            "target": target_cents_per_hour,
            "bins": bin_counts(rates),
        }
    return figures


def batch_figures(batch: int, rows: Sequence[JudgmentRow], spec: JudgingSpec, target: int) -> dict[str, Any]:
    """Return the figures of one round: counts, shares, agreement without intervals, time and pay."""
    rating_tables = build_tables(rows, spec)
    time = time_figures(rows, target)
    dimensions = {}
    for name, table in rating_tables.items():
        if not table.size or len(table.item_ids) * len(table.scale) > MAX_CELLS:
            continue
        dimensions[name] = _batch_dimension_figures(spec.dimension(name), table)
    return {
        "batch": batch,
        "judgments": len(rows),
        "items": len({row.item for row in rows}),
        "raters": len({row.rater for row in rows}),
        "dimensions": dimensions,
        "median_seconds": time["median"] if time else None,
        "cents_per_hour": time["pay"]["median"] if time and time["pay"] else None,
        "simulated": sum(row.simulated for row in rows),
    }


def _batch_dimension_figures(dimension: Dimension, table: RatingTable) -> dict[str, Any]:
    favourable = dimension.favourable if dimension.share_heading else frozenset()
    counted_share = (
        majority_share(table.label_counts(), [label in favourable for label in table.scale])
        if favourable
        else None
    )
    metric = alpha_metric_of(dimension)
    alpha = krippendorff_alpha(table, metric) if dimension.has_fixed_labels else None
    return {
        "share": counted_share,
        ALPHA_KEYS[metric] if dimension.has_fixed_labels else "alpha_ordinal": plain_number_or_none(alpha),
        "percent": plain_number_or_none(percent_agreement(table)),
        "mean": float(table.values[table.labels].mean())
        if dimension.is_numeric and dimension.scale is not Scale.MULTIPLE
        else None,
    }


def rater_figures(
    rows: Sequence[JudgmentRow], rating_tables: Mapping[str, RatingTable], spec: JudgingSpec, target: int
) -> dict[str, dict[str, Any]]:
    """Return the figures of each rater: count of judgments, agreement with others, reliability, time and pay."""
    by_rater: dict[str, list[JudgmentRow]] = defaultdict(list)
    for row in rows:
        by_rater[row.rater].append(row)
    agreements = {name: agreement_counts_by_rater(table) for name, table in rating_tables.items()}
    reliabilities = reliability_by_rater(rating_tables, spec)
    result = {}
    for rater, own_rows in by_rater.items():
        agreeing = sum(agreements[name].get(rater, (0, 0))[0] for name in agreements)
        total = sum(agreements[name].get(rater, (0, 0))[1] for name in agreements)
        time = time_figures(own_rows, target)
        values = reliabilities.get(rater, {})
        result[rater] = {
            "judgments": len(own_rows),
            "agreement": [agreeing, total],
            "reliability": fmean(values.values()) if values else None,
            "reliabilities": values,
            "median_seconds": time["median"] if time else None,
            "cents_per_hour": time["pay"]["median"] if time and time["pay"] else None,
        }
    return result


def set_reliability_from_accuracy(
    figures_by_rater: Mapping[str, dict[str, Any]],
    rows: Iterable[JudgmentRow],
    truths: Mapping[str, Mapping[str, Label]],
    spec: JudgingSpec,
) -> None:
    """Set each rater's reliability to the share of parts with the right label, 0 to 1.

    Args:
        figures_by_rater: the result of ``rater_figures``; ``accuracy``, [correct parts, all parts], is added.
        truths: by item, part -> label, such as inference id -> region id.
    """
    for row in rows:
        truth = truths.get(row.item, {})
        correct, total = figures_by_rater[row.rater].get("accuracy", (0, 0))
        chosen = spec.truth_labels(row.answer)
        figures_by_rater[row.rater]["accuracy"] = [correct + count_correct(chosen, truth), total + len(truth)]
    for figures in figures_by_rater.values():
        correct, total = figures.get("accuracy", (0, 0))
        figures["reliability"] = correct / total if total else None


def rank_workers(figures: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Return workers from the most to the least reliable; ties are ordered by agreement, then by primary key.

    Workers without a reliability come last: they share no item with others.
    """

    def sort_key(worker: int) -> tuple[bool, float, float, int]:
        row = figures[worker]
        agreeing, total = row["agreement"]
        reliability = row["reliability"]
        return (reliability is None, -(reliability or 0.0), -(agreeing / total if total else 0.0), worker)

    return sorted(figures, key=sort_key)
