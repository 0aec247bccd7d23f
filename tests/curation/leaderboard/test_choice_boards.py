"""Leaderboards of multiple-choice questions: their public files, the published CSV in a zip, figures and audits."""

import io
import json
import re
import zipfile
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.evaluation.choice_files import format_predictions_csv, read_answer_key_lines
from curation.evaluation.choices import ChoiceKey, ChoicePredictions, accuracies, correct_choices
from curation.families.vcr.published import HELD_FIELDS
from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardTeam
from curation.leaderboard.selectors.boards import PRIVATE_FIGURES, board_folder, public_files
from curation.leaderboard.services import boards as services
from curation.leaderboard.views.boards import make_receipt
from curation.models import ChoiceEvaluation, DatasetVersion, ProposalRun, QuestionSet
from curation.services.versions import create_sealed_version
from hits.domain.states import JobState
from hits.models import Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.curation.leaderboards import scored, zipped
from tests.support.pages import squeezed
from tests.support.vcr.question_sets import store_synthetic_set

pytestmark = pytest.mark.django_db
FOLDS = {"train-0": 8, "val-0": 6, "test-0": 30}


@pytest.fixture
def version(project: Project) -> DatasetVersion:
    store_synthetic_set(project, FOLDS)
    return create_sealed_version(project=project, name="v1", by=None)


def _make(version: DatasetVersion, *, is_open: bool = True, **more: Any) -> Leaderboard:
    board = services.create_leaderboard(
        version=version,
        split="test",
        wording=services.Wording("Choices"),
        limits=services.SubmissionLimits(daily=20, total=20),
        by=None,
        queue=False,
        **more,
    )
    assert board.job is not None
    job = jobs.run_in_process(job=board.job)
    assert job.state == JobState.DONE, job.error
    board.refresh_from_db()
    if is_open:
        services.set_board_is_open(board=board, is_open=True, by=None)
    return board


@pytest.fixture
def board(version: DatasetVersion) -> Leaderboard:
    return _make(version)


@pytest.fixture
def team(board: Leaderboard) -> LeaderboardTeam:
    return services.add_team(board=board, name="Baker Street", by=None)[0]


def _key(board: Leaderboard) -> ChoiceKey:
    return read_answer_key_lines(board_folder(board) / "held" / "answer_key.jsonl")


def _scores(key: ChoiceKey, skill: float = 1.0) -> ChoicePredictions:
    rng, n = np.random.default_rng(0), len(key.ids)
    scores = ChoicePredictions(rng.normal(size=(n, 4)), rng.normal(size=(n, 4, 4)))
    scores.answers[np.arange(n), key.answers] += skill
    scores.rationales[np.arange(n), key.answers, key.rationales] += skill
    return scores


def _zip(key: ChoiceKey, scores: ChoicePredictions, *, name: str = "choices.csv", spoil: Any = str) -> bytes:
    text = spoil("".join(format_predictions_csv(key.ids, scores)))
    return zipped({f"test_set_predictions/{name}": text.encode()})


def test_public_files_have_the_questions_without_anything_held(board: Leaderboard) -> None:
    assert board.tasks == {"choices": 30}
    public = board_folder(board) / "public"
    assert {path.name for path in public.iterdir()} == {"test.jsonl", "metadata.jsonl", "photos.json"}
    rows = [json.loads(line) for line in (public / "test.jsonl").read_text().splitlines()]
    key = _key(board)
    assert [row["annot_id"] for row in rows] == list(key.ids)
    assert all(not set(row) & set(HELD_FIELDS) for row in rows)
    assert all(len(row["answer_choices"]) == len(row["rationale_choices"]) == 4 for row in rows)
    metadata = {
        row["metadata_fn"]: row
        for row in map(json.loads, (public / "metadata.jsonl").read_text().splitlines())
    }
    assert all(metadata[row["metadata_fn"]]["names"] == row["objects"] for row in rows)
    photos = json.loads((public / "photos.json").read_text())
    assert {photo["img_fn"] for photo in photos} == {row["img_fn"] for row in rows}
    assert next(file.name for file in public_files(board)) == "instances.zip"
    assert (board_folder(board) / "held").stat().st_mode & 0o077 == 0
    assert list(board.options["counts"]) == ["q_a", "qa_r", "q_ar"]


