"""Choosers of a project: trained on a question set or a folder by a job, resumed, and asked for predictions."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from PIL import Image as Pillow

from curation.chooser.recipes import make_config
from curation.evaluation.choice_files import SCORE_COLUMNS, read_answer_key_lines, read_predictions_csv
from curation.files import file_sha256
from curation.models import Chooser, QuestionSet, QuestionSetState
from curation.pipelines.training.chooser_files import load_or_write_chooser_run
from curation.selectors.choosers import chooser_folder
from curation.selectors.stored_files import curation_files
from curation.services.choosers import request_folder_training, request_set_training
from curation.views.command_lines import command_lines
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.curation._chooser_runs import (
    draw_pictures,
    lines_of,
    planted_questions,
    planted_vectors,
    store_vectors,
)
from tests.support.vcr.question_sets import store_synthetic_set

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_thread")]
FEW = {"batch_size": 4, "epochs": 1, "device": "cpu", "precision": "fp32", "patience": 0}


@pytest.fixture
def question_set(project: Project) -> QuestionSet:
    """A set of 12 questions to train on and 8 each to validate with and held, on pictures in plain colours."""
    stored = store_synthetic_set(project, {"train-0": 12, "val-0": 8, "test-0": 8}, seed=3)
    for number, image in enumerate(Image.objects.filter(project=project)):
        path = Path(settings.MEDIA_ROOT) / image.file.name
        Pillow.new("RGB", (640, 480), (number * 5 % 256, 90, 160)).save(path)
    return stored.question_set


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder in the published layout, with pictures and vectors of objects."""
    train, val = planted_questions(8, split="train"), planted_questions(4, split="val")
    folder = tmp_path / "published"
    draw_pictures(folder / "vcr1images", [*train, *val])
    for name, questions in (("train", train), ("val", val)):
        lines = "".join(json.dumps(line) + "\n" for line in lines_of(questions))
        (folder / f"{name}.jsonl").write_text(lines)
    store_vectors(folder / "features", lines_of([*train, *val]), planted_vectors([*train, *val]))
    return folder


def options(**given: Any) -> list[str]:
    chosen = FEW | given
    return [text for name, value in chosen.items() for text in (f"--{name.replace('_', '-')}", str(value))]


def trained(
    capsys: pytest.CaptureFixture[str], *arguments: str, **given: Any
) -> tuple[dict[str, Any], Chooser]:
    call_command("train_chooser", *arguments, "--recipe", "tiny", *options(**given), "--json")
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    return facts, Chooser.objects.get(pk=facts["chooser"])


