"""Pages of leaderboards: who may open which, what they show, and the way of a submission through them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.leaderboard.models import EntryState, Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors.boards import board_folder
from curation.leaderboard.services import boards as services
from curation.leaderboard.services import entries
from curation.leaderboard.views.boards import make_receipt
from curation.models import VersionImage
from hits.domain.states import JobState
from hits.models import AuditEvent, Image, Job, Project
from hits.services.jobs import jobs
from tests.support.curation.leaderboards import (
    HALF,
    made_board,
    predictions,
    scored,
    sealed_version,
    submitted_entry,
)
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
ZIP = "test_set_predictions.zip"


@pytest.fixture
def board(project: Project) -> Leaderboard:
    """Return an open leaderboard that members alone see."""
    return made_board(project)


@pytest.fixture
def team(board: Leaderboard) -> tuple[LeaderboardTeam, str]:
    """Return a team and its key."""
    return services.add_team(board=board, name="Baker Street", by=None)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def console_urls(
    board: Leaderboard, team: LeaderboardTeam, entry: LeaderboardEntry
) -> dict[str, tuple[str, str]]:
    """Return each console page's method and URL."""
    at = [board.project.slug, board.pk]
    return {
        "list": ("get", reverse("leaderboards", args=at[:1])),
        "manage": ("get", reverse("leaderboard-manage", args=at)),
        "change": ("post", reverse("leaderboard-manage", args=at)),
        "open": ("post", reverse("leaderboard-open", args=at)),
        "publish": ("post", reverse("leaderboard-publish", args=at)),
        "team": ("post", reverse("leaderboard-teams", args=at)),
        "key": ("post", reverse("leaderboard-team-key", args=[*at, team.pk])),
        "active": ("post", reverse("leaderboard-team-active", args=[*at, team.pk])),
        "hidden": ("post", reverse("leaderboard-entry-hidden", args=[*at, entry.pk])),
    }


def test_only_project_researchers_open_console_pages(
    board: Leaderboard,
    team: tuple[LeaderboardTeam, str],
    researcher: User,
    outsider: User,
    annotator: User,
    client: Client,
) -> None:
    entry = scored(team[0], predictions())
    for name, (method, path) in console_urls(board, team[0], entry).items():
        for user in (outsider, annotator):
            assert getattr(signed_in(user), method)(path).status_code == 404, (name, user)
        reply = getattr(client, method)(path)
        assert reply.status_code == 302, name
        assert reply.headers["Location"].startswith("/sign-in/"), name
        expected = {"publish": {403}, "change": {400}, "team": {400}}.get(name, {200, 302})
        assert getattr(signed_in(researcher), method)(path).status_code in expected, name


def test_another_projects_board_is_not_found_under_ones_own(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], outsider: User
) -> None:
    entry = scored(team[0], predictions())
    theirs = outsider.memberships.get().project
    for name, (method, path) in console_urls(board, team[0], entry).items():
        if name != "list":
            moved = path.replace(f"/projects/{board.project.slug}/", f"/projects/{theirs.slug}/")
            code = getattr(signed_in(outsider), method)(moved, {"hidden": "1"}).status_code
            assert code == (403 if name == "publish" else 404), name
    team[0].refresh_from_db()
    entry.refresh_from_db()
    assert team[0].is_active
    assert not entry.is_hidden


def public_places(board: Leaderboard, entry: LeaderboardEntry) -> dict[str, str]:
    """Every address of the pages for everybody."""
    return {
        "board": reverse("leaderboard", args=[board.slug]),
        "submit": reverse("leaderboard-submit", args=[board.slug]),
        "mine": reverse("leaderboard-team-submissions", args=[board.slug]),
        "entry": reverse("leaderboard-entry", args=[board.slug, make_receipt(entry)]),
        "file": reverse("leaderboard-file", args=[board.slug, "instances.zip"]),
        "table": reverse("api-leaderboard", args=[board.slug]),
        "files by script": reverse("api-leaderboard-files", args=[board.slug]),
        "file by script": reverse("api-leaderboard-file", args=[board.slug, "instances.zip"]),
    }


