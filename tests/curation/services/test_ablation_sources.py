"""Each row of the paper's tables shows the run nearest to its recipe, on the default sets, from any user."""

import io
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.families.sherlock.evaluation_plan import EvaluationSetOptions
from curation.management.ablation_report import table_lines
from curation.models import DatasetVersion, Evaluation, ProposalRun, Scorer
from curation.scorer import recipes
from curation.selectors.evaluations import DEFAULT_SETS, has_default_options, non_default_options
from curation.selectors.jobs import EVALUATE, TRAIN_SCORER
from curation.services.ablation_tables import AblationRow, RowState, ablation_table
from curation.services.ablations import AblationOptions, training_config
from curation.views.evaluation import evaluation_sections as parts
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from tests.support.curation.ablation_rows import SMALL, Runner, figure, made, measured, scorer_of
from tests.support.curation.sealed import sealed_version
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(project: Project, make_image: Callable[..., Image]) -> DatasetVersion:
    return sealed_version(project, [make_image(seed=seed) for seed in range(8)])


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    found = Runner()
    monkeypatch.setattr("curation.pipelines.inner_jobs.jobs.run_in_process", found)
    return found


def config(recipe: str, **changes: Any) -> dict[str, Any]:
    return recipes.get_recipe(recipe).to_config(**changes).as_json()


def row_of(version: DatasetVersion, recipe: str) -> AblationRow:
    return next(row for row in ablation_table(version, "test") if row.recipe.name == recipe)


def p_at_1(version: DatasetVersion, recipe: str) -> float | None:
    return row_of(version, recipe).cells["p_at_1"].value


def proposals(version: DatasetVersion) -> ProposalRun:
    return ProposalRun.objects.create(
        project=version.project, detector="made up", options={}, images=1, is_complete=True
    )


def test_default_options_are_unchanged_sets_and_trained_region_mode(version: DatasetVersion) -> None:
    assert asdict(EvaluationSetOptions()) == {"texts": "inference", **DEFAULT_SETS}
    hidden = scorer_of(version, "hidden", config("only-context"))
    plain = scorer_of(version, "plain", config("vit-b-16"))
    for scorer, options, unlike in (
        (plain, {}, {}),
        (plain, {"sets": asdict(EvaluationSetOptions(texts="clue")), "region_mode": ""}, {}),
        (plain, {"sets": asdict(EvaluationSetOptions(chunk=2, seed=3))}, {"chunk": 2, "seed": 3}),
        (plain, {"region_mode": "hide"}, {"region_mode": "hide"}),
        (plain, {"region_mode": "highlight", "proposals": None}, {}),
        (hidden, {"region_mode": "hide"}, {}),
        (hidden, {"region_mode": "highlight"}, {"region_mode": "highlight"}),
        (None, {"region_mode": "highlight"}, {}),
        (None, {"region_mode": "none"}, {"region_mode": "none"}),
    ):
        row = Evaluation(scorer=scorer, options=options)
        assert non_default_options(row) == unlike
        assert has_default_options(row) is (not unlike)


@pytest.mark.parametrize(
    "options",
    [
        {"region_mode": "none"},
        {"sets": asdict(EvaluationSetOptions(chunk=2))},
        {"sets": asdict(EvaluationSetOptions(seed=1))},
    ],
)
def test_row_shows_default_evaluation_before_newer_ones(
    version: DatasetVersion, options: dict[str, Any]
) -> None:
    scorer = scorer_of(version, "first", config("vit-b-16"), recipe="vit-b-16")
    kept = measured(version, 50, scorer)
    measured(version, 7, scorer, options=options)
    row = row_of(version, "vit-b-16")
    assert (row.cells["p_at_1"].value, row.evaluation) == (50, kept)
    kept.delete()
    assert row_of(version, "vit-b-16").state is RowState.TRAINED


def test_chance_on_other_sets_or_texts_is_not_the_row(version: DatasetVersion) -> None:
    options = {"shortcut": "random", "seed": 0}
    drawn: dict[str, Any] = {"source": "baseline", "options": options}
    measured(version, 1.5, **drawn)
    measured(version, 50, **drawn | {"options": options | {"sets": asdict(EvaluationSetOptions(chunk=2))}})
    measured(version, 99, **drawn, texts="clue")
    assert p_at_1(version, "random") == 1.5


