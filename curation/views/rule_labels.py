"""The rules of de-duplication and comparison sets as the forms show them: one table of labels and words.

A rule's choices and default are those of ``RoundOptions``; the default is the paper's, or the reading taken of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from curation.dedup.cuts import Linkage
from curation.negatives.options import (
    Disqualification,
    Diversity,
    FloorWhen,
    KeepRule,
    LengthPreference,
    Order,
    SameImage,
    Strictness,
    VerbatimCap,
)
from hits.domain.answers.evidence import humanize as plain

SKIP_REASON_LABELS = {
    "gold_is_best": "Nothing is more plausible than its own inference",
    "too_few_candidates": "Fewer plausible candidates than the floor",
    "used_up": "Earlier sets took its candidates",
    "cannot_fill_set": "Too few candidates left to fill a set",
    "pool_exhausted": "Too few inferences left for any set",
}
DEDUP_LINKAGES = {
    Linkage.AVERAGE.value: "Average: mean distance of their photos",
    Linkage.COMPLETE.value: "Complete: greatest distance of their photos",
    Linkage.SINGLE.value: "Single: least distance of their photos",
    Linkage.WARD.value: "Ward: least growth of variance",
}
DEDUP_KEEPS = {
    "random": "One at random, by the seed (the paper’s)",
    "medoid": "The medoid: nearest to all the others",
    "largest": "The one with the most pixels",
    "first": "The oldest",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its label, what it means in one line, and words for its choices; a number has none."""

    label: str
    help_text: str
    choices: Mapping[str, str] = field(default_factory=dict)


RULES: Mapping[str, Rule] = {
    "strictness": Rule(
        "More plausible than the gold",
        "The paper drops what scores lower, and says that this drops the gold too; a copy of it goes with it.",
        {Strictness.ABOVE: "Strictly above it", Strictness.AT_LEAST: "At least as high, ties stay"},
    ),
    "same_image": Rule(
        "Inferences of the same photo",
        "What was written about another region of the photo may well be true here. The paper leaves none out.",
        {SameImage.ALLOWED: "Are candidates", SameImage.FORBIDDEN: "Are left out"},
    ),
    "soft_share": Rule(
        "Share left by soft de-duplication, %",
        "Inferences are clustered by meaning into so many groups; one of each may be sampled. The paper’s is 80.",
    ),
    "linkage": Rule(
        "Linkage of soft de-duplication",
        "How far apart two groups of texts are. The paper says hierarchical and no more.",
        {
            Linkage.AVERAGE: "Average distance of members",
            Linkage.COMPLETE: "Greatest distance of members",
            Linkage.SINGLE: "Least distance of members",
            Linkage.WARD: "Ward: least growth of variance",
        },
    ),
    "keep": Rule(
        "Who stays of a group",
        "The paper samples one. A medoid is the member nearest to all the others.",
        {
            KeepRule.RANDOM: "One at random, by the seed",
            KeepRule.MEDOID: "The medoid",
            KeepRule.FIRST: "The oldest",
        },
    ),
    "floor_when": Rule(
        "The floor is counted",
        "Sampled inferences are gone for later pairs, so a pair may lose candidates before its turn.",
        {FloorWhen.TURN: "At the pair’s turn", FloorWhen.START: "Before anything is sampled"},
    ),
    "diversity": Rule(
        "Likeness to the picked",
        "What is taken off a candidate’s value, so that a set is varied. The paper’s is the mean.",
        {Diversity.MEAN: "On average", Diversity.MAX: "To the nearest one"},
    ),
    "order": Rule(
        "Order of turns",
        "Who comes first has the widest choice. The paper does not say.",
        {
            Order.GIVEN: "As the pairs came in",
            Order.RANDOM: "At random, by the seed",
            Order.MOST_CANDIDATES: "Most candidates first",
            Order.FEWEST_CANDIDATES: "Fewest candidates first",
        },
    ),
    "disqualification": Rule(
        "A sampled inference is gone",
        "“Globally … for each image” is read as everywhere; the other reading lets other photos have it.",
        {Disqualification.GLOBAL: "For all pairs", Disqualification.PER_IMAGE: "For pairs of the same photo"},
    ),
    "verbatim_cap": Rule(
        "Copies of one text are limited",
        "Before the floor only the first few are candidates; at sampling all are, until so many were drawn.",
        {VerbatimCap.BEFORE_FLOOR: "Before the floor is counted", VerbatimCap.AT_SAMPLING: "When sampled"},
    ),
    "weight": Rule(
        "Weight of plausibility in the pick",
        "A candidate’s value is this times its plausibility, less its likeness to the picked. The paper’s is 5.",
    ),
    "promise_weight": Rule(
        "Weight of plausibility in the ranking",
        "Sets are ranked by length, variety and this many times plausibility. The paper’s is 5.",
    ),
    "promise_length": Rule(
        "Length in the ranking",
        "The paper ranks by length and gives no direction.",
        {
            LengthPreference.LONGER: "Longer is more promising",
            LengthPreference.SHORTER: "Shorter is more promising",
        },
    ),
}

_OTHER_LABELS = {
    "size": "Set size",
    "min_candidates": "Least candidates",
    "max_verbatim": "Copies of one text",
    "seed": "Seed",
    "split": "Split",
}


def describe_options(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return a round's options as labels and values; an unknown one by its own name."""
    return [_describe_option(name, value) for name, value in options.items() if value != ""]


def _describe_option(name: str, value: Any) -> tuple[str, Any]:
    rule = RULES.get(name)
    if rule is None:
        return _OTHER_LABELS.get(name) or plain(name), value
    if name == "soft_share":
        return rule.label, f"{100 * value:g}"
    return rule.label, rule.choices.get(value, value)
