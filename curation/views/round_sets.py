"""Comparison sets on their page: the pair, the candidates with their figures, and why they were chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.models import ComparisonRound, ComparisonSet, Pair
from curation.negatives.options import DiversityMeasure, GoldStrictness, VerbatimCapTiming
from curation.selectors.pairs import pairs_by_instance_id
from hits.charts.chart import Chart, ReferenceLine
from hits.charts.scale import Scale, decimal_text, scale_over
from hits.charts.strips import dot_strip
from hits.domain.images.image_facts import ImageFacts
from hits.models import Project
from hits.selectors.images.images import image_facts

MISSING_TEXT = "(no longer available)"


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate. Figures that rounds of earlier releases lack are ``None``.

    margin: its plausibility minus the gold inference's. similarity: to the candidates chosen before it. objective:
    what the choice maximised. merged_texts: a description of the duplicates that it represents.
    """

    text: str
    is_of_same_photo: bool
    plausibility: float | None
    margin: float | None
    similarity: float | None
    objective: float | None
    strip: Chart | None
    merged_texts: str


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """The number of inferences left after a rule; ``percent`` is relative to the first stage."""

    count: int
    label: str
    percent: int


@dataclass(frozen=True, slots=True)
class ShownSet:
    """A set on the page. set_score, ranks: the parts of its score, and its rank in each.

    If the round has no figures, gold_plausibility is ``None``, and set_score and ranks are empty.
    """

    item: ComparisonSet
    gold: Pair
    image: ImageFacts
    gold_plausibility: float | None
    candidates: list[ShownCandidate]
    funnel: list[FunnelStage]
    set_score: Mapping[str, float]
    ranks: Mapping[str, float]
    explanation: str


def make_shown_sets(
    project: Project, found: ComparisonRound, sets: Sequence[ComparisonSet]
) -> list[ShownSet]:
    """Return the sets of a page, whose plots share one axis."""
    dropped = {key for item in sets for few in item.scores.get("dropped", ()) for key in few}
    texts = pairs_by_instance_id(project, {key for item in sets for key in item.chosen} | dropped)
    scale = _plausibility_scale(sets)
    return [_make_shown_set(found, item, texts, scale) for item in sets]


def _plausibility_scale(sets: Sequence[ComparisonSet]) -> Scale:
    values = [value for item in sets for value in _scores_or_empty(item.scores, "plausibility")]
    values += [item.scores["gold"] for item in sets if item.scores.get("gold") is not None]
    return scale_over(values or [0.0, 1.0], min_span=1e-6)


def _make_shown_set(
    found: ComparisonRound, item: ComparisonSet, texts: Mapping[str, Pair], scale: Scale
) -> ShownSet:
    gold = item.scores.get("gold")
    return ShownSet(
        item=item,
        gold=item.observation,
        image=image_facts(item.observation.image),
        gold_plausibility=gold,
        candidates=[_make_shown_candidate(item, index, texts, scale) for index in range(len(item.chosen))],
        funnel=funnel_stages(found, item),
        set_score=item.scores.get("promise", {}),
        ranks=item.scores.get("places", {}),
        explanation=_explain_picks(found, item),
    )


def _make_shown_candidate(
    item: ComparisonSet, index: int, texts: Mapping[str, Pair], scale: Scale
) -> ShownCandidate:
    row = texts.get(item.chosen[index])
    plausibility = _candidate_score(item, "plausibility", index)
    gold = item.scores.get("gold")
    margin = None if plausibility is None or gold is None else plausibility - gold
    similarity = _candidate_score(item, "similarity", index)
    return ShownCandidate(
        text=row.inference if row is not None else MISSING_TEXT,
        is_of_same_photo=row is not None and row.image_id == item.observation.image_id,
        plausibility=plausibility,
        margin=margin,
        similarity=similarity if index else None,
        objective=_candidate_score(item, "objectives", index),
        strip=None if plausibility is None or gold is None else _candidate_strip(plausibility, gold, scale),
        merged_texts=_describe_merged(item, index, texts),
    )


def _candidate_strip(plausibility: float, gold: float, scale: Scale) -> Chart:
    """Return a plot of a candidate's plausibility, with the gold inference's as a line."""
    low, high = sorted((plausibility, gold))
    return dot_strip(
        [("", (plausibility, low, high), "")],
        scale,
        reference_lines=[ReferenceLine(x=scale.x(gold), kind="gold")],
        summary=f"Plausibility {decimal_text(plausibility, 3)}, gold {decimal_text(gold, 3)}",
    )


def _describe_merged(item: ComparisonSet, index: int, texts: Mapping[str, Pair]) -> str:
    """Describe the near-duplicates and copies that a candidate represents, with the first few texts."""
    others, copies = (int(_candidate_score(item, name, index) or 1) - 1 for name in ("cluster", "copies"))
    dropped = item.scores.get("dropped") or [[]] * len(item.chosen)
    own_text = texts[item.chosen[index]].inference if item.chosen[index] in texts else ""
    merged = dict.fromkeys(texts[key].inference for key in dropped[index] if key in texts)
    merged.pop(own_text, None)  # exact copies are counted above
    sentences = [f"Occurs {copies + 1} times"] if copies else []
    if others:
        examples = "; ".join(f"“{text}”" for text in merged)
        sentences.append(f"Represents {others} similar{': ' if examples else ''}{examples}")
    return ". ".join(sentences)


def _explain_picks(found: ComparisonRound, item: ComparisonSet) -> str:
    """Explain why the candidates were chosen; empty if the round has no figures."""
    if not _scores_or_empty(item.scores, "plausibility"):
        return ""
    options: Mapping[str, Any] = found.options
    comparison = (
        "at least as plausible as"
        if options.get("strictness") == GoldStrictness.AT_LEAST
        else "more plausible than"
    )
    measure = "greatest" if options.get("diversity") == DiversityMeasure.MAX else "mean"
    return (
        f"Each candidate is {comparison} the gold inference, was kept by both de-duplications, and is in no earlier "
        "set. The most plausible candidate is chosen first. Each next candidate has the greatest value: "
        f"{options.get('weight', 5):g} × plausibility − {measure} similarity to the candidates before it."
    )


def funnel_stages(found: ComparisonRound, item: ComparisonSet) -> list[FunnelStage]:
    """Return the numbers of inferences left after each rule for a set, without rules that were not counted."""
    provenance: Mapping[str, Any] = found.provenance
    capped = found.options.get("verbatim_cap") != VerbatimCapTiming.AT_SAMPLING
    stages = [
        (found.inferences, "inferences"),
        (provenance.get("left_by_soft_deduplication"), "kept by soft de-duplication"),
        (provenance.get("left_by_verbatim_cap") if capped else None, "kept by the limit on copies"),
        (item.scores.get("eligible"), "more plausible than the gold"),
        (item.scores.get("available"), "of these, not used before"),
        (len(item.chosen), "picked"),
    ]
    known = [(int(count), label) for count, label in stages if count is not None and count >= 0]
    largest = max(count for count, _ in known) or 1
    return [FunnelStage(count, label, max(1, round(100 * count / largest))) for count, label in known]


def _candidate_score(item: ComparisonSet, name: str, index: int) -> float | None:
    values = _scores_or_empty(item.scores, name)
    return values[index] if index < len(values) else None


def _scores_or_empty(scores: Mapping[str, Any], name: str) -> list[float]:
    values = scores.get(name)
    return [float(value) for value in values] if isinstance(values, list) else []
