"""Pages of scorers: who may see them, the form of a training, and a training that is followed."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from curation.models import DatasetVersion, Evaluation, Scorer
from curation.scorer.config import TrainingConfig
from curation.selectors.scorers import SplitCount, scorer_folder
from curation.services import versions as services
from curation.views.command_lines import command_lines
from curation.views.scorers import scorer_charts as charts
from curation.views.scorers.scorer_forms import TrainingForm, suggest_settings
from curation.views.scorers.scorer_labels import describe_evaluation, scorer_facts
from hits.domain.states import JobState
from hits.models import Job, Project
from tests.support.curation.scorer_rows import asked, ready, write_journal
from tests.support.judging.work import Work
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def sealed(work: Work) -> DatasetVersion:
    """Return a sealed version of twelve pairs on four photos."""
    for seed in range(4):
        work.observed(work.image(seed), worker=f"W{seed}")
    return services.create_sealed_version(project=work.project, name="v1.0", by=None)


@pytest.fixture
def researcher_client(client: Client, researcher: User) -> Client:
    """Return a signed-in researcher's browser."""
    client.force_login(researcher)
    return client


def at(name: str, scorer: Scorer, *more: Any) -> str:
    return reverse(name, args=[scorer.project.slug, scorer.pk, *more])


def training_form(**changes: str) -> dict[str, str]:
    """Return the form's defaults with another model and the given changes."""
    defaults = {
        "name": "from the page",
        "version": str(DatasetVersion.objects.get().pk),
        "train_split": "own",
        "val_split": "own",
        "model": "tiny",
        "text_mode": "inference",
        "region_mode": "highlight",
        "crop": "two_squares",
        "batch_size": "4",
        "epochs": "5",
        "learning_rate": "1e-5",
        "warmup_steps": "1",
        "checkpoint_every": "2",
        "chunk_size": "0",
        "max_steps": "0",
        "patience": "0",
        "weight_decay": "0.01",
        "grayscale": "0.1",
        "val_share": "25",
        "precision": "auto",
        "processes": "1",
        "seed": "3",
        "augment": "on",
    }
    return defaults | changes


# --- who


@pytest.fixture
def places(sealed: DatasetVersion) -> dict[str, tuple[str, str]]:
    """Every address of scorers with the method that it takes."""
    scorer = ready(sealed)
    return {
        "scorers": ("get", reverse("scorers", args=[sealed.project.slug])),
        "scorer-train": ("get", reverse("scorer-train", args=[sealed.project.slug])),
        "scorer": ("get", at("scorer", scorer)),
        "scorer-losses": ("get", at("scorer-losses", scorer)),
        "scorer-file": ("get", at("scorer-file", scorer, "losses.csv")),
        "scorer-evaluate": ("post", at("scorer-evaluate", scorer)),
    }


def test_every_address_is_in_the_table(places: dict[str, tuple[str, str]]) -> None:
    from curation.urls import urlpatterns

    named = {str(pattern.name) for pattern in urlpatterns if str(pattern.name).startswith("scorer")}
    assert named == set(places)


def test_researchers_of_the_project_alone_come_in(
    client: Client, places: dict[str, tuple[str, str]], outsider: User, annotator: User, researcher: User
) -> None:
    for name, (method, path) in places.items():
        client.logout()
        assert getattr(client, method)(path)["Location"].startswith("/sign-in/"), name
        for stranger in (outsider, annotator):
            client.force_login(stranger)
            assert getattr(client, method)(path).status_code == 404, name
        client.force_login(researcher)
        expected = 404 if name == "scorer-evaluate" else 200  # no round was judged yet
        assert getattr(client, method)(path).status_code == expected, name


def test_a_scorer_of_another_project_is_not_found(
    client: Client, sealed: DatasetVersion, rehearsal: Project, admin: User
) -> None:
    scorer = ready(sealed)
    client.force_login(admin)
    assert client.get(reverse("scorer", args=[rehearsal.slug, scorer.pk])).status_code == 404


def test_pages_have_no_inline_style_or_script(
    researcher_client: Client, places: dict[str, tuple[str, str]]
) -> None:
    for name in ("scorers", "scorer-train", "scorer", "scorer-losses"):
        page = researcher_client.get(places[name][1]).content.decode()
        assert " style=" not in page, name
        assert not re.search(r"<script(?![^>]*\ssrc=)", page), name
        assert not re.search(r"\son[a-z]+=", page), name
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert sorted(ids) == sorted(set(ids)), name


