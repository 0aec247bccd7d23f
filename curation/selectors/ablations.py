"""Read which scorers and evaluations the rows of the papers' tables have."""

from collections.abc import Mapping
from typing import Any

from curation.models import DatasetVersion, Evaluation, Scorer

SETTINGS_THAT_CHANGE_NO_RESULT = frozenset({"chunk_size", "processes", "device", "compile"})
RECIPE, PROMPT = "recipe", "prompt"  # in an evaluation's options
FURTHER = "further_recipes"  # in an evaluation's options: the other rows that it stands in


def same_run(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations give the same scorer, whatever machine and memory they were made for."""
    names = (config.keys() | other.keys()) - SETTINGS_THAT_CHANGE_NO_RESULT
    return all(config.get(name) == other.get(name) for name in names)


def scorer_with(
    version: DatasetVersion, config: Mapping[str, Any], splits: Mapping[str, Any]
) -> Scorer | None:
    """Return the newest scorer of a version with this configuration and these splits, whoever had it trained.

    Once training has begun, a scorer's ``splits`` say more than that: how many pairs there were. A ready one comes
    first, then one whose training can be gone on with; else nothing.
    """
    rows = Scorer.objects.filter(project=version.project_id, version=version).select_related("job")
    alike = [one for one in rows if splits.items() <= one.splits.items() and same_run(one.config, config)]
    ready = next((one for one in alike if one.is_ready), None)
    return ready or next((one for one in alike if one.job is not None), None)


def recipes_of(evaluation: Evaluation) -> set[str]:
    """Return the names of the rows that an evaluation was made for, or was found to stand in."""
    named = [evaluation.options.get(RECIPE, ""), *evaluation.options.get(FURTHER, [])]
    return {name for name in named if name}
