"""Leaderboards of image triplets: figures are equal everywhere to the last digit, and bad submissions are refused."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardTeam
from curation.leaderboard.selectors.boards import PRIVATE_FIGURES, board_folder
from curation.leaderboard.services import boards as services
from curation.models import (
    DatasetVersion,
    ImageTriplet,
    TripletEvaluation,
    TripletPrediction,
)
from curation.pipelines.triplets.export_predictions import export_predictions
from curation.services.triplets.evaluations import EvaluationOptions, request_evaluation
from hits.domain.states import JobState
from hits.models import Project
from hits.services.jobs import jobs
from tests.support.curation.leaderboards import scored, zipped
from tests.support.nleye_boards import COUNT, Choices, Files, answers, as_lines, make_board, seal, stored_rows
from tests.support.nleye_published import (
    published_rows,
    read_lines,
    write_published,
)
from tests.support.nleye_stored import judge, nleye_project

pytestmark = pytest.mark.django_db
NAMES = {1: "first", 2: "second", "equal": "equal", "none": "none", None: ""}
HYPOTHESES = {"hypothesis1": "h1", "hypothesis2": "h2"}


@pytest.fixture
def version(project: Project, tmp_path: Path) -> DatasetVersion:
    """A sealed version of imported triplets that holds its answers."""
    return seal(nleye_project(project), write_published(tmp_path / "P", published_rows(COUNT)))


@pytest.fixture
def board(version: DatasetVersion) -> Leaderboard:
    return make_board(version)


@pytest.fixture
def team(board: Leaderboard) -> LeaderboardTeam:
    return services.add_team(board=board, name="Baker Street", by=None)[0]


def is_right(choices: Choices, name: str, gold: int) -> bool:
    """Return whether both presentations name the position of gold."""
    return (choices[name, "as_listed"][0], choices[name, "swapped"][0]) == (gold, 3 - gold)


def measure_people(version: DatasetVersion, split: str) -> None:
    """Measure people on a split; empty for all."""
    options = EvaluationOptions(model="people", split=split)
    job = request_evaluation(version=version, options=options, by=None, queue=False)
    assert jobs.run_in_process(job=job).state == JobState.DONE


def test_people_beside_the_entries_judged_the_same_split(
    project: Project, researcher: User, tmp_path: Path
) -> None:
    rows = published_rows(4)
    folder = write_published(tmp_path / "P", rows[:2])
    write_published(folder, rows[2:], split="val")
    version = seal(nleye_project(project), folder)
    measure_people(version, "test")
    assert "human" not in references(make_board(version)), "nobody judged a triplet"
    triplets = list(ImageTriplet.objects.filter(project=project))
    tested = set(
        version.rows.filter(part="nleye_triplet", split="test").values_list("instance_id", flat=True)
    )
    choices = {row.public_id: ("wrong" if row.public_id in tested else "right",) * 3 for row in triplets}
    judge(project, choices, researcher)
    measure_people(version, "test")
    for split in ("val", ""):  # newer, but of other triplets
        measure_people(version, split)
    assert references(make_board(version))["human"]["consistency_accuracy"]["value"] == 0


def references(board: Leaderboard) -> dict[str, Any]:
    """Return what stands beside the entries of a board."""
    found: dict[str, Any] = board.options["references"]
    return found


def evaluate(capsys: Any, *arguments: Any) -> dict[str, Any]:
    capsys.readouterr()
    call_command("evaluate", "nleye", *arguments, "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def run_evaluation(version: DatasetVersion, setup: str) -> TripletEvaluation:
    """Let the baseline that guesses answer, and return its evaluation."""
    options = EvaluationOptions(model="baseline:random", setup=setup)
    job = jobs.run_in_process(job=request_evaluation(version=version, options=options, by=None, queue=False))
    assert job.state == JobState.DONE, job.error
    return TripletEvaluation.objects.get(job=job)


@pytest.mark.parametrize("setup", ["triplet", "pairs"])
def test_stored_figures_of_an_evaluation_a_submission_and_the_command_are_equal(
    version: DatasetVersion,
    board: Leaderboard,
    team: LeaderboardTeam,
    tmp_path: Path,
    capsys: Any,
    setup: str,
) -> None:
    evaluation = run_evaluation(version, setup)
    names = export_predictions(evaluation, tmp_path / "F")
    option, file = {
        "triplet": ("--predictions", "predictions.jsonl"),
        "pairs": ("--pair-scores", "pairs.jsonl"),
    }[setup]
    assert names == sorted(["key.json", file])
    figures = evaluate(capsys, option, tmp_path / "F" / file, "--answer-key", tmp_path / "F" / "key.json")
    assert figures == evaluation.figures
    lines = read_lines(tmp_path / "F" / file)
    assert len(lines) == 2 * COUNT
    by_slot = {
        (row.instance_id, row.presentation): row
        for row in TripletPrediction.objects.filter(evaluation=evaluation)
    }
    submitted = []
    for row in read_lines(board_folder(board) / "held" / f"{setup}.jsonl"):
        stored = by_slot[row["triplet"], HYPOTHESES.get(row["shown"], row["shown"])]
        if setup == "pairs":
            submitted.append({"pair_id": row["id"], "score": stored.score})
        else:
            choice = {name: value for value, name in NAMES.items()}[stored.choice]
            submitted.append({"id": row["id"], "choice": choice})
    random.Random(0).shuffle(submitted)
    data = "".join(json.dumps(row) + "\n" for row in submitted).encode()
    entry = scored(team, zipped({f"test_set_predictions/{setup}.jsonl": data}))
    assert entry.state == EntryState.SCORED, entry.defect
    assert json.loads(json.dumps(entry.figures)) == figures
    assert figures[setup]["triplets"] == COUNT


def test_submission_of_odd_answers_equals_the_command_to_the_last_digit(
    version: DatasetVersion, board: Leaderboard, team: LeaderboardTeam, tmp_path: Path, capsys: Any
) -> None:
    files, choices, scores = answers(board, seed=5)
    numbers = {key: str(number) for number, (key, _) in enumerate(stored_rows(version), start=1)}
    key = {
        numbers[name]: {
            "gold": row["gold"],
            "category": row["reasoning_category"],
            "domain": row["domain"],
            "direction": row["time_direction"],
            "duration": row["time_duration"] or None,
        }
        for name, row in stored_rows(version)
    }
    (tmp_path / "key.json").write_text(json.dumps(dict(sorted(key.items(), reverse=True))))
    predictions = [
        {"id": numbers[name], "presentation": shown, "choice": choice, "reason": reason or None}
        for (name, shown), (choice, reason) in choices.items()
    ]
    (tmp_path / "p.jsonl").write_text(as_lines(predictions))
    pairs = [
        {"id": numbers[name], "hypothesis": int(shown[-1]), "score": score}
        for (name, shown), score in scores.items()
    ]
    (tmp_path / "s.jsonl").write_text(as_lines(pairs))
    figures = evaluate(
        capsys,
        "--predictions",
        tmp_path / "p.jsonl",
        "--pair-scores",
        tmp_path / "s.jsonl",
        "--answer-key",
        tmp_path / "key.json",
    )
    entry = scored(team, zipped(files))
    assert entry.state == EntryState.SCORED, entry.defect
    assert json.loads(json.dumps(entry.figures)) == figures
    golds = {name: row["gold"] for name, row in stored_rows(version)}
    right = [is_right(choices, name, gold) for name, gold in golds.items()]
    assert figures["triplet"]["consistency_accuracy"]["value"] == pytest.approx(100 * sum(right) / COUNT)
    ordered = [
        None
        not in (mine := scores[name, f"hypothesis{gold}"], other := scores[name, f"hypothesis{3 - gold}"])
        and mine > other
        for name, gold in golds.items()
    ]
    assert figures["pairs"]["order_faithful_accuracy"]["value"] == pytest.approx(100 * sum(ordered) / COUNT)


def test_private_triplets_are_whole_and_scored_apart(version: DatasetVersion) -> None:
    board = make_board(version, data=services.LeaderboardDataOptions(private_share=25))
    held = set(json.loads((board_folder(board) / "held" / "kept.json").read_text())["names"])
    assert len(held) == 3
    files, choices, _ = answers(board, seed=6)
    team = services.add_team(board=board, name="Baker Street", by=None)[0]
    entry = scored(team, zipped(files))
    golds = {name: row["gold"] for name, row in stored_rows(version)}
    for is_held, figures in ((False, entry.figures), (True, entry.figures[PRIVATE_FIGURES])):
        chosen = [name for name in golds if (name in held) == is_held]
        right = sum(is_right(choices, name, golds[name]) for name in chosen)
        assert figures["triplet"]["triplets"] == len(chosen)
        assert figures["triplet"]["consistency_accuracy"]["value"] == pytest.approx(100 * right / len(chosen))


def first_line(files: Files, **change: Any) -> Files:
    """Return files with another first line of triplet.jsonl; ``drop`` leaves the line out, ``twice`` repeats it."""
    name = "test_set_predictions/triplet.jsonl"
    first, *others = files[name].decode().splitlines(keepends=True)
    record = json.loads(first) | {key: value for key, value in change.items() if key not in {"drop", "twice"}}
    line = json.dumps(record) + "\n"
    head = [] if change.get("drop") else [line, line] if change.get("twice") else [line]
    return files | {name: "".join([*head, *others]).encode()}


def test_bad_submission_is_refused_in_one_line(board: Leaderboard, team: LeaderboardTeam) -> None:
    files, _, _ = answers(board, seed=7)
    bad: list[tuple[Files, str]] = [
        (first_line(files, drop=True), r"triplet.jsonl: no line for '[0-9a-f]{20}'; give one for each"),
        (
            first_line(files, twice=True),
            r"triplet.jsonl: line 2: '[0-9a-f]{20}' is on line 1 too; keep one of them",
        ),
        (
            first_line(files, id="x"),
            r"triplet.jsonl: line 1: id 'x' is not in the answer key; remove the line",
        ),
        (
            first_line(files, choice=3),
            r'triplet.jsonl: line 1: choice is 3; use 1, 2, "equal", "none" or null',
        ),
        (first_line(files, choice=True), r"triplet.jsonl: line 1: choice is true; use 1, 2"),
        (first_line(files, choice=float("nan")), r"triplet.jsonl: line 1: choice is NaN; use 1, 2"),
        (
            {"test_set_predictions/triplet.jsonl": b""},
            r"triplet.jsonl: is empty; give one JSON object per line",
        ),
        ({"__MACOSX/x": b""}, r"has neither triplet.jsonl nor pairs.jsonl; add one of them"),
        ({"test_set_predictions/other.jsonl": b"{}"}, r"is not a file of this leaderboard's submissions"),
    ]
    for submitted, message in bad:
        entry = scored(team, zipped(submitted))
        assert entry.state == EntryState.REFUSED
        assert re.search(message, entry.defect), entry.defect
        assert "\n" not in entry.defect
        assert str(board_folder(board)) not in entry.defect


def test_damaged_key_is_a_fault_of_the_server(board: Leaderboard, team: LeaderboardTeam) -> None:
    for seed, (name, message) in enumerate(
        [
            ("answer_key.json", "the answer key is missing or damaged"),
            ("triplet.jsonl", "the key of triplet.jsonl lacks an instance"),
        ]
    ):
        files, _, _ = answers(board, seed=seed)
        path = board_folder(board) / "held" / name
        whole = path.read_bytes()
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
        entry = scored(team, zipped(files))
        assert entry.state == EntryState.QUEUED
        assert entry.job is not None
        assert message in entry.job.error
        path.write_bytes(whole)
        jobs.run_in_process(job=jobs.resume_job(job=entry.job, queue=False))
        entry.refresh_from_db()
        assert entry.state == EntryState.SCORED
