"""Find the scorers and evaluations that reproduce rows of published tables (``curation.scorer.recipes``)."""

from collections.abc import Mapping
from typing import Any

from curation.models import DatasetVersion, Evaluation, Scorer

SETTINGS_THAT_CHANGE_NO_RESULT = frozenset({"chunk_size", "processes", "device", "compile"})
RECIPE, PROMPT = "recipe", "prompt"  # in an evaluation's options
FURTHER_RECIPES = "further_recipes"  # in an evaluation's options: other rows that it also belongs to


def is_equivalent_config(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two configurations give the same scorer, ignoring settings that only concern hardware and memory."""
    names = (config.keys() | other.keys()) - SETTINGS_THAT_CHANGE_NO_RESULT
    return all(config.get(name) == other.get(name) for name in names)


def find_reusable_scorer(
    version: DatasetVersion, config: Mapping[str, Any], splits: Mapping[str, Any]
) -> Scorer | None:
    """Return the newest scorer of a version with this configuration and these splits, by any user.

    Ready scorers are preferred, then those whose training can be resumed; otherwise ``None``. Extra keys in a
    scorer's ``splits``, which training adds, are ignored.
    """
    rows = Scorer.objects.filter(project=version.project_id, version=version).select_related("job")
    found = (scorer for scorer in rows if splits.items() <= scorer.splits.items())
    alike = [scorer for scorer in found if is_equivalent_config(scorer.config, config)]
    ready = next((scorer for scorer in alike if scorer.is_ready), None)
    return ready or next((scorer for scorer in alike if scorer.job is not None), None)


def recipe_names(evaluation: Evaluation) -> set[str]:
    """Return the names of the rows that an evaluation was made for or also belongs to."""
    named = [evaluation.options.get(RECIPE, ""), *evaluation.options.get(FURTHER_RECIPES, [])]
    return {name for name in named if name}
