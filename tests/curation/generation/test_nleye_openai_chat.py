"""Chat models over HTTP, through the real openai package, against a small server on this machine."""

import base64
import json
import logging
import time
import traceback
from urllib.parse import quote

import pytest

from curation.generation.chat import (
    CONTENT_FILTER,
    ChatImage,
    ChatRequest,
    Message,
    system_message,
    user_message,
)
from curation.generation.chat_factory import get_chat_model
from curation.generation.errors import (
    AskDifferently,
    BadReply,
    CallFailed,
    ContentRefused,
    ModelUnavailable,
    Permanent,
    Transient,
    Unusable,
)
from curation.generation.openai_chat import OpenAiChat
from curation.generation.prices import TokenUsage
from curation.generation.retries import call_with_retries
from curation.records import InvalidInput
from tests.support.generation import picture_file, pixels
from tests.support.model_server import KEY, Answer, ModelServer, chat_body, error
from tests.support.waiting import wait_until

SCHEMA = {
    "type": "object",
    "properties": {"choice": {"type": "integer"}},
    "required": ["choice"],
    "additionalProperties": False,
}


def chat(server: ModelServer, **environment: str) -> OpenAiChat:
    model = get_chat_model("openai:tiny", environment=server.environment("CHAT", **environment))
    assert isinstance(model, OpenAiChat)
    return model


def request(**more: object) -> ChatRequest:
    return ChatRequest((user_message("Which one?"),), **more)  # type: ignore[arg-type]


