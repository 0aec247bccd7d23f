"""Reproduce rows of the tables of Hessel et al. 2022: train missing scorers and evaluate them, row by row.

Existing rows are not changed, so a stopped job resumes at the first missing row. A row that cannot be made, for lack
of weights or pairs, is reported with its reason, and the job continues with the other rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from curation.families.sherlock.evaluation_plan import newest_proposal_run
from curation.models import DatasetVersion, Evaluation, Scorer
from curation.pipelines.inner_jobs import run_inner_job
from curation.pipelines.shortcuts import get_or_measure_baseline
from curation.records import InvalidInput
from curation.scorer import recipes
from curation.scorer.config import TINY
from curation.scorer.recipes import Recipe, RecipeKind
from curation.selectors.ablations import PROMPT, RECIPE, find_reusable_scorer
from curation.selectors.evaluations import evaluations, find_reusable_evaluation
from curation.selectors.scorers import SCORER_PREFIX
from curation.services import ablations
from curation.services.ablation_sources import SHORTCUTS
from curation.services.evaluations import EvaluationOptions, request_evaluation
from curation.services.scorers import next_free_name, request_training, resolve_encoder
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

EXISTING, CREATED, DERIVED = "stood", "made", "read from the others"


def run_ablations(progress: Progress) -> dict[str, Any]:
    """Run a job: make its rows, and return how each was made.

    Raises:
        Refused: no row could be made.
        Cancelled: the job was cancelled; a later run continues with the current row.
    """
    job = progress.job
    version = DatasetVersion.objects.select_related("project").get(pk=job.args["version"])
    ablation_job = _AblationJob(version, ablations.AblationOptions.from_json(job.args["options"]), progress)
    plan = ablations.selected_recipes(ablation_job.options)
    rows: dict[str, str] = {}
    refused: dict[str, str] = {}
    for index, recipe in enumerate(plan):
        progress.advance(index, total=len(plan))
        try:
            rows[recipe.name] = ablation_job.make_row_if_missing(recipe)
            progress.log(f"{recipe.label}: {rows[recipe.name]}")
        except (Refused, InvalidInput) as error:
            refused[recipe.name] = str(error)
            progress.log(f"{recipe.label}: not made, {error}")
    if refused and not rows:
        raise Refused(next(iter(refused.values())))
    progress.advance(len(plan), total=len(plan))
    return {"rows": rows, "refused": refused}


@dataclass(frozen=True, slots=True)
class _AblationJob:
    """Makes the rows of one job."""

    version: DatasetVersion
    options: ablations.AblationOptions
    progress: Progress

    def make_row_if_missing(self, recipe: Recipe) -> str:
        """Make a row unless it exists; return how it was made.

        Raises:
            Refused, InvalidInput: it cannot be made; the message says why.
        """
        if recipe.kind is RecipeKind.BOUND:
            return DERIVED
        if recipe.kind in SHORTCUTS:
            return self._make_baseline_if_missing(recipe)
        if recipe.kind is RecipeKind.ZERO_SHOT:
            return self._make_zero_shot_if_missing(recipe)
        scorer = self._find_or_train_scorer(
            recipes.get_recipe(recipe.trains_as) if recipe.trains_as != recipe.name else recipe
        )
        return self._evaluate_if_needed(
            recipe, scorer.encoder_name, lambda found: found.scorer_id == scorer.pk
        )

    def _make_baseline_if_missing(self, recipe: Recipe) -> str:
        was_made = [
            get_or_measure_baseline(
                self.progress,
                self.version,
                split=self.options.split,
                shortcut=shortcut,
                seed=self.options.seed,
            )[1]
            for shortcut in SHORTCUTS[recipe.kind]
        ]
        return CREATED if any(was_made) else EXISTING

    def _make_zero_shot_if_missing(self, recipe: Recipe) -> str:
        model = self.options.model or recipes.default_model()
        if model == TINY:
            raise Refused(
                "model: tiny has random weights, so there is no zero-shot row; give a CLIP with --model clip:FOLDER"
            )
        encoder = resolve_encoder(self.version.project, model)

        def matches(evaluation: Evaluation) -> bool:
            options = evaluation.options
            return bool(options.get(RECIPE) == recipe.name and options.get("encoder") == encoder)

        return self._evaluate_if_needed(recipe, encoder, matches)

    def _find_or_train_scorer(self, recipe: Recipe) -> Scorer:
        """Return a ready scorer with a recipe's settings; train it if there is none."""
        config = ablations.training_config(recipe, self.options)
        if config.model.startswith(SCORER_PREFIX):
            config = replace(config, model=resolve_encoder(self.version.project, config.model))
        splits = ablations.default_splits(self.version, seed=config.seed)
        known = find_reusable_scorer(self.version, config.as_json(), splits.as_json())
        if known is not None and known.is_ready:
            return known
        if known is not None and known.job is not None:
            run_inner_job(self.progress, known.job)
        else:
            known = request_training(
                project=self.version.project,
                by=self.progress.job.created_by,
                version=self.version,
                name=next_free_name(self.version.project, f"{self.version.name} {recipe.name}"[:50]),
                config=config,
                recipe=recipe.name,
                queue=False,
            )
            assert known.job is not None
            run_inner_job(self.progress, known.job)
        known.refresh_from_db()
        return known

    def _evaluate_if_needed(self, recipe: Recipe, encoder: str, matches: Callable[[Evaluation], bool]) -> str:
        """Return how the evaluation of a scorer or encoder was made; start or resume it unless it is done."""
        known = self._find_evaluation(recipe, matches)
        if known is not None:
            ablations.add_recipe_to_evaluation(evaluation=known, recipe=recipe)
        if known is not None and known.figures:
            return EXISTING
        if known is not None and known.job is not None:
            run_inner_job(self.progress, known.job)
            return CREATED
        facts = {RECIPE: recipe.name} | ({PROMPT: recipe.prompt} if recipe.prompt else {})
        row = request_evaluation(
            project=self.version.project,
            by=self.progress.job.created_by,
            version=self.version,
            split=self.options.split,
            encoder=encoder,
            texts=recipe.texts.value,
            options=EvaluationOptions(label=self._evaluation_label(recipe, encoder), extra_facts=facts),
            queue=False,
        )
        assert row.job is not None
        run_inner_job(self.progress, row.job)
        return CREATED

    def _find_evaluation(self, recipe: Recipe, matches: Callable[[Evaluation], bool]) -> Evaluation | None:
        """Return the newest default evaluation with the newest proposed boxes; one with figures is preferred."""
        run = newest_proposal_run(self.version)
        rows = evaluations(self.version.project).filter(
            version=self.version, split=self.options.split, texts=recipe.texts.value
        )
        return find_reusable_evaluation(filter(matches, rows), run.pk if run is not None else None)

    def _evaluation_label(self, recipe: Recipe, encoder: str) -> str:
        """Return the row's label, followed by the model if it is zero-shot or was chosen for this job."""
        if recipe.kind is RecipeKind.ZERO_SHOT:
            return f"{recipe.label} ({encoder})"
        return f"{recipe.label} (from {self.options.model})" if self.options.model else recipe.label
