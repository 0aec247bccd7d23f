"""Figures of a judging report as plain data: shares, agreement, confusion, hardest items, time and pay, raters.

Everything here takes rating tables or plain rows and gives what a JSON column keeps; what it is called on the page
and how it is drawn is the page's matter. Sources of the measures: ``agreement`` and ``dawid_skene`` beside this.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from statistics import fmean
from typing import Any

import numpy as np

from hits.domain.hashing import canonical_json
from hits.domain.pay import HOUR, spread
from hits.domain.quantiles import quantile
from validation.domain import agreement, dawid_skene
from validation.domain.agreement import Metric, Statistic
from validation.domain.localization import Matching, right_of
from validation.domain.planner import score_interval
from validation.domain.plots import counted
from validation.domain.ratings import IntArray, Judged, RatingTable
from validation.domain.scales import POSITIVE, Dimension
from validation.domain.tables import MATCH, RATING, tables

FORMAT = 1  # of the figures; a new one makes the same judgments count as changed
SEED = 20221023  # of all bootstrap intervals
REPLICATES = 1_000
HARDEST = 6
MOST_CELLS = 20_000_000  # items × labels that are tabulated; above it only the shares are told
HALF = 0.5
UNORDERED = (Statistic.PERCENT,)  # regions differ from image to image: chance means nothing over all of them
_POSITIVE: dict[str, Collection[Hashable]] = {
    dimension.value: frozenset(str(word) for word in words) for dimension, words in POSITIVE.items()
}


def fingerprint(rows: Iterable[Judged], *about: object) -> str:
    """Return the sha256 of the judgments, whatever order they come in, and of what else decides the figures.

    Each row counts with its item, rater, answer, batch, seconds, reward, time, role and whether it was simulated.
    """
    lines = sorted(
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
    whole = hashlib.sha256(canonical_json([FORMAT, *about]))
    for line in lines:
        whole.update(line)
    return whole.hexdigest()


def dimension_figures(name: str, table: RatingTable, *, stream: int = 0) -> dict[str, Any]:
    """Return everything that the report tells about one dimension.

    Args:
        stream: which of the seed's independent streams the bootstrap takes, so that dimensions share none.
    """
    per_label = np.bincount(table.labels, minlength=len(table.scale))
    figures: dict[str, Any] = {
        "labels": [[str(word), int(count)] for word, count in zip(table.scale, per_label, strict=True)],
        "items": int(np.unique(table.items).size),
        "ratings": table.size,
        "raters": int(np.unique(table.raters).size),
        "share": None,
        "mean": None,
        "coefficients": {},
        "confusion": [],
        "examples": {},
        "hardest": [],
    }
    if name == MATCH:
        figures["labels"] = []
    if not table.size or len(table.item_ids) * len(table.scale) > MOST_CELLS:
        return figures
    counts = table.counts()
    if name in _POSITIVE:
        figures["share"] = share(counts, [word in _POSITIVE[name] for word in table.scale])
    if name == RATING:
        figures["mean"] = float(table.values[table.labels].mean())
    rng = np.random.default_rng([SEED, stream])
    wanted = UNORDERED if name == MATCH else tuple(Statistic)
    found = agreement.coefficients(table, wanted, rng=rng, replicates=REPLICATES)
    figures["coefficients"] = {str(key.value): _coefficient(value) for key, value in found.items()}
    if name != MATCH:
        figures["confusion"] = agreement.coincidences(table).tolist()
        figures["examples"] = _examples(counts, table)
    figures["hardest"] = hardest(table, counts, Metric.NOMINAL if name == MATCH else Metric.ORDINAL)
    return figures


def _coefficient(found: agreement.Coefficient) -> dict[str, Any]:
    return {key: _number(value) for key, value in asdict(found).items()}


def _number(value: Any) -> Any:
    """Return a plain number that JSON has, or ``None``."""
    if value is None or isinstance(value, bool):
        return value
    number = float(value)
    if not np.isfinite(number):
        return None
    return int(value) if isinstance(value, int | np.integer) else number


def share(counts: IntArray, positive: Sequence[bool]) -> dict[str, Any]:
    """Return how many items most judges are positive about; ties are undecided and stay in the whole.

    Args:
        counts: (items, labels). positive: (labels,) which of them speak for an item.

    Returns:
        ``count``, ``of``, ``undecided``; ``percent``, ``low`` and ``high`` from 0 to 100, ``None`` of nothing. The
        interval is Wilson's (1927, doi:10.1080/01621459.1927.10502953) over items.
    """
    votes = counts.sum(axis=1)
    judged = votes > 0
    part = counts[judged][:, np.array(positive, dtype=bool)].sum(axis=1) / votes[judged]
    of, count, even = int(judged.sum()), int((part > HALF).sum()), int((part == HALF).sum())
    if not of:
        return {"count": 0, "of": 0, "undecided": 0, "percent": None, "low": None, "high": None}
    interval = score_interval(of, count / of)
    return {
        "count": count,
        "of": of,
        "undecided": even,
        "percent": 100 * count / of,
        "low": 100 * interval.low,
        "high": 100 * interval.high,
    }


def item_name(item: Hashable) -> tuple[str, str]:
    """Return an item's key and the part of it that was rated; the part is empty where the whole was."""
    return (str(item[0]), str(item[1])) if isinstance(item, tuple) else (str(item), "")