def test_members_alone_see_a_board_until_it_is_public(
    board: Leaderboard,
    team: tuple[LeaderboardTeam, str],
    researcher: User,
    outsider: User,
    annotator: User,
    client: Client,
) -> None:
    entry = scored(team[0], predictions())
    places = public_places(board, entry)
    for name, path in places.items():
        assert signed_in(researcher).get(path).status_code == 200, name
        for visitor in (client, signed_in(outsider), signed_in(annotator)):
            assert visitor.get(path).status_code == 404, name
    assert board.title not in client.get(reverse("leaderboard-list")).text
    assert board.title in signed_in(researcher).get(reverse("leaderboard-list")).text
    services.set_board_is_public(board=board, is_public=True, by=None)
    for name, path in places.items():
        assert client.get(path).status_code == 200, name
    assert board.title in client.get(reverse("leaderboard-list")).text


def test_a_board_that_is_not_built_has_no_page(project: Project, researcher: User) -> None:
    board = services.create_leaderboard(
        version=sealed_version(project), split="", wording=services.Wording("Title"), by=None, queue=False
    )
    assert signed_in(researcher).get(reverse("leaderboard", args=[board.slug])).status_code == 404
    page = signed_in(researcher).get(reverse("leaderboard-manage", args=[project.slug, board.pk]))
    assert "Build leaderboard Title" in page.text
    Job.objects.filter(pk=board.job_id).update(state=JobState.FAILED, error="the disk is full")
    page = signed_in(researcher).get(reverse("leaderboard-manage", args=[project.slug, board.pk]))
    assert "the disk is full" in page.text
    assert "Not built" in signed_in(researcher).get(reverse("leaderboards", args=[project.slug])).text


def test_the_form_makes_a_board_of_a_sealed_version(project: Project, researcher: User) -> None:
    browser = signed_in(researcher)
    place = reverse("leaderboards", args=[project.slug])
    assert "No sealed version yet" in browser.get(place).text
    version = sealed_version(project)
    form = {"rows": f"{version.pk}:", "title": "Street scenes", "daily_limit": "3", "total_limit": "2"}
    refused = browser.post(place, form)
    assert refused.status_code == 400
    assert "not between the daily limit" in refused.text
    reply = browser.post(place, form | {"total_limit": "20", "note": "two\nlines"})
    board = Leaderboard.objects.get()
    assert reply.headers["Location"] == reverse("leaderboard-manage", args=[project.slug, board.pk])
    assert (board.daily_limit, board.total_limit, board.note) == (3, 20, "two lines")
    assert (board.is_open, board.is_public, board.created_by) == (False, False, researcher)
    assert board.job is not None
    assert board.job.task == "curation.build_leaderboard"
    assert browser.post(place, form | {"rows": "999:"}).status_code == 400


def test_a_key_is_shown_once_and_never_again(board: Leaderboard, researcher: User) -> None:
    browser = signed_in(researcher)
    at = [board.project.slug, board.pk]
    reply = browser.post(reverse("leaderboard-teams", args=at), {"name": "Baker Street"})
    found = re.search(r"<code>([\w-]{43})</code>", reply.text)
    assert found is not None
    assert "no-store" in reply.headers["Cache-Control"]
    team = LeaderboardTeam.objects.get()
    assert services.find_team_by_key(board=board, key=found[1]) == team
    assert found[1] not in browser.get(reverse("leaderboard-manage", args=at)).text
    again = browser.post(reverse("leaderboard-teams", args=at), {"name": "Baker Street"})
    assert again.status_code == 400
    assert "A team named Baker Street exists already" in again.text
    new = browser.post(reverse("leaderboard-team-key", args=[*at, team.pk]))
    assert found[1] not in new.text
    assert services.find_team_by_key(board=board, key=found[1]) is None
    assert AuditEvent.objects.filter(actor=researcher, action="leaderboard.renew_key").exists()


