"""The rows of the papers' tables on scorers as plain data: what each says, and how it is repeated here.

Source: paper 000, table 3, figures 4a and 5, table 4 (doi:10.1007/978-3-031-20059-5_32); the data and what is
uncertain in it stand in ``paper.toml``. Nothing here imports torch.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from curation.evaluation.measures import MEASURES, Better, Measure
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
    words="BERTScore",
    short="BERTScore",
    better=Better.HIGH,
    count="instances",
    counted="instances",
)
"""Of what retrieval ranks first; measured where it is asked for, since it needs a language model."""
COLUMNS = ("im2txt", "txt2im", "p_at_1", "bertscore", "gt_accuracy", "auto_accuracy", "comparison")
"""The measures of the tables, in their order. The first two are ranks, the others percent."""
COLUMN_MEASURES: Mapping[str, Measure] = MappingProxyType(
    {name: {**MEASURES, BERTSCORE.name: BERTSCORE}[name] for name in COLUMNS}
)
TABLE_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "Table 3": COLUMNS,
    "Figure 4a": ("p_at_1", "comparison"),
    BATCH_CURVE: ("p_at_1", "gt_accuracy", "comparison"),
    "Table 4": ("im2txt", "p_at_1", "gt_accuracy", "auto_accuracy"),
}
"""Those that each table has. A row that stands in two tables has the figures of both."""
_SPLIT_SUFFIX = {"val": "_val", "test": "_test"}


class RecipeKind(StrEnum):
    """How a row of a table is made.

    ``EVALUATED`` is the scorer of another recipe on other texts. ``BOUND`` has no model: what people reach, and what
    the boxes allow. ``OTHERS`` is a model that this platform does not train.
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
    """One row.

    name: as commands know it. words: as the tables call it. tables: where the paper has it. paper: its figures by
    measure; ``comparison`` where no split is named, else ``comparison_val`` and ``comparison_test``. changes:
    settings of a training run that differ from the defaults; an empty ``model`` has to be named by whoever runs it.
    trains_as: the recipe whose scorer is evaluated; its own name when it trains one. texts: what is ranked.
    prompt: around each text, for a model that was never trained on such texts.
    """

    name: str
    words: str
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
        """Whether a trained scorer is evaluated."""
        return self.kind in {RecipeKind.TRAINED, RecipeKind.EVALUATED}

    @property
    def is_ours(self) -> bool:
        """Whether this platform can make the row."""
        return self.kind is not RecipeKind.OTHERS

    def config(self, *, model: str = "", **settings: Any) -> TrainingConfig:
        """Return the settings of its training run.

        Args:
            model: what training starts from; empty is the recipe's own.
            settings: further ones that differ, such as ``max_steps``; they win over the recipe's.

        Raises:
            InvalidInput: the recipe trains nothing, it has no weights to start from, or a setting cannot be.
        """
        if self.kind is not RecipeKind.TRAINED:
            raise InvalidInput(f"recipe: {self.name} trains nothing; use {', '.join(trainable())}")
        chosen = {"model": default_model()} | dict(self.changes) | settings
        if model:
            chosen["model"] = model
        if not chosen["model"]:
            raise InvalidInput(
                f"model: {self.name} starts from {self.words.partition(' + ')[0]}, of which no weights are at hand; "
                "name them by --model scorer:NAME, or name another model such as clip:openai/clip-vit-base-patch16"
            )
        return TrainingConfig.from_json(chosen)

    def of_paper(self, measure: str, split: str) -> float | None:
        """Return the paper's figure for a measure of ``COLUMNS`` on a split; for another split that on ``val``."""
        suffix = _SPLIT_SUFFIX.get(split, "_val")
        return self.paper.get(measure, self.paper.get(f"{measure}{suffix}"))


@cache
def _data() -> tuple[str, Mapping[str, Recipe]]:
    raw = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
    return raw["default_model"], MappingProxyType({row["name"]: _read(row) for row in raw["recipes"]})


def _read(row: Mapping[str, Any]) -> Recipe:
    return Recipe(
        name=row["name"],
        words=row["words"],
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
    """Return what a recipe starts from unless it says otherwise."""
    return _data()[0]


def all_recipes() -> tuple[Recipe, ...]:
    """Return every row in the order of the paper."""
    return tuple(_data()[1].values())


def trainable() -> tuple[str, ...]:
    """Return the names of the recipes that train a scorer."""
    return tuple(recipe.name for recipe in all_recipes() if recipe.kind is RecipeKind.TRAINED)


def ours() -> tuple[str, ...]:
    """Return the names of the recipes that can be run."""
    return tuple(recipe.name for recipe in all_recipes() if recipe.is_ours)


def get(name: str) -> Recipe:
    """Return the recipe of that name.

    Raises:
        InvalidInput: there is none; the message lists them.
    """
    found = _data()[1].get(name)
    if found is None:
        raise InvalidInput(f"recipe: {name!r} is not known; use {', '.join(ours())}")
    return found


def with_batch_size(size: int) -> Recipe:
    """Return the recipe of a point of the batch-size curve; one that the paper lacks has no figures of it.

    Raises:
        InvalidInput: a batch of fewer than 2 has no negative.
    """
    name = f"batch-{size}"
    if name in _data()[1]:
        return get(name)
    if size < 2:  # noqa: PLR2004 - a pair alone has no negative
        raise InvalidInput(f"batch size: {size} leaves no negative; use at least 2")
    like = get("batch-512")
    changes = dict(like.changes) | {"batch_size": size}
    return replace(like, name=name, words=f"Batch size {size}", paper={}, changes=changes, trains_as=name)