def hardest(table: RatingTable, counts: IntArray, metric: Metric) -> list[dict[str, Any]]:
    """Return the items whose raters differ most, with their labels from low to high; counts are (items, labels)."""
    at = {item: number for number, item in enumerate(table.item_ids)}
    rows = []
    for item, disagreement in agreement.hardest_items(table, metric, HARDEST):
        if disagreement <= 0:
            continue
        key, part = item_name(item)
        labels = [[str(w), int(n)] for w, n in zip(table.scale, counts[at[item]], strict=True) if n]
        rows.append({"item": key, "part": part, "disagreement": float(disagreement), "labels": labels})
    return rows


def _examples(counts: IntArray, table: RatingTable) -> dict[str, str]:
    """Return for each pair of labels, as ``"low,high"``, an item that got both, the one that most people judged."""
    found = {}
    votes = counts.sum(axis=1)
    for low in range(len(table.scale)):
        for high in range(low, len(table.scale)):
            both = np.minimum(counts[:, low], counts[:, high] if high > low else counts[:, low] - 1)
            if both.max(initial=0) > 0:
                best = int(np.argmax(np.where(both > 0, votes, -1)))
                found[f"{low},{high}"] = item_name(table.item_ids[best])[0]
    return found


def alike_by_rater(table: RatingTable) -> dict[str, tuple[int, int]]:
    """Return by rater: how many ratings by others of the same items are the same, and of how many."""
    if not table.size:
        return {}
    pair = table.items * len(table.scale) + table.labels
    _, place, same = np.unique(pair, return_inverse=True, return_counts=True)
    votes = np.bincount(table.items)
    raters = len(table.rater_ids)
    alike = np.bincount(table.raters, same[place] - 1, raters)
    of = np.bincount(table.raters, votes[table.items] - 1, raters)
    return {str(r): (int(alike[n]), int(of[n])) for n, r in enumerate(table.rater_ids)}


def reliability_by_rater(found: Mapping[str, RatingTable]) -> dict[str, dict[str, float]]:
    """Return by rater and dimension how far labels follow the fitted truth beyond chance, -1 to 1; see dawid_skene.

    Whoever shares no item with others has none. Labels that mean something else on each item tell the model nothing,
    so matches of regions have none either.
    """
    result: dict[str, dict[str, float]] = defaultdict(dict)
    for name, table in found.items():
        if name == MATCH or not table.size:
            continue
        fitted = dawid_skene.fit(table, smoothing=dawid_skene.SMOOTHING)
        values = dawid_skene.reliability(fitted, table)
        for rater, value in zip(table.rater_ids, values.tolist(), strict=True):
            if isfinite(value):
                result[str(rater)][name] = value
    return dict(result)


def time_figures(rows: Iterable[Judged], target_cents_per_hour: int) -> dict[str, Any] | None:
    """Return how active seconds and pay per hour are spread over judgments; ``None`` when none has a time.

    Seconds are active ones. Dollars per hour count the reward alone.
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
        "bins": counted(seconds),
        "pay": None,
    }
    paid = [(cents, took) for cents, took in timed if cents is not None]
    pay = spread(paid, target_cents_per_hour)
    if pay is not None:
        rates = sorted(cents * HOUR / took / 100 for cents, took in paid)
        figures["pay"] = {
            "n": pay.n,
            "median": pay.median,
            "interval": list(pay.interval) if pay.interval else None,
            "mean": pay.mean,
            "overall": pay.overall,
            "under": pay.under,
            "target": target_cents_per_hour,
            "bins": counted(rates),
        }
    return figures


def batch_figures(batch: int, rows: Sequence[Judged], kind: str, target: int) -> dict[str, Any]:
    """Return one round's line: how much was judged by how many, shares, agreement without interval, time and pay."""
    found = tables(rows, kind)
    time = time_figures(rows, target)
    dimensions = {}
    for name, table in found.items():
        if not table.size or len(table.item_ids) * len(table.scale) > MOST_CELLS:
            continue
        counts = table.counts()
        part = share(counts, [w in _POSITIVE[name] for w in table.scale]) if name in _POSITIVE else None
        alpha = None if name == MATCH else agreement.krippendorff_alpha(table, Metric.ORDINAL)
        dimensions[name] = {
            "share": part,
            "alpha_ordinal": _number(alpha),
            "percent": _number(agreement.percent_agreement(table)),
            "mean": float(table.values[table.labels].mean()) if name == RATING else None,
        }
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