@pytest.mark.parametrize(
    "options", [{"region_mode": "hide"}, {"sets": asdict(EvaluationSetOptions(chunk=2))}]
)
def test_evaluation_with_other_options_is_not_reused(
    version: DatasetVersion, runner: Runner, options: dict[str, Any]
) -> None:
    made(version, "no-region")
    first = Evaluation.objects.get()
    Evaluation.objects.update(options=first.options | options)
    assert made(version, "no-region")["rows"] == {"no-region": "made"}
    second = Evaluation.objects.exclude(pk=first.pk).get()
    assert has_default_options(second)
    assert made(version, "no-region")["rows"] == {"no-region": "stood"}
    assert runner.tasks == [TRAIN_SCORER, EVALUATE, EVALUATE]


def test_new_proposals_require_new_evaluations(version: DatasetVersion, runner: Runner) -> None:
    made(version, "no-region")
    run = proposals(version)
    assert made(version, "no-region")["rows"] == {"no-region": "made"}
    assert made(version, "no-region")["rows"] == {"no-region": "stood"}
    assert list(Evaluation.objects.values_list("options__proposals", flat=True)) == [run.pk, None]
    assert runner.tasks.count(TRAIN_SCORER) == 1
    older = Evaluation.objects.get(options__proposals=None)
    measured(version, 3, older.scorer, options=older.options)  # the newest, yet without these boxes
    assert p_at_1(version, "no-region") == 12.5


def test_failed_evaluation_does_not_hide_finished_one(version: DatasetVersion, runner: Runner) -> None:
    made(version, "no-region")
    first = Evaluation.objects.get()
    failed = Job.objects.create(
        task=EVALUATE, title="another", project=version.project, state=JobState.FAILED, resumable=True
    )
    measured(version, 0, first.scorer, options=first.options, figures={}, job=failed)
    assert made(version, "no-region")["rows"] == {"no-region": "stood"}


def test_a_try_of_few_steps_does_not_replace_a_whole_run(version: DatasetVersion) -> None:
    whole = scorer_of(version, "whole", config("vit-b-16", batch_size=64), recipe="vit-b-16")
    measured(version, 50, whole)
    short = training_config(
        recipes.get_recipe("vit-b-16"), AblationOptions(split="test", steps=20, batch_size=64)
    )
    measured(version, 7, scorer_of(version, "short", short.as_json(), recipe="vit-b-16"))
    longer = training_config(recipes.get_recipe("vit-b-16"), AblationOptions(split="test", steps=600))
    measured(version, 8, scorer_of(version, "longer", longer.as_json(), recipe="vit-b-16"))
    row = row_of(version, "vit-b-16")
    assert (row.cells["p_at_1"].value, row.scorer) == (50, whole)
    assert row.differences == ["batch size 64"]


def test_random_weights_come_after_any_model(version: DatasetVersion) -> None:
    few = {"batch_size": 8, "epochs": 1, "warmup_steps": 3, "learning_rate": 1e-4}
    measured(version, 50, scorer_of(version, "clip", config("pad", **few), recipe="pad"))
    measured(version, 7, scorer_of(version, "tiny", config("pad", model="tiny"), recipe="pad"))
    assert p_at_1(version, "pad") == 50


def test_of_equal_runs_the_newest_counts(version: DatasetVersion) -> None:
    for seed in (3, 4):
        scorer = scorer_of(version, f"seed {seed}", config("pad", seed=seed), recipe="pad")
        measured(version, seed, scorer)
    row = row_of(version, "pad")
    assert (row.cells["p_at_1"].value, list(row.differences)) == (4, [])


def test_row_shows_differences_from_recipe(
    client: Client, version: DatasetVersion, runner: Runner, researcher: User
) -> None:
    made(version, "no-region")
    words = "batch size 4, warmup steps 2, max steps 20, checkpoint every 10"
    assert ", ".join(row_of(version, "no-region").differences) == words
    printed = [line for line in table_lines(ablation_table(version, "test")) if line.startswith("No region")]
    assert printed[0].endswith(f"n: 12 instances; from tiny; differs from the recipe: {words}")
    assert f"Differs from the recipe: {words}" in shown(client, version, researcher)
    Scorer.objects.update(splits={"train": "train", "val": "test", "val_share": 0.0, "seed": 0})
    assert row_of(version, "no-region").differences[-1] == "trained on train"


def shown(client: Client, version: DatasetVersion, researcher: User) -> str:
    client.force_login(researcher)
    return squeezed(client.get(reverse("ablations", args=[version.project.slug]), {"split": "test"}))