@pytest.mark.parametrize("model", ["r2c", "clip-choice:tiny", "text-only:tiny"])
def test_a_question_set_trains_both_stages(
    question_set: QuestionSet, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    where = ("--project", question_set.project.slug, "--set", question_set.name)
    facts, chooser = trained(capsys, *where, model=model)
    assert (facts["state"], facts["name"]) == ("done", f"first {model.partition(':')[0]} 1")
    assert chooser.is_ready
    assert chooser.splits == {"train_questions": 12, "val_questions": 8}
    assert chooser.provenance["question_set"] == "first"
    assert chooser.figures.keys() == chooser.environment.keys() == {"answer", "rationale"}
    assert facts["answer_accuracy"] == chooser.figures["answer"]["accuracy"]
    assert (facts["answer_steps"], facts["rationale_steps"]) == (3, 3)
    run = chooser_folder(chooser)
    key = read_answer_key_lines(run / "val.jsonl")
    predictions = read_predictions_csv(run / "predictions-val.csv", key.ids)
    assert predictions.rationales.shape == (8, 4, 4)
    right = (predictions.answers.argmax(axis=1) == key.answers).mean()
    assert 100 * right == pytest.approx(chooser.figures["answer"]["accuracy"])
    stored = [file for file in curation_files() if file.kind == "chooser"]
    assert {Path(file.name).name for file in stored} >= {"chooser.json"}
    assert len(stored) >= 4, "a card and weights for each stage"
    for file in stored:
        assert file_sha256(Path(settings.MEDIA_ROOT) / file.name) == file.sha256
    job = chooser.job
    assert job is not None
    (line,) = command_lines([job])
    assert line.startswith("manage.py train_chooser --project")
    assert "--set first" in line
    assert "--recipe tiny" in line


def test_no_held_question_is_in_a_run(question_set: QuestionSet, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--project", question_set.project.slug, "--set", question_set.name)
    _, chooser = trained(capsys, *where, model="response-only:tiny")
    texts = [path.read_text() for path in chooser_folder(chooser).glob("*.json*")]
    assert texts
    for text in texts:
        assert '"test-' not in text
        assert question_set.secret not in text


def test_questions_of_withdrawn_photos_are_left_out(
    question_set: QuestionSet, capsys: pytest.CaptureFixture[str]
) -> None:
    row = question_set.questions.filter(split="train").select_related("triplet").first()
    assert row is not None
    hidden = question_set.questions.filter(
        split="train", stage="answer", triplet__image=row.triplet.image
    ).count()
    Image.objects.filter(pk=row.triplet.image_id).update(taken_down_at="2026-01-01T00:00:00Z")
    where = ("--project", question_set.project.slug, "--set", question_set.name)
    _, chooser = trained(capsys, *where, model="response-only:tiny")
    assert chooser.splits["train_questions"] == 12 - hidden
    assert chooser.splits["left_out_questions"] == hidden


def test_a_run_of_more_photos_than_a_query_may_name_is_resumed(question_set: QuestionSet) -> None:
    chooser = request_set_training(
        question_set=question_set,
        by=None,
        name="mine",
        config=make_config("response-only:tiny", "tiny", **FEW),
        queue=False,
    )
    written = load_or_write_chooser_run(chooser, "")
    before = connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 10)
    try:
        found = load_or_write_chooser_run(chooser, "")
    finally:
        connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, before)
    assert found.folder == written.folder


