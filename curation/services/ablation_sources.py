"""Which scorer and which evaluations a row of the papers' tables rests on, and how they differ from its recipe.

Only usual evaluations count (``curation.selectors.evaluations.is_usual``). Of several, one whose scorer was trained
to the end comes before a short try, then the one whose settings are nearest to the recipe's own; of equals the one
with the newest run of proposed boxes, then the newest. Reads only.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from curation.evaluation.measures import Measure, figure_of
from curation.evaluation.shortcuts import Shortcut
from curation.models import Evaluation, EvaluationSource, Scorer
from curation.scorer import recipes
from curation.scorer.config import TINY
from curation.scorer.recipes import Recipe, RecipeKind
from curation.scorer.texts import TextKind
from curation.selectors.ablations import SETTINGS_THAT_CHANGE_NO_RESULT, recipes_of, same_run
from curation.selectors.evaluations import SHORTCUT, boxes_of

SHORTCUTS: Mapping[RecipeKind, tuple[Shortcut, ...]] = {
    RecipeKind.RANDOM: (Shortcut.RANDOM,),
    RecipeKind.TEXT_ONLY: (Shortcut.TEXT_TRAINED, Shortcut.TEXT_ONLY),  # the first that there is
}
BOUND_PATHS = {
    "gt_accuracy": ("localization", "gt_accuracy"),
    "auto_accuracy": ("localization", "auto_oracle_accuracy"),
    "comparison": ("comparison", "human"),
}
"""Where a bound's figures stand."""
_UNSAID = {"model", "seed"}  # the row names the model; a seed is as good as any other
Rank = tuple[int, ...]
Splits = Mapping[str, Any]


def sources_of(recipe: Recipe, measured: Iterable[Evaluation], usual: Splits) -> list[Evaluation]:
    """Return the evaluations that a row rests on, the row's own first; empty where there is none.

    The others measured the same thing. They have the same figures, and may have more, such as BERTScore.

    Args:
        measured: usual evaluations of one version and split, newest first.
        usual: the split that trains and the one that validates when nobody says otherwise, as in a scorer's row.
    """
    found = [one for one in measured if _is_of(recipe, one)]
    ordered = sorted(found, key=lambda one: (*_rank(recipe, one, usual), -(boxes_of(one) or 0)))
    return [one for one in ordered if _measured(one) == _measured(ordered[0])]


def scorer_of(recipe: Recipe, scorers: Iterable[Scorer], usual: Splits) -> Scorer | None:
    """Return the scorer that a row without an evaluation has, if any; ``scorers`` are newest first."""
    if not recipe.needs_scorer:
        return None
    fitting = (one for one in scorers if _is_scorer_of(recipe, one))
    return min(fitting, key=lambda one: _farness(recipe, one, usual), default=None)


def bound_source(name: str, measured: Iterable[Evaluation]) -> Evaluation | None:
    """Return the newest evaluation that has a bound's figure, if any; ``measured`` are newest first.

    People's matching of inferences to true boxes is in judgments alone: models have a figure of that name, too.
    """
    path = BOUND_PATHS.get(name)
    fitting = (
        one
        for one in measured
        if one.texts == TextKind.INFERENCE
        and (name != "gt_accuracy" or one.source == EvaluationSource.JUDGMENTS)
    )
    return next((one for one in fitting if _has(one, path)), None) if path is not None else None


def source_of(measure: Measure, sources: Iterable[Evaluation]) -> Evaluation | None:
    """Return the first of a row's evaluations that has a measure, if any."""
    return next((one for one in sources if _has(one, measure.path)), None)


