"""The HIT page and its endpoints: framed, without cookies, and nothing lost or half-written."""

import copy
import json
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.marketplace.models import Worker as MarketWorker
from hits.models import Attempt, Draft, Hit, Image, Participation, Project, Submission, Worker
from hits.services import projects
from hits.services.collecting.page_keys import PageKey, issue_token, read_token
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import launched
from tests.support.proof import SECRET

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("attempts_are_proven")]
HIT_HOST = settings.HIT_ORIGIN.removeprefix("http://")
MakeImage = Callable[..., Image]


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


def _key(hit: Hit, *, assignment: str = "3ASG", worker: str = "AWILMA") -> PageKey:
    return PageKey(str(hit.unit.public_id), "3HIT", assignment, worker)


def _url(hit: Hit, **query: str) -> str:
    values = {
        "assignmentId": "3ASG",
        "hitId": "3HIT",
        "workerId": "AWILMA",
        "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{SECRET}",
    } | query
    return (
        reverse("hit-page", args=[hit.unit.public_id]) + "?" + "&".join(f"{k}={v}" for k, v in values.items())
    )


def _config(response: Any) -> dict[str, Any]:
    found = re.search(
        r'<script id="hit-config" type="application/json">(.*?)</script>', response.text, re.DOTALL
    )
    assert found
    config: dict[str, Any] = json.loads(found.group(1))
    return config


