"""A comparison set as its page shows it: the pair, what was sampled, where each stands, and why it survived."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.models import ComparisonRound, ComparisonSet, Pair
from curation.negatives.options import Diversity, Strictness, VerbatimCap
from curation.selectors import pairs as collected
from hits.domain.images.image_facts import ImageFacts
from hits.models import Project
from hits.selectors.images.images import facts

GONE = "(no longer there)"
EDGE = 4.0  # percent of a plot's width that stays free at each end


@dataclass(frozen=True, slots=True)
class Axis:
    """The plausibility that a page's plots span, from the least to the greatest that is shown."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """The place of a value across a plot."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return f"{EDGE + (100 - 2 * EDGE) * share:.2f}%"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sampled inference. Figures that a round of an earlier release does not have are ``None``.

    margin: plausibility above the gold one's. likeness: to those picked before. value: what the pick maximised.
    x: its place on the plot. stands_for: what it survived in favour of, in words.
    """

    text: str
    same_photo: bool
    plausibility: float | None
    margin: float | None
    likeness: float | None
    value: float | None
    x: str
    stands_for: str


@dataclass(frozen=True, slots=True)
class Stage:
    """How many inferences are left after a rule; ``percent`` of the first stage."""

    count: int
    words: str
    percent: int


@dataclass(frozen=True, slots=True)
class SetView:
    """One set. promise, places: what its rank is made of, and its rank in each.

    Without figures in the round gold_plausibility is ``None``, and gold_x, promise and places are empty.
    """

    item: ComparisonSet
    gold: Pair
    image: ImageFacts
    gold_plausibility: float | None
    gold_x: str
    candidates: list[Candidate]
    funnel: list[Stage]
    promise: Mapping[str, float]
    places: Mapping[str, float]
    why: str


def set_views(project: Project, found: ComparisonRound, sets: Sequence[ComparisonSet]) -> list[SetView]:
    """Return the sets of a page; all of them share one axis."""
    dropped = {key for item in sets for few in item.scores.get("dropped", ()) for key in few}
    texts = collected.by_instance_ids(project, {key for item in sets for key in item.chosen} | dropped)
    axis = _axis(sets)
    return [_view(found, item, texts, axis) for item in sets]


def _axis(sets: Sequence[ComparisonSet]) -> Axis:
    values = [value for item in sets for value in _numbers(item.scores, "plausibility")]
    values += [item.scores["gold"] for item in sets if item.scores.get("gold") is not None]
    return Axis(min(values, default=0.0), max(values, default=1.0))


def _view(found: ComparisonRound, item: ComparisonSet, texts: Mapping[str, Pair], axis: Axis) -> SetView:
    gold = item.scores.get("gold")
    return SetView(
        item=item,
        gold=item.observation,
        image=facts(item.observation.image),
        gold_plausibility=gold,
        gold_x="" if gold is None else axis.at(gold),
        candidates=[_candidate(item, place, texts, axis) for place in range(len(item.chosen))],
        funnel=funnel(found, item),
        promise=item.scores.get("promise", {}),
        places=item.scores.get("places", {}),
        why=_why(found, item),
    )


def _candidate(item: ComparisonSet, place: int, texts: Mapping[str, Pair], axis: Axis) -> Candidate:
    row = texts.get(item.chosen[place])
    plausibility = _figure(item, "plausibility", place)
    gold = item.scores.get("gold")
    margin = None if plausibility is None or gold is None else plausibility - gold
    likeness = _figure(item, "similarity", place)
    return Candidate(
        text=row.inference if row is not None else GONE,
        same_photo=row is not None and row.image_id == item.observation.image_id,
        plausibility=plausibility,
        margin=margin,
        likeness=likeness if place else None,
        value=_figure(item, "objectives", place),
        x="" if plausibility is None else axis.at(plausibility),
        stands_for=_stands_for(item, place, texts),
    )


def _stands_for(item: ComparisonSet, place: int, texts: Mapping[str, Pair]) -> str:
    """How many inferences of its meaning and of its words there are, with the first few that it stands for."""
    others, copies = (int(_figure(item, name, place) or 1) - 1 for name in ("cluster", "copies"))
    dropped = item.scores.get("dropped") or [[]] * len(item.chosen)
    own = texts[item.chosen[place]].inference if item.chosen[place] in texts else ""
    said = dict.fromkeys(texts[key].inference for key in dropped[place] if key in texts)
    said.pop(own, None)  # a copy of its own words is counted above
    parts = [f"Written {copies + 1} times"] if copies else []
    if others:
        words = "; ".join(f"“{text}”" for text in said)
        parts.append(f"Stands for {others} like it{': ' if words else ''}{words}")
    return ". ".join(parts)


def _why(found: ComparisonRound, item: ComparisonSet) -> str:
    """Why these were picked, in words; nothing where the round did not keep the figures."""
    if not _numbers(item.scores, "plausibility"):
        return ""
    options: Mapping[str, Any] = found.options
    above = (
        "at least as plausible as"
        if options.get("strictness") == Strictness.AT_LEAST
        else "more plausible than"
    )
    measure = "greatest" if options.get("diversity") == Diversity.MAX else "mean"
    return (
        f"Each is {above} the gold, was left by both de-duplications, and no earlier set took it. The most plausible "
        f"comes first; each next one has the greatest value, {options.get('weight', 5):g} × plausibility − {measure} "
        "likeness to those before it."
    )


def funnel(found: ComparisonRound, item: ComparisonSet) -> list[Stage]:
    """How many inferences each rule left for a set, in the order of the rules; only what the round counted."""
    kept: Mapping[str, Any] = found.provenance
    capped = found.options.get("verbatim_cap") != VerbatimCap.AT_SAMPLING
    stages = [
        (found.inferences, "inferences"),
        (kept.get("left_by_soft_deduplication"), "left by soft de-duplication"),
        (kept.get("left_by_verbatim_cap") if capped else None, "left by the cap of copies"),
        (item.scores.get("eligible"), "more plausible than the gold"),
        (item.scores.get("available"), "of these not used before"),
        (len(item.chosen), "picked"),
    ]
    known = [(int(count), words) for count, words in stages if count is not None and count >= 0]
    most = max(count for count, _ in known) or 1
    return [Stage(count, words, max(1, round(100 * count / most))) for count, words in known]


def _figure(item: ComparisonSet, name: str, place: int) -> float | None:
    values = _numbers(item.scores, name)
    return values[place] if place < len(values) else None


def _numbers(scores: Mapping[str, Any], name: str) -> list[float]:
    values = scores.get(name)
    return [float(value) for value in values] if isinstance(values, list) else []
