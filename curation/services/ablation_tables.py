"""Compare the published tables with our results: which rows exist for a version and split, and which are missing.

Reads only. It is a service because selectors must not import the scorer's recipes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from curation.evaluation.measures import get_count, get_figure
from curation.models import DatasetVersion, Evaluation, Scorer
from curation.scorer import recipes
from curation.scorer.recipes import BATCH_CURVE, COLUMN_MEASURES, COLUMNS, Recipe, RecipeKind
from curation.selectors.ablations import recipe_names
from curation.selectors.evaluations import (
    SHORTCUT_OPTION,
    finished_evaluations,
    has_default_options,
    proposal_run_number,
)
from curation.services.ablation_sources import (
    BOUND_PATHS,
    SHORTCUTS,
    first_evaluation_with_bound,
    first_evaluation_with_measure,
    recipe_evaluations,
    recipe_scorer,
    training_differences,
)
from curation.services.ablations import default_splits
from hits.services.errors import Refused


class RowState(StrEnum):
    """A row's state. ``TRAINED`` has a scorer but no evaluation yet; ``OTHERS`` rows are never reproduced here."""

    MADE = "made"
    TRAINED = "trained"
    MISSING = "missing"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Cell:
    """One measure: the paper's figure, and ours with its 95 % interval and n. Absent is ``None``."""

    paper: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One recipe for a version and a split; ``cells`` by the names of ``COLUMNS``.

    differences: how the training, the shortcut or the proposed boxes differ from the recipe or from other rows.
    known_pairs: evaluated pairs that trained the scorer or selected its checkpoint, of ``pairs`` evaluated pairs.
    """

    recipe: Recipe
    state: RowState
    cells: Mapping[str, Cell]
    scorer: Scorer | None = None
    evaluation: Evaluation | None = None
    differences: Sequence[str] = field(default=())
    known_pairs: int = 0
    pairs: int | None = None

    @property
    def model(self) -> str:
        """The model that our training started from, or the encoder that scored."""
        if self.scorer is not None:
            return str(self.scorer.config.get("model", ""))
        if self.evaluation is not None and self.recipe.kind is RecipeKind.ZERO_SHOT:
            return str(self.evaluation.options.get("encoder", ""))
        return ""

    def describe_sample_sizes(self, measures: Iterable[str]) -> str:
        """Return the sample sizes of some measures: ``200 instances, 60 images (GT box), 12 images (Comparison)``."""
        found: dict[str, dict[int, list[str]]] = {}
        for name in measures:
            if (n := self.cells[name].n) is not None:
                measure = COLUMN_MEASURES[name]
                found.setdefault(measure.count_label, {}).setdefault(n, []).append(measure.short)
        return ", ".join(
            f"{n:,} {label}" + (f" ({', '.join(names)})" if len(counts) > 1 else "")
            for label, counts in found.items()
            for n, names in counts.items()
        )

    @property
    def known_pairs_warning(self) -> str:
        """A warning if evaluated pairs trained the scorer or selected its checkpoint; else empty."""
        if not self.known_pairs:
            return ""
        count = f"{self.known_pairs:,}" + (f" of {self.pairs:,}" if self.pairs else "")
        return f"{count} pairs were used to train or select this scorer: its figures are too optimistic"


@dataclass(frozen=True, slots=True)
class _AvailableResults:
    """The ready scorers and default evaluations of a version and split, newest first, and its default splits."""

    scorers: Sequence[Scorer]
    evaluations: Sequence[Evaluation]
    default_splits: Mapping[str, Any]


def ablation_table(version: DatasetVersion, split: str) -> list[AblationRow]:
    """Return every row of the published tables with our results on a split of a sealed version.

    If several scorers match a recipe, the closest counts, then the newest. Additional batch sizes come last.
    """
    available = _AvailableResults(
        list(Scorer.objects.filter(project=version.project_id, version=version, is_ready=True)),
        [
            evaluation
            for evaluation in finished_evaluations(version.project, version)
            if evaluation.split == split and has_default_options(evaluation)
        ],
        _default_splits(version),
    )
    shown = (*recipes.all_recipes(), *_extra_batch_size_recipes(available))
    return [_row(recipe, available, split) for recipe in shown]


def _default_splits(version: DatasetVersion) -> Mapping[str, Any]:
    try:
        found = default_splits(version)
    except Refused:  # the version has no pairs to train on
        return {}
    return found.as_json()


def _extra_batch_size_recipes(available: _AvailableResults) -> list[Recipe]:
    known = {recipe.name for recipe in recipes.all_recipes()}
    evaluated = map(recipe_names, available.evaluations)
    named = {scorer.recipe for scorer in available.scorers}.union(*evaluated) - known
    sizes = {name.removeprefix("batch-") for name in named if name.startswith("batch-")}
    numbers = sorted(int(size) for size in sizes if size.isdecimal())
    return [recipes.batch_size_recipe(size) for size in numbers]


def _row(recipe: Recipe, available: _AvailableResults, split: str) -> AblationRow:
    if recipe.kind is RecipeKind.OTHERS:
        return AblationRow(recipe, RowState.OTHERS, _cells(recipe, split, []))
    if recipe.kind is RecipeKind.BOUND:
        return _bound_row(recipe, available, split)
    evaluations = recipe_evaluations(recipe, available.evaluations, available.default_splits)
    first = evaluations[0] if evaluations else None
    own_splits = available.default_splits
    scorer = first.scorer if first is not None else recipe_scorer(recipe, available.scorers, own_splits)
    state = RowState.MADE if first else RowState.TRAINED if scorer else RowState.MISSING
    return AblationRow(
        recipe,
        state,
        _cells(recipe, split, evaluations),
        scorer,
        first,
        differences=[
            *(training_differences(recipe, scorer, available.default_splits) if scorer is not None else ()),
            *(_describe_boxes_if_older(first, available.evaluations) if first is not None else ()),
            *(_describe_shortcut_if_untrained(recipe, first) if first is not None else ()),
        ],
        known_pairs=first.provenance.get("pairs_known_from_training", 0) if first is not None else 0,
        pairs=first.figures.get("retrieval", {}).get("instances") if first is not None else None,
    )


def _describe_boxes_if_older(evaluation: Evaluation, evaluations: Iterable[Evaluation]) -> list[str]:
    """Describe an older run of proposed boxes than other rows use."""
    run, newest = (
        proposal_run_number(evaluation),
        max((proposal_run_number(other) or 0 for other in evaluations), default=0),
    )
    return [f"boxes of run {run}, not {newest}"] if run is not None and run < newest else []


def _describe_shortcut_if_untrained(recipe: Recipe, evaluation: Evaluation) -> list[str]:
    """Describe a text-only baseline that was not trained, unlike the paper's."""
    second_choices = SHORTCUTS.get(recipe.kind, ())[1:]
    if evaluation.options.get(SHORTCUT_OPTION) not in second_choices:
        return []
    return ["cosines with the clue itself, no ridge regression"]


