"""The HIT page in the worker's language: by the browser, by the address, and never by a cookie."""

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import translation

from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.models import Batch, Hit, Image, Project, Unit, Worker
from hits.services.collecting.page_keys import PageKey, issue_token
from tests.support.loop import launched
from tests.support.proof import SECRET

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("attempts_are_proven")]
HIT_HOST = settings.HIT_ORIGIN.removeprefix("http://")
MakeImage = Callable[..., Image]
GERMAN = "de-DE,de;q=0.9,en;q=0.5"


@pytest.fixture
def hit(project: Project, make_image: MakeImage) -> Hit:
    """Return a live HIT without a marketplace behind it."""
    launched(project, [make_image(1)])
    Hit.objects.update(state="live", hit_id="3HIT")
    return Hit.objects.get()


@pytest.fixture
def frame() -> Client:
    """Return a browser that asks the HIT origin."""
    return Client(HTTP_HOST=HIT_HOST)


def _get(frame: Client, hit: Hit, asked: str = "", **query: str) -> Any:
    values = {
        "assignmentId": "3ASG",
        "hitId": "3HIT",
        "workerId": "AWILMA",
        "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{SECRET}",
    } | query
    headers = {"Accept-Language": asked} if asked else {}
    return frame.get(reverse("hit-page", args=[hit.unit.public_id]), values, headers=headers)


def _language(response: Any) -> str:
    found = re.search(r'<html lang="([^"]*)"', response.text)
    assert found
    assert response["Content-Language"] == found[1]
    return found[1]


def _catalog(response: Any) -> dict[str, Any] | None:
    found = re.search(r'<script id="i18n-catalog" type="application/json">(.*?)</script>', response.text)
    return json.loads(found[1]) if found else None


def test_browser_language_german_is_used(frame: Client, hit: Hit) -> None:
    page = _get(frame, hit, GERMAN)
    assert _language(page) == "de"
    assert "Für 1,10\xa0$ abgeben" in page.text
    assert "Was lässt sich aus diesem Foto schließen?" in page.text
    assert "Submit for $" not in page.text
    carried = _catalog(page)
    assert carried is not None
    assert carried["messages"]["Reload"] == "Neu laden"
    assert "Accept-Language" in page["Vary"]
    assert not page.cookies


def test_lang_parameter_overrides_browser_language(frame: Client, hit: Hit) -> None:
    assert _language(_get(frame, hit, "en-GB,en", lang="de")) == "de"
    assert _language(_get(frame, hit, GERMAN, lang="en")) == "en"
    assert _language(_get(frame, hit, "", lang="de-AT")) == "de"


@pytest.mark.parametrize("asked", ["", "xx", "tlh-Latn;q=1", "*", ";;;", "a" * 600])
def test_other_browser_languages_get_english(frame: Client, hit: Hit, asked: str) -> None:
    page = _get(frame, hit, asked)
    assert _language(page) == "en"
    assert "Submit for $1.10" in page.text
    assert _catalog(page) is None


@pytest.mark.parametrize("lang", ["xx", "fr", "../../etc", "DE\x01", "", "<b>"])
def test_an_unknown_language_in_the_address_is_ignored(frame: Client, hit: Hit, lang: str) -> None:
    assert _language(_get(frame, hit, "", lang=lang)) == "en"
    assert _language(_get(frame, hit, GERMAN, lang=lang)) == "de"


def test_language_cookie_is_ignored(frame: Client, hit: Hit) -> None:
    frame.cookies[settings.LANGUAGE_COOKIE_NAME] = "de"
    assert _language(_get(frame, hit)) == "en"


@pytest.mark.parametrize("assignment", ["3ASG", NO_ASSIGNMENT])
def test_language_link_keeps_other_parameters(frame: Client, hit: Hit, assignment: str) -> None:
    # The built-in marketplace has the switch in its own bar; under any other one the page brings it.
    Batch.objects.update(environment="aws-sandbox")
    page = _get(frame, hit, "", assignmentId=assignment, extra="a&b=c")
    (link,) = {unescape(href) for href in re.findall(r'<a href="([^"]*)" lang="de" hreflang="de"', page.text)}
    assert urlsplit(link).path == ""
    assert parse_qs(urlsplit(link).query) == {
        "assignmentId": [assignment],
        "hitId": ["3HIT"],
        "workerId": ["AWILMA"],
        "turkSubmitTo": [f"{settings.PUBLIC_URL}/a/{SECRET}"],
        "extra": ["a&b=c"],
        "lang": ["de"],
    }
    switched = frame.get(reverse("hit-page", args=[hit.unit.public_id]) + link)
    assert _language(switched) == "de"


def test_refusal_page_is_translated_and_links_english(frame: Client, hit: Hit) -> None:
    author = Worker.objects.create(environment=hit.environment, worker_id="AWILMA")
    Unit.objects.get().excluded_workers.add(author)
    page = _get(frame, hit, GERMAN)
    assert page.status_code == 403
    assert _language(page) == "de"
    assert "In dieser Aufgabe geht es um Ihre eigene Arbeit" in page.text
    assert 'lang="en" hreflang="en"' in page.text


def _call(frame: Client, hit: Hit, name: str, body: Any, asked: str, token: str = "") -> Any:
    bearer = token or issue_token(PageKey(str(hit.unit.public_id), "3HIT", "3ASG", "AWILMA"))
    return frame.post(
        reverse(f"hit-api-{name}"),
        data=json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {bearer}", "Accept-Language": asked},
    )


def test_api_replies_in_the_page_language(frame: Client, hit: Hit) -> None:
    message = _call(frame, hit, "open", {}, "de", token="forged").json()["error"]
    assert message == "Der Schlüssel dieser Seite gilt nicht. Laden Sie die Aufgabe neu."
    message = _call(frame, hit, "open", {}, "en", token="forged").json()["error"]
    assert message == "This page's key is not valid. Reload the task."
    fields = _call(frame, hit, "consent", {}, "de").json()["errors"]
    assert {"field": "version", "message": "Dieses Feld ist zwingend erforderlich."} in fields


def test_language_is_reset_after_the_request(frame: Client, hit: Hit) -> None:
    _get(frame, hit, GERMAN)
    assert translation.get_language() == settings.LANGUAGE_CODE


def test_researchers_text_is_not_translated(frame: Client, hit: Hit, project: Project) -> None:
    page = _get(frame, hit, GERMAN)
    consent = re.search(r'<div class="consent-text stack">(.*?)</div>', page.text, re.DOTALL)
    assert consent
    assert consent[1] in _get(frame, hit, "en").text