def _call(
    frame: Client, hit: Hit, name: str, body: Any = None, *, key: PageKey | None = None, token: str = ""
) -> Any:
    bearer = token or issue_token(key or _key(hit))
    method = frame.put if name == "draft" else frame.post
    return method(
        reverse(f"hit-api-{name}"),
        data=json.dumps({} if body is None else body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {bearer}"},
    )


def _submission(answer: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "client_uuid": str(uuid.uuid4()),
        "answer": answer or observations(),
        "active_seconds": 61.5,
    } | more


def _agreed(frame: Client, hit: Hit, key: PageKey | None = None) -> None:
    assert _call(frame, hit, "consent", {"version": 1, "country": "US"}, key=key).status_code == 200


def test_hit_page_get_writes_nothing_sets_no_cookie_and_can_be_framed(frame: Client, hit: Hit) -> None:
    response = frame.get(_url(hit))
    assert response.status_code == 200
    assert not response.cookies
    assert "X-Frame-Options" not in response.headers
    policy = response.headers["Content-Security-Policy"]
    assert f"frame-ancestors {settings.PUBLIC_URL}" in policy
    assert "'unsafe-inline'" not in policy
    assert not Worker.objects.exists()
    assert not Attempt.objects.exists()


def test_cookies_are_never_read_on_the_hit_origin(frame: Client, hit: Hit, admin: Any) -> None:
    frame.force_login(admin)
    assert frame.get(_url(hit)).wsgi_request.COOKIES == {}


def test_page_submits_to_the_attempts_own_address(frame: Client, hit: Hit) -> None:
    config = _config(frame.get(_url(hit)))
    assert config["submitTo"] == f"{settings.PUBLIC_URL}/a/{SECRET}/mturk/externalSubmit"
    assert config["mode"] == "work"
    assert read_token(config["token"]) == _key(hit)


@pytest.mark.parametrize("assignment", ["", NO_ASSIGNMENT])
def test_a_preview_carries_no_token(frame: Client, hit: Hit, assignment: str) -> None:
    config = _config(frame.get(_url(hit, assignmentId=assignment)))
    assert config["mode"] == "preview"
    assert "token" not in config
    assert config["submitTo"] == ""


@pytest.mark.parametrize(
    "target", ["https://evil.example", "javascript:alert(1)", "", f"{settings.PUBLIC_URL}.evil.example/a/x"]
)
def test_unknown_marketplace_origin_is_refused(frame: Client, hit: Hit, target: str) -> None:
    response = frame.get(_url(hit, turkSubmitTo=target))
    assert response.status_code == 403
    assert "not on our list" in response.text


def test_hit_pages_and_console_use_separate_origins(frame: Client, hit: Hit, client: Client) -> None:
    assert client.get(_url(hit)).status_code == 404
    assert frame.get("/sign-in/").status_code == 404
    assert frame.get("/work/").status_code == 404
    assert frame.post("/mturk/").status_code == 404


def test_answer_without_consent_is_refused(frame: Client, hit: Hit) -> None:
    assert _config(frame.get(_url(hit)))["consent"]["version"] == 1
    refused = _call(frame, hit, "submission", _submission())
    assert refused.status_code == 403
    assert not Submission.objects.exists()
    _agreed(frame, hit)
    _agreed(frame, hit)
    assert Participation.objects.count() == 1
    assert _config(frame.get(_url(hit)))["consent"] is None


def test_new_consent_version_needs_new_consent(frame: Client, hit: Hit, admin: Any) -> None:
    _agreed(frame, hit)
    projects.publish_consent(project=hit.unit.batch.project, body="New text", by=admin)
    assert _config(frame.get(_url(hit)))["consent"]["version"] == 2
    assert _call(frame, hit, "consent", {"version": 1}).status_code == 409


def test_draft_is_returned_only_to_its_worker(frame: Client, hit: Hit) -> None:
    saved = _call(frame, hit, "draft", {"content": {"text": "half done"}, "revision": 0})
    assert saved.status_code == 200
    assert saved.json()["revision"] == 1
    mine = _call(frame, hit, "open").json()
    assert mine["draft"] == {"text": "half done"}
    other = _call(frame, hit, "open", key=_key(hit, worker="AOTHER")).json()
    assert other["draft"] is None


def test_two_tabs_do_not_overwrite_each_other(frame: Client, hit: Hit) -> None:
    _call(frame, hit, "draft", {"content": {"tab": 1}, "revision": 0})
    clash = _call(frame, hit, "draft", {"content": {"tab": 2}, "revision": 0})
    assert clash.status_code == 409
    assert clash.json() | {"error": ""} == {"error": "", "revision": 1, "content": {"tab": 1}}
    assert Draft.objects.get().content == {"tab": 1}
    assert _call(frame, hit, "draft", {"content": {"tab": 2}, "revision": 1}).status_code == 200


def test_a_draft_of_more_than_60_kb_is_refused(frame: Client, hit: Hit) -> None:
    answer = _call(frame, hit, "draft", {"content": {"text": "x" * 60_001}, "revision": 0})
    assert answer.status_code == 413
    assert not Draft.objects.exists()


def test_repeated_submission_returns_the_first_id(frame: Client, hit: Hit) -> None:
    _agreed(frame, hit)
    body = _submission()
    first = _call(frame, hit, "submission", body)
    again = _call(frame, hit, "submission", body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert Submission.objects.count() == 1


def test_same_client_id_with_other_content_is_a_conflict(frame: Client, hit: Hit) -> None:
    _agreed(frame, hit)
    body = _submission()
    _call(frame, hit, "submission", body)
    changed = body | {"answer": observations(4)}
    assert _call(frame, hit, "submission", changed).status_code == 409
    assert Submission.objects.count() == 1


def test_another_worker_cannot_reuse_a_submissions_id(frame: Client, hit: Hit) -> None:
    _agreed(frame, hit)
    body = _submission()
    _call(frame, hit, "submission", body)
    thief = _key(hit, worker="ATHIEF")
    _agreed(frame, hit, key=thief)
    assert _call(frame, hit, "submission", body, key=thief).status_code == 409


def test_image_hashes_are_stored_with_the_answer(frame: Client, hit: Hit) -> None:
    _agreed(frame, hit)
    _call(frame, hit, "submission", _submission())
    image = Image.objects.get()
    assert Submission.objects.get().images == [
        {"id": image.pk, "sha256": image.sha256, "width": 64, "height": 48}
    ]


def _broken(**changes: Any) -> dict[str, Any]:
    answer = copy.deepcopy(observations())
    answer["observations"][1].update(changes)
    return answer


@pytest.mark.parametrize(
    ("answer", "field", "message"),
    [
        (
            _broken(boxes=[{"left": 60, "top": 0, "width": 10, "height": 5}]),
            "observations[1].boxes[0]",
            "image is 64 × 48",
        ),
        (
            _broken(boxes=[{"left": -1, "top": 0, "width": 10, "height": 5}]),
            "observations[1].boxes[0]",
            "spans -1",
        ),
        (
            _broken(boxes=[{"left": 1, "top": 1, "width": 0, "height": 5}]),
            "observations[1].boxes[0]",
            "width and height must be at least 1",
        ),
        (
            _broken(boxes=[{"left": 1.5, "top": 1, "width": 3, "height": 5}]),
            "observations[1].boxes[0]",
            "whole pixels",
        ),
        (_broken(boxes=[{"left": 1, "top": 1, "width": 3}]), "observations[1].boxes[0]", "exactly"),
        (_broken(boxes=[]), "observations[1].boxes", "at least 1"),
        (_broken(index=7), "observations[1].index", "less than or equal to 5"),
        (_broken(index=1), "observations", "occurs twice"),
        (_broken(confidence=4), "observations[1].confidence", "less than or equal to 3"),
        (_broken(confidence="2"), "observations[1].confidence", "valid integer"),
        (_broken(clue="a cup\x07"), "observations[1].clue", "control character U+0007"),
        (_broken(clue="   "), "observations[1].clue", "needs a clue"),
        (_broken(inference="x" * 601), "observations[1].inference", "601 characters"),
        (_broken(colour="red"), "observations[1].colour", "not permitted"),
        ({"observations": observations()["observations"][:2]}, "observations", "observation 3 is missing"),
        ({"observations": []}, "observations", "at least 1"),
        ({"observation": []}, "observations", "required"),
    ],
)
def test_a_bad_answer_names_the_field_and_nothing_is_written(
    frame: Client, hit: Hit, answer: dict[str, Any], field: str, message: str
) -> None:
    _agreed(frame, hit)
    response = _call(frame, hit, "submission", _submission(answer))
    assert response.status_code == 400
    errors = {error["field"]: error["message"] for error in response.json()["errors"]}
    assert message in errors[field]
    assert not Submission.objects.exists()


def test_60_kb_of_text_is_refused(frame: Client, hit: Hit) -> None:
    _agreed(frame, hit)
    response = _call(frame, hit, "submission", _submission(_broken(clue="x" * 60_000)))
    assert response.status_code == 413
    assert not Submission.objects.exists()


@pytest.mark.parametrize("seconds", [-1, 90_000, "NaN", None])
def test_impossible_times_are_refused(frame: Client, hit: Hit, seconds: Any) -> None:
    _agreed(frame, hit)
    response = _call(frame, hit, "submission", _submission(active_seconds=seconds))
    assert response.status_code == 400


def test_simulated_answers_never_enter_a_real_project(frame: Client, hit: Hit) -> None:
    _agreed(frame, hit)
    response = _call(frame, hit, "submission", _submission(simulated=True))
    assert response.status_code == 400
    assert "rehearsal" in response.json()["error"]


@pytest.mark.parametrize("token", ["forged", "a:b:c", ""])
def test_a_forged_token_is_refused(frame: Client, hit: Hit, token: str) -> None:
    response = _call(frame, hit, "open", token=token or " ")
    assert response.status_code == 401
    assert not Attempt.objects.exists()


def test_an_expired_token_is_refused(frame: Client, hit: Hit, time_machine: Any) -> None:
    token = issue_token(_key(hit))
    time_machine.move_to(timezone.now() + timedelta(hours=2))
    assert _call(frame, hit, "open", token=token).status_code == 401


def test_a_token_for_another_hit_is_refused(frame: Client, hit: Hit) -> None:
    other = PageKey(str(uuid.uuid4()), "3HIT", "3ASG", "AWILMA")
    assert _call(frame, hit, "open", key=other).status_code == 401
    other = PageKey(str(hit.unit.public_id), "3OTHER", "3ASG", "AWILMA")
    assert _call(frame, hit, "open", key=other).status_code == 401


def test_the_author_may_not_judge_their_own_work(frame: Client, hit: Hit) -> None:
    worker = Worker.objects.create(environment=hit.environment, worker_id="AWILMA")
    hit.unit.excluded_workers.add(worker)
    assert frame.get(_url(hit)).status_code == 403
    assert _call(frame, hit, "open").status_code == 403


def test_reload_returns_the_stored_submission(frame: Client, hit: Hit) -> None:
    _agreed(frame, hit)
    stored = _call(frame, hit, "submission", _submission()).json()
    assert _call(frame, hit, "open").json()["submission"]["id"] == stored["submission_id"]


def test_drafts_are_rate_limited(frame: Client, hit: Hit, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.core.cache import cache

    from hits.api.hit_page import DraftThrottle

    cache.clear()
    monkeypatch.setattr(DraftThrottle, "THROTTLE_RATES", {"hit-draft": "3/min"})
    codes = [_call(frame, hit, "open").status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    cache.clear()


def test_new_attempts_are_rate_limited_per_address(
    frame: Client, hit: Hit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page's key is given to whoever asks; work that has begun goes on all the same."""
    from django.core.cache import cache

    from hits.api.hit_page import NewAttemptThrottle

    cache.clear()
    monkeypatch.setattr(NewAttemptThrottle, "THROTTLE_RATES", {"hit-begin": "2/min"})
    keys = [_key(hit, worker=f"AFLOOD{n}") for n in range(4)]
    codes = [_call(frame, hit, "open", key=key).status_code for key in keys]
    assert codes == [200, 200, 429, 429]
    assert _call(frame, hit, "open", key=keys[0]).status_code == 200
    assert Worker.objects.filter(worker_id__startswith="AFLOOD").count() == 2
    cache.clear()


def test_retry_after_new_consent_text_returns_the_first_id(frame: Client, hit: Hit, project: Project) -> None:
    from hits.services.projects import publish_consent

    _agreed(frame, hit)
    body = _submission()
    stored = _call(frame, hit, "submission", body).json()
    publish_consent(project=project, body="New words.", by=None)
    again = _call(frame, hit, "submission", body)
    assert (again.status_code, again.json()["submission_id"]) == (200, stored["submission_id"])
    assert _call(frame, hit, "submission", _submission()).status_code == 403


@pytest.mark.parametrize(("known", "chosen"), [("US", 'value="US" selected'), ("", "")])
def test_known_country_is_preselected(hit: Hit, frame: Client, known: str, chosen: str) -> None:
    worker = market.market_worker()
    MarketWorker.objects.filter(pk=worker.pk).update(
        country=known, country_declared_at=timezone.now() if known else None
    )
    page = frame.get(_url(hit, workerId=worker.worker_id)).text
    assert 'id="country"' in page
    assert chosen in page
    assert page.count('" selected>') == (1 if known else 0)