def fail(server: ModelServer, answer: Answer, **environment: str) -> CallFailed:
    """Return the error of one call, and check that the server was asked once and that no part of the key is left."""
    server.answers = [answer]
    server.asked.clear()
    with pytest.raises(CallFailed) as caught:
        chat(server, **environment).reply(request())
    wait_until(lambda: server.asked)  # a client may give up before a busy server has read what it was asked
    assert len(server.asked) == 1, "the library repeats nothing"
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.raw)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "sk-test" not in shown
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_request_has_messages_images_and_parameters(server: ModelServer) -> None:
    server.answers = [Answer(body=chat_body('{"choice": 2}', model="tiny-2026-01"))]
    wide = picture_file("JPEG", (1500, 300), seed=1)
    messages = (
        system_message("Be brief."),
        Message(
            "user", ("Context:", ChatImage.from_bytes(picture_file()), "Image 1:", ChatImage.from_bytes(wide))
        ),
    )
    model = chat(server)
    reply = model.reply(ChatRequest(messages, SCHEMA, seed=7, max_tokens=99))
    (asked,) = server.asked
    body = asked.json
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("tiny", 0, 7, 99)
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    }
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    parts = body["messages"][1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url"]
    sent = [part["image_url"]["url"] for part in parts[1::2]]
    assert all(uri.startswith("data:image/png;base64,") for uri in sent)
    files = [base64.b64decode(uri.partition(",")[2]) for uri in sent]
    assert [pixels(file).size for file in files] == [(64, 64), (1024, 205)]
    assert pixels(files[0]).tobytes() == pixels(picture_file()).tobytes()
    assert [tuple(image)[1:] for image in reply.images] == [(64, 64, 64, 64), (1500, 300, 1024, 205)]
    assert (reply.text, reply.finish, reply.model) == ('{"choice": 2}', "stop", "tiny-2026-01")
    assert reply.tokens == TokenUsage(21, 7)
    assert reply.raw["choices"][0]["message"]["content"] == '{"choice": 2}'
    assert reply.sent["seed"] == 7


def test_a_server_without_a_key_gets_none(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAT_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    server.answers = [Answer(body=chat_body("yes"))]
    assert chat(server, KEY="").reply(request()).text == "yes"
    headers = server.asked[0].headers
    assert "authorization" not in headers
    assert not any("organization" in name or "sk-of" in value for name, value in headers.items())


@pytest.mark.parametrize(
    ("status", "retry_after", "may_cost"),
    [(429, "1", False), (503, "0.5", False), (500, None, True), (504, "nan", True), (408, "-3", True)],
)
def test_passing_errors_may_be_repeated(
    server: ModelServer, status: int, retry_after: str | None, may_cost: bool
) -> None:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    failure = fail(server, Answer(status, error("busy"), headers))
    assert isinstance(failure, Transient)
    assert failure.retry_after == {"1": 1.0, "0.5": 0.5, "-3": 0.0}.get(str(retry_after))
    assert failure.may_cost is may_cost
    assert f"answers {status} (busy)" in str(failure)


FIXES = {
    400: "correct the request",
    401: "check CHAT_API_KEY",
    403: "check CHAT_API_KEY",
    404: "check the model's name",
    422: "correct the request",
}


@pytest.mark.parametrize(("status", "fix"), FIXES.items())
def test_other_errors_are_final_and_cost_nothing(server: ModelServer, status: int, fix: str) -> None:
    failure = fail(server, Answer(status, error("no")))
    assert type(failure) is (Permanent if status in {400, 422} else Unusable)
    assert fix in str(failure)
    assert failure.may_cost is False


def test_a_key_that_the_server_repeats_is_blanked_everywhere(
    server: ModelServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    encoded = base64.b64encode(f"user:{KEY}".encode()).decode()
    body = error(f"Incorrect key {KEY}, {quote(KEY, safe='')}, {encoded}; see Bearer {KEY}")
    with caplog.at_level(logging.DEBUG):
        failure = fail(server, Answer(401, body, {"X-Echo": KEY, "X-Request-Id": KEY}))
    assert str(failure).count("[key]") == 4
    for shown in (str(failure), repr(failure.raw), caplog.text, *capfd.readouterr()):
        assert not any(KEY[start : start + 8] in shown for start in range(len(KEY) - 7))
    assert "[key]" in failure.raw["message"]

    server.answers = [Answer(body=chat_body(f"Your key is {KEY}", model=f"m-{KEY}"))]
    reply = chat(server).reply(request())
    assert reply.text == "Your key is [key]"
    assert KEY not in json.dumps(reply.raw)
    assert reply.model == "m-[key]"


def test_a_timeout_may_have_cost(server: ModelServer) -> None:
    failure = fail(server, Answer(body=chat_body("late"), delay=1.0), TIMEOUT="0.2")
    assert isinstance(failure, Transient)
    assert failure.may_cost is True
    assert "no reply within 0.2 seconds" in str(failure)


@pytest.mark.parametrize(
    "answer", [Answer(body=chat_body("slow"), drip=0.05), Answer(header_drip=0.05)], ids=["body", "headers"]
)
def test_a_reply_that_never_ends_is_a_timeout(server: ModelServer, answer: Answer) -> None:
    started = time.monotonic()
    failure = fail(server, answer, TIMEOUT="0.3")
    assert isinstance(failure, Transient)
    assert failure.may_cost is True
    assert "no reply within 0.3 seconds" in str(failure)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("at", range(300 - len(KEY), 301, 4))
def test_a_key_at_the_end_of_an_excerpt_is_blanked_before_the_text_is_cut(
    server: ModelServer, at: int
) -> None:
    failure = fail(server, Answer(body=b"x" * at + KEY.encode() + b"y" * 50))
    text = failure.raw["text"]
    assert text == ("x" * at + "[key]" + "y" * 50)[:300]


def test_a_server_that_is_not_there_costs_nothing(server: ModelServer) -> None:
    model = get_chat_model("openai:tiny", environment={"CHAT_API_URL": "http://127.0.0.1:9/v1"})
    with pytest.raises(Transient, match="cannot be reached; check CHAT_API_URL") as caught:
        model.reply(request())
    assert caught.value.may_cost is False


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(body=b'{"choices": [{"mess'), "cut off or is no JSON"),
        (Answer(body=chat_body("x"), cut=50), "the connection was lost"),
        (Answer(body=b"<html>proxy</html>"), "no JSON"),
        (Answer(body=b"[1]"), "no JSON object"),
        (Answer(body={"choices": []}), "has no message"),
        (Answer(body={"error": "odd"}), "has no message"),
        (Answer(body=b"x", headers={"Content-Encoding": "gzip"}), "compressed"),
    ],
)
def test_unreadable_replies_may_have_cost(server: ModelServer, answer: Answer, message: str) -> None:
    failure = fail(server, answer)
    assert isinstance(failure, BadReply | Transient)
    assert message in str(failure)
    assert failure.may_cost is True


def test_a_huge_reply_is_not_read_to_its_end(server: ModelServer) -> None:
    failure = fail(server, Answer(body=b"{" + b" " * 17 * 1024**2))
    assert isinstance(failure, BadReply)
    assert "larger than 16 MB, and was not read" in str(failure)


def test_a_redirect_is_never_followed(server: ModelServer) -> None:
    failure = fail(server, Answer(307, b"", {"Location": f"{server.url}/other"}))
    assert isinstance(failure, Permanent)
    assert "a redirect, which is not followed; set CHAT_API_URL" in str(failure)


def test_refusals_are_kept_as_refusals(server: ModelServer) -> None:
    refused = fail(server, Answer(400, error("unsafe", code="content_policy_violation")))
    assert isinstance(refused, ContentRefused)
    assert refused.may_cost is False
    server.answers = [Answer(body=chat_body("", finish="content_filter"))]
    assert chat(server).reply(request()).finish == CONTENT_FILTER
    server.answers = [Answer(body=chat_body(None, refusal="I cannot help."))]
    reply = chat(server).reply(request())
    assert (reply.text, reply.finish) == ("I cannot help.", CONTENT_FILTER)


