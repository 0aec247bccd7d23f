"""Rows of the paper's tables made with our own data: what is made, what stands, and both tables together."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.models import DatasetVersion, Evaluation, Scorer
from curation.pipelines import ablations
from curation.pipelines.inner_jobs import run_inner_job
from curation.scorer import recipes
from curation.selectors.ablations import is_equivalent_config
from curation.selectors.jobs import ABLATIONS, EVALUATE, TRAIN_SCORER
from curation.services.ablation_tables import RowState, ablation_table, batch_size_curve
from curation.services.ablations import AblationOptions, request_ablations, selected_recipes, training_config
from curation.services.shortcuts import ShortcutOptions, request_shortcuts
from curation.views.command_lines import command_lines
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support.curation.ablation_rows import SMALL, Runner, made
from tests.support.curation.sealed import sealed_version
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(project: Project, make_image: Callable[..., Image]) -> DatasetVersion:
    return sealed_version(project, [make_image(seed=seed) for seed in range(12)])


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    found = Runner()
    monkeypatch.setattr("curation.pipelines.inner_jobs.jobs.run_in_process", found)
    return found


def test_a_row_is_trained_evaluated_and_left_as_it_is_afterwards(
    version: DatasetVersion, runner: Runner
) -> None:
    assert made(version, "no-region") == {"rows": {"no-region": "made"}, "refused": {}}
    assert runner.tasks == [TRAIN_SCORER, EVALUATE]
    scorer = Scorer.objects.get()
    assert (scorer.recipe, scorer.version, scorer.config["region_mode"]) == ("no-region", version, "none")
    assert (scorer.config["batch_size"], scorer.config["max_steps"], scorer.config["model"]) == (
        4,
        20,
        "tiny",
    )
    row = Evaluation.objects.get()
    assert (row.scorer, row.split, row.texts, row.options["recipe"]) == (
        scorer,
        "test",
        "inference",
        "no-region",
    )
    assert made(version, "no-region")["rows"] == {"no-region": "stood"}
    assert runner.tasks == [TRAIN_SCORER, EVALUATE]


def test_other_settings_are_another_scorer_but_more_memory_is_not(
    version: DatasetVersion, runner: Runner
) -> None:
    made(version, "vit-b-16")
    made(version, "vit-b-16", chunk_size=2)
    assert Scorer.objects.count() == 1
    made(version, "vit-b-16", steps=10)
    assert Scorer.objects.count() == 2
    assert is_equivalent_config({"seed": 1, "chunk_size": 4}, {"seed": 1, "device": "cpu"})
    assert not is_equivalent_config({"seed": 1}, {"seed": 2})


def test_clues_are_ranked_by_the_scorer_of_another_row(version: DatasetVersion, runner: Runner) -> None:
    result = made(version, "clues-multitask", "rn50x64-multitask")
    assert result["rows"] == {"rn50x64-multitask": "made", "clues-multitask": "made"}
    scorer = Scorer.objects.get()
    assert scorer.config["text_mode"] == "multitask"
    assert sorted(Evaluation.objects.values_list("texts", flat=True)) == ["clue", "inference"]
    assert runner.tasks.count(TRAIN_SCORER) == 1


def test_zero_shot_of_another_model_is_another_row(
    version: DatasetVersion, runner: Runner, tmp_path: Any
) -> None:
    for name, how in (("a", "made"), ("b", "made"), ("a", "stood"), ("b", "stood")):
        (tmp_path / name).mkdir(exist_ok=True)
        result = made(version, "zero-shot", model=f"clip:{tmp_path / name}")
        assert result["rows"] == {"zero-shot": how}
    assert Evaluation.objects.count() == 2


def test_failed_rows_are_named_and_the_rest_is_made(version: DatasetVersion, runner: Runner) -> None:
    result = made(version, "rn50x16", "batch-256", "zero-shot", "human", "no-region", batch_sizes=(4,))
    assert set(result["rows"]) == {"human", "no-region", "batch-4", "rn50x16"}
    assert "more than the" in result["refused"]["batch-256"]
    assert "tiny has random weights" in result["refused"]["zero-shot"]
    refused = request_ablations(
        version=version,
        options=AblationOptions(split="test", recipes=("rn50x16",)),
        by=None,
        queue=False,
    )
    with jobs.leased_job(refused.pk) as progress:
        assert progress is not None
        ablations.run_ablations(progress)
    refused.refresh_from_db()
    assert refused.state == JobState.FAILED
    assert "give them by --model scorer:NAME" in refused.error


def test_failed_training_is_resumed(version: DatasetVersion, runner: Runner) -> None:
    runner.fails = TRAIN_SCORER
    result = None
    job = request_ablations(
        version=version,
        options=AblationOptions(split="test", recipes=("pad",), **SMALL),
        by=None,
        queue=False,
    )
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        result = ablations.run_ablations(progress)
    job.refresh_from_db()
    assert result is None
    assert "no memory" in job.error
    runner.fails = ""
    assert made(version, "pad")["rows"] == {"pad": "made"}
    assert Scorer.objects.count() == 1
    assert runner.tasks == [TRAIN_SCORER, TRAIN_SCORER, EVALUATE]


def test_stopping_the_whole_stops_the_training_within(version: DatasetVersion, runner: Runner) -> None:
    job = request_ablations(
        version=version,
        options=AblationOptions(split="test", recipes=("pad",), **SMALL),
        by=None,
        queue=False,
    )
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        Job.objects.filter(pk=job.pk).update(cancel_requested=True)
        ablations.run_ablations(progress)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert not Evaluation.objects.exists()


def test_inner_job_is_completed_and_reports_progress(version: DatasetVersion) -> None:
    options = AblationOptions(split="test", recipes=("random",))
    outer = request_ablations(version=version, options=options, by=None, queue=False)
    inner_options = ShortcutOptions(split="test", which=("random",))
    inner = request_shortcuts(version=version, options=inner_options, by=None, queue=False)
    with jobs.leased_job(outer.pk) as progress:
        assert progress is not None
        run_inner_job(progress, inner)
    inner.refresh_from_db()
    assert inner.state == JobState.DONE, inner.error
    assert Evaluation.objects.get().label == "Random"


def test_a_short_run_warms_up_within_its_steps() -> None:
    config = training_config(
        recipes.get_recipe("no-region"), AblationOptions(split="test", model="tiny", steps=60)
    )
    assert (config.max_steps, config.warmup_steps, config.checkpoint_every) == (60, 6, 30)
    whole = training_config(recipes.get_recipe("no-region"), AblationOptions(split="test"))
    assert (whole.max_steps, whole.warmup_steps, whole.checkpoint_every) == (0, 500, 300)
    curve_point = training_config(recipes.get_recipe("batch-8"), AblationOptions(split="test", batch_size=4))
    assert curve_point.batch_size == 8  # the curve varies it itself


def test_without_names_all_that_are_ours_are_made_those_that_share_a_scorer_last() -> None:
    names = [recipe.name for recipe in selected_recipes(AblationOptions(split="test"))]
    assert set(names) == set(recipes.supported_names())
    assert names[-2:] == ["clues-inference", "clues-multitask"]
    assert [one.name for one in selected_recipes(AblationOptions(split="test", batch_sizes=(8, 4, 24)))] == [
        "batch-4",
        "batch-8",
        "batch-24",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipes": ("vit",)}, "recipe: 'vit' is not known"),
        ({"recipes": ("uniter",)}, "recipe: uniter is not trained here"),
        ({"batch_sizes": (1,)}, "batch size: 1 leaves no negative"),
        ({"steps": -1}, "steps: -1 is too few"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as caught:
        AblationOptions(split="test", **options)
    assert str(caught.value).startswith(message)


def test_one_job_of_a_version_at_a_time(version: DatasetVersion) -> None:
    options = AblationOptions(split="test", recipes=("random",))
    request_ablations(version=version, options=options, by=None, queue=False)
    with pytest.raises(Conflict, match="is running already"):
        request_ablations(version=version, options=options, by=None, queue=False)


def test_the_table_has_the_papers_figures_and_ours(version: DatasetVersion, runner: Runner) -> None:
    made(version, "vit-b-16", batch_sizes=(3,))
    rows = {row.recipe.name: row for row in ablation_table(version, "test")}
    ours = rows["vit-b-16"]
    assert ours.state is RowState.MADE
    assert (ours.cells["p_at_1"].paper, ours.cells["p_at_1"].value, ours.cells["p_at_1"].n) == (
        30.5,
        12.5,
        12,
    )
    assert ours.cells["comparison"].paper == 21.2
    assert ours.cells["comparison"].value is None
    assert rows["uniter"].state is RowState.OTHERS
    assert rows["pad"].state is RowState.MISSING
    assert [size for size, _ in batch_size_curve(rows.values())] == [3, 4, 8, 16, 32, 64, 128, 256, 512]
    Evaluation.objects.all().delete()
    assert {row.recipe.name: row.state for row in ablation_table(version, "test")}[
        "vit-b-16"
    ] is RowState.TRAINED


def run(*flags: str) -> str:
    out = io.StringIO()
    call_command("ablations", *flags, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_command_prints_both_tables_and_a_caution(version: DatasetVersion, runner: Runner) -> None:
    made(version, "no-region")
    flags = ("--project", version.project.slug, "--version", version.name, "--show")
    text = run(*flags)
    for words in (
        "Datasets differ",
        "from tiny",
        "Table 3: paper | ours",
        "Figure 5",
        "18.1 | 12.5 (10.0–15.0)",
        "n: 12 instances; from tiny",
    ):
        assert words in text, words
    assert "UNITER Base" in text
    assert "published only" in text
    found = json.loads(run(*flags, "--json"))
    row = next(row for row in found["rows"] if row["recipe"] == "no-region")
    assert row["cells"]["p_at_1"] == {"paper": 18.1, "value": 12.5, "low": 10.0, "high": 15.0, "n": 12}
    assert row["state"] == "made"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--batch-sizes", "4,x"), "--batch-sizes '4,x': use comma-separated whole numbers"),
        (("--recipes", "vit"), "recipe: 'vit' is not known"),
        (("--split", "train"), "split: v1 has no pair in train; it has test"),
        (("--version", "v7"), "--version v7: there is no such version"),
    ],
)
def test_bad_input_is_one_line(version: DatasetVersion, flags: tuple[str, ...], message: str) -> None:
    given = ("--project", version.project.slug, "--version", version.name, *flags)
    with pytest.raises(CommandError) as caught:
        run(*given)
    assert caught.value.returncode == 2
    assert str(caught.value).startswith(message)
    assert not Job.objects.filter(task=ABLATIONS).exists()


def test_the_jobs_page_knows_the_line_that_asks_for_the_same(version: DatasetVersion) -> None:
    options = AblationOptions(split="test", recipes=("pad", "random"), batch_sizes=(4,), **SMALL)
    made = [
        request_ablations(version=version, options=options, by=None, queue=False),
        request_shortcuts(version=version, options=ShortcutOptions(split="test"), by=None, queue=False),
    ]
    lines = command_lines(made)
    place = "--project street-scenes --version v1 --split test"
    small = "--model tiny --steps 20 --batch-size 4"
    assert lines == [
        f"manage.py ablations {place} --recipes pad,random --batch-sizes 4 {small}",
        f"manage.py audit_shortcuts {place}",
    ]


def page(client: Client, slug: str, **query: str) -> str:
    reply = client.get(reverse("ablations", args=[slug]), query)
    assert reply.status_code == 200
    return squeezed(reply)


def test_page_shows_missing_rows_and_their_command(
    client: Client, version: DatasetVersion, researcher: User
) -> None:
    client.force_login(researcher)
    shown = page(client, version.project.slug)
    plain = shown.replace('</span><span class="word">', " ")
    assert "Nothing made yet" in shown
    assert (
        "manage.py ablations --project street-scenes --version v1 --split test --recipes no-region" in plain
    )
    assert "--recipes rn50x16 --model scorer:NAME" in plain
    assert "--recipes uniter" not in plain
    assert "Not reproduced" in shown
    assert "a different dataset" in shown
    assert shown.count("Paper: 4: 10.7, 8: 19.9") == 1  # the paper's curve stands without ours


def test_the_page_shows_dots_curve_and_links_once_rows_are_made(
    client: Client, version: DatasetVersion, runner: Runner, researcher: User
) -> None:
    made(version, "no-region", batch_sizes=(4, 8))
    client.force_login(researcher)
    shown = page(client, version.project.slug, split="test")
    row = Evaluation.objects.get(scorer__recipe="no-region")
    assert reverse("evaluation", args=[version.project.slug, row.pk]) in shown
    assert "No region: paper 18.1; ours 12.5, 95% interval 10.0 to 15.0" in shown
    assert "Ours: 4: 12.5 (10.0 to 15.0), 8: 12.5 (10.0 to 15.0)." in shown
    assert "from tiny" in shown
    other = page(client, version.project.slug, split="none-such", version="999")
    assert "No region: paper 18.1; ours 12.5" in other  # what is not there is not shown instead
