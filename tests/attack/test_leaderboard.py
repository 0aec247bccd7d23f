"""Attacks on leaderboards: keys, other people's boards, hostile zips, names and requests."""

import io
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors.boards import board_folder
from curation.leaderboard.services import boards as services
from curation.leaderboard.services import entries
from curation.leaderboard.views.boards import make_receipt
from hits.domain.states import JobState
from hits.models import Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.curation.leaderboards import (
    PERFECT,
    made_board,
    npy,
    predictions,
    scored,
    submitted_entry,
    variant,
    zipped,
)
from tests.support.threads import together

pytestmark = pytest.mark.django_db
ZIP = "test_set_predictions.zip"
HTML = "<img src=x onerror=alert(1)>"


@pytest.fixture
def board(project: Project) -> Leaderboard:
    """Return an open, public leaderboard."""
    board = made_board(project)
    services.set_board_is_public(board=board, is_public=True, by=None)
    return board


@pytest.fixture
def team(board: Leaderboard) -> tuple[LeaderboardTeam, str]:
    """Return a team and its key."""
    return services.add_team(board=board, name="Baker Street", by=None)


def send(client: Client, board: Leaderboard, key: str, data: bytes, name: str = ZIP, **more: Any) -> Any:
    return client.post(
        reverse("api-leaderboard-submissions", args=[board.slug]),
        {"file": SimpleUploadedFile(name, data), "model": "M"} | more,
        headers={"authorization": f"Bearer {key}"},
    )


WAYS_OUT = [
    "held/all_comparison/all_comparison_answer_key.json",
    "../held/all_comparison/all_comparison_answer_key.json",
    "all_comparison/../../held/all_comparison/all_comparison_answer_key.json",
    "%2e%2e/held/all_comparison/all_comparison_answer_key.json",
    "..%2fheld%2fall_comparison%2fall_comparison_answer_key.json",
    "....//held/all_comparison/all_comparison_answer_key.json",
    "..\\held\\all_comparison\\all_comparison_answer_key.json",
    "manifest.json",
    "../manifest.json",
    "/etc/passwd",
    "//etc/passwd",
    "entries/",
    "all_comparison/%2e%2e/all_comparison/all_comparison_instance_ids.json",
    "./instances.zip",
]


@pytest.mark.parametrize("way", WAYS_OUT)
def test_answer_keys_are_not_served(board: Leaderboard, admin: User, way: str) -> None:
    client = Client()
    client.force_login(admin)  # not even a member gets them
    reply = client.get(f"/leaderboards/{board.slug}/files/{way}")
    assert reply.status_code in {301, 404}, way
    if reply.status_code == 301:
        assert client.get(reply.headers["Location"]).status_code == 404


