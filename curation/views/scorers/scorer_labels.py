"""Scorers in words: what state one is in, how it was trained, and its facts."""

from collections.abc import Mapping
from typing import Any

from curation.evaluation.measures import COMPARISON, P_AT_1, figure_of
from curation.models import Evaluation, Scorer, ScorerOrigin
from curation.scorer.config import TINY, TrainingConfig
from curation.services.scorers import PUBLISHED
from hits.domain.states import JobState

_STATES = {
    JobState.QUEUED: ("badge--info", "Queued"),
    JobState.RUNNING: ("badge--info", "Training"),
    JobState.WAITING: ("badge--info", "Training"),
    JobState.FAILED: ("badge--bad", "Stopped with an error"),
    JobState.CANCELLED: ("badge--warn", "Stopped"),
}
_REGIONS = {
    "highlight": "region highlighted",
    "hide": "region hidden",
    "only_region": "only the region",
    "position_only": "place and shape alone",
    "none": "no region",
}
_TEXTS = {"inference": "inferences", "clue": "clues", "multitask": "inferences and clues"}
_CROPS = {"two_squares": "two squares", "centre": "centre crop", "pad": "padded"}
_WORDS = {
    "p_at_1": "P@1, %",
    "im2txt": "im2txt, mean rank",
    "txt2im": "txt2im, mean rank",
    "best_step": "Kept at step",
    "loss": "Validation loss",
    "warmup_steps": "Warm-up steps",
    "checkpoint_every": "Steps between validations",
    "chunk_size": "Pairs in memory",
    "max_steps": "Most steps",
    "cpu": "CPU",
    "gpu": "GPU",
}
_NONE = {
    "chunk_size": "the whole batch",
    "max_steps": "no limit",
    "patience": "never stops early",
}
_SAID_ELSEWHERE = {"config", "format", "rehearsal"}


def state_of(scorer: Scorer) -> tuple[str, str]:
    """Return the badge and word of where a scorer stands."""
    if scorer.is_ready:
        return "badge--ok", "Ready"
    if scorer.job is None:
        return "badge--warn", "Not trained"
    return _STATES.get(JobState(scorer.job.state), ("badge--warn", "Not ready"))


def model_words(model: str) -> str:
    """Return what training started from, short: ``clip-vit-base-patch16`` of a hub id."""
    if model == TINY:
        return "tiny, random weights"
    return model.removeprefix("clip:").removeprefix("openai/")


def settings_words(scorer: Scorer) -> str:
    """Return how a scorer was trained, in one line."""
    given: Mapping[str, Any] = scorer.config
    words = []
    if scorer.parent is not None:
        words.append(f"from {scorer.parent.name}")
    elif "model" in given:
        words.append(model_words(given["model"]))
    elif scorer.origin == ScorerOrigin.IMPORTED:
        words.append("taken in")
    for name, meanings in (("text_mode", _TEXTS), ("region_mode", _REGIONS), ("crop", _CROPS)):
        if name in given:
            words.append(meanings.get(given[name], given[name]))
    if "batch_size" in given:
        words.append(f"batch {given['batch_size']:,}")
    return ", ".join(words)


def measured_words(row: Evaluation) -> str:
    """Return what an evaluation found, short: P@1 and the comparison measure, and that clues were ranked."""
    if not row.sha256:
        return "not done yet"
    found = []
    for measure, words in ((P_AT_1, "P@1"), (COMPARISON, "comparison")):
        value = figure_of(row.figures, measure.path).get("value")
        if value is not None:
            found.append(f"{words} {value:.1f}%")
    clues = "clues, " if row.texts == "clue" else ""
    return clues + (", ".join(found) or "nothing to measure")


def grouped_hash(sha256: str) -> list[str]:
    """Return a hash in groups of four, four groups a line, so that two people can compare them aloud."""
    groups = [sha256[i : i + 4] for i in range(0, len(sha256), 4)]
    return [" ".join(groups[i : i + 4]) for i in range(0, len(groups), 4)]


def facts_of(scorer: Scorer) -> dict[str, list[tuple[str, list[tuple[str, Any]]]]]:
    """Return the facts of a scorer in groups with headings, ``first`` and ``more``; empty groups are left out."""
    first = {"What came of it": _named(_rounded(scorer.figures)), "Data": _data(scorer.splits)}
    settings = {"Settings": _named(_settings(scorer))}
    more = {
        "Machine and libraries": _named(scorer.environment),
        "What it rests on": _named(scorer.provenance),
    }
    if scorer.figures:
        more = settings | more
    else:  # beside the plots there is room until figures are known
        first |= settings
    return {
        name: [(heading, facts) for heading, facts in groups.items() if facts]
        for name, groups in (("first", first), ("more", more))
    }


def _data(splits: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Which pairs trained and which chose the checkpoint, with their numbers once they were counted."""
    if not splits:
        return []
    share, seed = splits.get("val_share", 0), splits.get("seed", 0)
    held = f", {100 * share:g}% of the photos held (seed {seed})" if share else ""
    facts = [
        ("Trained on", splits["train"] or "photos of no split"),
        ("Checkpoint chosen by", f"{splits['val'] or 'photos of no split'}{held}"),
    ]
    for part, words in (("train", "To train on"), ("val", "To validate with")):
        if f"{part}_pairs" in splits:
            pairs, images = splits[f"{part}_pairs"], splits.get(f"{part}_images", 0)
            facts.append((words, f"{pairs:,} pairs of {images:,} photos"))
    if splits.get("left_out_pairs"):
        facts.append(("Left out", f"{splits['left_out_pairs']:,} pairs, their photos were taken down"))
    return facts


def _settings(scorer: Scorer) -> dict[str, Any]:
    """The settings, those that differ from the paper's first."""
    usual = TrainingConfig(model=PUBLISHED).as_json()
    given = dict(sorted(scorer.config.items(), key=lambda item: usual.get(item[0]) == item[1]))
    meanings = {"text_mode": _TEXTS, "region_mode": _REGIONS, "crop": _CROPS}
    told = {name: meanings[name].get(given[name], given[name]) for name in meanings if name in given}
    return given | told | {name: words for name, words in _NONE.items() if given.get(name) == 0}


def _rounded(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures with as many decimals as tables show."""
    places = {"p_at_1": 1, "im2txt": 1, "txt2im": 1}
    return {
        name: f"{value:.{places[name]}f}" if name in places and value is not None else value
        for name, value in figures.items()
    }


def _named(facts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    known = {name: value for name, value in facts.items() if name not in _SAID_ELSEWHERE}
    return [
        (_WORDS.get(name, name), _shown(value))
        for name, value in known.items()
        if value is not None and value not in ("", [], {})
    ]


def _shown(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return " ".join(str(_shown(inner)) for inner in value)
    return value
