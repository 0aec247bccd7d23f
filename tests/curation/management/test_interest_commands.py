"""``train_interest`` and ``select_interesting`` on the command line."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from curation.models import InterestModel, InterestScore
from hits.models import Job, Project
from tests.support.curation.interest_counts import planted
from tests.support.vcr.interest import store_labelled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def labelled(project: Project, researcher: User) -> Project:
    """Return a project with 300 labelled images of six films."""
    store_labelled(project, planted(3, 300, 6, strength=2), researcher)
    return project


def output(command: str, *flags: str) -> Any:
    out = StringIO()
    call_command(command, *flags, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_train_and_select_prints_figures_that_the_rows_have(labelled: Project) -> None:
    trained = output("train_interest", "--project", labelled.slug, "--model", "counts", "--seed", "4")
    model = InterestModel.objects.get()
    assert (trained["model"], trained["kind"], trained["state"]) == (model.pk, "counts", "done")
    assert trained["threshold"] == model.threshold
    assert trained["precision"] == model.figures["threshold"]["precision"] >= 0.7
    assert model.options["seed"] == 4
    found = output("select_interesting", "--project", labelled.slug, "--model", str(model.pk))
    assert found["scored"] == InterestScore.objects.count() == 300
    assert 0 < found["selected"] < found["within_rules"]
    alone = output(
        "select_interesting", "--project", labelled.slug, "--min-objects", "0", "--min-people", "0"
    )
    assert alone["selected"] == 300


def test_train_interest_without_json_prints_one_sentence(labelled: Project) -> None:
    out = StringIO()
    call_command("train_interest", "--project", labelled.slug, stdout=out)
    assert "of the kept photos are interesting" in out.getvalue()


def check_refused(command: str, flags: list[str], message: str, project: Project) -> None:
    """Check that a command line is refused in one line; PROJECT stands for the project's short name."""
    given = [project.slug if flag == "PROJECT" else flag for flag in flags]
    with pytest.raises(CommandError, match=message) as caught:
        call_command(command, *given, stdout=StringIO(), stderr=StringIO())
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    assert not InterestModel.objects.exists()


@pytest.mark.parametrize(
    ("command", "flags", "message"),
    [
        ("train_interest", [], "give --project"),
        ("train_interest", ["--project", "nowhere"], "there is no such project"),
        (
            "train_interest",
            ["--project", "PROJECT"],
            "0 images are interesting and 0 are not; label at least 50",
        ),
        ("train_interest", ["--project", "PROJECT", "--model", "colours"], "--model: 'colours' is not known"),
        (
            "train_interest",
            ["--project", "PROJECT", "--model", "features:"],
            "--model: 'features:' is not known",
        ),
        ("train_interest", ["--project", "PROJECT", "--min-precision", "1.5"], "--min precision: 1.5 is not"),
        (
            "select_interesting",
            ["--project", "PROJECT", "--model", "77"],
            "--model 77: there is no such model",
        ),
        (
            "select_interesting",
            ["--project", "PROJECT", "--min-people", "-1"],
            "--min-people: -1 is negative",
        ),
        (
            "select_interesting",
            ["--project", "PROJECT", "--min-score", "7"],
            "--min-score: 7 is not within 0 to 1",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line_with_status_two(
    command: str, flags: list[str], message: str, project: Project
) -> None:
    check_refused(command, flags, message, project)


def test_train_interest_impossible_option_is_refused_with_the_best_or_the_reason(labelled: Project) -> None:
    flags = ["--project", "PROJECT"]
    check_refused("train_interest", [*flags, "--min-labels", "900"], "label at least 900 of each", labelled)
    check_refused(
        "train_interest", [*flags, "--min-precision", "1"], r"precision of 1\.00; the best, 0\.", labelled
    )
    check_refused("train_interest", [*flags, "--model", "features:nothing"], "nothing", labelled)


def test_background_job_waits_for_a_worker(labelled: Project) -> None:
    out = output("train_interest", "--project", labelled.slug, "--background")
    job = Job.objects.get()
    assert (out["job"], out["state"]) == (job.pk, "queued")
    assert not InterestModel.objects.exists()
