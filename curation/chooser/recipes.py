"""Named settings of choosers: published ones, those of published ablations, and tiny ones for a CPU. No torch.

Sources: R2C, Zellers et al. 2019 §E and table 2 (doi:10.1109/CVPR.2019.00688); the models of texts alone, §6.1, with
the settings that §B gives for the same BERT. The paper has no CLIP: its settings are those of ``curation.scorer``.
``tiny`` is faithful in everything but size; at that size R2C's published rate is too low, and 2e-3 works.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from curation.chooser.config import ChooserConfig, ModelKind, parse_model
from curation.records import InvalidInput

PUBLISHED, TINY = "published", "tiny"
_ABLATIONS = {
    "no-query": {"use_query": False},
    "no-reasoning": {"use_reasoning": False},
    "no-vision": {"use_vision": False},
}
_FINE_TUNING = {
    "learning_rate": 2e-5,
    "batch_size": 32,
    "epochs": 3,
    "weight_decay": 0.01,
    "patience": 0,
}
_CLIP = {"learning_rate": 1e-5, "batch_size": 96, "epochs": 5, "weight_decay": 0.01, "patience": 0}
_TINY_R2C = {
    "text": "tiny",
    "visual": "grid",
    "class_size": 16,
    "object_size": 48,
    "hidden_size": 32,
    "pool_size": 64,
    "learning_rate": 2e-3,
    "batch_size": 48,
}
_TINY_FINE_TUNING = {
    "learning_rate": 2e-3,
    "batch_size": 32,
    "epochs": 20,
    "weight_decay": 0.0,
    "patience": 0,
}

RECIPES: Mapping[ModelKind, Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        ModelKind.R2C: {PUBLISHED: {}, **_ABLATIONS, TINY: _TINY_R2C},
        ModelKind.CLIP_CHOICE: {PUBLISHED: _CLIP, TINY: _TINY_FINE_TUNING},
        ModelKind.TEXT_ONLY: {PUBLISHED: _FINE_TUNING, TINY: _TINY_FINE_TUNING},
        ModelKind.RESPONSE_ONLY: {PUBLISHED: _FINE_TUNING, TINY: _TINY_FINE_TUNING},
    }
)
"""For each kind of model and each recipe, the settings that differ from the defaults of ``ChooserConfig``."""


def recipe_names() -> tuple[str, ...]:
    """Return the names of all recipes."""
    return tuple(dict.fromkeys(name for recipes in RECIPES.values() for name in recipes))


def make_config(model: str, recipe: str = PUBLISHED, **settings: Any) -> ChooserConfig:
    """Return the settings of a model by a recipe.

    Args:
        settings: further settings, such as ``max_steps``; they override the recipe's.

    Raises:
        InvalidInput: the model or the recipe is not known, or a setting is invalid.
    """
    kind, _ = parse_model(model)
    recipes = RECIPES[kind]
    if recipe not in recipes:
        raise InvalidInput(f"recipe: {kind} has no {recipe!r}; use {', '.join(recipes)}")
    return ChooserConfig.from_json({"model": model, **recipes[recipe], **settings})