def test_rows_with_the_same_settings_share_one_scorer(version: DatasetVersion, runner: Runner) -> None:
    result = made(version, "vit-b-16", "batch-4", "rn50x16", batch_sizes=(4,))
    assert set(result["rows"]) == {"vit-b-16", "batch-4", "rn50x16"}
    assert runner.tasks == [TRAIN_SCORER, EVALUATE]
    scorer = Scorer.objects.get()
    for name in ("vit-b-16", "batch-4", "rn50x16"):
        row = row_of(version, name)
        assert (row.state, row.scorer, row.cells["p_at_1"].value) == (RowState.MADE, scorer, 12.5), name
    assert row_of(version, "rn50x64").state is RowState.MISSING
    assert set(made(version, "vit-b-16", "batch-4")["rows"].values()) == {"stood"}
    assert Evaluation.objects.get().options["further_recipes"] == ["batch-4", "rn50x16"]


def test_a_scorer_that_was_trained_without_its_recipe_is_taken(
    version: DatasetVersion, runner: Runner
) -> None:
    settings = training_config(recipes.get_recipe("pad"), AblationOptions(split="test", **SMALL)).as_json()
    ours = scorer_of(version, "on the page", settings | {"chunk_size": 2, "device": "cpu"})
    assert made(version, "pad")["rows"] == {"pad": "made"}
    assert runner.tasks == [EVALUATE]
    assert row_of(version, "pad").scorer == ours


def test_evaluation_from_page_is_used_in_row(version: DatasetVersion, runner: Runner) -> None:
    settings = training_config(recipes.get_recipe("pad"), AblationOptions(split="test", **SMALL)).as_json()
    kept = measured(version, 33, scorer_of(version, "on the page", settings))
    assert made(version, "pad")["rows"] == {"pad": "stood"}
    assert runner.tasks == []
    assert (row_of(version, "pad").evaluation, p_at_1(version, "pad")) == (kept, 33)


def test_other_pairs_are_another_scorer(version: DatasetVersion, runner: Runner) -> None:
    settings = training_config(recipes.get_recipe("pad"), AblationOptions(split="test", **SMALL)).as_json()
    splits = {"train": "test", "val": "test", "val_share": 0.5, "seed": 0}
    scorer_of(version, "half", settings, splits=splits, recipe="pad")
    assert row_of(version, "pad").differences[-1] == "validation share 0.5"
    made(version, "pad")
    assert runner.tasks == [TRAIN_SCORER, EVALUATE]


def test_older_proposals_than_other_rows_are_noted(version: DatasetVersion) -> None:
    for name, run in (("pad", 3), ("no-region", 5)):
        measured(version, 1, scorer_of(version, name, config(name), recipe=name), options={"proposals": run})
    assert row_of(version, "pad").differences == ["boxes of run 3, not 5"]
    assert row_of(version, "no-region").differences == []


def test_the_papers_own_settings_fill_both_rows_that_have_them(version: DatasetVersion) -> None:
    measured(version, 31, scorer_of(version, "whole", config("vit-b-16", seed=2), recipe="vit-b-16"))
    assert (p_at_1(version, "vit-b-16"), p_at_1(version, "batch-512")) == (31, 31)
    assert all(p_at_1(version, name) is None for name in ("batch-256", "rn50x16", "pad"))


def bertscore(value: float) -> dict[str, Any]:
    return {"retrieval": {"p_at_1": figure(40), "bertscore": figure(value), "instances": 12, "chunks": 1}}


def test_table_3_has_bertscore_of_the_paper_and_ours(
    client: Client, version: DatasetVersion, researcher: User
) -> None:
    scorer = scorer_of(version, "first", config("vit-b-16"), recipe="vit-b-16")
    measured(version, 40, scorer, figures=bertscore(21.25), options={"bertscore": {"folder": "roberta"}})
    measured(version, 40, scorer)  # the newest, without it
    cell = row_of(version, "vit-b-16").cells["bertscore"]
    assert (cell.paper, cell.value, cell.n) == (24.0, 21.25, 12)
    lines = list(table_lines(ablation_table(version, "test")))
    heads = lines[lines.index("Table 3: paper | ours (95 % interval)") + 1]
    assert heads.split() == ["im→txt", "txt→im", "P@1", "BERTScore", "GT", "box", "Auto", "box", "Comparison"]
    assert any("24.0 | 21.2 (21.2–21.2)" in line for line in lines)
    page = shown(client, version, researcher)
    assert 'data-label="BERTScore"><span class="paper" title="Paper">24.0</span><br><b>21.2' in page
    human = row_of(version, "human").cells["bertscore"]
    assert (human.paper, human.value) == (None, None)
    assert 'data-label="BERTScore"><span class="paper" title="Paper">–</span><br><b>–</b>' in page


