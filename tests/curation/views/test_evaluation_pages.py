"""The pages of evaluations and error analyses: who may see them, and that they show what there is."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.evaluation.measures import pearson
from curation.models import DatasetVersion, ErrorAnalysis, Evaluation, Scorer
from curation.selectors.evaluations import PREDICTIONS, evaluation_folder
from curation.selectors.jobs import ERROR_ANALYSIS, EVALUATE
from curation.views.evaluation import evaluation_charts as charts
from curation.views.evaluation import evaluation_sections as parts
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from tests.support.curation.sealed import sealed_version
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


def figure(value: float, reach: float = 2.0) -> dict[str, float]:
    return {"value": value, "low": value - reach, "high": value + reach}


def figures(p_at_1: float, comparison: float) -> dict[str, Any]:
    return {
        "retrieval": {
            "p_at_1": figure(p_at_1),
            "im2txt": figure(40.5),
            "txt2im": figure(41.5),
            "instances": 200,
            "chunks": 2,
        },
        "localization": {
            "gt_accuracy": figure(71.25),
            "gt_images": 60,
            "auto_accuracy": {"value": None, "low": None, "high": None},
            "auto_images": 0,
            "auto_oracle_accuracy": {"value": None, "low": None, "high": None},
        },
        "comparison": {
            "model": figure(comparison),
            "human": figure(42.3),
            "random": figure(0.4),
            "oracle": figure(88.0),
            "images": 12,
        },
    }


@pytest.fixture
def version(project: Project, make_image: Callable[..., Image]) -> DatasetVersion:
    return sealed_version(project, [make_image(seed=seed) for seed in range(7)])


@pytest.fixture
def scorer(version: DatasetVersion) -> Scorer:
    return Scorer.objects.create(
        project=version.project,
        name="first try",
        version=version,
        splits={"train": "train", "val": "val"},
        recipe="vit-b-16",
        path="scorers/1",
        weights_sha256="ab" * 32,
        is_ready=True,
    )


@pytest.fixture
def evaluation(scorer: Scorer) -> Evaluation:
    return Evaluation.objects.create(
        project=scorer.project,
        version=scorer.version,
        split="test",
        source="scorer",
        scorer=scorer,
        label="Trained here",
        options={"encoder": f"scorer:{scorer.pk}"},
        figures=figures(23.45, 17.0),
        provenance={"seal": "cd" * 32, "left_out": {}},
        path="evaluations/1",
        sha256="ef" * 32,
    )


def other(evaluation: Evaluation, **changes: Any) -> Evaluation:
    facts = {
        "project": evaluation.project,
        "version": evaluation.version,
        "split": "test",
        "source": "encoder",
        "label": "Not trained",
        "figures": figures(9.0, 4.0),
    }
    return Evaluation.objects.create(**(facts | changes))


@pytest.fixture
def analysis(evaluation: Evaluation) -> ErrorAnalysis:
    chance = {"p": 0.0149, "low": 41.2, "high": 58.6, "permutations": 200}
    area = {"value": 61.0, "chance": chance, "folds": [60.0, 62.0, 58.0, 63.0, 62.0], "paper": 55.0}
    mistake = {
        "instance": f"{0:032x}",
        "candidate": f"{1:032x}",
        "test_id": "x",
        "score": 0.4,
        "rank": 1.0,
        "of": 6,
        "ratings": [1.0, 1.0],
        "gap": 1.0,
    }
    return ErrorAnalysis.objects.create(
        evaluation=evaluation,
        options={"agreement": 30.0, "encoder": "", "seed": 0, "shown": 12},
        figures={
            "asked": 12,
            "kept": 11,
            "above": 5,
            "median": 12.5,
            "chance": 50.0,
            "folds": 5,
            "predictors": {"image": area, "text": area, "agreement": area},
        },
        galleries={"false_positives": [mistake], "false_negatives": []},
        provenance={"image_encoder": "colours"},
    )


def page(client: Client, name: str, *args: object, **query: object) -> str:
    reply = client.get(reverse(name, args=args), query)
    assert reply.status_code == 200
    return squeezed(reply)


def test_members_alone_see_the_pages(
    client: Client, analysis: ErrorAnalysis, researcher: User, outsider: User, annotator: User
) -> None:
    evaluation = analysis.evaluation
    slug = evaluation.project.slug
    places = [
        reverse("evaluations", args=[slug]),
        reverse("evaluation", args=[slug, evaluation.pk]),
        reverse("error-analysis", args=[slug, analysis.pk]),
        reverse("ablations", args=[slug]),
    ]
    acts = [reverse("evaluation-analyse", args=[slug, evaluation.pk]), reverse("evaluations", args=[slug])]
    for place in places:
        assert client.get(place).status_code == 302
    for person, status in ((outsider, 404), (annotator, 404), (researcher, 200)):
        client.force_login(person)
        for place in places:
            assert client.get(place).status_code == status, place
        if person is not researcher:
            for act in acts:
                assert client.post(act).status_code == 404
    assert not Job.objects.exists()


def test_rows_of_another_project_are_not_there(
    client: Client, analysis: ErrorAnalysis, rehearsal: Project, admin: User
) -> None:
    client.force_login(admin)
    for name, pk in (("evaluation", analysis.evaluation_id), ("error-analysis", analysis.pk)):
        assert client.get(reverse(name, args=[rehearsal.slug, pk])).status_code == 404
    assert client.get(reverse("evaluation-predictions", args=[rehearsal.slug, 1])).status_code == 404


def test_empty_project_shows_requirements(client: Client, project: Project, researcher: User) -> None:
    client.force_login(researcher)
    shown = page(client, "evaluations", project.slug)
    assert "Nothing evaluated yet" in shown
    assert "It needs a sealed version." in shown
    assert "<form" not in shown.partition('id="content"')[2]
    assert "No sealed version yet" in page(client, "ablations", project.slug)


def test_the_list_shows_figures_with_intervals_and_compares_one_kind(
    client: Client, evaluation: Evaluation, researcher: User
) -> None:
    other(evaluation)
    other(evaluation, texts="clue", label="On clues")
    client.force_login(researcher)
    shown = page(client, "evaluations", evaluation.project.slug)
    assert "23.4" in shown or "23.5" in shown
    assert "21.4 to 25.4" in shown or "21.4 to 25.5" in shown
    assert "v1, test, clues" in shown
    assert "On clues" not in shown.partition('id="beside"')[2]  # alone of its kind, so another kind is open
    key = f"{evaluation.version_id}:test:clue"
    assert (
        "On clues" in page(client, "evaluations", evaluation.project.slug, of=key).partition('id="beside"')[2]
    )
    plots = shown.partition('id="beside"')[2]
    assert "Trained here" in plots
    assert "Not trained" in plots
    assert "People 42.3" in plots
    assert "Chance 1.0" in plots  # P@1 by chance among 100 a chunk
    assert "People 42.3" not in plots.partition("Comparison, human agreement")[0]


def test_people_have_their_own_figure_and_one_label_stays_two_rows(
    client: Client, evaluation: Evaluation, researcher: User
) -> None:
    drawn = [other(evaluation, label="Random", source="baseline") for _ in range(2)]
    both = {"images": 28, "human": figure(42.3), "oracle": figure(80.0), "random": figure(1.5)}
    people = other(evaluation, label="People", source="judgments", figures={"comparison": both})
    assert parts.figure_cells(people)[-1].value == "42.3"
    assert parts.figure_cells(drawn[0])[-1].value != "42.3"
    client.force_login(researcher)
    plots = page(client, "evaluations", evaluation.project.slug).partition('id="beside"')[2]
    assert all(f"Random, {one.pk}" in plots for one in drawn)
    assert f"Trained here, {evaluation.pk}" not in plots
    shown = page(client, "evaluation", evaluation.project.slug, people.pk)
    assert "Analyse errors" not in shown
    assert "by comparison with these judgments" in shown


def test_evaluation_shows_counts_provenance_and_missing_measures(
    client: Client, evaluation: Evaluation, researcher: User
) -> None:
    client.force_login(researcher)
    shown = page(client, "evaluation", evaluation.project.slug, evaluation.pk)
    for words in (
        "200 instances",
        "60 images",
        "12 images",
        "not measured",
        "first try",
        "vit-b-16",
        "cd" * 32,
    ):
        assert words in shown, words
    assert shown.count("<dt>Encoder</dt>") == 1
    assert "Analyse errors" in shown
    assert "Download predictions" not in shown
    folder = evaluation_folder(evaluation)
    folder.mkdir(parents=True)
    (folder / PREDICTIONS).write_bytes(b"PK")
    evaluation.provenance |= {"encoder": "Scorer first try"}  # what the number of the options stands for
    evaluation.save()
    shown = page(client, "evaluation", evaluation.project.slug, evaluation.pk)
    assert "Download predictions" in shown
    assert shown.count("<dt>Encoder</dt>") == 1
    reply = client.get(reverse("evaluation-predictions", args=[evaluation.project.slug, evaluation.pk]))
    assert b"".join(reply.streaming_content) == b"PK"
    assert PREDICTIONS in reply["Content-Disposition"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (JobState.RUNNING, "They appear here when the job is done."),
        (JobState.FAILED, "Failed"),
        (JobState.CANCELLED, "its job was cancelled or deleted"),
    ],
)
def test_unfinished_evaluation_shows_state(
    client: Client, evaluation: Evaluation, researcher: User, state: JobState, words: str
) -> None:
    job = Job.objects.create(
        task=EVALUATE,
        title="Evaluate it",
        project=evaluation.project,
        state=state,
        resumable=True,
        error="no disk",
    )
    waiting = other(evaluation, figures={}, job=job)
    client.force_login(researcher)
    assert words in page(client, "evaluation", evaluation.project.slug, waiting.pk)
    assert waiting.label in page(client, "evaluations", evaluation.project.slug)


def test_form_starts_evaluation_or_keeps_input(client: Client, scorer: Scorer, researcher: User) -> None:
    client.force_login(researcher)
    place = reverse("evaluations", args=[scorer.project.slug])
    given = {
        "encoder": scorer.encoder_name,
        "version": str(scorer.version_id),
        "split": "test",
        "texts": "inference",
        "region_mode": "hide",
    }
    assert client.post(place, given).status_code == 302
    row = Evaluation.objects.get()
    assert (row.scorer, row.split, row.created_by) == (scorer, "test", researcher)
    assert row.options["region_mode"] == "hide"
    assert row.job is not None
    again = client.post(place, given)
    assert again.status_code == 400
    assert "Not started" in again.content.decode()
    assert client.post(place, given | {"split": "val"}).status_code == 400
    assert client.post(place, given | {"encoder": "scorer:999"}).status_code == 400
    assert Evaluation.objects.count() == 1


def test_the_button_starts_an_analysis_once(client: Client, evaluation: Evaluation, researcher: User) -> None:
    client.force_login(researcher)
    place = reverse("evaluation-analyse", args=[evaluation.project.slug, evaluation.pk])
    reply = client.post(place)
    row = ErrorAnalysis.objects.get()
    assert reply.url == reverse("error-analysis", args=[evaluation.project.slug, row.pk])
    assert "In progress" in page(client, "error-analysis", evaluation.project.slug, row.pk)
    assert client.post(place).url == reverse("evaluation", args=[evaluation.project.slug, evaluation.pk])
    assert ErrorAnalysis.objects.count() == 1
    Job.objects.filter(task=ERROR_ANALYSIS).update(state=JobState.FAILED, error="images: 3 of 3")
    assert "images: 3 of 3" in page(client, "error-analysis", evaluation.project.slug, row.pk)


def test_an_analysis_shows_areas_galleries_and_the_papers(
    client: Client, analysis: ErrorAnalysis, researcher: User
) -> None:
    client.force_login(researcher)
    slug = analysis.evaluation.project.slug
    shown = page(client, "error-analysis", slug, analysis.pk)
    for words in (
        "61.0",
        "41.2 to 58.6",
        "95% by chance",
        "p = 0.015",
        "paper 55.0",
        "Chance 50.0",
        "60, 62, 58, 63, 62",
        "colours",
    ):
        assert words in shown, words
    assert "somebody left number 1 here on a windy day" in shown
    assert "Gold inference: somebody left number 0 here" in shown
    assert "rank <b>1</b> of 6" in shown
    assert "region marked" in shown
    assert "None. No candidate of this kind is more than half of the scale away from people" in shown
    Image.objects.update(taken_down_at=analysis.created_at)
    gone = page(client, "error-analysis", slug, analysis.pk)
    assert "Photo taken down" in gone
    assert "windy day" not in gone


def test_baselines_explain_high_figures(client: Client, evaluation: Evaluation, researcher: User) -> None:
    row = other(evaluation, source="baseline", options={"shortcut": "answer_prior"}, label="Answer prior")
    client.force_login(researcher)
    assert "whatever the photo" in page(client, "evaluation", evaluation.project.slug, row.pk)


def test_dot_plot_omits_missing_values() -> None:
    empty: dict[str, float | None] = {"value": None, "low": None, "high": None}
    rows = [
        charts.DotRowData("a", "", {"ours": {"value": 4.0, "low": 2.0, "high": 6.0}}),
        charts.DotRowData("b", "", {"ours": empty}),
        charts.DotRowData("c", "", {"ours": empty, "paper": {"value": 3.0}}),
    ]
    plot = charts.dot_plot("x", rows)
    assert plot is not None
    assert [row.name for row in plot.rows] == ["a", "c"]
    assert plot.rows[0].strip.summary == "a: ours 4.0, 95% interval 2.0 to 6.0"
    assert not plot.rows[1].strip.bars, "no interval, no whisker"
    assert charts.dot_plot("x", rows[1:2]) is None


Series = list[tuple[int, Mapping[str, float | None]]]


def test_a_curve_has_the_papers_and_ours_with_whiskers_over_doubling_sizes() -> None:
    paper: Series = [(size, {"value": value}) for size, value in ((64, 10.0), (128, 20.0), (256, 30.0))]
    ours: Series = [(64, {"value": 12.0, "low": 11.0, "high": 13.0}), (128, {"value": None})]
    plot = charts.batch_size_chart("P@1", {"paper": paper, "ours": ours})
    assert plot is not None
    assert (
        plot.summary
        == "P@1 by batch size. Paper: 64: 10.0, 128: 20.0, 256: 30.0. Ours: 64: 12.0 (11.0 to 13.0)."
    )
    assert [tick.text for tick in plot.x_ticks] == ["64", "128", "256"]
    assert plot.x_ticks[1].position == "50.00%", "the axis is logarithmic"
    assert [(dot.kind, bool(dot.y_low)) for dot in plot.dots] == [("paper", False)] * 3 + [("ours", True)]
    low, at, high = (float(y) for y in (plot.dots[-1].y_low, plot.dots[-1].y, plot.dots[-1].y_high))
    assert low - at == pytest.approx(at - high, abs=0.2)
    assert [path.shape.count("L") for path in plot.curves] == [2, 1]
    assert charts.batch_size_chart("P@1", {"ours": ours[1:]}) is None


def test_dots_of_a_scatter_lead_to_their_evaluations_and_are_named() -> None:
    points = [
        {"x": 10.0 * n, "y": 5.0 * n, "label": f"model {n}", "url": f"/{n}", "kind": "scorer"}
        for n in (1, 2, 3)
    ]
    plot = charts.comparison_scatter(points, summary="said")
    assert [(dot.url, dot.name.text) for dot in plot.dots if dot.name] == [
        (f"/{n}", f"model {n}") for n in (1, 2, 3)
    ]
    assert [dot.name.anchor for dot in plot.dots if dot.name] == ["start", "start", "end"], (
        "the last one has no room right"
    )
    assert plot.dots[0].title == "model 1: P@1 10.0, comparison 5.0"
    assert not any(dot.y_low or dot.x_low for dot in plot.dots)


def test_a_correlation_needs_three_points_and_a_spread() -> None:
    assert pearson([1, 2, 3, 4], [2, 4, 6, 8]) == pytest.approx(1.0)
    assert pearson([1, 2, 3, 4], [8, 6, 4, 2]) == pytest.approx(-1.0)
    assert pearson([1, 2, 4], [1, 2, 3]) is None
    assert pearson([1, 1, 1, 1], [1, 2, 3, 4]) is None


def test_known_pairs_are_marked_with_all_figures(
    client: Client, evaluation: Evaluation, researcher: User
) -> None:
    client.force_login(researcher)
    slug = evaluation.project.slug
    for text in (page(client, "evaluation", slug, evaluation.pk), page(client, "evaluations", slug)):
        assert "Pairs known" not in text
    row = other(evaluation, provenance={"pairs_known_from_training": 80}, label="Flattered")
    shown = page(client, "evaluation", slug, row.pk)
    assert shown.index("80 of the evaluated pairs were used to train or select this scorer") < shown.index(
        "<h2>Figures</h2>"
    )
    assert "Pairs known" in shown[shown.index("<h2>Figures</h2>") :]
    table = page(client, "evaluations", slug)
    assert table.count("Pairs known") == 1
    assert "Flattered (pairs known)" in table + page(client, "evaluations", slug, show="plots")