def _cells(recipe: Recipe, split: str, evaluations: Sequence[Evaluation]) -> dict[str, Cell]:
    return {
        name: _cell(
            recipe, name, split, first_evaluation_with_measure(measure, evaluations), measure.figure_path
        )
        for name, measure in COLUMN_MEASURES.items()
    }


def _bound_row(recipe: Recipe, available: _AvailableResults, split: str) -> AblationRow:
    """Return human performance and the upper bound of the boxes, each from the newest evaluation that has it."""
    found = {name: first_evaluation_with_bound(name, available.evaluations) for name in COLUMNS}
    cells = {
        name: _cell(recipe, name, split, source, BOUND_PATHS.get(name, COLUMN_MEASURES[name].figure_path))
        for name, source in found.items()
    }
    shown = found["comparison"] or next((source for source in found.values() if source is not None), None)
    return AblationRow(recipe, RowState.MADE if shown else RowState.MISSING, cells, evaluation=shown)


def _cell(recipe: Recipe, name: str, split: str, source: Evaluation | None, path: tuple[str, str]) -> Cell:
    paper = recipe.paper_value(name, split)
    if source is None:
        return Cell(paper)
    found = get_figure(source.figures, path)
    n = get_count(source.figures, COLUMN_MEASURES[name])
    return Cell(paper, found.get("value"), found.get("low"), found.get("high"), n)


def batch_size_curve(rows: Iterable[AblationRow]) -> list[tuple[int, AblationRow]]:
    """Return the points of the batch-size curve by size."""
    drawn = [row for row in rows if BATCH_CURVE in row.recipe.tables]
    points = [(int(row.recipe.changes["batch_size"]), row) for row in drawn]
    return sorted(points, key=lambda point: point[0])
