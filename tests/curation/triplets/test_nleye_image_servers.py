"""Whole runs against a server of images that fails in each way: each ends in one line, and what is drawn stays."""

import base64
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.models import CallState, GeneratedImage, ModelCall, ModelRun, Scene
from hits.models import Job, Project
from tests.support.generation import picture_file
from tests.support.model_server import KEY, Answer, ModelServer, error, image_body
from tests.support.nleye_jobs import (
    IMAGE_PRICES,
    call_states,
    find_secret,
    no_waits,
    refusal,
    run_json,
    set_prices,
    states,
)
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes

pytestmark = pytest.mark.django_db
PRICE = 40_000  # micro-dollars
IMAGE = Answer(200, image_body(picture_file()))
GENERATOR = "openai:tiny-1"


def nightly(*case: Any) -> Any:
    """Return a case that runs at night; the adapter's own tests have it, too."""
    return pytest.param(*case, marks=pytest.mark.nightly)


@pytest.fixture
def scenes(project: Project, researcher: User) -> list[Scene]:
    """Return five kept scenes with approved prompts, and the price of the server's model."""
    rows = store_scenes(nleye_project(project), 5)
    keep_scenes(rows, researcher)
    approve_prompts(rows, researcher)
    set_prices(project, IMAGE_PRICES)
    return rows


def options(project: Project, **more: Any) -> dict[str, Any]:
    """Return the options of a run that draws one premise of each scene."""
    return {"project": project.slug, "generator": GENERATOR, "candidates": 1, "cap_usd": 1.0} | more


def draw(project: Project, **more: Any) -> dict[str, Any]:
    """Draw with the server."""
    return run_json("generate_images", **options(project, **more))