def test_csv_in_a_zip_is_scored_by_the_held_labels(board: Leaderboard, team: LeaderboardTeam) -> None:
    key = _key(board)
    scores = _scores(key)
    entry = scored(team, _zip(key, scores))
    assert entry.state == EntryState.SCORED, entry.defect
    figures = entry.figures["choices"]
    for name, share in accuracies(correct_choices(scores, key)).items():
        assert share is not None
        assert figures[name]["value"] == pytest.approx(100 * share)
        assert figures[name]["low"] < figures[name]["value"] < figures[name]["high"]
    rounds = entry.figures["rounds"]["answer"]
    wrong = 100 - figures["q_a"]["value"]
    assert sum(rounds[str(number)]["chosen"] for number in (1, 2, 3)) == pytest.approx(wrong)
    # Rows and columns in another order are the same submission to the scorer.
    other = services.add_team(board=board, name="Scotland Yard", by=None)[0]
    again = scored(
        other,
        _zip(key, scores, spoil=lambda text: "\n".join([*text.splitlines()[:1], *text.splitlines()[:0:-1]])),
    )
    assert again.figures == entry.figures


def test_rationales_given_wrong_answers_are_not_read(board: Leaderboard, team: LeaderboardTeam) -> None:
    key = _key(board)
    scores = _scores(key, skill=50.0)
    n = len(key.ids)
    for answer in range(4):
        others = key.answers != answer
        scores.rationales[np.arange(n)[others], answer] = np.eye(4)[(key.rationales[others] + 1) % 4] * 99
    entry = scored(team, _zip(key, scores))
    assert entry.figures["choices"]["qa_r"]["value"] == 100.0


