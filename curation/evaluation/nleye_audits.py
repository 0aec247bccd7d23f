"""Audits of image triplets: whether gold can be told without abductive reasoning, and what else a card must say.

A shortcut tells plausible from implausible hypotheses without the premise, or by likeness to it; chance is 50 %. A
share is flagged above 60 % if its interval lies above 50 %, a classifier above 60 % with p < .01. Sources of the
shortcuts: Ventura et al. 2025 §5.2 and table 15 (style), Zellers et al. 2019 §D (length, negations).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.exact_tests import binomial_p
from curation.evaluation.intervals import Figure, mean_figure, ratio_figure
from curation.evaluation.nleye_classifier import FOLDS, HALF, SWAPS, held_out_accuracy
from curation.evaluation.nleye_draws import PERCENT
from curation.evaluation.nleye_groups import Grouping
from curation.evaluation.nleye_key import TripletKey
from curation.evaluation.nleye_people import LABELS, UNANIMITY_ANSWERS, alpha_figure
from curation.records import InvalidInput
from hits.domain.answers.scene_facets import CATEGORIES

CHANCE = 50.0
MAX_SHARE = 60.0
MAX_P = 0.01
COMPONENTS = 20
WORST = 10
MIN_GROUP = 10  # triplets
SEED = 0


@dataclass(frozen=True, slots=True)
class Audit:
    """One audit's figure with its interval over n triplets.

    figure, low, high, chance: percent, or alpha where ``unit`` is "alpha"; None if there is nothing to measure. p: of
    a test against chance, if there is one. why: one sentence on the flag. worst: ids of the triplets that give most
    away. details: further counts and shares.
    """

    name: str
    figure: float | None
    low: float | None
    high: float | None
    n: int
    chance: float | None
    flagged: bool
    why: str
    worst: tuple[str, ...] = ()
    p: float | None = None
    unit: str = "%"
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the fields; ``p`` and ``details`` only if there are any."""
        found: dict[str, Any] = {
            "name": self.name,
            "figure": self.figure,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "chance": self.chance,
            "unit": self.unit,
            "flagged": self.flagged,
            "why": self.why,
            "worst": list(self.worst),
        }
        if self.p is not None:
            found["p"] = self.p
        return found | ({"details": dict(self.details)} if self.details else {})


def audit_hypotheses_only(
    name: str, ids: Sequence[str], right: Sequence[bool], *, rng: np.random.Generator | None = None
) -> Audit:
    """Return how often people or a model are right without the premise.

    Args:
        ids: (answers,) the triplet of each answer; triplets are drawn for the interval. A model answers each triplet
            in both presentations. right: whether the answer is gold.
    """
    values = np.array(right, dtype=np.float64)
    names, groups = np.unique(np.array(ids, dtype=np.str_), return_inverse=True)
    figure = ratio_figure(PERCENT * values, groups, rng=_generator(rng))
    means = np.bincount(groups, weights=values) / np.maximum(1, np.bincount(groups))
    flagged, why = _judge_share(figure, "are right without the premise", len(names))
    worst = _worst(names.tolist(), means - HALF)
    return _share_audit(name, figure, len(names), flagged, why, worst, details={"answers": len(values)})


def audit_classifier(
    name: str,
    key: TripletKey,
    features: NDArray[np.floating],
    *,
    components: int | None = None,
    swaps: int = SWAPS,
    rng: np.random.Generator | None = None,
) -> Audit:
    """Return how often a classifier of single hypotheses puts gold above the other one; see ``nleye_classifier``.

    Args:
        features: (n, 2, d) of h1 and of h2, in the order of the key. components: for image or text vectors, the
            number of principal components, ``COMPONENTS``.

    Raises:
        InvalidInput: as ``held_out_accuracy``; too few triplets are no error but an audit without a figure.
    """
    order = _id_order(key)
    if len(key) < FOLDS:
        why = f"There are too few triplets: a classifier needs {FOLDS}."
        return Audit(name, None, None, None, len(key), CHANCE, False, why)
    rng = _generator(rng)
    golds = key.golds[order]
    found = held_out_accuracy(features[order], golds, rng=rng, components=components, swaps=swaps)
    figure = mean_figure(PERCENT * found.right, rng=rng)
    value = figure.value or 0.0
    flagged = value > MAX_SHARE and found.p < MAX_P
    why = (
        f"A classifier of single hypotheses is right in {value:.1f} % of the triplets "
        f"(p = {found.p:.3f}); it is flagged above {MAX_SHARE:.0f} % with p < {MAX_P}."
    )
    worst = _worst([key.ids[row] for row in order.tolist()], found.margins)
    details = {"features": int(features.shape[2]), "swaps": found.swaps}
    return _share_audit(name, figure, len(key), flagged, why, worst, p=found.p, details=details)