def test_a_cancelled_job_resumes_unless_a_photo_was_withdrawn(
    question_set: QuestionSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.pipelines.training.training_progress.PROGRESS_INTERVAL_SECONDS", 0.0)
    chooser = request_set_training(
        question_set=question_set,
        by=None,
        name="mine",
        config=make_config("response-only:tiny", "tiny", **(FEW | {"epochs": 4})),
        queue=False,
    )
    assert chooser.job is not None
    job = jobs.run_in_process(job=chooser.job, listener=_cancel_at_step(2))
    assert job.state == JobState.CANCELLED
    run = chooser_folder(chooser)
    assert (run / "answer" / "checkpoint" / "state.safetensors").is_file()
    used = json.loads((run / "train.jsonl").read_text().splitlines()[0])["img_fn"]
    Image.objects.filter(file=used).update(taken_down_at="2026-01-01T00:00:00Z")
    refused = jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    assert refused.state == JobState.FAILED
    assert "1 of this run was taken down meanwhile" in refused.error
    Image.objects.filter(file=used).update(taken_down_at=None)
    done = jobs.run_in_process(job=jobs.resume_job(job=refused, queue=False))
    assert done.state == JobState.DONE
    chooser.refresh_from_db()
    assert chooser.is_ready
    assert chooser.environment["answer"]["from_step"] >= 2


def _cancel_at_step(step: int) -> Any:
    def listen(job: Job, line: str) -> None:
        current = Job.objects.get(pk=job.pk)
        if current.done >= step and current.state == JobState.RUNNING:
            jobs.cancel_job(job=current)

    return listen


@pytest.mark.parametrize("visual", ["grid", "features"])
def test_a_published_folder_trains_too(
    project: Project, published: Path, capsys: pytest.CaptureFixture[str], visual: str
) -> None:
    where = ("--project", project.slug, "--data", str(published), "--name", "mine")
    facts, chooser = trained(capsys, *where, visual=visual, stage="answer")
    assert facts["name"] == "mine"
    assert chooser.question_set is None
    assert chooser.provenance["data"] == "published"
    assert not (chooser_folder(chooser) / "predictions-val.csv").exists(), "one stage makes no predictions"
    with pytest.raises(CommandError, match="there is a chooser mine already"):
        trained(capsys, *where, visual=visual)


def test_predictions_of_a_chooser_and_of_changed_copies(
    project: Project, published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, chooser = trained(
        capsys, "--project", project.slug, "--data", str(published), "--name", "mine", model="text-only:tiny"
    )
    out = tmp_path / "predictions.csv"
    common = ("--project", project.slug, "--chooser", "mine", "--device", "cpu", "--json")
    call_command("predict_choices", *common, "--out", str(out))
    assert json.loads(capsys.readouterr().out)["questions"] == 4
    assert out.read_bytes() == (chooser_folder(chooser) / "predictions-val.csv").read_bytes()
    call_command("predict_choices", *common, "--perturb", "keep-top1", "--out", str(out))
    assert json.loads(capsys.readouterr().out)["perturb"] == "keep-top1"
    assert out.read_bytes() != (chooser_folder(chooser) / "predictions-val.csv").read_bytes()
    assert len(out.read_text().splitlines()[0].split(",")) == 1 + len(SCORE_COLUMNS)


def test_zero_shot_clip_predicts_files(
    published: Path, clip_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, model = tmp_path / "predictions.csv", f"zero-shot:clip:{clip_folder}"
    call_command(
        *("predict_choices", "--answers", model, "--rationales", model, "--device", "cpu"),
        *("--data", str(published / "val.jsonl"), "--images", str(published / "vcr1images")),
        *("--out", str(out), "--json"),
    )
    assert json.loads(capsys.readouterr().out)["questions"] == 4
    assert len(out.read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give --set NAME of a question set, or --data FOLDER"),
        (("--set", "first", "--data", "x"), "give --set NAME of a question set, or --data FOLDER"),
        (("--set", "second"), "--set second: there is no such question set"),
        (("--set", "first", "--model", "vilbert"), "model: 'vilbert' is not known"),
        (("--set", "first", "--recipe", "large"), "recipe: r2c has no 'large'"),
        (("--set", "first", "--dropout", "2"), "dropout: 2 is not a share below 1"),
        (("--set", "first", "--model", "clip-choice:nothing"), "model: 'nothing' is not known"),
        (("--set", "first", "--name", "7"), "name: '7'; use at most 60 letters"),
        (("--data", "nowhere"), "nowhere: has no train.jsonl"),
    ],
)
def test_bad_command_lines_are_refused_before_any_row(
    question_set: QuestionSet, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises((CommandError, Refused), match=message):
        call_command("train_chooser", "--project", question_set.project.slug, *arguments)
    assert not Chooser.objects.exists()
    assert not Job.objects.filter(task="curation.train_chooser").exists()


def test_sets_without_an_open_split_are_refused(question_set: QuestionSet, published: Path) -> None:
    config = make_config("response-only:tiny", "tiny")
    question_set.questions.filter(split="val").delete()
    with pytest.raises(
        Refused, match="set first: has no questions of val, which training needs; it has test, train"
    ):
        request_set_training(question_set=question_set, by=None, name="", config=config)
    QuestionSet.objects.filter(pk=question_set.pk).update(state=QuestionSetState.BUILDING)
    question_set.refresh_from_db()
    with pytest.raises(Refused, match="is not built yet"):
        request_set_training(question_set=question_set, by=None, name="", config=config)
    (published / "vcr1images").rename(published / "pictures")
    with pytest.raises(Refused, match="has no vcr1images"):
        request_folder_training(
            project=question_set.project,
            by=None,
            folder=published,
            name="",
            config=make_config("r2c", "tiny"),
        )


def test_unready_choosers_predict_nothing(question_set: QuestionSet, tmp_path: Path) -> None:
    project = question_set.project
    with pytest.raises(
        CommandError, match="--chooser gone: is no chooser of this project; ready are none yet"
    ):
        call_command(
            "predict_choices",
            "--project",
            project.slug,
            "--chooser",
            "gone",
            "--out",
            str(tmp_path / "x.csv"),
        )
    with pytest.raises(CommandError, match="--answers: is missing; give it, or --project and --chooser"):
        call_command("predict_choices", "--out", str(tmp_path / "x.csv"))