DEFECTS: dict[str, tuple[dict[str, Any], str]] = {
    "missing id": ({"spoil": lambda text: "\n".join(text.splitlines()[:-1])}, r"no line for 'test-29'"),
    "doubled id": (
        {"spoil": lambda text: text + text.splitlines()[-1]},
        r"line 32: 'test-29' is on line 31 too",
    ),
    "NaN": (
        {"spoil": lambda text: re.sub(r"(test-3),[^,]*", r"\1,nan", text, count=1)},
        r"line 5: answer_0 is 'nan'",
    ),
    "19 columns": (
        {"spoil": lambda text: "\n".join(line.rpartition(",")[0] for line in text.splitlines())},
        r"line 1: 'rationale_conditioned_on_a3_3' is missing",
    ),
    "other file": ({"name": "comparison.npy"}, "is not a file of this leaderboard's submissions"),
    "other kind": ({"name": "choices.npy"}, "is not a .csv file"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_zip_with_a_defect_is_refused_in_one_line(
    board: Leaderboard, team: LeaderboardTeam, defect: str
) -> None:
    change, message = DEFECTS[defect]
    key = _key(board)
    entry = scored(team, _zip(key, _scores(key), **change))
    assert entry.state == EntryState.REFUSED
    assert re.search(message, entry.defect), entry.defect
    assert "\n" not in entry.defect
    assert str(board_folder(board)) not in entry.defect


def test_empty_folder_and_too_large_a_file_are_refused(board: Leaderboard, team: LeaderboardTeam) -> None:
    empty = scored(team, zipped({"__MACOSX/x": b""}))
    assert empty.defect == "choices.csv: is missing; every submission needs it"
    key = _key(board)
    text = "".join(format_predictions_csv(key.ids, _scores(key)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("test_set_predictions/choices.csv", text + " " * 10**6)
    bomb = scored(team, packed.getvalue())
    assert "bytes unpacked, but its scores need at most" in bomb.defect


def test_damaged_key_is_a_fault_of_the_server(board: Leaderboard, team: LeaderboardTeam) -> None:
    key = _key(board)
    path = board_folder(board) / "held" / "answer_key.jsonl"
    whole = path.read_text()
    path.write_text("\n".join(whole.splitlines()[:-1]))
    entry = scored(team, _zip(key, _scores(key)))
    assert entry.state == EntryState.QUEUED
    assert entry.job is not None
    assert (
        "the answer key of choices has 29 questions, but 30 were written; restore leaderboards/"
        in entry.job.error
    )
    path.write_text("{}")
    job = jobs.run_in_process(job=jobs.resume_job(job=entry.job, queue=False))
    assert "the answer key of choices is missing or damaged" in job.error
    path.write_text(whole)
    jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    entry.refresh_from_db()
    assert entry.state == EntryState.SCORED


def test_private_photos_have_figures_of_their_own(version: DatasetVersion) -> None:
    board = _make(version, data=services.LeaderboardDataOptions(private_share=40))
    team = services.add_team(board=board, name="Baker Street", by=None)[0]
    key = _key(board)
    scores = _scores(key)
    held = set(json.loads((board_folder(board) / "held" / "kept.json").read_text())["names"])
    entry = scored(team, _zip(key, scores))
    for is_held, figures in ((False, entry.figures), (True, entry.figures[PRIVATE_FIGURES])):
        rows = [row for row, image in enumerate(key.images) if (image in held) == is_held]
        share = accuracies(correct_choices(scores.take(rows), key.take(rows)))["q_ar"]
        assert figures["choices"]["q_ar"]["value"] == pytest.approx(100 * (share or 0.0))
        assert figures["choices"]["questions"] == len(rows)
    assert board.options[PRIVATE_FIGURES]["counts"]["q_a"] == sum(image in held for image in key.images)


def test_people_are_a_reference_if_they_were_measured(version: DatasetVersion) -> None:
    figure = {"value": 90.5, "low": 88.0, "high": 93.0}
    ChoiceEvaluation.objects.create(
        project=version.project,
        question_set=QuestionSet.objects.get(),
        split="test",
        source="judgments",
        label="People",
        figures={"choices": {"q_a": figure, "qa_r": figure, "q_ar": figure}},
    )
    board = _make(version)
    assert board.options["references"]["human"]["q_ar"] == figure
    assert board.options["references"]["random"]["q_ar"]["value"] == 6.25


def test_pages_and_api_show_three_measures_and_the_audits(
    client: Client, board: Leaderboard, team: LeaderboardTeam, researcher: User
) -> None:
    services.set_board_is_public(board=board, is_public=True, by=None)
    key = _key(board)
    entry = scored(team, _zip(key, _scores(key)))
    page = squeezed(client.get(reverse("leaderboard", args=[board.slug])))
    for text in (
        "Q→AR",
        "QA→R",
        "choices.csv",
        "Zellers et al. 2019",
        "one of four, and of sixteen",
        "Chance",
    ):
        assert text in page
    assert "Hessel" not in page
    assert ".npy" not in page
    details = squeezed(client.get(reverse("leaderboard-entry", args=[board.slug, make_receipt(entry)])))
    assert "Wrong choices by match round" in details
    assert f"{entry.figures['rounds']['rationale']['3']['right_above']:.1f}" in details
    assert "choices.csv" in squeezed(client.get(reverse("leaderboard-submit", args=[board.slug])))
    found = client.get(reverse("api-leaderboard", args=[board.slug])).json()
    assert [measure["name"] for measure in found["measures"]] == ["q_ar", "q_a", "qa_r"]
    assert found["measures"][0]["count"] == 30
    assert found["expected"] == {"choices": 30}
    (row,) = found["entries"]
    assert row["figures"]["q_ar"]["value"] == pytest.approx(
        entry.figures["choices"]["q_ar"]["value"], abs=0.05
    )
    client.force_login(researcher)
    assert "all questions" in squeezed(client.get(reverse("leaderboards", args=[board.project.slug])))


def test_form_of_this_family_has_no_proposed_boxes(
    client: Client, version: DatasetVersion, researcher: User
) -> None:
    client.force_login(researcher)
    address = reverse("leaderboards", args=[version.project.slug])
    assert "Proposed boxes" not in client.get(address).content.decode()
    given = {
        "rows": f"{version.pk}:test",
        "title": "Choices",
        "daily_limit": 2,
        "total_limit": 9,
        "photos": "none",
    }
    assert client.post(address, given).status_code == 302
    assert Leaderboard.objects.get().split == "test"


def test_command_creates_a_board_of_the_default_split(version: DatasetVersion, capsys: Any) -> None:
    where = ("v1", "--project", version.project.slug, "--title", "Choices")
    call_command("create_leaderboard", *where, "--json")
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["expected"] == {"choices": 30}
    with pytest.raises(CommandError, match="have no proposed boxes"):
        call_command("create_leaderboard", *where, "--proposals", "1")
    with pytest.raises(Refused, match="v1 has no question in blind; it has test, val, train"):
        services.create_leaderboard(
            version=version, split="blind", wording=services.Wording("Blind"), by=None, queue=False
        )


def test_version_that_cannot_have_a_board_is_refused(version: DatasetVersion) -> None:
    run = ProposalRun.objects.create(project=version.project, detector="made up", is_complete=True)
    with pytest.raises(Refused, match="leaderboards of the family VCR have none"):
        _make(version, proposals=run)
    Project.objects.filter(pk=version.project_id).update(family="tiny")
    version.refresh_from_db()
    with pytest.raises(Refused, match="which has no leaderboards"):
        _make(DatasetVersion.objects.get())