# --- the list


def test_empty_list_explains_how_to_start(researcher_client: Client, work: Work) -> None:
    url = reverse("scorers", args=[work.project.slug])
    page = squeezed(researcher_client.get(url))
    assert "No scorer yet" in page
    assert reverse("versions", args=[work.project.slug]) in page
    assert "No sealed version yet" in squeezed(
        researcher_client.get(reverse("scorer-train", args=[work.project.slug]))
    )


def test_list_shows_state_settings_and_figures(researcher_client: Client, sealed: DatasetVersion) -> None:
    ready(sealed, "done one")
    stopped = asked(sealed, "stopped one")
    Job.objects.filter(pk=stopped.job_id).update(state=JobState.FAILED, error="no disk")
    page = squeezed(researcher_client.get(reverse("scorers", args=[sealed.project.slug])))
    assert page.index("stopped one") < page.index("done one"), "newest first"
    assert "tiny, random weights, inferences, region highlighted, two squares, batch 4" in page
    assert '<td class="n" data-label="P@1, %">31.2</td>' in page
    assert "Failed" in page
    assert reverse("version", args=[sealed.pk]) in page


def test_failed_import_is_shown(researcher_client: Client, sealed: DatasetVersion, tmp_path: Path) -> None:
    (tmp_path / "scorer.json").write_text("{}")
    with pytest.raises(Exception, match="format None"):
        call_command("import_scorer", str(tmp_path), "--project", sealed.project.slug, "--name", "x")
    page = squeezed(researcher_client.get(reverse("scorers", args=[sealed.project.slug])))
    assert "Import the scorer x: " in page
    assert "format None" in page


# --- the form


def test_a_training_is_asked_for(researcher_client: Client, sealed: DatasetVersion, researcher: User) -> None:
    url = reverse("scorer-train", args=[sealed.project.slug])
    reply = researcher_client.post(url, training_form(learning_rate="0.001", text_mode="multitask"))
    scorer = Scorer.objects.get()
    assert reply["Location"] == at("scorer", scorer)
    config = TrainingConfig.from_json(scorer.config)
    assert (config.learning_rate, config.text_mode, config.augment, config.seed) == (
        0.001,
        "multitask",
        True,
        3,
    )
    assert scorer.splits == {"train": "", "val": "", "val_share": 0.25, "seed": 3}
    assert scorer.created_by == researcher


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"batch_size": "64"}, "batch_size", "64 is more than the 9 pairs to train on; use 9 or fewer."),
        ({"name": "7"}, "name", "&#x27;7&#x27;; use at most 60 letters"),
        ({"learning_rate": "2"}, "learning_rate", "2 is not between 0 and 1; Hessel et al. (2022) use 1e-5."),
        ({"model": "clip:/etc"}, "model", "Select a valid choice."),
        ({"batch_size": "9", "processes": "2"}, "batch_size", "9 cannot be divided among 2 processes"),
    ],
)
def test_error_is_shown_at_its_field(
    researcher_client: Client, sealed: DatasetVersion, changes: dict[str, str], field: str, words: str
) -> None:
    reply = researcher_client.post(
        reverse("scorer-train", args=[sealed.project.slug]), training_form(**changes)
    )
    page = squeezed(reply)
    assert reply.status_code == 400
    assert words in page
    assert f'href="#train_{field}"' in page
    assert f'value="{changes.get("epochs", "5")}"' in page, "what was typed is kept"
    assert not Scorer.objects.exists()


def test_collapsed_setting_with_error_is_expanded(researcher_client: Client, sealed: DatasetVersion) -> None:
    url = reverse("scorer-train", args=[sealed.project.slug])
    assert '<details class="adder" open>' in squeezed(
        researcher_client.post(url, training_form(patience="-1"))
    )
    assert '<details class="adder">' in squeezed(researcher_client.get(url))


