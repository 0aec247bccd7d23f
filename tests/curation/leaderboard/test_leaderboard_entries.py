"""Submissions to a leaderboard: what their names may be, and whose fault it is when one cannot be scored."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.evaluation.submission import read_submission
from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors import boards as board_selectors
from curation.leaderboard.services import boards as services
from curation.leaderboard.services import entries
from curation.records import InvalidInput
from hits.domain.states import JobState
from hits.models import Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.curation.leaderboards import (
    COMPARISON,
    EXPECTED,
    RETRIEVAL,
    made_board,
    predictions,
    scored,
    submitted_entry,
    zipped,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(project: Project) -> Leaderboard:
    """Return an open leaderboard of two tasks, on which a team may have one submission scored."""
    return made_board(project, limits=services.SubmissionLimits(daily=1, total=1))


@pytest.fixture
def team(board: Leaderboard) -> LeaderboardTeam:
    """Return a team of it."""
    return services.add_team(board=board, name="Baker Street", by=None)[0]


def by_id() -> bytes:
    """Return a perfect zip whose scores stand beside their ids, so that the keys are read to put them in order."""
    ids = {"comparison": ("c1", "c2", "c3"), "retrieval_0": tuple(RETRIEVAL)}
    scores = {"comparison": (1, 2, 3), "retrieval_0": (9, 0, 0, 9)}
    return zipped(
        {
            f"test_set_predictions/{name}.json": json.dumps(
                dict(zip(ids[name], scores[name], strict=True))
            ).encode()
            for name in ids
        }
    )


def test_a_zip_of_another_name_leaves_no_trace_and_is_taken_once_renamed(team: LeaderboardTeam) -> None:
    for _ in range(2):  # a double click
        with pytest.raises(
            Refused, match=r"^file: its name is mine\.zip; rename it to test_set_predictions\.zip"
        ):
            submitted_entry(team, predictions(), file_name="mine.zip")
    assert not LeaderboardEntry.objects.exists()
    assert list((board_selectors.board_folder(team.leaderboard) / "entries").iterdir()) == []
    entry = scored(team, predictions(), file_name="test_set_predictions.zip")
    assert (entry.state, entry.file_name) == (EntryState.SCORED, "test_set_predictions.zip")
    assert board_selectors.team_usage(team).total == 1
    again = submitted_entry(team, predictions(), file_name="mine.zip")
    assert again == entry, "what is known is known by any name"


TAKEN = (
    "test_set_predictions.zip",
    "test_set_submission.zip",
    "test_set_predictions (1).zip",
    "test_set_predictions(12).zip",
    "C:\\work\\test_set_predictions.zip",
)
NOT_TAKEN = (
    "mine.zip",
    "Test_set_predictions.zip",
    "test_set_predictions.zip.zip",
    "test_set_predictions (a).zip",
    "my test_set_predictions.zip",
    "test_set_predictions.tar",
    "",
)


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """Return a zip that can be scored, but for its name."""
    place = tmp_path / "sent.zip"
    place.write_bytes(predictions())
    return place


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_that_is_taken_can_be_scored(team: LeaderboardTeam, sent: Path, name: str) -> None:
    held = board_selectors.board_folder(team.leaderboard) / "held"
    assert read_submission(sent, file_name=name, expected=EXPECTED, keys=held).scores
    assert scored(team, predictions(), file_name=name).state == EntryState.SCORED


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_a_name_that_is_not_taken_could_not_be_scored(team: LeaderboardTeam, sent: Path, name: str) -> None:
    held = board_selectors.board_folder(team.leaderboard) / "held"
    with pytest.raises(InvalidInput, match="is not called"):
        read_submission(sent, file_name=name, expected=EXPECTED, keys=held)
    with pytest.raises(Refused, match="file: its name is"):
        submitted_entry(team, predictions(), file_name=name)


def _lost(key: Path) -> None:
    key.unlink()


def _cut_off(key: Path) -> None:
    key.write_text(key.read_text()[:-5])


def _without_an_id(key: Path) -> None:
    whole = json.loads(key.read_text())
    ids = whole.get("test_id_map", whole)
    del ids[next(iter(ids))]
    key.write_text(json.dumps(whole))


def _of_another_kind(key: Path) -> None:
    key.write_text(json.dumps({"ids": 3}))


@pytest.mark.parametrize("harm", [_lost, _cut_off, _without_an_id, _of_another_kind])
@pytest.mark.parametrize("name", ["comparison", "retrieval_0"])
@pytest.mark.parametrize("data", [by_id(), predictions()], ids=["json", "npy"])
def test_a_lost_or_broken_key_is_never_charged_to_the_team(
    board: Leaderboard, team: LeaderboardTeam, harm: Callable[[Path], None], name: str, data: bytes
) -> None:
    key = next((board_selectors.board_folder(board) / "held").rglob(f"*_{name}_answer_key.json"))
    whole = key.read_text()
    harm(key)
    entry = scored(team, data)
    assert entry.job is not None
    assert (entry.state, entry.defect) == (EntryState.QUEUED, "")
    assert entries.entry_zip_path(entry).read_bytes() == data, "the zip is kept"
    assert entry.job.state == JobState.FAILED
    message = entry.job.error
    assert message.startswith(f"the answer key of {name} "), message
    assert f"restore {board.path}/held" in message
    assert "\n" not in message
    assert str(board_selectors.board_folder(board)) not in message
    key.write_text(whole)
    jobs.run_in_process(job=jobs.resume_job(job=entry.job, queue=False))
    entry.refresh_from_db()
    assert (entry.state, entry.figures["retrieval"]["p_at_1"]["value"]) == (EntryState.SCORED, 100.0)


def test_a_key_that_is_whole_but_makes_no_sense_is_the_servers_fault(
    board: Leaderboard, team: LeaderboardTeam
) -> None:
    key = next((board_selectors.board_folder(board) / "held").rglob("*comparison_answer_key.json"))
    broken: dict[str, Any] = COMPARISON | {"annotations": "none"}
    key.write_text(json.dumps(broken))
    entry = scored(team, by_id())
    assert entry.job is not None
    assert (entry.state, entry.job.state) == (EntryState.QUEUED, JobState.FAILED)
    assert entry.job.error.startswith("an answer key is damaged (answer key: "), entry.job.error
