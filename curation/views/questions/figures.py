"""The figures of a question set on its page: buckets with their certificates, folds, and fitted shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.models import QuestionSet
from curation.views.questions.labels import STAGE_LABELS

_NAMED_LABELS = {"set_aside": "Set aside", "words": "Responses with words instead of tags"}


@dataclass(frozen=True, slots=True)
class ShownBucket:
    """A bucket: its rounds' totals, and the worst certificate of its solves.

    gap: greatest difference of the primal and dual total. least: least reduced cost. shortlist: pairs listed per row,
    or None for all.
    """

    fold: str
    name: str
    size: int
    totals: Sequence[float]
    gap: float | None
    least: float | None
    shortlist: int | None
    worded: int
    set_aside: int


@dataclass(frozen=True, slots=True)
class ShownShare:
    """The share of preferred tags of a fold, and the tag overlap at 0, at this share, and at 1."""

    fold: str
    share: float
    before: float
    after: float
    at_one: float
    in_reach: bool


@dataclass(frozen=True, slots=True)
class ShownStage:
    """One stage: buckets and shares, and how many triplets were set aside or got words instead of tags.

    named: a label, and the first of these triplets with the reason or the classes that they name.
    """

    value: str
    label: str
    buckets: Sequence[ShownBucket]
    shares: Sequence[ShownShare]
    set_aside: int
    worded: int
    largest: int
    worst_gap: float | None
    worst_least: float | None
    loss: Mapping[str, Any] = field(default_factory=dict)
    named: Sequence[tuple[str, Sequence[Sequence[str]]]] = ()


@dataclass(frozen=True, slots=True)
class ShownSet:
    """A set's figures; lists are empty while it is being built."""

    triplets: int
    movies: int
    is_small: bool
    folds: Sequence[Mapping[str, Any]]
    stages: Sequence[ShownStage]
    models: Sequence[tuple[str, Mapping[str, Any]]]


def show_set(question_set: QuestionSet) -> ShownSet:
    """Return a set's figures for its page."""
    figures: Mapping[str, Any] = question_set.figures
    provenance: Mapping[str, Any] = question_set.provenance
    models = [
        (label, provenance[name])
        for name, label in (("relevance", "Relevance"), ("similarity", "Similarity"))
        if name in provenance
    ]
    return ShownSet(
        triplets=figures.get("triplets", 0),
        movies=figures.get("movies", 0),
        is_small=bool(figures.get("small")),
        folds=figures.get("folds", ()),
        stages=[
            _show_stage(figures, stage, label)
            for stage, label in STAGE_LABELS.items()
            if "buckets" in figures
        ],
        models=models,
    )


def _show_stage(figures: Mapping[str, Any], stage: str, label: str) -> ShownStage:
    buckets = [_show_bucket(raw) for raw in figures["buckets"] if raw["stage"] == stage]
    shares = [
        ShownShare(
            raw["fold"], raw["share"], raw["at_zero"], raw["tag_overlap"], raw["at_one"], raw["in_reach"]
        )
        for raw in figures.get("shares", ())
        if raw["stage"] == stage
    ]
    gaps = [bucket.gap for bucket in buckets if bucket.gap is not None]
    leasts = [bucket.least for bucket in buckets if bucket.least is not None]
    return ShownStage(
        value=stage,
        label=label,
        buckets=buckets,
        shares=shares,
        set_aside=sum(bucket.set_aside for bucket in buckets),
        worded=sum(bucket.worded for bucket in buckets),
        largest=max((bucket.size for bucket in buckets), default=0),
        worst_gap=max(gaps, default=None),
        worst_least=min(leasts, default=None),
        loss=figures.get("dense_sample", {}).get(stage, {}),
        named=[
            (title, rows)
            for name, title in _NAMED_LABELS.items()
            if (rows := figures.get("named", {}).get(stage, {}).get(name))
        ],
    )


def _show_bucket(raw: Mapping[str, Any]) -> ShownBucket:
    rounds = [found for found in raw["rounds"] if found["feasible"]]
    return ShownBucket(
        fold=raw["fold"],
        name=raw["name"],
        size=raw["size"],
        totals=[found["total"] for found in rounds],
        gap=max((found["gap"] for found in rounds), default=None),
        least=min((found["min_reduced_cost"] for found in rounds), default=None),
        shortlist=next((found["k"] for found in rounds), None),
        worded=raw["worded"],
        set_aside=raw["set_aside"],
    )