def test_every_setting_has_a_field_and_the_paper_s_values_are_filled_in() -> None:
    counts = {"train": SplitCount(244_000, 80_000), "val": SplitCount(6_600, 2_000)}
    form = TrainingForm({DatasetVersion(pk=1, name="v1"): counts}, [])
    defaults = TrainingConfig(model="x").as_json()
    assert set(defaults) - set(form.fields) == {"device"}, "the machine decides the device"
    for name, value in defaults.items():
        if name not in {"model", "device"}:
            field = form.fields[name]
            shown = form.get_initial_for_field(field, name) or next(iter(getattr(field, "choices", [[0]])))[0]
            assert str(shown) in {str(value), f"{value!r}", "1e-5"} or float(shown) == value, name


@pytest.mark.parametrize(("pairs", "batch"), [(244_000, 512), (100, 16), (12, 2), (0, 2)])
def test_fewer_pairs_have_a_smaller_batch(pairs: int, batch: int) -> None:
    found = suggest_settings(pairs)
    assert found["batch_size"] == batch
    assert found["warmup_steps"] <= 500
    assert 1 <= found["checkpoint_every"] <= 300


def test_another_scorer_may_be_the_start(researcher_client: Client, sealed: DatasetVersion) -> None:
    first = ready(sealed)
    url = reverse("scorer-train", args=[sealed.project.slug])
    assert f'<option value="{first.encoder_name}" selected>' in squeezed(
        researcher_client.get(url, {"model": first.encoder_name})
    )
    researcher_client.post(url, training_form(model=first.encoder_name))
    assert Scorer.objects.get(name="from the page").parent == first


# --- one scorer


def test_a_running_training_is_followed(researcher_client: Client, sealed: DatasetVersion) -> None:
    scorer = asked(sealed)
    page = squeezed(researcher_client.get(at("scorer", scorer)))
    assert f'data-follow="{at("scorer-losses", scorer)}"' in page
    assert f'data-job-url="{reverse("api-job", args=[scorer.job_id])}"' in page
    assert "scorer-plot" in page
    assert "No step yet" in page
    write_journal(scorer, 25)
    reply = researcher_client.get(at("scorer-losses", scorer))
    fragment = squeezed(reply)
    assert 'data-training="running"' in fragment
    assert fragment.count("<figure") == 3
    assert "no-store" in reply["Cache-Control"]
    Job.objects.update(state=JobState.DONE)
    assert 'data-training="over"' in squeezed(researcher_client.get(at("scorer-losses", scorer)))


def test_a_stopped_training_can_be_resumed_on_its_page(
    researcher_client: Client, sealed: DatasetVersion
) -> None:
    scorer = asked(sealed)
    Job.objects.filter(pk=scorer.job_id).update(state=JobState.FAILED, error="loss: is nan at step 7")
    page = squeezed(researcher_client.get(at("scorer", scorer)))
    assert "loss: is nan at step 7" in page
    assert reverse("job-resume", args=[scorer.job_id]) in page
    assert "Choose candidates" not in page
    assert "scorer-plot" not in page, "nothing is followed"


def test_ready_scorer_shows_its_facts(researcher_client: Client, sealed: DatasetVersion) -> None:
    scorer = ready(sealed)
    page = squeezed(researcher_client.get(at("scorer", scorer)))
    assert "abab abab abab abab" in page
    assert (
        f"{reverse('curation-rounds', args=[scorer.project.slug])}?encoder={scorer.encoder_name}#build"
        in page
    )
    assert sealed.manifest_sha256 in page
    for words in ("Best step", "Learning rate", "Validated on", "losses.csv", "validation.csv"):
        assert words in page, words


def test_measure_names_ranked_texts(sealed: DatasetVersion) -> None:
    found = {"retrieval": {"p_at_1": {"value": 31.25}}, "comparison": {"model": {"value": 5.43}}}
    row = Evaluation(sha256="ab" * 32, figures=found)
    assert describe_evaluation(row) == "P@1 31.2%, human agreement 5.4%"
    row.texts = "clue"
    assert describe_evaluation(row) == "clues, P@1 31.2%, human agreement 5.4%"
    assert describe_evaluation(Evaluation(figures=found)) == "not done yet"


def test_the_newest_measures_are_listed_and_the_rest_counted(
    researcher_client: Client, sealed: DatasetVersion
) -> None:
    scorer = ready(sealed)
    for _ in range(7):
        Evaluation.objects.create(
            project=sealed.project, version=sealed, scorer=scorer, source="scorer", label="Ours"
        )
    page = squeezed(researcher_client.get(reverse("scorer", args=[sealed.project.slug, scorer.pk])))
    assert page.count("not done yet") == 5
    assert "2 older evaluations" in page