def test_leaderboard_files_are_not_served_as_media(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    entry = scored(team[0], predictions())
    home = board_folder(board)
    for path in [*home.rglob("*.json"), entries.entry_zip_path(entry)]:
        place = path.relative_to(home.parent.parent).as_posix()
        for host in ("localhost", "127.0.0.1"):
            for start in ("/media/", "/media/images/../", "/media/images/ab/../../"):
                assert client.get(start + place, headers={"host": host}).status_code in {400, 404}


def test_private_leaderboard_looks_like_missing_one(project: Project, client: Client) -> None:
    hidden = made_board(project, title="Secret plans")
    for path in ("", "submit", "mine", "files/instances.zip", "entries/1:abc"):
        bodies = []
        for slug in (hidden.slug, "no-such-board"):
            reply = client.get(f"/leaderboards/{slug}/{path}")
            assert reply.status_code == 404
            bodies.append(reply.text.replace(slug, ""))
        assert bodies[0] == bodies[1], path
    replies = [
        client.post(
            f"/api/leaderboards/{slug}/submissions/",
            {"model": "M"},
            headers={"authorization": "Bearer guess"},
        )
        for slug in (hidden.slug, "no-such-board")
    ]
    assert {(reply.status_code, reply.content) for reply in replies} == {
        (401, replies[0].content),
    }
    tables = [client.get(f"/api/leaderboards/{slug}/") for slug in (hidden.slug, "no-such-board")]
    assert {(reply.status_code, reply.content) for reply in tables} == {(404, tables[0].content)}


def test_sign_out_ends_member_access(project: Project, researcher: User, client: Client) -> None:
    hidden = made_board(project)
    client.force_login(researcher)
    place = reverse("leaderboard", args=[hidden.slug])
    assert client.get(place).status_code == 200
    client.session.flush()
    client.cookies["sessionid"] = "0" * 32
    assert client.get(place).status_code == 404
    manage_page = client.get(reverse("leaderboard-manage", args=[project.slug, hidden.pk]))
    assert manage_page.status_code == 302


def test_forms_need_csrf_token(board: Leaderboard, team: tuple[LeaderboardTeam, str], admin: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    at = [board.project.slug, board.pk]
    for name, more in (
        ("leaderboard-open", []),
        ("leaderboard-publish", []),
        ("leaderboard-teams", []),
        ("leaderboard-team-key", [team[0].pk]),
        ("leaderboard-team-active", [team[0].pk]),
    ):
        assert client.post(reverse(name, args=[*at, *more]), {"name": "X"}).status_code == 403, name
    form = {"key": team[1], "model": "M", "file": SimpleUploadedFile(ZIP, predictions())}
    assert client.post(reverse("leaderboard-submit", args=[board.slug]), form).status_code == 403
    assert (
        client.post(reverse("leaderboard-team-submissions", args=[board.slug]), {"key": team[1]}).status_code
        == 403
    )
    board.refresh_from_db()
    assert board.is_open
    assert board.is_public
    assert not LeaderboardEntry.objects.exists()


def test_actions_refuse_get(board: Leaderboard, team: tuple[LeaderboardTeam, str], admin: User) -> None:
    client = Client()
    client.force_login(admin)
    at = [board.project.slug, board.pk]
    for name, more in (
        ("leaderboard-open", []),
        ("leaderboard-publish", []),
        ("leaderboard-team-key", [team[0].pk]),
        ("leaderboard-team-active", [team[0].pk]),
    ):
        assert client.get(reverse(name, args=[*at, *more])).status_code == 405, name
    assert services.find_team_by_key(board=board, key=team[1]) == team[0]


def test_team_key_in_url_is_not_accepted(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    place = reverse("api-leaderboard-submissions", args=[board.slug])
    for query in ({"key": team[1]}, {"token": team[1]}, {"Authorization": f"Bearer {team[1]}"}):
        assert client.get(place, query).status_code == 401
    form = {"file": SimpleUploadedFile(ZIP, predictions()), "model": "M", "key": team[1]}
    assert client.post(place, form).status_code == 401, "nor in a form field of the API"
    page = client.get(reverse("leaderboard-team-submissions", args=[board.slug]), {"key": team[1]})
    assert "Baker Street" not in page.text
    for cookie in ("key", "token", "sessionid"):
        client.cookies[cookie] = team[1]
    assert client.get(place).status_code == 401


@pytest.mark.parametrize(
    "given",
    ["", " ", "\x00", "' OR 1=1 --", "é" * 50, "9" * 10_000, "\udcff"],
    ids=["empty", "space", "nul", "sql", "letters", "long", "surrogate"],
)
def test_malformed_team_keys_are_refused(board: Leaderboard, given: str) -> None:
    services.add_team(board=board, name="Baker Street", by=None)
    assert services.find_team_by_key(board=board, key=given) is None


def test_hash_of_team_key_is_not_accepted(board: Leaderboard, team: tuple[LeaderboardTeam, str]) -> None:
    assert services.find_team_by_key(board=board, key=team[0].token_sha256) is None


def test_receipt_cannot_be_forged(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], project: Project, client: Client
) -> None:
    entry = submitted_entry(team[0], predictions())
    good = make_receipt(entry)
    number, _, signature = good.partition(":")
    for made_up in (
        number,
        f"{number}:",
        f"{int(number) + 1}:{signature}",
        f"{number}:{'x' * 43}",
        "a:b",
        ":",
    ):
        place = reverse("leaderboard-entry", args=[board.slug, "x"]).removesuffix("x") + made_up
        assert client.get(place).status_code == 404, made_up
    other = made_board(project, title="Another")
    services.set_board_is_public(board=other, is_public=True, by=None)
    assert client.get(reverse("leaderboard-entry", args=[other.slug, good])).status_code == 404
    assert client.get(reverse("leaderboard-entry", args=[board.slug, good])).status_code == 200


def bomb() -> bytes:
    """Return a zip of a few kilobytes that unpacks to 64 MB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("test_set_predictions/comparison.npy", npy([1, 2, 3]) + b"\0" * (64 << 20))
    return out.getvalue()


def lying_bomb() -> bytes:
    """Return the same with a directory that claims a small size."""
    data = bomb()
    real = struct.pack("<L", len(npy([1, 2, 3])) + (64 << 20))
    return data.replace(real, struct.pack("<L", 152))


def huge_header() -> bytes:
    """Return a zip whose array claims 2**60 numbers."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": (1 << 60,)})
    return zipped({"test_set_predictions/comparison.npy": out.getvalue() + b"\0" * 24})