def test_opening_is_a_researchers_act_and_publishing_an_admins(
    board: Leaderboard, researcher: User, admin: User
) -> None:
    at = [board.project.slug, board.pk]
    signed_in(researcher).post(reverse("leaderboard-open", args=at), {"open": "0"})
    board.refresh_from_db()
    assert not board.is_open
    assert (
        signed_in(researcher).post(reverse("leaderboard-publish", args=at), {"public": "1"}).status_code
        == 403
    )
    board.refresh_from_db()
    assert not board.is_public
    assert "Publish…" not in signed_in(researcher).get(reverse("leaderboard-manage", args=at)).text
    assert "Publish…" in signed_in(admin).get(reverse("leaderboard-manage", args=at)).text
    signed_in(admin).post(reverse("leaderboard-publish", args=at), {"public": "1"})
    board.refresh_from_db()
    assert board.is_public
    actions = set(AuditEvent.objects.values_list("action", "actor__username"))
    assert {("leaderboard.close", "rosa"), ("leaderboard.publish", "ada")} <= actions


def test_rehearsal_board_is_labelled_and_members_only(rehearsal: Project, admin: User) -> None:
    board = made_board(rehearsal)
    at = [rehearsal.slug, board.pk]
    browser = signed_in(admin)
    assert "the leaderboard can never be public" in browser.get(reverse("leaderboard-manage", args=at)).text
    reply = browser.post(reverse("leaderboard-publish", args=at), {"public": "1"}, follow=True)
    assert "is based on a rehearsal" in reply.text
    board.refresh_from_db()
    assert not board.is_public
    page = browser.get(reverse("leaderboard", args=[board.slug])).text
    assert "This is a rehearsal" in page
    assert browser.get(reverse("api-leaderboard", args=[board.slug])).json()["rehearsal"] is True


