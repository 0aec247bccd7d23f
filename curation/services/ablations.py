"""The papers' tables with our own figures: ask for rows to be made. A pipeline does the work."""

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
from curation.selectors.ablations import FURTHER_RECIPES, evaluation_recipes
from curation.selectors.jobs import ABLATIONS
from curation.selectors.scorers import split_counts
from curation.services.options import check_at_least
from curation.services.scorer_splits import VAL_SHARE, TrainingSplits, choose_splits
from curation.services.splits import check_split
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs


@dataclass(frozen=True, slots=True)
class AblationOptions:
    """Which rows are made, and what differs from the paper's settings for lack of its weights or machines.

    recipes: by name. batch_sizes: further points of the curve. Without either, all that are ours. model: that
    every training starts from, instead of each recipe's own. steps: of each training at most; 0 is all of its epochs.
    batch_size: of recipes that do not vary it; 0 is their own. chunk_size: pairs in memory at once; 0 is the
    recipe's. epochs: 0 is the paper's. split: that is evaluated. seed: of every random draw.
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
        try:
            selected_recipes(self)
        except InvalidInput as error:
            raise Refused(str(error)) from error

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "AblationOptions":
        """Return options as a job keeps them."""
        lists = {name: tuple(given[name]) for name in ("recipes", "batch_sizes")}
        return cls(**(dict(given) | lists))


def selected_recipes(options: AblationOptions) -> list[Recipe]:
    """Return the recipes to be made, in the order of the paper, those that train before those that share a scorer.

    Raises:
        InvalidInput: a name or a batch size that cannot be.
    """
    selected = [recipes.get_recipe(name) for name in options.recipes]
    if not selected and not options.batch_sizes:
        selected = [recipe for recipe in recipes.all_recipes() if recipe.is_supported]
    selected += [recipes.batch_size_recipe(size) for size in sorted(set(options.batch_sizes))]
    foreign = [recipe.name for recipe in selected if not recipe.is_supported]
    if foreign:
        raise InvalidInput(
            f"recipe: {foreign[0]} is not trained here; use {', '.join(recipes.supported_names())}"
        )
    return sorted(selected, key=lambda recipe: recipe.kind is RecipeKind.EVALUATED)


def training_config(recipe: Recipe, options: AblationOptions) -> TrainingConfig:
    """Return the settings of a recipe's training with what the options change.

    Raises:
        InvalidInput: see ``Recipe.config``.
    """
    changes: dict[str, Any] = {"seed": options.seed}
    if options.batch_size and BATCH_CURVE not in recipe.tables:
        changes["batch_size"] = options.batch_size
    for name, value in (
        ("max_steps", options.steps),
        ("epochs", options.epochs),
        ("chunk_size", options.chunk_size),
    ):
        if value:
            changes[name] = value
    config = recipe.config(model=options.model, **changes)
    if not options.steps or config.max_steps >= config.warmup_steps:
        return config
    # A run that is shorter than its warm-up would never reach its rate, nor see a checkpoint.
    return replace(
        config,
        warmup_steps=min(config.warmup_steps, options.steps // 10),
        checkpoint_every=min(config.checkpoint_every, max(1, options.steps // 2)),
    )


def default_splits(version: DatasetVersion, *, seed: int = 0) -> TrainingSplits:
    """Return which pairs of a version train and validate when nobody says otherwise, as every row's scorer does.

    Raises:
        Refused: see ``choose_splits``.
    """
    return choose_splits(split_counts(version), None, None, share=VAL_SHARE, seed=seed)


@transaction.atomic
def add_recipe_to_evaluation(*, evaluation: Evaluation, recipe: Recipe) -> None:
    """Write down that an evaluation stands in a row, though it may have been made for another. Repeatable."""
    row = Evaluation.objects.select_for_update().get(pk=evaluation.pk)
    if recipe.name in evaluation_recipes(row):
        return
    row.options[FURTHER_RECIPES] = [*row.options.get(FURTHER_RECIPES, []), recipe.name]
    row.save(update_fields=["options"])


def request_ablations(
    *, version: DatasetVersion, options: AblationOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Queue the making of rows; ``queue`` as for ``hits.services.jobs.jobs.enqueue``.

    Raises:
        Refused: a draft, or a split without pairs.
        Conflict: ablations of this version are under way.
    """
    check_split(version, options.split)
    count = len(selected_recipes(options))
    return jobs.enqueue(
        task=ABLATIONS,
        title=f"Make {count} row{'s' * (count != 1)} of the paper’s tables for {version.name}",
        project=version.project,
        by=by,
        exclusive_key=f"ablations:{version.pk}",
        resumable=True,
        queue=queue,
        version=version.pk,
        options=asdict(options),
    )