def test_settings_without_value_are_described(sealed: DatasetVersion) -> None:
    facts = dict(scorer_facts(asked(sealed))["first"])
    assert ("Maximum steps", "no limit") in facts["Settings"]
    assert ("Pairs in memory", "the whole batch") in facts["Settings"]
    assert "Settings" in dict(scorer_facts(ready(sealed, "other"))["more"])


def test_only_journals_can_be_downloaded(researcher_client: Client, sealed: DatasetVersion) -> None:
    scorer = ready(sealed, "my scorer")
    reply = researcher_client.get(at("scorer-file", scorer, "losses.csv"))
    assert b"".join(reply.streaming_content) == (scorer_folder(scorer) / "losses.csv").read_bytes()  # type: ignore[attr-defined]
    assert 'filename="my-scorer-losses.csv"' in reply["Content-Disposition"]
    (scorer_folder(scorer) / "environment.json").write_text("{}")
    assert (
        researcher_client.get(at("scorer-file", scorer, "environment.json"))["Content-Type"]
        == "application/json"
    )
    (scorer_folder(scorer) / "train.jsonl").write_text("{}")
    for name in ("train.jsonl", "run.json", "..", "best"):
        assert researcher_client.get(f"{at('scorer', scorer)}files/{name}").status_code == 404, name


def test_a_line_asks_for_the_same_training(sealed: DatasetVersion) -> None:
    import shlex

    scorer = asked(sealed, config=TrainingConfig(model="tiny", batch_size=4, augment=False, text_mode="clue"))  # type: ignore[arg-type]
    job = scorer.job
    assert job is not None
    (line,) = command_lines([job])
    assert "--no-augment" in line
    call_command(*shlex.split(line)[1:], "--background")
    again = Scorer.objects.exclude(pk=scorer.pk).get()
    assert (again.config, again.splits, again.version) == (scorer.config, scorer.splits, scorer.version)


# --- plots


def test_a_smoothed_curve_is_free_of_its_start() -> None:
    assert charts.smooth([(n, 3.0) for n in range(50)], 10) == [(n, pytest.approx(3.0)) for n in range(50)]
    assert charts.smooth([(1, 5.0), (2, 1.0)], 1)[-1] == (2, 1.0), "a window of one keeps every value"


def test_of_many_points_no_spike_is_lost() -> None:
    points = [(n, 1.0) for n in range(10_000)]
    points[7_777] = (7_777, 9.0)
    kept = charts.envelope_points(points)
    assert (7_777, 9.0) in kept
    assert len(kept) <= charts.MAX_POINTS + 2
    thin = charts.thin_points(points)
    assert (thin[0], thin[-1]) == (points[0], points[-1])
    assert len(thin) <= charts.MAX_POINTS + 1


def test_a_single_step_and_a_flat_curve_are_drawn() -> None:
    row = {"step": 1, "epoch": 1, "loss": 2.0, "learning_rate": 0.0, "scale": 14.0, "images_per_second": 9.0}
    panels = charts.training_panels([row], [])  # type: ignore[list-item]
    assert [panel.title for panel in panels] == ["Loss", "Learning rate"]
    assert all("nan" not in path.shape for panel in panels for path in panel.curves)
    assert charts.training_panels([], []) == ()


def test_marks_lie_within_the_plot(sealed: DatasetVersion) -> None:
    from curation.scorer.training.journal import read_losses, read_validations

    folder = scorer_folder(ready(sealed))
    loss, validation, rate = charts.training_panels(read_losses(folder), read_validations(folder))
    assert [dot.kind for dot in validation.dots].count("best") == 1
    assert validation.dots[-1].x == "100.00%"
    for panel in (loss, validation, rate):
        for path in panel.curves:
            numbers = [tuple(map(float, place.split())) for place in path.shape[1:].split("L")]
            assert all(0 <= x <= 1001 and 0 <= y <= charts.HEIGHT for x, y in numbers)
    assert [tick.text for tick in rate.x_ticks] == ["0", "50", "100"]
    assert [tick.text for tick in rate.y_ticks] == ["0", "5e−6", "1e−5"]