def differences(recipe: Recipe, scorer: Scorer, usual: Splits) -> list[str]:
    """Return in words where a scorer's training differs from the recipe's: steps, batch and the like, and pairs."""
    trained = _trained(recipe)
    if trained is None:
        return []
    words = [
        f"{name.replace('_', ' ')} {_plain(value)}"
        for name, value in _changed(trained, scorer).items()
        if name not in _UNSAID
    ]
    words += [
        f"{said} {scorer.splits[name] or 'no split'}"
        for name, said in (("train", "trained on"), ("val", "validated on"))
        if name in usual and scorer.splits.get(name, usual[name]) != usual[name]
    ]
    share = scorer.splits.get("val_share", 0)  # 0 where two splits train and validate, which is said above
    return words + (
        [f"share that validates {share:g}"] if share not in (0, usual.get("val_share", 0)) else []
    )


def _plain(value: Any) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def _is_of(recipe: Recipe, found: Evaluation) -> bool:
    if found.texts != recipe.texts:
        return False
    if recipe.kind in SHORTCUTS:
        is_baseline = found.source == EvaluationSource.BASELINE
        return is_baseline and found.options.get(SHORTCUT) in SHORTCUTS[recipe.kind]
    if not recipe.needs_scorer:
        return recipe.name in recipes_of(found)
    if found.scorer is None or found.scorer.version_id != found.version_id:
        return False
    return recipe.name in recipes_of(found) or _is_scorer_of(recipe, found.scorer)


def _is_scorer_of(recipe: Recipe, scorer: Scorer) -> bool:
    """Whether a scorer was trained for a row, or with the very settings of its recipe."""
    if scorer.recipe == recipe.trains_as:
        return True
    trained = _trained(recipe)
    if trained is None or trained.changes.get("model") == "":
        return False
    return same_run(trained.config(seed=scorer.config.get("seed", 0)).as_json(), scorer.config)


def _trained(recipe: Recipe) -> Recipe | None:
    """Return the recipe whose scorer a row has: its own, or another's."""
    if recipe.kind is RecipeKind.EVALUATED:
        return recipes.get(recipe.trains_as)
    return recipe if recipe.kind is RecipeKind.TRAINED else None


def _rank(recipe: Recipe, found: Evaluation, usual: Splits) -> Rank:
    """Return how far an evaluation is from what the row means; less is nearer."""
    if recipe.kind in SHORTCUTS:
        return 0, SHORTCUTS[recipe.kind].index(Shortcut(found.options[SHORTCUT]))
    if found.scorer is not None:
        return _farness(recipe, found.scorer, usual)
    return 0, int(found.options.get("encoder") != recipes.default_model())


def _farness(recipe: Recipe, scorer: Scorer, usual: Splits) -> Rank:
    """Return whether it began with random weights, which measure nothing, was a short try, and what else differs."""
    trained = _trained(recipe)
    changed = _changed(trained, scorer) if trained is not None else {}
    differing = ("model" in changed) + len(differences(recipe, scorer, usual))
    return int(scorer.config.get("model") == TINY), _is_short(trained, changed), differing


def _is_short(recipe: Recipe | None, changed: Mapping[str, Any]) -> bool:
    """Whether training was to end earlier than the recipe's: by steps, or after fewer epochs."""
    epochs = recipe.config(model=TINY).epochs if recipe is not None else 0
    return bool(changed.get("max_steps")) or changed.get("epochs", epochs) < epochs


def _changed(recipe: Recipe, scorer: Scorer) -> dict[str, Any]:
    """Return the settings of a scorer that give another result than the recipe's, which may leave the model open."""
    own = recipe.changes.get("model", recipes.default_model())
    wanted = recipe.config(model=own or scorer.config.get("model") or TINY).as_json()
    kept = {name: value for name, value in wanted.items() if name not in SETTINGS_THAT_CHANGE_NO_RESULT}
    return {
        name: scorer.config[name] for name, value in kept.items() if scorer.config.get(name, value) != value
    }


def _measured(found: Evaluation) -> tuple[Any, ...]:
    """Return what was measured: equal for evaluations that cannot differ but in what else they measure."""
    named = (found.options.get(name) for name in ("encoder", SHORTCUT, "seed"))
    return found.scorer_id, *named


def _has(found: Evaluation, path: tuple[str, str]) -> bool:
    return figure_of(found.figures, path).get("value") is not None
