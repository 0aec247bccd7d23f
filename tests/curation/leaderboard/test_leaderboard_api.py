"""A leaderboard for scripts: bearer keys, replies, errors and limits."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from curation.leaderboard.models import EntryWithdrawal, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors.boards import board_folder
from curation.leaderboard.services import boards as services
from curation.leaderboard.services import entries
from curation.leaderboard.views.boards import make_receipt
from hits.models import Project
from hits.models.base import AppendOnlyError
from hits.services.jobs import jobs
from tests.support.curation.leaderboards import HALF, made_board, npy, predictions, scored, zipped
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
ZIP = "test_set_predictions.zip"


@pytest.fixture
def board(project: Project) -> Leaderboard:
    """Return an open leaderboard that members alone see."""
    return made_board(project, limits=services.SubmissionLimits(daily=2, total=3))


@pytest.fixture
def team(board: Leaderboard) -> tuple[LeaderboardTeam, str]:
    """Return a team and its key."""
    return services.add_team(board=board, name="Baker Street", by=None)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def send(client: Client, board: Leaderboard, key: str, data: bytes = b"", **more: Any) -> Any:
    form = {"file": SimpleUploadedFile(ZIP, data or predictions()), "model": "ViT-B/16"} | more
    return client.post(
        reverse("api-leaderboard-submissions", args=[board.slug]), form, headers=bearer(key) if key else {}
    )


def test_a_submission_is_followed_to_its_figures(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    reply = send(client, board, team[1], description="Two crops", url="https://example.org")
    assert reply.status_code == 201
    found = reply.json()
    assert (found["state"], found["is_over"], found["figures"], found["defect"]) == ("queued", False, {}, "")
    again = send(client, board, team[1])
    assert (again.status_code, again.json()["id"]) == (200, found["id"])
    entry = LeaderboardEntry.objects.get()
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    place = reverse("api-leaderboard-submission", args=[board.slug, entry.pk])
    assert found["address"].endswith(place)
    done = client.get(place, headers=bearer(team[1])).json()
    assert (done["state"], done["is_over"]) == ("scored", True)
    assert done["figures"]["retrieval"]["p_at_1"]["value"] == 100.0
    mine = client.get(
        reverse("api-leaderboard-submissions", args=[board.slug]), headers=bearer(team[1])
    ).json()
    assert mine["limits"] == {"daily": 2, "used_within_24_hours": 1, "total": 3, "used": 1}
    assert [one["id"] for one in mine["submissions"]] == [entry.pk]


def test_a_defect_is_the_entrys_and_no_error_of_the_request(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    found = send(client, board, team[1], b"no zip").json()
    entry = LeaderboardEntry.objects.get()
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    done = client.get(found["address"], headers=bearer(team[1])).json()
    assert (done["state"], done["figures"]) == ("refused", {})
    assert "not a complete zip file" in done["defect"]


def test_api_has_notes_of_the_entry_page(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    scores = {"comparison": [1, 2, 3], "retrieval_0": [9, 0, 0, 9]}
    data = zipped({f"test_set_submission/{name}.npy": npy(values) for name, values in scores.items()})
    assert send(client, board, team[1], data).json()["notes"] == [], "it is not read yet"
    entry = LeaderboardEntry.objects.get()
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    place = reverse("api-leaderboard-submission", args=[board.slug, entry.pk])
    (note,) = client.get(place, headers=bearer(team[1])).json()["notes"]
    assert note.startswith("test_set_submission is the name in the README")


def test_a_zip_of_another_name_is_turned_away_and_taken_once_renamed(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    reply = send(client, board, team[1], file=SimpleUploadedFile("mine.zip", predictions()))
    assert reply.status_code == 400
    assert reply.json()["error"].startswith(
        "file: its name is mine.zip; rename it to test_set_predictions.zip"
    )
    assert send(client, board, team[1]).status_code == 201


def test_errors_have_the_same_shape_as_in_other_apis(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client, settings: Any
) -> None:
    for reply, code, message in (
        (send(client, board, ""), 401, "key: is missing"),
        (send(client, board, "guess"), 401, "key: this key is not valid"),
        (send(client, board, team[1], model=""), 400, "The request is not valid"),
        (send(client, board, team[1], url="javascript:x"), 400, "not a web address"),
    ):
        assert reply.status_code == code, reply.content
        assert message in reply.json()["error"]
        assert isinstance(reply.json()["errors"], list)
    assert send(client, board, team[1], model="").json()["errors"][0]["field"] == "model"
    settings.LEADERBOARD_MAX_BYTES = 100
    assert send(client, board, team[1]).status_code == 413
    services.set_board_is_open(board=board, is_open=False, by=None)
    settings.LEADERBOARD_MAX_BYTES = 10_000
    closed = send(client, board, team[1])
    assert (closed.status_code, "closed" in closed.json()["error"]) == (400, True)


def test_limits_answer_429(board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client) -> None:
    for number in range(2):
        scores = {"comparison": [1, 2, 3], "retrieval_0": [9 + number, 0, 0, 9]}
        assert send(client, board, team[1], predictions(scores)).status_code == 201
    full = send(client, board, team[1], predictions(HALF))
    assert full.status_code == 429
    assert "2 of 2 submissions within 24 hours" in full.json()["error"]


def test_a_session_is_no_key(board: Leaderboard, researcher: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(researcher)
    reply = send(client, board, "")
    assert reply.status_code == 401
    assert reply.headers["WWW-Authenticate"] == "Bearer"
    place = reverse("api-leaderboard-submissions", args=[board.slug])
    assert client.get(place).status_code == 401


def test_a_key_needs_no_cross_site_token(board: Leaderboard, team: tuple[LeaderboardTeam, str]) -> None:
    assert send(Client(enforce_csrf_checks=True), board, team[1]).status_code == 201


def test_the_table_is_for_whom_the_page_is_and_for_its_teams(
    board: Leaderboard,
    team: tuple[LeaderboardTeam, str],
    client: Client,
    researcher: User,
    outsider: User,
) -> None:
    scored(team[0], predictions(HALF))
    place = reverse("api-leaderboard", args=[board.slug])
    assert client.get(place).status_code == 404
    client.force_login(outsider)
    assert client.get(place).status_code == 404
    client.force_login(researcher)
    assert client.get(place).status_code == 200
    client.logout()
    found = client.get(place, headers=bearer(team[1])).json()
    assert found["entries"][0]["team"] == "Baker Street"
    assert found["entries"][0]["figures"]["p_at_1"]["value"] == 50.0
    assert found["references"][0]["figures"]["comparison"]["value"] == 33.3
    assert found["measures"][0] == {
        "name": "p_at_1",
        "task": "retrieval",
        "unit": "%",
        "better": "high",
        "count": 2,
        "counted": "instances",
    }
    assert client.get(place, headers=bearer("guess")).status_code == 401
    services.set_team_is_active(team=team[0], is_active=False, by=None)
    assert client.get(place, headers=bearer(team[1])).status_code == 404


def file_places(board: Leaderboard) -> list[str]:
    """Return the addresses of the list of files and of one of them."""
    return [
        reverse("api-leaderboard-files", args=[board.slug]),
        reverse("api-leaderboard-file", args=[board.slug, "instances.zip"]),
    ]


def test_a_team_gets_the_files_of_a_board_that_is_not_public(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    home = board_folder(board)
    table = client.get(reverse("api-leaderboard", args=[board.slug]), headers=bearer(team[1])).json()
    listed = client.get(file_places(board)[0], headers=bearer(team[1])).json()["files"]
    assert table["files"] == listed
    assert [file["name"] for file in listed] == [
        "instances.zip",
        "all_comparison/all_comparison_instance_ids.json",
        "all_retrieval/all_retrieval_0_instance_ids.json",
    ]
    for file in listed:
        reply = client.get(file["address"], headers=bearer(team[1]) | {"accept": "application/zip"})
        assert reply.status_code == 200
        data = b"".join(reply.streaming_content)
        name = file["name"]
        assert data == (home / name if name == "instances.zip" else home / "public" / name).read_bytes()
        assert len(data) == file["bytes"]
        assert "attachment" in reply.headers["Content-Disposition"]
    assert (
        f'"{board.slug}-instances.zip"'
        in client.get(listed[0]["address"], headers=bearer(team[1])).headers["Content-Disposition"]
    )


def test_files_are_for_whom_the_page_is_and_for_the_boards_own_teams(
    board: Leaderboard,
    team: tuple[LeaderboardTeam, str],
    client: Client,
    researcher: User,
    annotator: User,
    outsider: User,
) -> None:
    other = made_board(board.project, title="Another")
    _, foreign = services.add_team(board=other, name="Baker Street", by=None)
    for place in file_places(board):
        assert client.get(place).status_code == 404
        for key in ("guess", foreign):
            assert client.get(place, headers=bearer(key)).status_code == 401
        for user, code in ((outsider, 404), (annotator, 404), (researcher, 200)):
            member = Client()
            member.force_login(user)
            assert member.get(place).status_code == code, user
        assert client.get(place, headers=bearer(team[1])).status_code == 200
        assert client.post(place, headers=bearer(team[1])).status_code == 405
    services.set_team_is_active(team=team[0], is_active=False, by=None)
    for place in file_places(board):
        assert client.get(place, headers=bearer(team[1])).status_code == 404
    services.set_board_is_public(board=board, is_public=True, by=None)
    for place in file_places(board):
        assert client.get(place).status_code == 200


def test_held_keys_are_no_files(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client, researcher: User
) -> None:
    scored(team[0], predictions())
    home = board_folder(board)
    (home / "public" / "link.json").symlink_to(next((home / "held").rglob("*answer_key.json")))
    base = file_places(board)[0]
    secret = [path for folder in ("held", "entries") for path in (home / folder).rglob("*") if path.is_file()]
    assert len(secret) == 3
    names = ["link.json", "held", "held/", "../held/", "all_comparison", "all_comparison/", "no.json"]
    for path in secret:
        inside = path.relative_to(home).as_posix()
        names += [
            path.name,
            inside,
            f"../{inside}",
            f"..%2F{inside}",
            f"%2e%2e/{inside}",
            f"/{path}",
            str(path),
        ]
    member = Client()
    member.force_login(researcher)
    for name in names:
        assert client.get(base + name, headers=bearer(team[1])).status_code == 404, name
        assert member.get(base + name).status_code == 404, name
    listing = client.get(base, headers=bearer(team[1])).text
    assert not any(word in listing for word in ("answer_key", "held", "link.json", str(home)))


def test_another_teams_submission_is_not_found(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    entry = scored(team[0], predictions())
    _, key = services.add_team(board=board, name="Scotland Yard", by=None)
    place = reverse("api-leaderboard-submission", args=[board.slug, entry.pk])
    assert client.get(place, headers=bearer(key)).status_code == 404
    assert client.get(place).status_code == 401


def test_guessing_keys_is_slowed_down(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    place = reverse("api-leaderboard-submissions", args=[board.slug])
    codes = [
        client.get(place, headers=bearer(f"guess {n}")).status_code for n in range(entries.MAX_WRONG_KEYS + 2)
    ]
    assert codes == [401] * entries.MAX_WRONG_KEYS + [429] * 2
    assert client.get(place, headers=bearer(team[1])).status_code == 429, "else the right one would stand out"


def test_a_team_withdraws_its_own_entry_once_and_for_good(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client, researcher: User
) -> None:
    entry = scored(team[0], predictions(HALF), model="Too early")
    _, other = services.add_team(board=board, name="Lestrade", by=None)
    place = reverse("api-leaderboard-withdrawal", args=[board.slug, entry.pk])
    assert client.post(place).status_code == 401
    assert client.post(place, headers=bearer(other)).status_code == 404
    for _ in range(2):
        assert client.post(place, headers=bearer(team[1])).json()["is_withdrawn"] is True
    withdrawal = EntryWithdrawal.objects.get()
    with pytest.raises(AppendOnlyError):
        withdrawal.delete()
    table = reverse("api-leaderboard", args=[board.slug])
    assert client.get(table, headers=bearer(team[1])).json()["entries"] == []
    mine = client.get(
        reverse("api-leaderboard-submissions", args=[board.slug]), headers=bearer(team[1])
    ).json()
    assert (mine["limits"]["used"], mine["submissions"][0]["is_withdrawn"]) == (1, True)
    client.force_login(researcher)
    page = squeezed(client.get(reverse("leaderboard-manage", args=[board.project.slug, board.pk])))
    assert "Withdrawn by its team" in page
    assert "Too early" in page


def test_an_entry_is_withdrawn_on_its_page_with_its_teams_key_alone(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client, researcher: User
) -> None:
    entry = scored(team[0], predictions())
    _, other = services.add_team(board=board, name="Lestrade", by=None)
    client.force_login(researcher)
    place = reverse("leaderboard-withdraw", args=[board.slug, make_receipt(entry)])
    for key, words in (("wrong", "not valid here"), (other, "not your team’s")):
        refused = client.post(place, {"key": key})
        assert refused.status_code == 400
        assert words.replace("’", "&#x27;") in refused.text
    assert not EntryWithdrawal.objects.exists()
    done = client.post(place, {"key": team[1]}, follow=True)
    assert "The team withdrew the submission" in done.text
    assert "See the entry in the table" not in done.text