def test_a_server_that_asks_to_wait_is_asked_again_then(
    project: Project, scenes: list[Scene], server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Answer(429, error("slow down"), headers={"Retry-After": "7"})
    server.answers = [busy, Answer(503, error("busy")), IMAGE]
    with no_waits(monkeypatch) as waits:
        found = draw(project)
    assert waits == [7.0, 2.0]
    assert (found["images"], len(server.asked)) == (5, 7)
    assert found["committed_micro_usd"] == 5 * PRICE  # the failed tries were free
    assert call_states() == states(settled=5, failed=2)
    assert [row.json["n"] for row in server.asked] == [1] * 7


@pytest.mark.parametrize(
    ("answer", "asked", "cost", "message"),
    [
        (Answer(429, error("too many")), 4, 0, "images server 127.0.0.1: answers 429 (too many)"),
        nightly(Answer(503, error("busy")), 4, 0, "answers 503 (busy)"),
        (Answer(500, error("broken")), 4, 4 * PRICE, "answers 500 (broken)"),
        nightly(Answer(200, b'{"data": ', cut=100), 4, 4 * PRICE, "the connection was lost"),
        (Answer(401, error("no such key")), 1, 0, "check IMAGES_API_KEY, and that it may use the model"),
        nightly(Answer(404, error("no such model")), 1, 0, "check the model's name and IMAGES_API_URL"),
        (Answer(302, headers={"Location": "http://example.org/"}), 1, 0, "a redirect, which is not followed"),
        (
            Answer(429, error("pay", code="insufficient_quota")),
            1,
            0,
            "the account's quota is used up; raise it at the provider",
        ),
        (
            Answer(400, error("size 1024x1024 is not supported", param="size")),
            3,
            0,
            "answers 400 (size 1024x1024 is not supported); correct the request; it is not sent again",
        ),
    ],
)
def test_a_failing_server_ends_the_run_in_one_line(
    project: Project,
    scenes: list[Scene],
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    answer: Answer,
    asked: int,
    cost: int,
    message: str,
) -> None:
    """A server that answers nobody is not asked for each scene."""
    server.answers = [answer]
    with no_waits(monkeypatch) as waits:
        text = refusal("generate_images", **options(project))
    assert message in text
    assert text.startswith(f"Draw images with {GENERATOR}: Draw scene ")
    assert text.endswith(
        f"to go on later, resume the job; to resume: --resume {Job.objects.get(parent=None).pk}"
    )
    assert (len(server.asked), len(waits)) == (asked, 3 if asked == 4 else 0)
    assert ModelRun.objects.get().committed_micro == cost
    assert call_states() == states(failed=asked)
    assert not GeneratedImage.objects.exists()
    server.answers = [IMAGE]
    found = run_json("generate_images", resume=Job.objects.get(parent=None).pk)
    assert (found["images"], found["committed_micro_usd"]) == (5, cost + 5 * PRICE)


def test_a_server_that_never_replies_counts_at_full_price(
    project: Project, scenes: list[Scene], server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMAGES_API_TIMEOUT", "0.2")
    server.answers = [Answer(200, b"{}", delay=30)]
    with no_waits(monkeypatch):
        found = draw(project, cap_usd=3.5 * PRICE / 1e6)
    assert found["images"] == 0
    assert found["stopped"].startswith(
        "cap: the next call may cost $0.040000, and $0.020000 of $0.14 are left"
    )
    assert found["stopped"].endswith("images server 127.0.0.1: no reply within 0.2 seconds")
    assert len(server.asked) == 3  # a fourth try could exceed the cap
    assert ModelRun.objects.get().committed_micro == 3 * PRICE


@pytest.mark.parametrize("body", ["policy", "moderation"])
def test_refused_content_is_stored_as_such_and_the_run_goes_on(
    project: Project, scenes: list[Scene], server: ModelServer, body: str
) -> None:
    code = {"policy": "content_policy_violation", "moderation": "moderation_blocked"}[body]
    server.answers = [Answer(400, error("not this", code=code)), IMAGE]
    found = draw(project)
    assert (found["images"], found["refused"], found["committed_micro_usd"]) == (4, 1, 4 * PRICE)
    call = ModelCall.objects.get(state=CallState.REFUSED)
    assert "the provider's rules refuse the content" in call.error
    assert call.reply is not None
    asked = len(server.asked)
    again = draw(project)
    assert (again["images"], len(server.asked)) == (0, asked)  # a stored refusal is not sent again


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(200, image_body(b"<html>no image</html>")), "the image"),
        nightly(Answer(200, {"data": [{"b64_json": "***"}]}), "the image is no base64"),
        nightly(Answer(200, {"data": []}), "the reply has no image"),
        nightly(Answer(200, b"<html>"), "the reply is cut off or is no JSON"),
        (Answer(200, image_body(b"\x89PNG" + bytes(20 * 1024**2))), "the image is larger than 20 MB"),
        (Answer(200, b'{"data": "' + b"x" * 29 * 1024**2 + b'"}'), "MB, and was not read"),
        (
            Answer(200, image_body(url="http://example.org/a.png")),
            "is of another origin, and was not fetched",
        ),
        nightly(
            Answer(200, image_body(url="file:///etc/passwd")), "is of another origin, and was not fetched"
        ),
    ],
)
def test_a_reply_without_a_usable_image_is_paid_and_counted_and_the_run_goes_on(
    project: Project, scenes: list[Scene], server: ModelServer, answer: Answer, message: str
) -> None:
    server.answers = [answer, IMAGE]
    found = draw(project)
    assert (found["images"], found["bad_replies"]) == (4, 1)
    assert found["committed_micro_usd"] == 5 * PRICE
    failed = ModelCall.objects.get(state=CallState.FAILED)
    assert message in failed.error
    assert [row.method for row in server.asked] == ["POST"] * 5