def rater_figures(
    rows: Sequence[Judged], found: Mapping[str, RatingTable], target: int
) -> dict[str, dict[str, Any]]:
    """Return by rater what their judgments come to: how many, agreement with others, reliability, time and pay."""
    by_rater: dict[str, list[Judged]] = defaultdict(list)
    for row in rows:
        by_rater[row.rater].append(row)
    alike = {name: alike_by_rater(table) for name, table in found.items()}
    reliable = reliability_by_rater(found)
    result = {}
    for rater, own in by_rater.items():
        same = sum(alike[name].get(rater, (0, 0))[0] for name in alike)
        of = sum(alike[name].get(rater, (0, 0))[1] for name in alike)
        time = time_figures(own, target)
        values = reliable.get(rater, {})
        result[rater] = {
            "judgments": len(own),
            "agreement": [same, of],
            "reliability": fmean(values.values()) if values else None,
            "reliabilities": values,
            "median_seconds": time["median"] if time else None,
            "cents_per_hour": time["pay"]["median"] if time and time["pay"] else None,
        }
    return result


def add_accuracy(
    people: Mapping[str, dict[str, Any]], rows: Iterable[Judged], truths: Mapping[str, Mapping[str, str]]
) -> None:
    """Set each rater's reliability to the share of inferences that got their own region, 0 to 1.

    Args:
        people: by rater, as ``rater_figures`` gives it; gains ``accuracy``, right and of how many. rows: matchings.
        truths: by item, inference id -> region id.
    """
    for row in rows:
        truth = truths.get(row.item, {})
        right, of = people[row.rater].get("accuracy", (0, 0))
        chosen = Matching.of(row.item, row.rater, row.answer).chosen
        people[row.rater]["accuracy"] = [right + right_of(chosen, truth), of + len(truth)]
    for figures in people.values():
        right, of = figures.get("accuracy", (0, 0))
        figures["reliability"] = right / of if of else None


def ranked(figures: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Return workers from the most to the least reliable; equal ones by agreement, then by their number.

    Whoever has no reliability stands last: nobody else judged what they judged.
    """

    def place(worker: int) -> tuple[bool, float, float, int]:
        row = figures[worker]
        same, of = row["agreement"]
        reliability = row["reliability"]
        return (reliability is None, -(reliability or 0.0), -(same / of if of else 0.0), worker)

    return sorted(figures, key=place)


def sentence(kind: str, figures: Mapping[str, Any]) -> str:
    """Return the result as one sentence in the paper's form (paper 003 §3, paper 000 §4.2); empty without figures."""
    return _SENTENCES[kind](figures) if kind in _SENTENCES else ""


def _review_sentence(figures: Mapping[str, Any]) -> str:
    shares = {d: figures["dimensions"].get(d.value, {}).get("share") for d in Dimension}
    if any(part is None or part["percent"] is None for part in shares.values()):
        return ""
    percent = {d: f"{part['percent']:.1f}%" for d, part in shares.items()}
    return (
        f"{percent[Dimension.REASONABLE]} of the observation pairs are acceptable with "
        f"{percent[Dimension.BOXES]} accurate box placement; {percent[Dimension.INTERESTING]} of the inferences "
        "are found to be interesting."
    )


def _rating_sentence(figures: Mapping[str, Any]) -> str:
    row = figures["dimensions"].get(RATING, {})
    if not row.get("ratings"):
        return ""
    same = (figures.get("pairwise") or {}).get("accuracy")
    about = "" if same is None else f"; people put {same:.1f}% of the candidate pairs in the same order"
    return f"The {row['ratings']:,} ratings average {row['mean']:.2f} on the scale from 1 to 3{about}."


def _match_sentence(figures: Mapping[str, Any]) -> str:
    found = figures.get("baseline")
    if not found or found.get("accuracy") is None:
        return ""
    return (
        f"People find the right region for {found['accuracy']:.1f}% of the inferences, the mean over "
        f"{found['images']:,} photos."
    )


_SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "observation_review": _review_sentence,
    "likert_comparison": _rating_sentence,
    "localization_match": _match_sentence,
}
