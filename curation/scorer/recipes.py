"""The rows of the paper's tables on scorers as plain data: their figures, and how to reproduce them.

Source: Hessel et al. 2022, table 3, figures 4a and 5, table 4 (doi:10.1007/978-3-031-20059-5_32). ``paper.toml`` has
the data and its uncertainties. This module does not import torch.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from curation.evaluation.measures import MEASURES, Direction, Measure
from curation.records import InvalidInput
from curation.scorer.config import TrainingConfig
from curation.scorer.texts import TextKind

BATCH_CURVE = "Figure 5"
TABLES = ("Table 3", "Figure 4a", BATCH_CURVE, "Table 4")
BERTSCORE = Measure(
    name="bertscore",
    task="retrieval",
    key="bertscore",
    group="Retrieval",
    label="BERTScore",
    short="BERTScore",
    better=Direction.HIGH,
    count_key="instances",
    count_label="instances",
)
"""Evaluated on the top retrieved inferences, on request only, since it needs a language model."""
COLUMNS = ("im2txt", "txt2im", "p_at_1", "bertscore", "gt_accuracy", "auto_accuracy", "comparison")
"""The measures of the tables, in order. The first two are ranks, the others percentages."""
COLUMN_MEASURES: Mapping[str, Measure] = MappingProxyType(
    {name: {**MEASURES, BERTSCORE.name: BERTSCORE}[name] for name in COLUMNS}
)
TABLE_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "Table 3": COLUMNS,
    "Figure 4a": ("p_at_1", "comparison"),
    BATCH_CURVE: ("p_at_1", "gt_accuracy", "comparison"),
    "Table 4": ("im2txt", "p_at_1", "gt_accuracy", "auto_accuracy"),
}
"""The measures of each table. A row of two tables has the figures of both."""
_SPLIT_SUFFIX = {"val": "_val", "test": "_test"}


class RecipeKind(StrEnum):
    """How a row of a table is produced.

    ``EVALUATED`` is the scorer of another recipe on other texts. ``BOUND`` has no model: human performance, and the
    oracle over proposed boxes. ``OTHERS`` is a model that this platform cannot train.
    """

    TRAINED = "trained"
    EVALUATED = "evaluated"
    ZERO_SHOT = "zero_shot"
    RANDOM = "random"
    TEXT_ONLY = "text_only"
    BOUND = "bound"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One row of the tables of Hessel et al. 2022.

    name: in commands. label: in the tables. tables: the paper's tables with this row. paper: its published figures by
    measure; ``comparison`` if the paper names no split, else ``comparison_val`` and ``comparison_test``. changes:
    training settings that differ from the defaults; an empty ``model`` must be given when the recipe runs.
    trains_as: the recipe whose scorer is evaluated; its own name if it trains one. texts: the texts to rank.
    prompt: surrounds each text, for a model that was not trained on such texts.
    """

    name: str
    label: str
    tables: tuple[str, ...]
    kind: RecipeKind
    paper: Mapping[str, float]
    changes: Mapping[str, Any] = field(default_factory=dict)
    trains_as: str = ""
    texts: TextKind = TextKind.INFERENCE
    prompt: str = ""
    note: str = ""

    @property
    def needs_scorer(self) -> bool:
        """Whether the row evaluates a trained scorer."""
        return self.kind in {RecipeKind.TRAINED, RecipeKind.EVALUATED}

    @property
    def is_supported(self) -> bool:
        """Whether this platform can reproduce the row."""
        return self.kind is not RecipeKind.OTHERS

    def to_config(self, *, model: str = "", **settings: Any) -> TrainingConfig:
        """Return the settings of its training run.

        Args:
            model: the starting weights; empty is the recipe's own.
            settings: further settings, such as ``max_steps``; they override the recipe's.

        Raises:
            InvalidInput: the recipe trains nothing, its starting weights are not available, or a setting is invalid.
        """
        if self.kind is not RecipeKind.TRAINED:
            raise InvalidInput(f"recipe: {self.name} trains nothing; use {', '.join(trainable_names())}")
        values = {"model": default_model()} | dict(self.changes) | settings
        if model:
            values["model"] = model
        if not values["model"]:
            raise InvalidInput(
                f"model: {self.name} starts from {self.label.partition(' + ')[0]}, whose weights are not available; "
                "give them by --model scorer:NAME, or give another model such as clip:openai/clip-vit-base-patch16"
            )
        return TrainingConfig.from_json(values)

    def paper_value(self, measure: str, split: str) -> float | None:
        """Return the paper's figure for a measure of ``COLUMNS``; for splits without figures, that on val."""
        suffix = _SPLIT_SUFFIX.get(split, "_val")
        return self.paper.get(measure, self.paper.get(f"{measure}{suffix}"))


@cache
def _load_recipes() -> tuple[str, Mapping[str, Recipe]]:
    raw = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
    return raw["default_model"], MappingProxyType({row["name"]: _parse_recipe(row) for row in raw["recipes"]})


def _parse_recipe(row: Mapping[str, Any]) -> Recipe:
    return Recipe(
        name=row["name"],
        label=row["label"],
        tables=tuple(row["tables"]),
        kind=RecipeKind(row["kind"]),
        paper=MappingProxyType(row["paper"]),
        changes=MappingProxyType(row.get("changes", {})),
        trains_as=row.get("trains_as", row["name"] if row["kind"] == RecipeKind.TRAINED else ""),
        texts=TextKind(row.get("texts", TextKind.INFERENCE)),
        prompt=row.get("prompt", ""),
        note=row.get("note", ""),
    )


def default_model() -> str:
    """Return the starting weights of recipes that name none."""
    return _load_recipes()[0]


def all_recipes() -> tuple[Recipe, ...]:
    """Return all rows in the paper's order."""
    return tuple(_load_recipes()[1].values())


def trainable_names() -> tuple[str, ...]:
    """Return the names of the recipes that train a scorer."""
    return tuple(recipe.name for recipe in all_recipes() if recipe.kind is RecipeKind.TRAINED)


def supported_names() -> tuple[str, ...]:
    """Return the names of the recipes that this platform can run."""
    return tuple(recipe.name for recipe in all_recipes() if recipe.is_supported)


def get_recipe(name: str) -> Recipe:
    """Return the recipe of that name.

    Raises:
        InvalidInput: the name is unknown; the message lists the known ones.
    """
    recipe = _load_recipes()[1].get(name)
    if recipe is None:
        raise InvalidInput(f"recipe: {name!r} is not known; use {', '.join(supported_names())}")
    return recipe


def batch_size_recipe(size: int) -> Recipe:
    """Return the recipe of a batch size, a point of figure 5; if the figure lacks it, it has no paper's figures.

    Raises:
        InvalidInput: a batch of fewer than 2 pairs has no negative.
    """
    name = f"batch-{size}"
    if name in _load_recipes()[1]:
        return get_recipe(name)
    if size < 2:  # noqa: PLR2004 - a pair alone has no negative
        raise InvalidInput(f"batch size: {size} leaves no negative; use at least 2")
    base = get_recipe("batch-512")
    changes = dict(base.changes) | {"batch_size": size}
    return replace(base, name=name, label=f"Batch size {size}", paper={}, changes=changes, trains_as=name)
