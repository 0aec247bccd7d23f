"""Labels of a question set's options and readings, for its form and its page.

A default follows the paper (Zellers et al. 2019 §4 and §C), or is our reading where the paper does not say it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from curation.matching.options import MissingClassRule, SameImageRule
from curation.models import Stage
from curation.relevance.names import CROSS_PREFIX, MINILM, NLI_PREFIX, VECTORS
from curation.views.rule_labels import RuleLabels

FITTED = "fitted for each fold and stage"
STAGE_LABELS = {Stage.ANSWER.value: "Answers", Stage.RATIONALE.value: "Rationales"}
RELEVANCE_LABELS = {
    VECTORS: "Sentence vectors (a stand-in for BERT, fast)",
    f"{CROSS_PREFIX}{MINILM}": "MiniLM cross-encoder, fine-tuned on the other folds (slow)",
}
SIMILARITY_LABELS = {VECTORS: "Cosine of sentence vectors (a stand-in for inference)"}
_SWITCH = MappingProxyType({"on": "Stay two objects", "off": "May become one object"})

OPTIONS: Mapping[str, RuleLabels] = {
    "relevance": RuleLabels(
        "Relevance model",
        "How well a response fits a question. It is trained on the other folds. The paper fine-tunes BERT.",
        RELEVANCE_LABELS,
    ),
    "similarity": RuleLabels(
        "Similarity model",
        "Keeps responses away that are right too. The paper uses a model of natural-language inference; a folder "
        "with such a model can be given on the command line.",
        SIMILARITY_LABELS,
    ),
    "folds": RuleLabels(
        "Folds",
        "No film is in two folds, and wrong choices come from the same fold. The paper has 11: eight for training, "
        "and one each for validation, test and blind test.",
    ),
    "small": RuleLabels(
        "Allow folds under 200 triplets",
        "For trials. Wrong choices of so small a fold are easy to tell apart.",
    ),
    "seed": RuleLabels("Seed", "Of folds, clusters and fits. The same seed gives the same wrong choices."),
    "lambda_answer": RuleLabels(
        "Weight of dissimilarity, answers",
        "λ of the paper. A greater weight makes questions easier. The paper uses 0.1.",
    ),
    "lambda_rationale": RuleLabels("Weight of dissimilarity, rationales", "The paper uses 0.01."),
    "bucket_size": RuleLabels(
        "Bucket size",
        "The most responses that are matched at once. Buckets keep pronouns and question types apart.",
    ),
    "same_image": RuleLabels(
        "Responses about the same photo",
        "A response of another question about the photo may be right here too. The paper does not say.",
        {SameImageRule.ALLOWED: "May be wrong choices", SameImageRule.FORBIDDEN: "Are never wrong choices"},
    ),
    "missing_class": RuleLabels(
        "The photo lacks an object that a response names",
        "A tag of a wrong response becomes a tag of the same class. The paper does not say what happens without "
        "one.",
        {
            MissingClassRule.FORBIDDEN: "The response is no wrong choice here",
            MissingClassRule.WORDS: "Words such as “the car” replace the tag",
        },
    ),
    "distinct": RuleLabels(
        "Two objects of a wrong response",
        "If the photo has enough objects of their class. The paper accepts “person 1 is kissing person 1”.",
        _SWITCH,
    ),
    "share": RuleLabels(
        "Share of preferred tags",
        "How often a tag of a wrong response becomes one of the question or its right choice, 0 to 1. Leave it empty "
        "to fit it, so that shared tags do not give the right choice away.",
    ),
    "shortlist": RuleLabels(
        "Shortlist", "For models that score pairs: the best candidates of each question and of each response."
    ),
    "learning_rate": RuleLabels("Learning rate of fine-tuning", "The paper uses 0.00002."),
    "batch_size": RuleLabels("Batch size of fine-tuning", "The paper uses 32."),
    "epochs": RuleLabels("Epochs of fine-tuning", "The paper uses 3."),
    "examples": RuleLabels("Triplets for fine-tuning", "The most triplets of the other folds; 0 is all."),
}
BASIC_OPTIONS = ("relevance", "similarity", "folds", "small", "seed")
FINE_TUNING_OPTIONS = ("shortlist", "learning_rate", "batch_size", "epochs", "examples")


def describe_set_options(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return a set's options as labels and values; those of fine-tuning only if a cross-encoder is used."""
    is_tuned = str(options.get("relevance", "")).startswith(CROSS_PREFIX)
    hidden = set() if is_tuned else set(FINE_TUNING_OPTIONS)
    if _needs_pairs(options):
        hidden.discard("shortlist")
    return [
        (rule.label, _describe_value(name, options[name], rule))
        for name, rule in OPTIONS.items()
        if name in options and name not in hidden
    ]


def _needs_pairs(options: Mapping[str, Any]) -> bool:
    names = (str(options.get("relevance", "")), str(options.get("similarity", "")))
    return names[0].startswith(CROSS_PREFIX) or names[1].startswith(NLI_PREFIX)


def _describe_value(name: str, value: Any, rule: RuleLabels) -> Any:
    if name == "share" and value is None:
        return FITTED
    if name == "small":
        return "yes" if value else "no"
    return rule.choices.get(value, value)