def test_three_such_replies_one_after_the_other_end_the_run(
    project: Project, scenes: list[Scene], server: ModelServer
) -> None:
    server.answers = [Answer(200, {"data": []})]
    text = refusal("generate_images", **options(project, candidates=4))
    assert "3 replies one after the other have no usable image" in text
    assert "images server 127.0.0.1: the reply has no image. Look at the calls" in text
    assert len(server.asked) == 3  # the other scenes are not asked for
    assert ModelRun.objects.get().committed_micro == 3 * PRICE


def test_three_such_replies_in_three_scenes_end_the_run_and_a_resumed_one_counts_again_from_zero(
    project: Project, scenes: list[Scene], server: ModelServer
) -> None:
    bad = Answer(200, {"data": []})
    server.answers = [bad, IMAGE, bad]
    text = refusal("generate_images", **options(project))
    assert "3 replies one after the other have no usable image" in text
    assert len(server.asked) == 5  # an image stands between the first and the others
    server.answers = [bad, bad, IMAGE]
    found = run_json("generate_images", resume=Job.objects.get(parent=None).pk)
    assert (found["images"], found["bad_replies"], len(server.asked)) == (3, 6, 9)
    server.answers = [IMAGE]
    assert draw(project)["images"] == 2


def test_an_image_at_the_servers_own_address_is_fetched(
    project: Project, scenes: list[Scene], server: ModelServer
) -> None:
    server.files["/a.png"] = Answer(200, picture_file("JPEG"))
    server.answers = [Answer(200, image_body(url=f"{server.url}/a.png", revised_prompt="A lamp."))]
    assert draw(project)["images"] == 5
    row = GeneratedImage.objects.first()
    assert row is not None
    assert row.image.file.name.endswith(".png")
    assert (row.revised_prompt, row.seed, row.model, row.licence) == ("A lamp.", None, "tiny-1", "CC0")


def test_a_server_that_repeats_the_key_leaves_it_nowhere(
    project: Project,
    scenes: list[Scene],
    server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    hidden = base64.b64encode(f"user:{KEY}".encode()).decode()
    body = error(f"Incorrect API key: {KEY} ({hidden}) {KEY[:8]}****", code=KEY, param=KEY)
    server.answers = [Answer(401, body, headers={"X-Key": KEY})]
    caplog.set_level("DEBUG")
    text = refusal("generate_images", **options(project))
    assert "[key]" in text
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    shown = capfd.readouterr()
    assert find_secret(KEY, text, caplog.text, shown.out, shown.err) == []


@pytest.mark.parametrize(
    ("changes", "more", "message"),
    [
        ({"IMAGES_API_URL": ""}, {}, "IMAGES_API_URL is not set; give the server's address"),
        ({"IMAGES_API_URL": "tiny"}, {}, "IMAGES_API_URL: is no http or https address"),
        ({"IMAGES_API_KEY": "no key"}, {}, "IMAGES_API_KEY: is no key"),
        ({"IMAGES_API_CAN": "seed"}, {"negative": "rain"}, "does not support a negative prompt"),
        ({"IMAGES_API_CAN": "magic"}, {}, "IMAGES_API_CAN: 'magic' is not known"),
        ({}, {"generator": "openai:tiny-2"}, "openai:tiny-2: the price of an image is unknown"),
        ({}, {"cap_usd": 0.03}, "one image of openai:tiny-1 costs $0.0400, and the cap is $0.03"),
    ],
)
def test_what_is_missing_is_one_line_and_nothing_is_stored_or_sent(
    project: Project,
    scenes: list[Scene],
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, str],
    more: dict[str, Any],
    message: str,
) -> None:
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    assert message in refusal("generate_images", **options(project, **more))
    assert not any(table.objects.exists() for table in (ModelRun, ModelCall, Job))
    assert server.asked == []


def test_an_unknown_price_is_accepted_by_an_option(
    project: Project, scenes: list[Scene], server: ModelServer
) -> None:
    server.answers = [IMAGE]
    found = draw(project, generator="openai:tiny-2", price_unknown=True, cap_calls=2)
    assert (found["images"], found["committed_micro_usd"]) == (2, 0)