def audit_direction(
    name: str,
    key: TripletKey,
    values: NDArray[np.floating],
    *,
    what: str,
    rng: np.random.Generator | None = None,
) -> Audit:
    """Return how often gold has the higher value of the two hypotheses; equal values count half.

    It is flagged in both directions: a rule that takes the lower value is as good a shortcut.

    Args:
        values: (n, 2) of h1 and of h2: likeness to the premise, words, negations, style distance. what: completes
            "Gold …", such as "is nearer to the premise".

    Raises:
        InvalidInput: the values have another shape, or one is not finite.
    """
    n = len(key)
    if values.shape != (n, 2) or not np.isfinite(values).all():
        raise InvalidInput(f"{name}: give two finite values for each of {n} triplets")
    order = _id_order(key)
    rows = np.arange(n)
    difference = (values[rows, key.golds - 1] - values[rows, 2 - key.golds])[order]
    higher = np.where(difference == 0, HALF, (difference > 0).astype(np.float64))
    figure = mean_figure(PERCENT * higher, rng=_generator(rng))
    flagged, why = _judge_share(figure, what, n, both_directions=True)
    leans_high = (figure.value or 0.0) >= CHANCE
    worst = _worst([key.ids[row] for row in order.tolist()], difference if leans_high else -difference)
    ties = int((difference == 0).sum())
    return _share_audit(name, figure, n, flagged, why, worst, details={"ties": ties})


def audit_likeness(
    key: TripletKey, likeness: NDArray[np.floating], *, rng: np.random.Generator | None = None
) -> Audit:
    """Return how often gold is the hypothesis nearer to the premise; if it is seldom, "farther" is the shortcut.

    Args:
        likeness: (n, 2) of h1 and of h2 with the premise, such as the cosine of image features.
    """
    return audit_direction("likeness", key, likeness, what="is nearer to the premise", rng=rng)


def audit_style(
    key: TripletKey, distances: NDArray[np.floating], *, rng: np.random.Generator | None = None
) -> Audit:
    """Return how often gold is farther from the premise in style; both hypotheses should be equally far.

    Args:
        distances: (n, 2) style distance of h1 and of h2 to the premise.
    """
    return audit_direction("style_distance", key, distances, what="is farther in style", rng=rng)


def audit_label_balance(key: TripletKey) -> list[Audit]:
    """Return how often gold is h1: over all triplets, and in each category that occurs.

    A category is flagged if the exact binomial p against one half is below .01 divided by their number.
    """
    grouping = Grouping.from_values("category", key.categories, CATEGORIES)
    groups = [
        (label, rows) for label, rows in zip(grouping.labels, grouping.rows(), strict=True) if len(rows)
    ]
    audits = [_balance("label_balance", key.golds, MAX_P)]
    return audits + [
        _balance(f"label_balance: {label}", key.golds[rows], MAX_P / len(groups)) for label, rows in groups
    ]


def audit_mixed(name: str, key: TripletKey, values: Sequence[Sequence[str]], *, what: str) -> Audit:
    """Return the share of triplets whose three images differ in a fact of their making; each one is flagged.

    Args:
        values: of each triplet, the premise's value and those of h1 and h2: generator, size or seed policy. what:
            names it in the plural, such as "generators".
    """
    mixed = sorted(triplet for triplet, row in zip(key.ids, values, strict=True) if len(set(row)) > 1)
    n = len(key)
    share = PERCENT * len(mixed) / n if n else None
    why = f"{len(mixed)} of {n} triplets have images of different {what}; use one for each triplet."
    return Audit(
        name, share, None, None, n, 0.0, bool(mixed), why, tuple(mixed[:WORST]), details={"mixed": len(mixed)}
    )


def audit_agreement(
    groups: Mapping[str, tuple[Sequence[str], NDArray[np.integer]]],
    *,
    name: str = "agreement",
    rng: np.random.Generator | None = None,
) -> list[Audit]:
    """Return agreement by group of triplets or of people: Krippendorff's nominal alpha and the unanimous share.

    A group of at least ``MIN_GROUP`` triplets is flagged if its whole interval is below the alpha of all: its people
    agree less. Intervals over fewer triplets are too unsure.

    Args:
        groups: by label, such as a category or a declared country, the ids of its triplets and how often each of h1,
            h2 and equal was chosen there: (n, 3). A triplet may be in several groups.
    """
    rng = _generator(rng)
    total: dict[str, NDArray[np.int64]] = {}
    for ids, counts in groups.values():
        for triplet, row in zip(ids, counts, strict=True):
            total[triplet] = total.get(triplet, np.zeros(len(LABELS), dtype=np.int64)) + row
    ids = sorted(total)
    everything = _alpha_audit(
        name, ids, np.array([total[i] for i in ids]).reshape(-1, len(LABELS)), rng, None
    )
    found = [everything]
    for label, (own_ids, counts) in groups.items():
        order = np.argsort(np.array(own_ids, dtype=np.str_), kind="stable")
        sorted_ids = [own_ids[row] for row in order.tolist()]
        rows = np.asarray(counts).reshape(-1, len(LABELS))[order]
        found.append(_alpha_audit(f"{name}: {label}", sorted_ids, rows, rng, everything.figure))
    return found


