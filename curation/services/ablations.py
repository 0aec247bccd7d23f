"""Request jobs that reproduce rows of published tables with a project's data. A pipeline does the work."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import DatasetVersion, Evaluation
from curation.records import InvalidInput
from curation.scorer import recipes
from curation.scorer.config import TrainingConfig
from curation.scorer.recipes import BATCH_CURVE, Recipe, RecipeKind
from curation.selectors.ablations import FURTHER_RECIPES, recipe_names
from curation.selectors.jobs import ABLATIONS
from curation.selectors.scorers import split_counts
from curation.services.options import check_at_least
from curation.services.refusals import refuse_invalid_input
from curation.services.scorer_splits import VAL_SHARE, TrainingSplits, choose_splits
from curation.services.splits import check_split_has_pairs
from hits.models import Job
from hits.services.jobs import jobs


@dataclass(frozen=True, slots=True)
class AblationOptions:
    """Which rows to reproduce, and which settings differ from the published ones.

    recipes: names of rows. batch_sizes: additional points of the batch-size curve. Without either: every row that can
    be made here. model: initial weights of all scorers; empty uses each recipe's own. steps: maximum per scorer;
    0 runs all epochs. batch_size: for recipes that do not vary it; 0 uses theirs. chunk_size: pairs in memory at
    once; 0 uses the recipe's. epochs: 0 uses the paper's. split: the evaluated split. seed: for all random draws.
    """

    split: str
    recipes: tuple[str, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    model: str = ""
    steps: int = 0
    epochs: int = 0
    batch_size: int = 0
    chunk_size: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "batch_size", "chunk_size", "seed"):
            check_at_least(name, getattr(self, name), 0)
        with refuse_invalid_input():
            selected_recipes(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "AblationOptions":
        """Return the options that a job stores."""
        lists = {name: tuple(given[name]) for name in ("recipes", "batch_sizes")}
        return cls(**(dict(given) | lists))


def selected_recipes(options: AblationOptions) -> list[Recipe]:
    """Return the recipes to run in the paper's order; those that reuse another row's scorer come last.

    Raises:
        InvalidInput: an unknown name or an invalid batch size.
    """
    selected = [recipes.get_recipe(name) for name in options.recipes]
    if not selected and not options.batch_sizes:
        selected = [recipe for recipe in recipes.all_recipes() if recipe.is_supported]
    selected += [recipes.batch_size_recipe(size) for size in sorted(set(options.batch_sizes))]
    foreign = [recipe.name for recipe in selected if not recipe.is_supported]
    if foreign:
        known = ", ".join(recipes.supported_names())
        raise InvalidInput(f"recipe: {foreign[0]} is not trained here; use {known}")
    return sorted(selected, key=lambda recipe: recipe.kind is RecipeKind.EVALUATED)


def training_config(recipe: Recipe, options: AblationOptions) -> TrainingConfig:
    """Return a recipe's training settings with the options applied.

    Raises:
        InvalidInput: see ``Recipe.to_config``.
    """
    changes: dict[str, Any] = {"seed": options.seed}
    if options.batch_size and BATCH_CURVE not in recipe.tables:
        changes["batch_size"] = options.batch_size
    named = {"max_steps": options.steps, "epochs": options.epochs, "chunk_size": options.chunk_size}
    for name, value in named.items():
        if value:
            changes[name] = value
    config = recipe.to_config(model=options.model, **changes)
    if not options.steps or config.max_steps >= config.warmup_steps:
        return config
    # A run shorter than its warm-up would never reach the learning rate or a checkpoint.
    return replace(
        config,
        warmup_steps=min(config.warmup_steps, options.steps // 10),
        checkpoint_every=min(config.checkpoint_every, max(1, options.steps // 2)),
    )


def default_splits(version: DatasetVersion, *, seed: int = 0) -> TrainingSplits:
    """Return the default training and validation splits of a version; every row uses them.

    Raises:
        Refused: see ``choose_splits``.
    """
    return choose_splits(split_counts(version), None, None, share=VAL_SHARE, seed=seed)


@transaction.atomic
def add_recipe_to_evaluation(*, evaluation: Evaluation, recipe: Recipe) -> None:
    """Record that an evaluation also belongs to this recipe's row. Idempotent."""
    row = Evaluation.objects.select_for_update().get(pk=evaluation.pk)
    if recipe.name in recipe_names(row):
        return
    row.options[FURTHER_RECIPES] = [*row.options.get(FURTHER_RECIPES, []), recipe.name]
    row.save(update_fields=["options"])


def request_ablations(
    *, version: DatasetVersion, options: AblationOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Queue the job that makes the rows; ``queue`` as for ``hits.services.jobs.jobs.enqueue``.

    Raises:
        Refused: a draft, or a split without pairs.
        Conflict: ablations of this version are running.
    """
    check_split_has_pairs(version, options.split)
    count = len(selected_recipes(options))
    return jobs.enqueue(
        task=ABLATIONS,
        title=f"Make {count} row{'s' * (count != 1)} of the published tables for {version.name}",
        project=version.project,
        by=by,
        exclusive_key=f"ablations:{version.pk}",
        resumable=True,
        queue=queue,
        version=version.pk,
        options=asdict(options),
    )