def pickled() -> bytes:
    """Return a zip with an array of objects, which numpy keeps as a pickle."""
    out = io.BytesIO()
    np.save(out, np.array([{"a": 1}, 2, 3], dtype=object), allow_pickle=True)
    return zipped({"test_set_predictions/comparison.npy": out.getvalue()})


def linked() -> bytes:
    """Return a zip whose only file is a symbolic link to a password file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("test_set_predictions/comparison.npy")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return out.getvalue()


def many_files() -> bytes:
    return zipped({f"test_set_predictions/{n}.npy": b"" for n in range(2000)})


def encrypted() -> bytes:
    data = bytearray(predictions())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        data[at + place] |= 1
    return bytes(data)


@pytest.mark.parametrize(
    "make",
    [
        bomb,
        lying_bomb,
        huge_header,
        pickled,
        linked,
        many_files,
        encrypted,
        lambda: zipped({"../../../../tmp/escaped.npy": npy([1, 2, 3])}),
        lambda: zipped({"/etc/cron.d/x": b"x", "test_set_predictions/comparison.npy": npy([1, 2, 3])}),
        lambda: zipped({"test_set_predictions/../comparison.npy": npy([1, 2, 3])}),
        lambda: zipped({"test_set_predictions/comparison.npy": npy([1, 2, 3], np.complex128)}),
        lambda: zipped({"test_set_predictions/comparison.npy": npy([[1, 2, 3]])}),
        lambda: zipped({"test_set_predictions/comparison.npy": npy([1, np.inf, 3])}),
        lambda: zipped({"test_set_predictions/comparison.json": b"[" * 200_000}),
        lambda: predictions()[:-30],
        lambda: b"PK\x05\x06" + b"\0" * 18,
    ],
)
def test_hostile_zip_is_refused_with_one_line_message(
    team: tuple[LeaderboardTeam, str], make: Callable[[], bytes]
) -> None:
    entry = scored(team[0], make())
    assert entry.job is not None
    entry.job.refresh_from_db()
    assert (entry.state, entry.job.state) == (EntryState.REFUSED, JobState.DONE), entry.job.error
    assert entry.defect
    assert "\n" not in entry.defect
    assert str(board_folder(team[0].leaderboard)) not in entry.defect
    assert "Traceback" not in entry.defect
    kept = list((board_folder(team[0].leaderboard) / "entries").iterdir())
    assert kept == []


@pytest.mark.parametrize(
    "name",
    ["../../../evil.zip", "..\\..\\evil.zip", "/abs/path.zip", "a" * 300 + ".zip", "\u202egpj.zip", "."],
)
def test_file_names_cannot_escape_folder(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], name: str
) -> None:
    with pytest.raises(Refused) as refusal:
        submitted_entry(team[0], predictions(), file_name=name)
    match = re.fullmatch(
        r"file: its name is (.*); rename it to test_set_predictions\.zip and .*", str(refusal.value)
    )
    assert match is not None
    assert not {"/", "\\"} & set(match[1])
    assert match[1].isprintable()
    assert len(match[1]) <= 120
    assert not LeaderboardEntry.objects.exists()
    assert not list((board_folder(board) / "entries").glob("*"))


def test_names_are_escaped_on_all_pages(board: Leaderboard, researcher: User, client: Client) -> None:
    team, key = services.add_team(board=board, name=HTML, by=None)
    services.change_leaderboard(
        board=board, wording=services.Wording(HTML, HTML), limits=services.SubmissionLimits(9, 9), by=None
    )
    form = {"description": HTML, "url": 'https://example.org/"><script>'}
    refused = send(client, board, key, predictions(), **form)
    assert refused.status_code == 400, "no address of the web has quotation marks"
    sent = send(client, board, key, predictions(), description=HTML, model=HTML)
    entry = LeaderboardEntry.objects.get(pk=sent.json()["id"])
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    broken = scored(team, zipped({f"{HTML}/comparison.npy": npy([1, 2, 3])}), model=HTML)
    client.force_login(researcher)
    at = [board.project.slug, board.pk]
    for place in (
        reverse("leaderboard-list"),
        reverse("leaderboard", args=[board.slug]),
        reverse("leaderboard", args=[board.slug]) + "?all=1&sort=" + HTML,
        reverse("leaderboard-entry", args=[board.slug, make_receipt(entry)]),
        reverse("leaderboard-entry", args=[board.slug, make_receipt(broken)]),
        reverse("leaderboards", args=at[:1]),
        reverse("leaderboard-manage", args=at),
    ):
        text = client.get(place).text
        assert HTML not in text, place
        if "sort" not in place:
            assert "&lt;img" in text, place
    mine = client.post(reverse("leaderboard-team-submissions", args=[board.slug]), {"key": key})
    assert HTML not in mine.text


def test_pages_and_replies_reveal_no_person_or_key(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client, admin: User
) -> None:
    User.objects.filter(pk=admin.pk).update(email="ada@example.org")
    LeaderboardTeam.objects.filter(pk=team[0].pk).update(created_by=admin)
    receipt = make_receipt(scored(team[0], predictions()))
    headers = {"authorization": f"Bearer {team[1]}"}
    for place in (
        reverse("leaderboard", args=[board.slug]),
        reverse("leaderboard-entry", args=[board.slug, receipt]),
        reverse("api-leaderboard", args=[board.slug]),
        reverse("api-leaderboard-submissions", args=[board.slug]),
    ):
        text = client.get(place, headers=headers if "/api/" in place else {}).content.decode()
        # Random letters may spell anything: those of the form's token and of the entry's own address do not count.
        text = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text).replace(receipt, "")
        for secret in (team[1], team[0].token_sha256, "ada@example.org", '"ada"', ">ada<", "W1"):
            assert secret not in text, (place, secret)


def test_too_large_upload_is_refused_before_reading(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client, settings: Any
) -> None:
    settings.LEADERBOARD_MAX_BYTES = 1000
    settings.FILE_UPLOAD_HANDLERS = ["tests.attack.test_leaderboard.NothingMayBeRead"]
    data = b"x" * 200_000
    assert send(client, board, team[1], data).status_code == 413
    form = {"key": team[1], "model": "M", "file": SimpleUploadedFile(ZIP, data)}
    page = client.post(reverse("leaderboard-submit", args=[board.slug]), form)
    assert page.status_code == 413
    assert "larger than 1000 bytes" in page.text


class UnreadableInput:
    """An upload handler that fails the test when it is asked anything."""

    def __init__(self, request: Any) -> None:
        raise AssertionError("the body was looked at")


@pytest.mark.parametrize("length", ["-1", "1e3", "x", "9" * 400])
def test_invalid_content_lengths_are_refused(board: Leaderboard, client: Client, length: str) -> None:
    place = reverse("api-leaderboard-submissions", args=[board.slug])
    reply = client.generic("POST", place, b"", CONTENT_LENGTH=length)
    assert reply.status_code in {400, 401, 413}


@pytest.mark.django_db(transaction=True)
def test_burst_of_submissions_respects_limits(project: Project) -> None:
    board = made_board(project, limits=services.SubmissionLimits(daily=2, total=50))
    services.set_board_is_public(board=board, is_public=True, by=None)
    _, key = services.add_team(board=board, name="Baker Street", by=None)
    replies = together(
        [lambda n=n: send(Client(), board, key, variant(n)).status_code for n in range(8)]  # type: ignore[misc]
    )
    assert sorted(replies) == [201] * 2 + [429] * 6
    assert LeaderboardEntry.objects.count() == 2


@pytest.mark.parametrize("query", [{"sort": "x" * 5000}, {"all": "2"}, {"sort": "p_at_1", "all": "٣"}])
def test_malformed_queries_get_default_table(
    board: Leaderboard, client: Client, query: dict[str, str]
) -> None:
    for name in ("leaderboard", "api-leaderboard"):
        assert client.get(reverse(name, args=[board.slug]), query).status_code == 200


def test_perfect_submission_is_scored_once(
    team: tuple[LeaderboardTeam, str], board: Leaderboard, client: Client
) -> None:
    """Sending one zip again and again, by page and by API, makes no second entry and no second job."""
    for _ in range(3):
        send(client, board, team[1], predictions(PERFECT))
        form = {"key": team[1], "model": "Other", "file": SimpleUploadedFile(ZIP, predictions(PERFECT))}
        client.post(reverse("leaderboard-submit", args=[board.slug]), form)
    assert LeaderboardEntry.objects.count() == 1
