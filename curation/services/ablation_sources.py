"""Find the scorer and the evaluations that reproduce a recipe's row, and how they differ from the recipe.

Only evaluations with default options count (``curation.selectors.evaluations.has_default_options``). A fully
trained scorer comes before a shortened one, then settings closer to the recipe, a newer run of proposed boxes, and
a newer evaluation. Reads only.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from curation.evaluation.measures import Measure, get_figure
from curation.evaluation.shortcuts import Shortcut
from curation.models import Evaluation, EvaluationSource, Scorer
from curation.scorer import recipes
from curation.scorer.config import TINY
from curation.scorer.recipes import Recipe, RecipeKind
from curation.scorer.texts import TextKind
from curation.selectors.ablations import (
    SETTINGS_THAT_CHANGE_NO_RESULT,
    is_equivalent_config,
    recipe_names,
)
from curation.selectors.evaluations import SHORTCUT_OPTION, proposal_run_number

SHORTCUTS: Mapping[RecipeKind, tuple[Shortcut, ...]] = {
    RecipeKind.RANDOM: (Shortcut.RANDOM,),
    RecipeKind.TEXT_ONLY: (Shortcut.TEXT_TRAINED, Shortcut.TEXT_ONLY),  # in order of preference
}
BOUND_PATHS = {
    "gt_accuracy": ("localization", "gt_accuracy"),
    "auto_accuracy": ("localization", "auto_oracle_accuracy"),
    "comparison": ("comparison", "human"),
}
"""Path of each bound in an evaluation's figures."""
_IGNORED_SETTINGS = {"model", "seed"}  # the row names the model; the seed does not matter
Distance = tuple[int, ...]
Splits = Mapping[str, Any]


def recipe_evaluations(
    recipe: Recipe, evaluations: Iterable[Evaluation], default_splits: Splits
) -> list[Evaluation]:
    """Return a row's evaluations, the closest to the recipe first; empty without any.

    The others repeat the same measurement: they have the same figures, and may have more, such as BERTScore.

    Args:
        evaluations: those of one version and split with default options, newest first.
        default_splits: the default training and validation splits, as in a scorer's row.
    """
    found = [evaluation for evaluation in evaluations if _matches_recipe(recipe, evaluation)]
    ordered = sorted(
        found,
        key=lambda evaluation: (
            *_evaluation_distance(recipe, evaluation, default_splits),
            -(proposal_run_number(evaluation) or 0),
        ),
    )
    first = _measurement_key(ordered[0]) if ordered else None
    return [evaluation for evaluation in ordered if _measurement_key(evaluation) == first]


def recipe_scorer(recipe: Recipe, scorers: Iterable[Scorer], default_splits: Splits) -> Scorer | None:
    """Return the scorer of a row without evaluations, if any; ``scorers`` are newest first."""
    if not recipe.needs_scorer:
        return None
    fitting = (scorer for scorer in scorers if _scorer_matches_recipe(recipe, scorer))
    return min(fitting, key=lambda scorer: _scorer_distance(recipe, scorer, default_splits), default=None)


def first_evaluation_with_bound(bound: str, evaluations: Iterable[Evaluation]) -> Evaluation | None:
    """Return the newest evaluation that has a bound's figure, if any; ``evaluations`` are newest first.

    Human accuracy on true boxes comes from judgments only; models have a figure of the same name.
    """
    path = BOUND_PATHS.get(bound)
    fitting = (
        evaluation
        for evaluation in evaluations
        if evaluation.texts == TextKind.INFERENCE
        and (bound != "gt_accuracy" or evaluation.source == EvaluationSource.JUDGMENTS)
    )
    return (
        next((evaluation for evaluation in fitting if _has_figure(evaluation, path)), None)
        if path is not None
        else None
    )


def first_evaluation_with_measure(measure: Measure, evaluations: Iterable[Evaluation]) -> Evaluation | None:
    """Return the first of a row's evaluations that has a measure, if any."""
    return next(
        (evaluation for evaluation in evaluations if _has_figure(evaluation, measure.figure_path)), None
    )