def test_an_evaluation_s_page_has_its_bertscore_where_it_has_one(
    client: Client, version: DatasetVersion, researcher: User
) -> None:
    client.force_login(researcher)
    scorer = scorer_of(version, "first", config("vit-b-16"))
    found = [measured(version, 40, scorer, figures=bertscore(21.25)), measured(version, 40, scorer)]
    pages = [
        squeezed(client.get(reverse("evaluation", args=[version.project.slug, one.pk]))) for one in found
    ]
    assert ["Retrieval, BERTScore" in page for page in pages] == [True, False]
    assert "21.2" in pages[0]


def test_the_papers_bertscores_are_those_of_its_table_3() -> None:
    printed = {
        name: recipes.get_recipe(name).paper_value("bertscore", "test")
        for name in (one.name for one in recipes.all_recipes())
    }
    assert {name: value for name, value in printed.items() if value is not None} == {
        "random": 14.5,
        "position-only": 15.6,
        "lxmert": 22.7,
        "uniter": 23.3,
        "vit-b-16": 24.0,
        "rn50x16": 23.7,
        "rn50x64": 24.1,
        "rn50x64-multitask": 24.3,
    }


def bounds(human: float | None, gt: float | None, oracle: float | None) -> dict[str, Any]:
    return {
        "comparison": {"human": figure(human), "model": figure(None), "images": 5},
        "localization": {
            "gt_accuracy": figure(gt),
            "gt_images": 3,
            "auto_oracle_accuracy": figure(oracle),
            "auto_images": 4,
        },
    }


def test_each_bound_is_of_the_newest_evaluation_that_has_it(version: DatasetVersion) -> None:
    scorer = scorer_of(version, "first", config("vit-b-16"))
    other = {"sets": asdict(EvaluationSetOptions(boxes=10, min_inferences=4))}
    measured(version, 0, scorer, figures=bounds(40, 70, 95))
    people = measured(version, 0, source="judgments", figures=bounds(42, 91, None))
    measured(version, 0, source="judgments", figures=bounds(1, 1, None), options=other)
    measured(version, 0, scorer, figures=bounds(None, 71, None))
    measured(version, 0, scorer, figures=bounds(None, None, 12), options=other)
    measured(version, 0, scorer, figures=bounds(None, None, 13), texts="clue")
    row = row_of(version, "human")
    names = ("gt_accuracy", "auto_accuracy", "comparison")
    assert [(row.cells[name].value, row.cells[name].n) for name in names] == [(91, 3), (95, 4), (42, 5)]
    assert (row.evaluation, row.state) == (people, RowState.MADE)
    assert row.cells["p_at_1"].value is None
    assert row.cells["gt_accuracy"].paper == 92.3
    lines = [line for line in table_lines(ablation_table(version, "test")) if line.startswith("Human")]
    assert lines[0].endswith("n: 3 images (GT box), 4 images (Auto box), 5 images (Comparison)")


def test_plots_of_same_measure_name_their_table(
    client: Client, version: DatasetVersion, researcher: User
) -> None:
    measured(version, 50, scorer_of(version, "first", config("vit-b-16")))
    page = shown(client, version, researcher)
    assert [page.count(f"{table}: Retrieval, P@1</h2>") for table in ("Table 3", "Figure 4a")] == [1, 1]


def test_untrained_text_baseline_is_labelled(version: DatasetVersion) -> None:
    plain = measured(version, 10, source="baseline", options={"shortcut": "text_only"})
    row = row_of(version, "text-only")
    assert (row.evaluation, row.differences) == (plain, ["cosines with the clue itself, no ridge regression"])
    learned = measured(version, 20, source="baseline", options={"shortcut": "text_trained"})
    row = row_of(version, "text-only")
    assert (row.evaluation, row.differences) == (learned, [])


def test_without_anything_of_people_the_bound_is_missing(version: DatasetVersion) -> None:
    measured(version, 50, scorer_of(version, "first", config("vit-b-16")))
    assert row_of(version, "human").state is RowState.MISSING


