"""Labels of evaluations of image triplets: what is measured, what a model saw, and where a run stands."""

from collections.abc import Mapping

from curation.image_triplets.chat_prompts import VARIANTS
from curation.models import TripletEvaluation, TripletSource
from curation.services.triplets.evaluations import (
    COMBINED,
    HYPOTHESES_ONLY,
    IMAGE_TO_TEXT,
    PAIRS,
    SEPARATE,
    TEXT_ONLY,
    TRIPLET,
)
from curation.services.triplets.judging import SETUP as EXPLANATIONS
from hits.domain.states import OPEN_JOB_STATES, JobState

SETUP_LABELS: Mapping[str, str] = {
    TRIPLET: "Choice between both hypotheses",
    PAIRS: "Score of each hypothesis",
    EXPLANATIONS: "Grades of explanations",
}
STRATEGY_LABELS: Mapping[str, str] = {
    SEPARATE: "Three images",
    COMBINED: "One combined picture",
    TEXT_ONLY: "Texts of the images",
    IMAGE_TO_TEXT: "Descriptions by a model",
    HYPOTHESES_ONLY: "Hypotheses alone",
}
SOURCE_LABELS: Mapping[str, str] = {
    TripletSource.MODEL.value: "Model",
    TripletSource.BASELINE.value: "Baseline",
    TripletSource.PEOPLE.value: "People",
    TripletSource.FILE.value: "File",
    TripletSource.JUDGE.value: "Judge",
}
BASELINE_LABELS: Mapping[str, str] = {
    "random": "Random",
    "always-first": "Always first",
    "dumb-pixel": "Dumb pixel",
    "likeness": "Nearer image",
    "farther": "Farther image",
    "sentences": "Nearer sentence",
}
VARIANT_LABELS: Mapping[str, str] = {
    "answer_first": "Answer, then explanation",
    "explain_first": "Explanation, then answer",
    "steps": "Step by step",
    "role": "With a role",
}
PAPER_STRATEGIES: Mapping[str, str] = {
    **STRATEGY_LABELS,
    "people": "People",
    "baseline": "Baseline",
    "related": "Another benchmark",
}
CATEGORY, DOMAIN, TEMPORAL = "category", "domain", "temporal"
GROUPING_LABELS: Mapping[str, str] = {
    CATEGORY: "Category",
    TEMPORAL: "Direction and time",
    DOMAIN: "Domain",
}


def evaluation_label(row: TripletEvaluation) -> str:
    """Return the name of what is measured."""
    if row.source == TripletSource.BASELINE:
        name = BASELINE_LABELS.get(row.label, "")
        return name or (f"NLI, {row.label.rpartition('/')[2]}" if row.label.startswith("nli:") else row.label)
    return row.label


def what_it_saw(row: TripletEvaluation) -> str:
    """Return what a model saw, or whose answers they are."""
    return STRATEGY_LABELS.get(row.strategy) or SOURCE_LABELS.get(row.source, row.source)


def settings_in_words(row: TripletEvaluation) -> str:
    """Return the settings that differ from the usual ones, such as a split; empty if none does."""
    options = row.options
    found = []
    variant = options.get("variant", VARIANTS[0])
    if row.setup == TRIPLET and row.strategy and variant != VARIANTS[0]:
        found.append(VARIANT_LABELS.get(variant, variant).lower())
    if row.strategy == IMAGE_TO_TEXT and options.get("describer"):
        found.append(f"described by {options['describer']}")
    if options.get("split"):
        found.append(f"split {options['split']}")
    if options.get("prompts"):
        found.append("own prompts")
    return ", ".join(found)


def full_name(row: TripletEvaluation) -> str:
    """Return the label with what it saw and its settings, for menus."""
    parts = [evaluation_label(row)]
    if row.strategy:
        parts.append(what_it_saw(row).lower())
    if settings := settings_in_words(row):
        parts.append(settings)
    return ", ".join(parts)


def comparison_key(row: TripletEvaluation) -> tuple[str, str, str, str]:
    """Return what evaluations in both setups share, so that they stand in one row of a table."""
    return row.source, row.label, row.strategy, settings_in_words(row)


def source_key(row: TripletEvaluation) -> str:
    """Return the name under which figures of explanations list a model."""
    return f"{row.label}, {row.strategy}" if row.strategy else row.label


def evaluation_state(row: TripletEvaluation) -> str:
    """Return ``running``, ``failed``, ``stopped`` (cancelled or without figures), ``partial`` or ``done``."""
    job = row.job
    if job is not None and job.state in OPEN_JOB_STATES:
        return "running"
    if job is not None and job.state == JobState.FAILED:
        return "failed"
    if not row.figures:
        return "stopped"
    return "partial" if row.provenance.get("stopped") else "done"


def until_text(row: TripletEvaluation) -> str:
    """Return until when answers and votes count: a sealed version has its triplets, and people go on judging them."""
    at = row.job.finished_at if row.job is not None and row.job.finished_at else row.created_at
    return f"Answers and votes are those until {at:%-d %b %Y, %H:%M}."