def training_differences(recipe: Recipe, scorer: Scorer, default_splits: Splits) -> list[str]:
    """Describe where a scorer's training differs from the recipe: settings (such as batch size) and splits."""
    trained = _training_recipe(recipe)
    if trained is None:
        return []
    texts = [
        f"{name.replace('_', ' ')} {_format_setting(value)}"
        for name, value in _changed_settings(trained, scorer).items()
        if name not in _IGNORED_SETTINGS
    ]
    texts += [
        f"{label} {scorer.splits[name] or 'no split'}"
        for name, label in (("train", "trained on"), ("val", "validated on"))
        if name in default_splits and scorer.splits.get(name, default_splits[name]) != default_splits[name]
    ]
    share = scorer.splits.get("val_share", 0)  # 0 for two different splits, which are listed above
    is_default = share in (0, default_splits.get("val_share", 0))
    return texts if is_default else [*texts, f"validation share {share:g}"]


def _format_setting(value: Any) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def _matches_recipe(recipe: Recipe, evaluation: Evaluation) -> bool:
    if evaluation.texts != recipe.texts:
        return False
    if recipe.kind in SHORTCUTS:
        is_baseline = evaluation.source == EvaluationSource.BASELINE
        return is_baseline and evaluation.options.get(SHORTCUT_OPTION) in SHORTCUTS[recipe.kind]
    if not recipe.needs_scorer:
        return recipe.name in recipe_names(evaluation)
    if evaluation.scorer is None or evaluation.scorer.version_id != evaluation.version_id:
        return False
    return recipe.name in recipe_names(evaluation) or _scorer_matches_recipe(recipe, evaluation.scorer)


def _scorer_matches_recipe(recipe: Recipe, scorer: Scorer) -> bool:
    """Whether a scorer was trained for a row, or with exactly the settings of its recipe."""
    if scorer.recipe == recipe.trains_as:
        return True
    trained = _training_recipe(recipe)
    if trained is None or trained.changes.get("model") == "":
        return False
    return is_equivalent_config(trained.to_config(seed=scorer.config.get("seed", 0)).as_json(), scorer.config)


def _training_recipe(recipe: Recipe) -> Recipe | None:
    """Return the recipe that trains a recipe's scorer: itself or another one; ``None`` if nothing is trained."""
    if recipe.kind is RecipeKind.EVALUATED:
        return recipes.get_recipe(recipe.trains_as)
    return recipe if recipe.kind is RecipeKind.TRAINED else None


def _evaluation_distance(recipe: Recipe, evaluation: Evaluation, default_splits: Splits) -> Distance:
    """Return an evaluation's distance from the row's recipe; less is closer."""
    if recipe.kind in SHORTCUTS:
        return 0, SHORTCUTS[recipe.kind].index(Shortcut(evaluation.options[SHORTCUT_OPTION]))
    if evaluation.scorer is not None:
        return _scorer_distance(recipe, evaluation.scorer, default_splits)
    return 0, int(evaluation.options.get("encoder") != recipes.default_model())


def _scorer_distance(recipe: Recipe, scorer: Scorer, default_splits: Splits) -> Distance:
    """Return a scorer's distance: random initial weights, shortened training, number of other differences."""
    trained = _training_recipe(recipe)
    changed = _changed_settings(trained, scorer) if trained is not None else {}
    differing = ("model" in changed) + len(training_differences(recipe, scorer, default_splits))
    return int(scorer.config.get("model") == TINY), _is_shortened(trained, changed), differing


def _is_shortened(recipe: Recipe | None, changed: Mapping[str, Any]) -> bool:
    """Whether the training was configured for fewer steps or epochs than the recipe."""
    epochs = recipe.to_config(model=TINY).epochs if recipe is not None else 0
    return bool(changed.get("max_steps")) or changed.get("epochs", epochs) < epochs


def _changed_settings(recipe: Recipe, scorer: Scorer) -> dict[str, Any]:
    """Return the settings that make a scorer differ from its recipe; a recipe may leave the model open."""
    model = recipe.changes.get("model", recipes.default_model())
    settings = recipe.to_config(model=model or scorer.config.get("model") or TINY).as_json().items()
    relevant = {name: value for name, value in settings if name not in SETTINGS_THAT_CHANGE_NO_RESULT}
    trained = scorer.config
    return {name: trained[name] for name, value in relevant.items() if trained.get(name, value) != value}


def _measurement_key(evaluation: Evaluation) -> tuple[Any, ...]:
    """Return what an evaluation measured: equal keys differ only in additional measures."""
    named = (evaluation.options.get(name) for name in ("encoder", SHORTCUT_OPTION, "seed"))
    return evaluation.scorer_id, *named


def _has_figure(evaluation: Evaluation, path: tuple[str, str]) -> bool:
    return get_figure(evaluation.figures, path).get("value") is not None
