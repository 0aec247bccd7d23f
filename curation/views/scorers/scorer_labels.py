"""Labels and descriptions of scorers: state, training settings, and facts."""

from collections.abc import Mapping
from typing import Any

from curation.evaluation.measures import COMPARISON, P_AT_1, get_figure
from curation.models import Evaluation, Scorer, ScorerOrigin
from curation.scorer.config import TINY, TrainingConfig
from curation.services.scorers import PUBLISHED_MODEL
from hits.domain.states import JobState

_STATE_BADGES = {
    JobState.QUEUED: ("badge--info", "Queued"),
    JobState.RUNNING: ("badge--info", "Training"),
    JobState.WAITING: ("badge--info", "Training"),
    JobState.FAILED: ("badge--bad", "Failed"),
    JobState.CANCELLED: ("badge--warn", "Stopped"),
}
_REGION_LABELS = {
    "highlight": "region highlighted",
    "hide": "region hidden",
    "only_region": "only the region",
    "position_only": "position and shape only",
    "none": "no region",
}
_TEXT_LABELS = {"inference": "inferences", "clue": "clues", "multitask": "inferences and clues"}
_CROP_LABELS = {"two_squares": "two squares", "centre": "centre crop", "pad": "padded"}
_FACT_LABELS = {
    "p_at_1": "P@1, %",
    "im2txt": "Mean rank, image to text",
    "txt2im": "Mean rank, text to image",
    "best_step": "Best step",
    "loss": "Validation loss",
    "warmup_steps": "Warm-up steps",
    "checkpoint_every": "Steps between validations",
    "chunk_size": "Pairs in memory",
    "max_steps": "Maximum steps",
    "cpu": "CPU",
    "gpu": "GPU",
}
_ZERO_LABELS = {"chunk_size": "the whole batch", "max_steps": "no limit", "patience": "never stops early"}
_HIDDEN_FACTS = {"config", "format", "rehearsal"}


def state_badge(scorer: Scorer) -> tuple[str, str]:
    """Return the badge and label of a scorer's state."""
    if scorer.is_ready:
        return "badge--ok", "Ready"
    if scorer.job is None:
        return "badge--warn", "Not trained"
    return _STATE_BADGES.get(JobState(scorer.job.state), ("badge--warn", "Not ready"))


def model_label(model: str) -> str:
    """Return a short name of the model that training started from: ``clip-vit-base-patch16`` for a hub id."""
    if model == TINY:
        return "tiny, random weights"
    return model.removeprefix("clip:").removeprefix("openai/")


def describe_settings(scorer: Scorer) -> str:
    """Describe a scorer's training in one line."""
    given: Mapping[str, Any] = scorer.config
    texts = []
    if scorer.parent is not None:
        texts.append(f"from {scorer.parent.name}")
    elif "model" in given:
        texts.append(model_label(given["model"]))
    elif scorer.origin == ScorerOrigin.IMPORTED:
        texts.append("imported")
    labelled = {"text_mode": _TEXT_LABELS, "region_mode": _REGION_LABELS, "crop": _CROP_LABELS}
    for name, meanings in labelled.items():
        if name in given:
            texts.append(meanings.get(given[name], given[name]))
    if "batch_size" in given:
        texts.append(f"batch {given['batch_size']:,}")
    return ", ".join(texts)


def describe_evaluation(row: Evaluation) -> str:
    """Describe an evaluation's results briefly: P@1, the comparison measure, and whether clues were ranked."""
    if not row.sha256:
        return "not done yet"
    found = []
    for measure, label in ((P_AT_1, "P@1"), (COMPARISON, "human agreement")):
        value = get_figure(row.figures, measure.figure_path).get("value")
        if value is not None:
            found.append(f"{label} {value:.1f}%")
    clues = "clues, " if row.texts == "clue" else ""
    return clues + (", ".join(found) or "nothing to measure")


def scorer_facts(scorer: Scorer) -> dict[str, list[tuple[str, list[tuple[str, Any]]]]]:
    """Return the facts of a scorer in groups with headings, ``first`` and ``more``, without empty groups."""
    first = {"Results": _fact_rows(_round_figures(scorer.figures)), "Data": _data_rows(scorer.splits)}
    settings = {"Settings": _fact_rows(_ordered_settings(scorer))}
    more = {"Machine and libraries": _fact_rows(scorer.environment)}
    more["Provenance"] = _fact_rows(scorer.provenance)
    if scorer.figures:
        more = settings | more
    else:  # there is room next to the plots until figures are known
        first |= settings
    return {
        name: [(heading, facts) for heading, facts in groups.items() if facts]
        for name, groups in (("first", first), ("more", more))
    }


def _data_rows(splits: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the training and validation pairs, with their numbers once counted."""
    if not splits:
        return []
    share, seed = splits.get("val_share", 0), splits.get("seed", 0)
    share_text = f", {100 * share:g}% of the photos held out (seed {seed})" if share else ""
    facts = [
        ("Trained on", splits["train"] or "photos without a split"),
        ("Validated on", f"{splits['val'] or 'photos without a split'}{share_text}"),
    ]
    for part, label in (("train", "Training pairs"), ("val", "Validation pairs")):
        if f"{part}_pairs" in splits:
            pairs, images = splits[f"{part}_pairs"], splits.get(f"{part}_images", 0)
            facts.append(
                (label, f"{pairs:,} pair{'s' * (pairs != 1)} of {images:,} photo{'s' * (images != 1)}")
            )
    if splits.get("left_out_pairs"):
        facts.append(("Left out", f"{splits['left_out_pairs']:,} pairs whose photos were taken down"))
    return facts


def _ordered_settings(scorer: Scorer) -> dict[str, Any]:
    """Return the settings, those that differ from the paper's first."""
    defaults = TrainingConfig(model=PUBLISHED_MODEL).as_json()
    given = dict(sorted(scorer.config.items(), key=lambda item: defaults.get(item[0]) == item[1]))
    meanings = {"text_mode": _TEXT_LABELS, "region_mode": _REGION_LABELS, "crop": _CROP_LABELS}
    labelled = {name: meanings[name].get(given[name], given[name]) for name in meanings if name in given}
    return given | labelled | {name: label for name, label in _ZERO_LABELS.items() if given.get(name) == 0}


def _round_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures with as many decimals as in tables."""
    decimals = {"p_at_1": 1, "im2txt": 1, "txt2im": 1}
    return {
        name: f"{value:.{decimals[name]}f}" if name in decimals and value is not None else value
        for name, value in figures.items()
    }


def _fact_rows(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    known = {name: value for name, value in facts.items() if name not in _HIDDEN_FACTS}
    return [
        (_FACT_LABELS.get(name, name), _format_value(value))
        for name, value in known.items()
        if value is not None and value not in ("", [], {})
    ]


def _format_value(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_format_value(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return " ".join(str(_format_value(inner)) for inner in value)
    return value