def test_a_quota_that_is_used_up_is_final(server: ModelServer) -> None:
    failure = fail(server, Answer(429, error("pay", code="insufficient_quota"), {"Retry-After": "1"}))
    assert isinstance(failure, Permanent)


def test_a_way_to_ask_for_json_is_found_once_and_kept(server: ModelServer) -> None:
    server.answers = [
        Answer(
            400, error("'response_format' of type 'json_schema' is not supported", param="response_format")
        ),
        Answer(400, error("unknown field json_object")),
        Answer(body=chat_body("1")),
    ]
    model = chat(server)
    waits: list[float] = []
    reply = call_with_retries(lambda number: model.reply(request(schema=SCHEMA)), sleep=waits.append)
    assert reply.text == "1"
    assert waits == []
    kinds = [asked.json.get("response_format", {}).get("type") for asked in server.asked]
    assert kinds == ["json_schema", "json_object", None]
    model.reply(request(schema=SCHEMA))
    assert "response_format" not in server.asked[-1].json
    again = get_chat_model("openai:tiny", accepts=model.accepts, environment=server.environment("CHAT"))
    again.reply(request(schema=SCHEMA))
    assert "response_format" not in server.asked[-1].json
    assert len(server.asked) == 5


def test_parameters_that_a_model_does_not_take_are_left_out(server: ModelServer) -> None:
    server.answers = [
        Answer(
            400,
            error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", param="max_tokens"),
        ),
        Answer(400, error("Unsupported value: 'temperature' does not support 0", param="temperature")),
        Answer(400, error("unrecognized argument: seed")),
        Answer(body=chat_body("ok")),
    ]
    model = chat(server)
    reply = call_with_retries(lambda number: model.reply(request(seed=3)), sleep=lambda seconds: None)
    assert reply.sent == {"max_completion_tokens": 512}
    assert server.asked[-1].json.keys() == {"model", "messages", "max_completion_tokens"}
    assert model.accepts == {
        "format": "json_schema",
        "length": "max_completion_tokens",
        "left_out": ["seed", "temperature"],
    }


def test_an_error_about_something_else_changes_nothing(server: ModelServer) -> None:
    server.answers = [
        Answer(400, error("the prompt exceeded 4096 tokens; lower max_tokens", param="messages"))
    ]
    model = chat(server)
    with pytest.raises(Permanent) as caught:
        model.reply(request(seed=3, schema=SCHEMA))
    assert not isinstance(caught.value, AskDifferently)
    assert model.accepts["left_out"] == []


def test_429_twice_then_a_reply_takes_three_calls_of_our_own(server: ModelServer) -> None:
    busy = Answer(429, error("slow down"), {"Retry-After": "1"})
    server.answers = [busy, busy, Answer(body=chat_body("done"))]
    model = chat(server)
    waits: list[float] = []
    assert call_with_retries(lambda number: model.reply(request()), sleep=waits.append).text == "done"
    assert (len(server.asked), waits) == (3, [1.0, 1.0])


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "CHAT_API_URL is not set; give the server's address"),
        ({"CHAT_API_URL": "ftp://host/v1"}, "CHAT_API_URL: is no http or https address"),
        ({"CHAT_API_URL": "host/v1"}, "CHAT_API_URL: is no http or https address"),
        ({"CHAT_API_URL": "https://me:sk-secret@host/v1"}, "has a user, a query or a fragment"),
        ({"CHAT_API_URL": "https://host/v1?key=sk-secret"}, "has a user, a query or a fragment"),
        ({"CHAT_API_URL": "https://host:99999/v1"}, "is no http or https address"),
        ({"CHAT_API_URL": "https://host/v1", "CHAT_API_TIMEOUT": "0"}, "CHAT_API_TIMEOUT='0': use seconds"),
        (
            {"CHAT_API_URL": "https://host/v1", "CHAT_API_KEY_FILE": "/none"},
            "CHAT_API_KEY_FILE='/none' cannot be read",
        ),
    ],
)
def test_a_wrong_environment_is_one_line(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        get_chat_model("openai:tiny", environment=environment)
    assert message in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(ModelUnavailable, match=r"^the package openai is not installed.*run make generation"):
        get_chat_model("openai:tiny", environment={"CHAT_API_URL": "http://127.0.0.1:9/v1"})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (ChatRequest(()), "messages: there is none"),
        (ChatRequest((Message("robot", ("x",)),)), "role 'robot' is not known"),
        (ChatRequest((user_message("x"),), max_tokens=0), "max_tokens: 0; use 1 to"),
        (ChatRequest((user_message("x"),), temperature=float("nan")), "temperature: nan"),
        (ChatRequest((user_message(ChatImage.from_bytes(b"no image")),)), "image 1: is not a readable image"),
    ],
)
def test_a_wrong_request_is_refused_before_it_is_sent(
    server: ModelServer, wrong: ChatRequest, message: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        chat(server).reply(wrong)
    assert message in str(caught.value)
    assert server.asked == []