def _alpha_audit(
    name: str,
    ids: Sequence[str],
    counts: NDArray[np.integer],
    rng: np.random.Generator,
    overall: float | None,
) -> Audit:
    figure = alpha_figure(counts, rng)
    value, low, high = figure["value"], figure["low"], figure["high"]
    threes = counts[counts.sum(axis=1) == UNANIMITY_ANSWERS]
    unanimous = (threes.max(axis=1, initial=0) == UNANIMITY_ANSWERS).astype(np.float64)
    flagged = overall is not None and high is not None and high < overall and len(ids) >= MIN_GROUP
    why = "People's choices are too few or too alike for alpha." if value is None else f"Alpha is {value:.2f}"
    if value is not None:
        why += "." if overall is None else f"; that of all is {overall:.2f}."
    split = 1 - counts.max(axis=1, initial=0) / np.maximum(1, counts.sum(axis=1))
    details = {
        "answers": int(counts.sum()),
        "three_answers": len(threes),
        "unanimous": PERCENT * float(unanimous.mean()) if len(threes) else None,
    }
    worst = _worst(list(ids), split)
    return Audit(name, value, low, high, len(ids), 0.0, flagged, why, worst, unit="alpha", details=details)


def _balance(name: str, golds: NDArray[np.integer], limit: float) -> Audit:
    n, first = len(golds), int((golds == 1).sum())
    p = binomial_p(first, n)
    why = f"Gold is h1 in {first} of {n} triplets (p = {p:.3f}); it is flagged below p = {limit:.4f}."
    share = PERCENT * first / n if n else None
    return Audit(name, share, None, None, n, CHANCE, p < limit, why, p=p, details={"gold_first": first})


def _judge_share(figure: Figure, what: str, n: int, *, both_directions: bool = False) -> tuple[bool, str]:
    """Return whether a share of n triplets is flagged, and why.

    If all triplets are alike, nothing can be drawn for an interval; then the exact binomial test counts.
    """
    if figure.value is None:
        return False, "There is nothing to measure."
    value, low, high = figure.value, figure.low, figure.high
    if low is None and value in {0.0, PERCENT}:
        p = binomial_p(n, n)
        note = f" All are alike, so the exact p counts (p = {p:.4f})."
        low, high = (value, value) if p < MAX_P else (None, None)
    else:
        note = "" if low is not None else " There are too few triplets for an interval."
    is_high = value > MAX_SHARE and low is not None and low > CHANCE
    is_low = both_directions and value < 100 - MAX_SHARE and high is not None and high < CHANCE
    subject = "Gold" if both_directions else "Answers"
    limit = f"above {MAX_SHARE:.0f} %"
    if both_directions:
        limit += f" or below {PERCENT - MAX_SHARE:.0f} %"
    why = f"{subject} {what} in {value:.1f} %; it is flagged {limit} with an interval beyond {CHANCE:.0f} %.{note}"
    return is_high or is_low, why


def _share_audit(
    name: str,
    figure: Figure,
    n: int,
    flagged: bool,
    why: str,
    worst: tuple[str, ...],
    *,
    p: float | None = None,
    details: Mapping[str, Any],
) -> Audit:
    return Audit(
        name, figure.value, figure.low, figure.high, n, CHANCE, flagged, why, worst, p=p, details=details
    )


def _worst(ids: Sequence[str], giveaways: NDArray[np.floating]) -> tuple[str, ...]:
    """Return the ids with the highest values above 0, the highest first; of equal ones the first id."""
    order = np.argsort(-giveaways, kind="stable")[:WORST]
    return tuple(ids[row] for row in order.tolist() if giveaways[row] > 0)


def _id_order(key: TripletKey) -> NDArray[np.intp]:
    """Return the rows in the order of ids, so that folds and draws do not depend on the order of the input."""
    return np.argsort(np.array(key.ids, dtype=np.str_), kind="stable")


def _generator(rng: np.random.Generator | None) -> np.random.Generator:
    return rng or np.random.default_rng(SEED)
