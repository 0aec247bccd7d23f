"""Malformed requests to a HIT page: always a reply, never a server error."""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from hits.models import Draft, Hit, Image, Project, Submission
from hits.services.collecting import submit
from hits.services.collecting.page_keys import PageKey, issue_token
from tests.support.answers import observations
from tests.support.loop import launched
from tests.support.proof import SECRET

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("attempts_are_proven")]
PUBLIC = settings.PUBLIC_URL


@pytest.fixture
def frame() -> Client:
    """Return a browser that asks the HIT origin and shows server errors as a browser would see them."""
    return Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"), raise_request_exception=False)


@pytest.fixture
def key(project: Project, make_image: Callable[..., Image]) -> PageKey:
    """Return the key of a live HIT's page, consent given."""
    launched(project, [make_image(1)])
    Hit.objects.update(state="live", hit_id="3HIT")
    key = PageKey(str(Hit.objects.get().unit.public_id), "3HIT", "3ASG", "AWILMA")
    submit.record_consent(key=key, version=1, country="US")
    return key


def _page(frame: Client, key: PageKey, **changes: str) -> Any:
    query = {
        "assignmentId": key.assignment_id,
        "hitId": key.hit_id,
        "workerId": key.worker_id,
        "turkSubmitTo": f"{PUBLIC}/a/{SECRET}",
    }
    return frame.get(reverse("hit-page", args=[key.unit]) + "?" + urlencode(query | changes))


def _send(frame: Client, key: PageKey, name: str, raw: str) -> Any:
    method = frame.put if name == "draft" else frame.post
    return method(
        reverse(f"hit-api-{name}"),
        data=raw,
        content_type="application/json",
        headers={"Authorization": f"Bearer {issue_token(key)}"},
    )


@pytest.mark.parametrize(
    "target",
    [
        "http://[::1",
        "http://ex\u2100mple.com",
        f"{PUBLIC}/sign-out/?",
        f"{PUBLIC}/sign-out/#",
        f"{PUBLIC}/a/../sign-out",
        f"{PUBLIC}//evil.example",
        f"{PUBLIC}/\\evil.example",
        PUBLIC.replace("localhost", "local\nhost"),
        f"\x01{PUBLIC}",
        PUBLIC.replace("http://", "http://user@"),
    ],
)
def test_url_to_another_site_is_refused(frame: Client, key: PageKey, target: str) -> None:
    response = _page(frame, key, turkSubmitTo=target)
    assert response.status_code in {400, 403}
    assert "externalSubmit" not in response.text


@pytest.mark.parametrize("name", ["assignmentId", "hitId", "workerId"])
@pytest.mark.parametrize("value", ["A\x00B", "\x00", "A\u202eB", "x" * 5000])
def test_malformed_ids_open_no_task(frame: Client, key: PageKey, name: str, value: str) -> None:
    response = _page(frame, key, **{name: value})
    assert response.status_code < 500
    assert '"token"' not in response.text


def test_page_with_token_is_not_cached(frame: Client, key: PageKey) -> None:
    response = _page(frame, key)
    assert re.search(r'"token": "[^"]+"', response.text)
    assert "no-store" in response.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"content": {"a": ["x", "\\u0000"]}, "revision": 0}', "content.a[1]"),
        ('{"content": {"a": "\\ud83d"}, "revision": 0}', "content.a"),
        ('{"content": {"\\udfff": 1}, "revision": 0}', "content"),
        ('{"content": {"a": 1e999}, "revision": 0}', "content.a"),
        ('{"content": {}, "revision": 2147483647}', "revision"),
        ('{"content": {}, "revision": 9223372036854775807}', "revision"),
    ],
)
def test_unstorable_characters_are_refused_by_field(
    frame: Client, key: PageKey, text: str, field: str
) -> None:
    response = _send(frame, key, "draft", text)
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]
    assert not Draft.objects.exists()


@pytest.mark.parametrize("depth", [40, 900, 100_000])
def test_deep_nesting_is_refused(frame: Client, key: PageKey, depth: int) -> None:
    text = '{"revision": 0, "content": {"a": ' + "[" * depth + "]" * depth + "}}"
    assert _send(frame, key, "draft", text).status_code == 400
    assert not Draft.objects.exists()


def test_body_of_several_megabytes_is_refused(frame: Client, key: PageKey) -> None:
    response = _send(frame, key, "draft", json.dumps({"content": {"a": "x" * 4_000_000}, "revision": 0}))
    assert response.status_code == 413
    assert "too large" in response.json()["error"]


def test_lone_surrogate_in_answer_names_field(frame: Client, key: PageKey) -> None:
    answer = observations()
    answer["observations"][1]["clue"] = "a cup \ud83d"
    body = {"client_uuid": str(uuid.uuid4()), "answer": answer, "active_seconds": 5.0}
    response = _send(frame, key, "submission", json.dumps(body))
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "observations[1].clue"
    assert not Submission.objects.exists()


@pytest.mark.parametrize("seconds", ["true", '"12"', "1e999", "1" + "0" * 400, "-1"])
def test_active_time_must_be_finite_number(frame: Client, key: PageKey, seconds: str) -> None:
    answer = json.dumps(observations())
    text = f'{{"client_uuid": "{uuid.uuid4()}", "answer": {answer}, "active_seconds": {seconds}}}'
    assert _send(frame, key, "submission", text).status_code == 400
    assert not Submission.objects.exists()
