"""The worker site in the worker's language, chosen or from the browser; staff pages in English."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from hits.marketplace.models import Worker
from tests.hits.marketplace.support import hit_params
from tests.hits.marketplace.test_worker_site import frame_of

Browser = Callable[[Worker], Client]
GERMAN = {"Accept-Language": "de-DE,de;q=0.9"}


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _choose(client: Client, language: str, next_: str = "/work/") -> Any:
    return client.post("/language", {"language": language, "next": next_})


def test_page_language_follows_browser(worker: Worker, browser: Browser) -> None:
    page = browser(worker).get("/work/", headers=GERMAN)
    assert '<html lang="de">' in page.text
    assert "Arbeit, die Sie jetzt beginnen können" in page.text
    assert "0,00\xa0$" in page.text
    assert page["Content-Language"] == "de"
    assert "Accept-Language" in page["Vary"]


def test_chosen_language_is_stored_in_cookie_and_wins(worker: Worker, browser: Browser) -> None:
    client = browser(worker)
    assert 'value="de" lang="de">Deutsch</button>' in _collapsed(client.get("/work/").text)
    chosen = _choose(client, "de", "/work/earnings?page=1")
    assert chosen.status_code == 302
    assert chosen["Location"] == "/work/earnings?page=1"
    cookie = chosen.cookies[settings.LANGUAGE_COOKIE_NAME]
    assert cookie["samesite"] == "Lax"
    assert cookie["httponly"]
    assert '<html lang="de">' in client.get("/work/", headers={"Accept-Language": "en"}).text
    _choose(client, "en")
    assert '<html lang="en">' in client.get("/work/", headers=GERMAN).text


@pytest.mark.parametrize("foreign_url", ["https://evil.example/", "//evil.example/x", "javascript:alert(1)"])
def test_language_switch_redirects_only_within_site(
    worker: Worker, browser: Browser, foreign_url: str
) -> None:
    assert _choose(browser(worker), "de", foreign_url)["Location"] == "/"


def test_language_switch_needs_csrf_token_and_sign_in(worker: Worker) -> None:
    guarded = Client(enforce_csrf_checks=True)
    guarded.force_login(worker.user)  # type: ignore[arg-type]
    assert _choose(guarded, "de").status_code == 403
    stranger = _choose(Client(), "de")
    assert stranger.status_code == 302
    assert settings.LANGUAGE_COOKIE_NAME not in stranger.cookies
    by_link = guarded.get("/language", {"language": "de", "next": "/work/"})
    assert settings.LANGUAGE_COOKIE_NAME not in by_link.cookies


def test_german_plurals_follow_count(local_client: Any, worker: Worker, browser: Browser) -> None:
    local_client.create_hit(**hit_params(MaxAssignments=1))
    client = browser(worker)
    assert "1 Art, 1 Aufgabe<" in _collapsed(client.get("/work/", headers=GERMAN).text)
    local_client.create_hit(**hit_params(MaxAssignments=1, UniqueRequestToken="two"))
    assert "1 Art, 2 Aufgaben<" in _collapsed(client.get("/work/", headers=GERMAN).text)
    assert "1 kind, 2 tasks<" in _collapsed(client.get("/work/").text)


def test_chosen_language_is_added_only_to_own_task_pages(
    local_client: Any, worker: Worker, browser: Browser
) -> None:
    own = f"{settings.HIT_ORIGIN}/hit/00000000-0000-4000-8000-000000000000/?unit=7"
    client = browser(worker)
    for url, expected in ((own, ["de"]), ("https://example.org/task?unit=7", None)):
        question = hit_params()["Question"].replace("https://example.org/task?unit=7", url)
        assert url in question
        hit = local_client.create_hit(**hit_params(Question=question, Title=f"At {url[:20]}"))["HIT"]
        address = f"/work/groups/{hit['HITTypeId']}/preview"
        client.cookies.pop(settings.LANGUAGE_COOKIE_NAME, None)
        assert "lang" not in frame_of(client.get(address, headers=GERMAN).content)[1]
        _choose(client, "de")
        query = frame_of(client.get(address).content)[1]
        assert query.get("lang") == expected
        assert query["unit"] == ["7"]
        assert query["workerId"] == [worker.worker_id]


def test_refusal_is_translated_to_german(worker: Worker, browser: Browser) -> None:
    reply = browser(worker).post("/work/tasks/3NONE/return", headers=GERMAN, follow=True)
    assert "Diese Aufgabe ist nicht offen; es gibt nichts zurückzugeben." in reply.text


@pytest.mark.parametrize("path", ["/", "/sign-in/", "/projects/", "/marketplace/accounts/", "/new-project"])
def test_staff_pages_stay_english(path: str, db: None) -> None:
    client = Client()
    if path not in {"/", "/sign-in/"}:
        client.force_login(get_user_model().objects.create_superuser("ada", password="a long pass phrase"))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "de"
    page = client.get(path, headers=GERMAN)
    assert page.status_code == 200
    assert '<html lang="en"' in page.text
    assert "Abmelden" not in page.text
    assert "Content-Language" not in page.headers
    assert "Accept-Language" not in page.headers.get("Vary", "")


@pytest.mark.rule(
    "api-english",
    source="ours",
    text="The requester API answers in English in every language of the worker site.",
)
def test_requester_api_messages_are_english(db: None) -> None:
    refused = Client().post("/mturk/", b"{}", content_type="application/x-amz-json-1.1", headers=GERMAN)
    assert "Content-Language" not in refused.headers


def test_submit_page_in_frame_is_german_without_cookie(db: None) -> None:
    reply = Client().post("/a/none/mturk/externalSubmit", {"assignmentId": "3NONE"}, headers=GERMAN)
    assert reply.status_code == 409
    assert "Dies wurde nicht abgegeben" in reply.text
    assert "Die Abgabe ist fehlgeschlagen: Sie können diese Aufgabe nicht mehr abgeben." in reply.text
    assert not reply.cookies


def test_task_page_in_german_keeps_mturk_parameters(
    local_client: Any, worker: Worker, browser: Browser
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    client = browser(worker)
    _choose(client, "de")
    taken = client.post(f"/work/groups/{hit['HITTypeId']}/accept")
    page = client.get(taken["Location"])
    assert "Restzeit" in page.text
    address, query = frame_of(page.content)
    assert address == "https://example.org/task"
    ours = {"assignmentId", "hitId", "workerId", "turkSubmitTo"}
    assert query.keys() - ours == {"unit", "kind"}, "the question's own, and no language"