def test_the_table_has_figures_intervals_n_and_references(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    services.set_board_is_public(board=board, is_public=True, by=None)
    scored(team[0], predictions(HALF), model="Half right")
    text = squeezed(client.get(reverse("leaderboard", args=[board.slug])))
    assert "Half right" in text
    assert "Baker Street" in text
    assert '<span class="value">50.0</span>' in text
    assert "n = 2" in text
    assert "People" in text
    assert "33.3" in text
    assert "no interval" in text, "two instances, one of them right"
    assert 'aria-sort="descending"' in text
    assert text.count("<svg class=") >= 2
    by_rank = squeezed(client.get(reverse("leaderboard", args=[board.slug]), {"sort": "im2txt", "all": "1"}))
    assert 'aria-sort="ascending"' in by_rank


def test_a_long_table_has_pages_and_places_go_on(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.leaderboard.views.boards.ROWS_PER_PAGE", 1)
    services.set_board_is_public(board=board, is_public=True, by=None)
    scored(team[0], predictions(), model="Better")
    scored(team[0], predictions(HALF), model="Worse")
    place = reverse("leaderboard", args=[board.slug])
    first = client.get(place, {"all": "1"}).text
    assert ("<b>Better</b>" in first, "<b>Worse</b>" in first) == (True, False)
    assert "Page 1 of 2" in first
    second = squeezed(client.get(place, {"all": "1", "page": "2"}))
    assert "<b>Worse</b>" in second
    assert 'data-label="Rank">2</td>' in second


def test_empty_board_explains_what_will_appear(board: Leaderboard, client: Client) -> None:
    services.set_board_is_public(board=board, is_public=True, by=None)
    text = client.get(reverse("leaderboard", args=[board.slug])).text
    assert "No submissions yet" in text
    assert "retrieval_0.npy" in text
    services.set_board_is_open(board=board, is_open=False, by=None)
    assert "Teams cannot submit: the leaderboard is closed." in squeezed(
        client.get(reverse("leaderboard", args=[board.slug]))
    )
    assert "does not accept submissions" in client.get(reverse("leaderboard-submit", args=[board.slug])).text


@pytest.fixture
def submit(board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client) -> Callable[..., Any]:
    """Return a function that submits on the page of the board, which is public."""
    services.set_board_is_public(board=board, is_public=True, by=None)

    def send(data: bytes = b"", **more: Any) -> Any:
        form = {"key": team[1], "model": "ViT-B/16", "file": SimpleUploadedFile(ZIP, data or predictions())}
        return client.post(reverse("leaderboard-submit", args=[board.slug]), form | more)

    return send


def test_a_submission_by_the_page_leads_to_its_own_page(submit: Callable[..., Any], client: Client) -> None:
    reply = submit(url="https://example.org/paper", description="Two crops")
    entry = LeaderboardEntry.objects.get()
    place = reply.headers["Location"]
    assert str(entry.pk) in place
    waiting = client.get(place)
    assert "Being scored" in waiting.text
    assert 'http-equiv="refresh"' in waiting.text
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    done = client.get(place).text
    assert "100.0" in done
    assert "https://example.org/paper" in done
    assert "refresh" not in done
    again = submit()
    assert again.headers["Location"] == place
    assert LeaderboardEntry.objects.count() == 1


def test_team_sees_figures_of_all_its_submissions(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    Leaderboard.objects.update(is_public=True)
    scored(team[0], predictions(HALF))
    mine = client.post(reverse("leaderboard-team-submissions", args=[board.slug]), {"key": team[1]})
    assert "P@1 50.0, " in squeezed(mine)


def test_defect_is_shown_on_entry_page_and_to_team(
    submit: Callable[..., Any], board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    place = submit(predictions({"comparison": [1, 2, 3], "retrieval_0": [1, 2, 3]})).headers["Location"]
    entry = LeaderboardEntry.objects.get()
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    assert "retrieval_0.npy" in client.get(place).text
    mine = client.post(reverse("leaderboard-team-submissions", args=[board.slug]), {"key": team[1]})
    assert "retrieval_0.npy" in mine.text
    assert "0 of 5 submissions" in squeezed(mine)
    assert team[1] not in mine.text
    assert "no-store" in mine.headers["Cache-Control"]


def test_form_errors_are_shown_at_fields(
    submit: Callable[..., Any], board: Leaderboard, team: tuple[LeaderboardTeam, str]
) -> None:
    wrong = submit(key="guess")
    assert wrong.status_code == 400
    assert "This key is not valid here" in wrong.text
    assert "guess" not in wrong.text, "what was typed as a key is not sent back"
    assert "not a web address" in submit(url="javascript:alert(1)").text
    assert submit(file="").status_code == 400
    services.set_team_is_active(team=team[0], is_active=False, by=None)
    assert "cannot submit" in submit().text
    assert not LeaderboardEntry.objects.exists()


def test_limits_answer_429(submit: Callable[..., Any], board: Leaderboard) -> None:
    services.change_leaderboard(
        board=board, wording=services.Wording("T"), limits=services.SubmissionLimits(1, 1), by=None
    )
    assert submit().status_code == 302
    full = submit(predictions(HALF))
    assert full.status_code == 429
    assert "all of its 1 submissions" in full.text


def test_stuck_entry_shows_cause(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], researcher: User
) -> None:
    entry = submitted_entry(team[0], predictions())
    entries.entry_zip_path(entry).unlink()
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    browser = signed_in(researcher)
    page = browser.get(reverse("leaderboard-entry", args=[board.slug, make_receipt(entry)])).text
    assert "stopped because of a server problem" in page
    text = browser.get(reverse("leaderboard-manage", args=[board.project.slug, board.pk])).text
    assert "Scoring failed" in text
    assert reverse("job-detail", args=[entry.job.pk]) in text


def test_a_cancelled_entry_waits_for_the_organisers(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], researcher: User
) -> None:
    entry = submitted_entry(team[0], predictions())
    assert entry.job is not None
    jobs.cancel_job(job=entry.job)
    browser = signed_in(researcher)
    page = squeezed(browser.get(reverse("leaderboard-entry", args=[board.slug, make_receipt(entry)])))
    assert "Waiting for the organisers" in page
    assert "refresh" not in page
    text = browser.get(reverse("leaderboard-manage", args=[board.project.slug, board.pk])).text
    assert "Scoring cancelled" in text
    assert reverse("job-detail", args=[entry.job.pk]) in text


def test_organisers_see_answer_key_fault_in_one_line(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], researcher: User, client: Client
) -> None:
    next((board_folder(board) / "held").rglob("*comparison_answer_key.json")).unlink()
    entry = scored(team[0], predictions())
    browser = signed_in(researcher)
    text = squeezed(browser.get(reverse("leaderboard-manage", args=[board.project.slug, board.pk])))
    assert "Scoring failed" in text
    assert f"restore {board.path}/held in the media folder, then resume this job" in text
    Leaderboard.objects.update(is_public=True)
    for reader in (client, browser):
        page = reader.get(reverse("leaderboard-entry", args=[board.slug, make_receipt(entry)])).text
        assert "stopped because of a server problem" in page
        assert "/held" not in page, "where keys lie is no business of teams"


def test_wrong_zip_name_is_shown_at_field(submit: Callable[..., Any]) -> None:
    reply = submit(file=SimpleUploadedFile("mine.zip", predictions()))
    assert reply.status_code == 400
    assert "Its name is mine.zip; rename it to test_set_predictions.zip and send it again." in reply.text
    assert submit().status_code == 302


def test_organisers_see_photos_taken_down(board: Leaderboard, researcher: User) -> None:
    def seen() -> str:
        return squeezed(
            signed_in(researcher).get(reverse("leaderboard-manage", args=[board.project.slug, board.pk]))
        )

    (photo,) = Image.objects.filter(sha256__in=VersionImage.objects.values("sha256"))
    assert "taken down" not in seen()
    Image.objects.filter(pk=photo.pk).update(taken_down_at="2026-01-01T00:00Z")
    assert "taken down" not in seen(), "it was left out when the files were written"
    Image.objects.filter(pk=photo.pk).update(taken_down_at=timezone.now())
    assert "1 photo was taken down after the leaderboard was built." in seen()
    assert "build a new leaderboard</a> of the same version. The new one leaves it out" in seen()
    for split, count in (("test", 0), ("", 1)):  # the photo's split is none
        Leaderboard.objects.update(split=split)
        assert ("taken down" in seen()) is bool(count), split
    twin = Image.objects.get(pk=photo.pk)
    twin.pk, twin.taken_down_at, twin.original_sha256, twin.source_url = None, None, "ef" * 32, ""
    twin.save()
    assert "taken down" not in seen(), "the same picture still stands"
    Image.objects.filter(pk=twin.pk).delete()
    Leaderboard.objects.update(sha256="")
    assert "taken down" not in seen(), "nothing is built"


def test_hidden_entries_leave_the_table_and_the_api(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], researcher: User, client: Client
) -> None:
    services.set_board_is_public(board=board, is_public=True, by=None)
    entry = scored(team[0], predictions(), model="Suspicious")
    page, api = reverse("leaderboard", args=[board.slug]), reverse("api-leaderboard", args=[board.slug])
    assert "Suspicious" in client.get(page).text
    browser = signed_in(researcher)
    place = reverse("leaderboard-entry-hidden", args=[board.project.slug, board.pk, entry.pk])
    browser.post(place, {"hidden": "1"})
    assert "Suspicious" not in client.get(page).text
    assert client.get(api).json()["entries"] == []
    browser.post(place, {"hidden": "0"})
    assert "Suspicious" in client.get(page).text


def test_public_files_are_sent_by_their_exact_name(board: Leaderboard, researcher: User) -> None:
    browser = signed_in(researcher)
    name = "all_comparison/all_comparison_instance_ids.json"
    reply = browser.get(reverse("leaderboard-file", args=[board.slug, name]))
    assert b"".join(reply.streaming_content) == b'["annotations", "test_id_map"]'
    assert "attachment" in reply.headers["Content-Disposition"]
    for gone in ("all_comparison", "no.json", f"{name}/", "all_comparison/"):
        assert browser.get(f"/leaderboards/{board.slug}/files/{gone}").status_code == 404


def test_the_state_of_an_entry_is_never_another_teams(
    board: Leaderboard, team: tuple[LeaderboardTeam, str], client: Client
) -> None:
    services.set_board_is_public(board=board, is_public=True, by=None)
    entry = scored(team[0], b"broken")
    assert entry.state == EntryState.REFUSED
    other, key = services.add_team(board=board, name="Scotland Yard", by=None)
    mine = client.post(reverse("leaderboard-team-submissions", args=[board.slug]), {"key": key})
    assert "No submissions yet" in mine.text
    assert "broken" not in mine.text
    assert other.entries.count() == 0
