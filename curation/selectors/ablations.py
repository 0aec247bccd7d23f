"""Read which scorers and evaluations the rows of the papers' tables have."""

from collections.abc import Mapping
from typing import Any

from curation.models import DatasetVersion, Evaluation, Scorer

SETTINGS_THAT_CHANGE_NO_RESULT = frozenset({"chunk_size", "processes", "device", "compile"})
RECIPE, PROMPT = "recipe", "prompt"  # in an evaluation's options
FURTHER_RECIPES = "further_recipes"  # in an evaluation's options: the other rows that it stands in


def is_same_run(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations give the same scorer, whatever machine and memory they were made for."""
    names = (config.keys() | other.keys()) - SETTINGS_THAT_CHANGE_NO_RESULT
    return all(config.get(name) == other.get(name) for name in names)


def find_scorer(
    version: DatasetVersion, config: Mapping[str, Any], splits: Mapping[str, Any]
) -> Scorer | None:
    """Return the newest scorer of a version with this configuration and these splits, whoever had it trained.

    Once training has begun, a scorer's ``splits`` say more than that: how many pairs there were. A ready one comes
    first, then one whose training can be gone on with; else nothing.
    """
    rows = Scorer.objects.filter(project=version.project_id, version=version).select_related("job")
    alike = [
        scorer
        for scorer in rows
        if splits.items() <= scorer.splits.items() and is_same_run(scorer.config, config)
    ]
    ready = next((scorer for scorer in alike if scorer.is_ready), None)
    return ready or next((scorer for scorer in alike if scorer.job is not None), None)


def evaluation_recipes(evaluation: Evaluation) -> set[str]:
    """Return the names of the rows that an evaluation was made for, or was found to stand in."""
    named = [evaluation.options.get(RECIPE, ""), *evaluation.options.get(FURTHER_RECIPES, [])]
    return {name for name in named if name}