def test_a_row_warns_where_its_scorer_knows_the_pairs(
    client: Client, version: DatasetVersion, researcher: User
) -> None:
    for name, known in (("no-region", 12), ("pad", 0)):
        scorer = scorer_of(version, name, config(name), recipe=name)
        measured(version, 60, scorer, provenance={"pairs_known_from_training": known})
    warning = "12 of 12 pairs were used to train or select this scorer: its figures are too optimistic"
    lines = [line for line in table_lines(ablation_table(version, "test")) if warning in line]
    assert [line.startswith("No region") for line in lines] == [True]
    assert f"; ! {warning}" in lines[0]
    page = shown(client, version, researcher)
    assert page.count('badge--warn">Pairs known</span>') == page.count(warning) == 1
    out = io.StringIO()
    place = ("--project", version.project.slug, "--version", version.name)
    call_command("ablations", *place, "--show", "--json", stdout=out)
    rows = {row["recipe"]: row for row in json.loads(out.getvalue())["rows"]}
    assert rows["no-region"]["pairs_known_from_training"] == 12
    assert rows["pad"]["pairs_known_from_training"] == 0


def test_zero_shot_row_names_other_model(client: Client, version: DatasetVersion, researcher: User) -> None:
    options = {"recipe": "zero-shot", "encoder": recipes.default_model()}
    kept = measured(version, 12, source="encoder", options=options)
    measured(version, 5, source="encoder", options=options | {"encoder": "clip:other/model"})
    assert row_of(version, "zero-shot").evaluation == kept
    kept.delete()
    assert "from clip:other/model" in shown(client, version, researcher)
    lines = [line for line in table_lines(ablation_table(version, "test")) if line.startswith("Zero shot")]
    assert lines[0].endswith("from clip:other/model")


def test_group_has_only_comparable_evaluations(version: DatasetVersion) -> None:
    scorer = scorer_of(version, "first", config("vit-b-16"))
    hidden = scorer_of(version, "second", config("only-context"))
    default = [measured(version, 50, scorer), measured(version, 40, hidden, options={"region_mode": "hide"})]
    chunked = measured(version, 99, scorer, options={"sets": asdict(EvaluationSetOptions(chunk=2))})
    covered = measured(version, 7, scorer, options={"region_mode": "hide"})
    groups = parts.group_evaluations([covered, chunked, *default])
    assert [group.rows for group in groups] == [(covered,), (chunked,), tuple(default)]
    assert [group.label for group in groups] == [
        "v1, test, inferences, region mode hide",
        "v1, test, inferences, chunk 2",
        "v1, test, inferences",
    ]
    assert len({group.key for group in groups}) == 3
    assert groups[2].key == f"{version.pk}:test:inference"


def test_proposal_runs_are_separate_groups_with_text_baselines_in_each(
    version: DatasetVersion,
) -> None:
    first, second = proposals(version).pk, proposals(version).pk
    scorer = scorer_of(version, "first", config("vit-b-16"))
    rows = [measured(version, 50, scorer, options={"proposals": run}) for run in (second, first, None)]
    groups = parts.group_evaluations(rows)
    assert [group.rows for group in groups] == [(rows[0], rows[2]), (rows[1], rows[2])]
    assert [group.label for group in groups] == [
        f"v1, test, inferences, boxes of run {run}" for run in (second, first)
    ]
    assert [group.key for group in parts.group_evaluations(rows[:1])] == [
        f"{version.pk}:test:inference:run-{second}"
    ]


def evaluated(version: DatasetVersion, mode: str) -> None:
    place = ("--project", version.project.slug, "--version", version.name, "--split", "test")
    flags = ("--scorer", "label-sentence", "--region-mode", mode, "--background")
    call_command("evaluate_scorer", *place, *flags, stdout=io.StringIO(), stderr=io.StringIO())


@pytest.mark.parametrize(
    ("mode", "kept"), [("only_context", "hide"), ("hide", "hide"), ("highlight", "highlight")]
)
def test_the_command_takes_a_region_mode_as_training_does(
    version: DatasetVersion, mode: str, kept: str
) -> None:
    evaluated(version, mode)
    assert Evaluation.objects.get().options["region_mode"] == kept


def test_unknown_region_mode_gives_one_line_error(version: DatasetVersion) -> None:
    with pytest.raises(CommandError) as caught:
        evaluated(version, "dreams")
    assert str(caught.value) == (
        "region_mode: 'dreams' is not known; use none, highlight, hide, only_region, position_only"
    )
    assert not Evaluation.objects.exists()
