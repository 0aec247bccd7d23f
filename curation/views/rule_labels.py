"""Labels of the rules of de-duplication and comparison sets, for forms.

A rule's choices and default are those of ``RoundOptions``; the default follows the paper
(Hessel et al. 2022 §E), or our interpretation of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from curation.dedup.cuts import Linkage
from curation.negatives.options import (
    DisqualificationScope,
    DiversityMeasure,
    FloorTiming,
    GoldStrictness,
    KeepRule,
    LengthPreference,
    SameImageRule,
    TurnOrder,
    VerbatimCapTiming,
)
from hits.domain.answers.evidence import humanize as plain

SKIP_REASON_LABELS = {
    "gold_is_best": "No inference is more plausible than the pair’s own",
    "too_few_candidates": "Fewer plausible candidates than the minimum",
    "used_up": "Its candidates were used by earlier sets",
    "cannot_fill_set": "Too few candidates left to fill a set",
    "pool_exhausted": "Too few inferences left for any set",
}
DEDUP_LINKAGES = {
    Linkage.AVERAGE.value: "Average distance",
    Linkage.COMPLETE.value: "Greatest distance (complete)",
    Linkage.SINGLE.value: "Smallest distance (single)",
    Linkage.WARD.value: "Smallest increase in variance (Ward)",
}
DEDUP_KEEPS = {
    "random": "A random one (the paper’s)",
    "medoid": "The medoid: nearest to all others",
    "largest": "The one with the most pixels",
    "first": "The oldest",
}


@dataclass(frozen=True, slots=True)
class RuleLabels:
    """A rule: its label, help text, and labels of its choices (empty for a number)."""

    label: str
    help_text: str
    choices: Mapping[str, str] = field(default_factory=dict)


RULES: Mapping[str, RuleLabels] = {
    "strictness": RuleLabels(
        "More plausible than the gold",
        "The paper says that dropping lower scores drops the gold inference too. So by default, ties are dropped.",
        {GoldStrictness.ABOVE: "Strictly above", GoldStrictness.AT_LEAST: "At least as high, ties are kept"},
    ),
    "same_image": RuleLabels(
        "Inferences of the same photo",
        "Inferences about another region of the photo may be true here too. The paper does not exclude them.",
        {SameImageRule.ALLOWED: "Are candidates", SameImageRule.FORBIDDEN: "Are left out"},
    ),
    "soft_share": RuleLabels(
        "Share kept by soft de-duplication, %",
        "Inferences are clustered by meaning, and one inference of each cluster may be sampled. The paper uses 80.",
    ),
    "linkage": RuleLabels(
        "Linkage of soft de-duplication",
        "The distance between two clusters of texts. The paper only says “hierarchical”.",
        {
            Linkage.AVERAGE: "Average distance between members",
            Linkage.COMPLETE: "Greatest distance between members",
            Linkage.SINGLE: "Smallest distance between members",
            Linkage.WARD: "Ward: smallest increase in variance",
        },
    ),
    "keep": RuleLabels(
        "Which member to keep",
        "The paper samples one member. The medoid is the member nearest to all others.",
        {KeepRule.RANDOM: "A random one", KeepRule.MEDOID: "The medoid", KeepRule.FIRST: "The oldest"},
    ),
    "floor_when": RuleLabels(
        "When the minimum is checked",
        "Sampled inferences are unavailable to later pairs, so a pair may lose candidates before its turn.",
        {FloorTiming.TURN: "At the pair’s turn", FloorTiming.START: "Before anything is sampled"},
    ),
    "diversity": RuleLabels(
        "Similarity to the chosen candidates",
        "Subtracted from a candidate’s value, so that a set is varied. The paper uses the mean.",
        {DiversityMeasure.MEAN: "On average", DiversityMeasure.MAX: "To the most similar one"},
    ),
    "order": RuleLabels(
        "Order of pairs",
        "Earlier pairs have more candidates to choose from. The paper does not specify the order.",
        {
            TurnOrder.GIVEN: "Order of submission",
            TurnOrder.RANDOM: "Random",
            TurnOrder.MOST_CANDIDATES: "Most candidates first",
            TurnOrder.FEWEST_CANDIDATES: "Fewest candidates first",
        },
    ),
    "disqualification": RuleLabels(
        "Sampled inferences become unavailable",
        "The paper’s “globally … for each image” is ambiguous; by default, an inference is used only once overall.",
        {
            DisqualificationScope.GLOBAL: "For all pairs",
            DisqualificationScope.PER_IMAGE: "For pairs of the same photo",
        },
    ),
    "verbatim_cap": RuleLabels(
        "When copies of a text are limited",
        "Before the check: only the first copies are candidates. When sampled: all copies are candidates until the "
        "limit is reached.",
        {
            VerbatimCapTiming.BEFORE_FLOOR: "Before the minimum is checked",
            VerbatimCapTiming.AT_SAMPLING: "When sampled",
        },
    ),
    "weight": RuleLabels(
        "Weight of plausibility when choosing",
        "A candidate’s value is this weight times its plausibility, minus its similarity to the candidates already "
        "chosen. The paper uses 5.",
    ),
    "promise_weight": RuleLabels(
        "Weight of plausibility in the ranking",
        "Sets are ranked by length, variety, and plausibility times this weight. The paper uses 5.",
    ),
    "promise_length": RuleLabels(
        "Length in the ranking",
        "The paper ranks by length without giving the direction.",
        {LengthPreference.LONGER: "Longer scores higher", LengthPreference.SHORTER: "Shorter scores higher"},
    ),
}

_OTHER_LABELS = {
    "size": "Set size",
    "min_candidates": "Minimum candidates",
    "max_verbatim": "Maximum copies of a text",
    "seed": "Seed",
    "split": "Split",
    "left_by_soft_deduplication": "Kept by soft de-duplication",
    "left_by_verbatim_cap": "Kept by the limit on copies",
    "pairs_sha256": "Pairs (sha256)",
    "limit": "Maximum boxes per photo",
    "min_score": "Minimum score",
    "person_labels": "Classes called person",
    "suppress_over": "Overlap limit (IoU)",
}


def describe_options(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the options or provenance of a round or run as labels and values; unknown ones keep their names."""
    return [_describe_option(name, value) for name, value in options.items() if value not in ("", {}, None)]


def _describe_option(name: str, value: Any) -> tuple[str, Any]:
    rule = RULES.get(name)
    if rule is None:
        return _OTHER_LABELS.get(name) or plain(name), value
    if name == "soft_share":
        return rule.label, f"{100 * value:g}"
    return rule.label, rule.choices.get(value, value)
