"""Whole evaluations against a chat server that fails in each way; replies are stored, and nothing is paid twice."""

import base64
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from PIL import Image as Pillow

from curation.evaluation.nleye_key import ChoiceCode
from curation.models import (
    CallState,
    ExplanationGrade,
    ModelCall,
    ModelRun,
    TripletEvaluation,
    TripletPrediction,
)
from curation.selectors.triplets.evaluations import read_choices, version_triplets
from hits.models import Job, Project
from tests.support.model_server import KEY, Answer, ModelServer, chat_body, error
from tests.support.nleye_jobs import (
    VERSION,
    call_states,
    evaluate,
    find_secret,
    grade,
    newest_job,
    no_waits,
    refusal,
    run_json,
    sealed_triplets,
    set_prices,
    states,
)
from tests.support.undone import undone

pytestmark = pytest.mark.django_db
MODEL = "openai:tiny-1"
PRICES = f"""[chat."{MODEL}"]
usd_per_million_input_tokens = 2
usd_per_million_output_tokens = 10
tokens_per_image = 100
"""
FIRST = chat_body('{"choice": 1, "explanation": "It broke."}')
COST = 21 * 2 + 7 * 10  # micro-dollars of a reply: its usage by the prices
CALLS = 2  # one triplet in two orders


@pytest.fixture
def sealed(project: Project, researcher: User) -> Project:
    """Return a project with a sealed version of one triplet, and the price of the server's model."""
    sealed_triplets(project, 1, researcher)
    set_prices(project, PRICES)
    return project


def ask(project: Project, **options: Any) -> dict[str, Any]:
    """Evaluate the server's model."""
    return evaluate(project, **{"model": MODEL, "cap_usd": 1.0} | options)


def refused(project: Project, **options: Any) -> str:
    """Evaluate the server's model, which fails, and return the message."""
    given = {"version_name": VERSION, "project": project.slug, "model": MODEL, "cap_usd": 1.0}
    return refusal("evaluate_triplets", **given | options)


def test_images_are_sent_in_their_order_and_the_second_run_makes_no_call(
    sealed: Project, server: ModelServer
) -> None:
    server.answers = [Answer(200, FIRST)]
    found = ask(sealed)
    assert (found["calls"], len(server.asked)) == (CALLS, CALLS)
    assert found["committed_micro_usd"] == CALLS * COST
    row = version_triplets(TripletEvaluation.objects.get().version)[0].row
    for asked, order in zip(server.asked[:2], (("1", "2"), ("2", "1")), strict=True):
        content = asked.json["messages"][1]["content"]
        uris = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        pictures = [Pillow.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) for uri in uris]
        names = ["premise", *(f"hypothesis{number}" for number in order)]
        assert [picture.tobytes() for picture in pictures] == [_pixels(sealed, row, name) for name in names]
        assert (asked.json["temperature"], asked.json["seed"], asked.json["model"]) == (0, 0, "tiny-1")
    sent = ModelCall.objects.first().request["sent"]  # type: ignore[union-attr]
    assert sent["parameters"]["response_format"] == "json_schema"
    assert [image["sent_width"] for image in sent["images"]] == [64] * 3
    again = ask(sealed)
    assert (again["calls"], again["committed_micro_usd"], len(server.asked)) == (0, 0, CALLS)
    assert again["figures"] == found["figures"]


def _pixels(project: Project, row: Any, name: str) -> bytes:
    image = project.images.get(sha256=row["images"][name])
    with image.file.open("rb") as file:
        return Pillow.open(io.BytesIO(file.read())).convert("RGB").tobytes()


def test_the_first_choice_always_is_never_consistent(sealed: Project, server: ModelServer) -> None:
    server.answers = [Answer(200, FIRST)]
    figures = ask(sealed)["figures"]["triplet"]
    values = {name: figures[name]["value"] for name in ("consistency_accuracy", "gold_first_accuracy")}
    assert values == {"consistency_accuracy": 0.0, "gold_first_accuracy": 100.0}
    assert figures["gold_second_accuracy"]["value"] == 0.0
    assert figures["first_position_share"]["value"] == 100.0


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    sealed: Project, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Answer(429, error("slow down"), headers={"Retry-After": "3"})
    server.answers = [busy, Answer(503, error("busy")), Answer(200, FIRST)]
    with no_waits(monkeypatch) as waits:
        found = ask(sealed)
    assert (waits, found["calls"]) == ([3.0, 2.0], CALLS + 2)
    assert call_states() == states(settled=CALLS, failed=2)
    assert found["committed_micro_usd"] == CALLS * COST


FAILING = [
    (Answer(503, error("busy")), 4, "chat server 127.0.0.1: answers 503 (busy)"),
    (Answer(200, b'{"choices": ', cut=100), 4, "the connection was lost"),
    (Answer(400, error("context is too long")), 1, "answers 400 (context is too long); correct the request"),
    (Answer(404, error("no such model")), 1, "check the model's name and CHAT_API_URL"),
    (Answer(429, error("too many")), 4, "answers 429 (too many)"),
    (Answer(401, error("no such key")), 1, "check CHAT_API_KEY, and that it may use the model"),
    (Answer(200, b"<html>"), 1, "the reply is cut off or is no JSON"),
    (Answer(200, {"choices": []}), 1, "the reply has no message"),
]
"""An answer, how often it is asked for, and what is said about it."""


@pytest.mark.parametrize("cases", [FAILING[:5], pytest.param(FAILING[5:], marks=pytest.mark.nightly)])
def test_a_failing_server_ends_the_run_in_one_line_and_it_resumes(
    sealed: Project,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    cases: list[tuple[Answer, int, str]],
) -> None:
    for answer, asked, message in cases:
        server.asked.clear()
        server.answers = [Answer(200, FIRST), answer]
        with undone(), no_waits(monkeypatch):
            text = refused(sealed)
            job = newest_job()
            assert message in text
            assert text.endswith(f"to go on later, resume the job; to resume: --resume {job.pk}"), message
            assert len(server.asked) == 1 + asked, message
            assert call_states() == states(settled=1, failed=asked), message
            assert not TripletEvaluation.objects.get().figures, message
            server.answers = [Answer(200, FIRST)]
            found = run_json("evaluate_triplets", resume=job.pk)
            assert len(server.asked) == 1 + asked + CALLS - 1, message
            assert found["figures"]["triplet"]["gold_first_accuracy"]["value"] == 100.0, message


def test_a_server_that_never_replies_counts_at_full_price(
    sealed: Project, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_API_TIMEOUT", "0.2")
    server.answers = [Answer(200, FIRST, delay=30)]
    with no_waits(monkeypatch):
        text = refused(sealed)
    assert "chat server 127.0.0.1: no reply within 0.2 seconds" in text
    assert call_states() == states(failed=4)
    calls = ModelCall.objects.all()
    assert all(call.cost_micro == call.reserved_micro > 512 * 10 for call in calls)
    assert ModelRun.objects.get().committed_micro == sum(call.reserved_micro for call in calls)


def test_a_cap_ends_the_run_before_a_call_that_could_exceed_it(sealed: Project, server: ModelServer) -> None:
    server.answers = [Answer(200, FIRST)]
    assert "one call of openai:tiny-1 may cost $0.0053 or more, and the cap is $0.005" in refused(
        sealed, cap_usd=0.005
    )
    assert server.asked == []
    assert not ModelRun.objects.exists()
    found = ask(sealed, cap_calls=1)
    assert found["stopped"].startswith("cap: 1 of 1 calls are made")
    assert found["figures"]["triplet"]["reasons"]["missing"] == 1
    row = TripletEvaluation.objects.get()
    assert row.provenance["stopped"] == found["stopped"]
    bound = max(ModelCall.objects.values_list("reserved_micro", flat=True))
    capped = ask(sealed, cap_usd=(bound + COST - 1) / 1e6, fresh="anew")
    assert capped["calls"] == 1
    assert capped["committed_micro_usd"] <= bound + COST - 1
    assert ask(sealed)["calls"] == 1  # the one that was missing


def test_refused_content_is_an_answer_and_is_not_sent_again(sealed: Project, server: ModelServer) -> None:
    by_error = Answer(400, error("not this", code="content_filter"))
    by_finish = Answer(200, chat_body("I cannot help.", finish="content_filter"))
    by_field = Answer(200, chat_body(None, refusal="I will not."))
    for answer, calls in (
        (by_error, states(refused=1, settled=1)),
        (by_finish, states(settled=2)),
        (by_field, states(settled=2)),
    ):
        server.asked.clear()
        server.answers = [answer, Answer(200, FIRST)]
        with undone():
            found = ask(sealed)
            assert len(server.asked) == CALLS  # no refusal is asked for JSON
            assert found["figures"]["triplet"]["reasons"]["refused"] == 1
            rows = list(TripletPrediction.objects.order_by("pk").select_related("call"))
            assert [row.reason for row in rows] == ["refused", ""]
            assert all(row.call is not None and row.call.reply is not None for row in rows)
            assert call_states() == calls
            again = ask(sealed)
            assert (again["calls"], len(server.asked)) == (0, CALLS)
            assert again["figures"] == found["figures"]


UNREADABLE = [
    ("Image 1 is less likely than image 2.", "stop"),
    ('{"choice": 3}', "stop"),
    ('{"choice": true}', "stop"),
    ('{"choice": 1, "explanation": "It', "length"),
    ('{"choice": 1} {"choice": 2}', "stop"),
    ("no JSON at all", "stop"),
]


def test_an_unreadable_reply_is_asked_for_json_once_and_kept_raw(
    sealed: Project, server: ModelServer
) -> None:
    for text, finish in UNREADABLE:
        server.asked.clear()
        server.answers = [Answer(200, chat_body(text, finish=finish))]
        with undone():
            found = ask(sealed)
            assert (found["calls"], len(server.asked)) == (2 * CALLS, 2 * CALLS), text
            assert found["figures"]["triplet"]["reasons"]["unparseable"] == CALLS, text
            rows = list(TripletPrediction.objects.order_by("pk").select_related("call"))
            assert {(row.reason, row.choice) for row in rows} == {("unparseable", "")}, text
            for row in rows:
                assert row.call is not None
                assert row.call.text == text
                assert row.call.reply["choices"][0]["message"]["content"] == text
            repeat = server.asked[1].json["messages"]
            assert [message["role"] for message in repeat] == ["system", "user", "assistant", "user"]
            assert repeat[2]["content"] == text
            assert ask(sealed)["calls"] == 0, text


def test_a_repeat_that_can_be_read_counts(sealed: Project, server: ModelServer) -> None:
    server.answers = [Answer(200, chat_body("Number two, I think.")), Answer(200, chat_body("2."))]
    found = ask(sealed)
    assert found["calls"] == CALLS + 1
    row = TripletPrediction.objects.order_by("pk").first()
    assert row is not None
    assert row.call is not None
    assert (row.choice, row.call.text) == ("second", "2.")


def test_no_decision_is_an_answer(sealed: Project, server: ModelServer) -> None:
    for reply in ("equal", "none"):
        server.answers = [Answer(200, chat_body(json.dumps({"choice": reply})))]
        with undone():
            assert ask(sealed)["figures"]["triplet"]["reasons"][reply] == CALLS
            row = TripletEvaluation.objects.select_related("version").get()
            assert row.version is not None
            codes = read_choices(row, [triplet.id for triplet in version_triplets(row.version)]).codes
            assert {ChoiceCode(value).choice for value in codes.ravel().tolist()} == {reply}


SCORES = [
    ('{"score": 7, "explanation": "x"}', 7.0, ""),
    ("8", 8.0, ""),
    ('{"score": 11}', None, "unparseable"),
    ('{"score": true}', None, "unparseable"),
    ("Seven, I would say.", None, "unparseable"),
]


def test_scores_of_pairs(sealed: Project, server: ModelServer) -> None:
    for text, score, reason in SCORES:
        server.answers = [Answer(200, chat_body(text))]
        with undone():
            found = ask(sealed, setup="pairs")
            assert found["calls"] == (CALLS if score else 2 * CALLS), text
            rows = TripletPrediction.objects.order_by("pk").values_list("presentation", "score", "reason")
            assert list(rows) == [(name, score, reason) for name in ("h1", "h2")]
            pairs = found["figures"]["pairs"]
            assert (
                pairs["order_faithful_accuracy"]["value"] == 0.0
            )  # equal scores are wrong, missing ones, too
            assert pairs["missing"] == (0 if score else 1), text


def test_a_parameter_that_the_server_refuses_is_asked_for_once(sealed: Project, server: ModelServer) -> None:
    schema = Answer(400, error("response_format is not supported", param="response_format"))
    seed = Answer(400, error("unsupported parameter", param="seed"))
    server.answers = [schema, seed, Answer(200, FIRST)]
    found = ask(sealed)
    assert (found["calls"], len(server.asked)) == (CALLS + 2, CALLS + 2)
    assert found["committed_micro_usd"] == CALLS * COST
    sent = ModelCall.objects.filter(state=CallState.SETTLED).first().request["sent"]  # type: ignore[union-attr]
    assert sent["parameters"] == {
        "max_tokens": 512,
        "temperature": 0.0,
        "response_format": "json_object",
    }
    ask(sealed, fresh="another process")
    assert len(server.asked) == 2 * CALLS + 2  # what it takes is kept
    assert "seed" not in server.asked[-1].json


def test_replies_of_two_models_are_not_mixed(sealed: Project, server: ModelServer) -> None:
    server.answers = [Answer(200, FIRST), Answer(200, {**FIRST, "model": "tiny-2"})]
    text = refused(sealed)
    assert "replies come from tiny-1 and from tiny-2; these are not mixed" in text
    assert call_states() == states(settled=2)


def test_a_server_that_repeats_the_key_leaves_it_nowhere(
    sealed: Project,
    server: ModelServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("DEBUG")
    hidden = base64.b64encode(f"user:{KEY}".encode()).decode()
    server.answers = [Answer(401, error(f"Incorrect API key: {KEY} {hidden}", code=KEY, param=KEY))]
    texts = [refused(sealed)]
    server.answers = [Answer(200, chat_body(f"Your key is {KEY}, {hidden}", model=KEY))]
    found = ask(sealed)
    assert found["calls"] == 2 * CALLS
    server.answers = [Answer(500, error(KEY)), Answer(401, error(KEY))]
    texts.append(refused(sealed, fresh="anew"))
    texts.append(refusal("augment_prompts", project=sealed.slug, again=True, model=MODEL, cap_usd=1.0))
    assert all("[key]" in text for text in texts)
    assert all(row.headers["authorization"] == f"Bearer {KEY}" for row in server.asked)
    shown = capfd.readouterr()
    assert find_secret(KEY, json.dumps(found), *texts, caplog.text, shown.out, shown.err) == []


MISSING: list[tuple[dict[str, str], dict[str, Any], str]] = [
    ({"CHAT_API_URL": ""}, {}, "CHAT_API_URL is not set; give the server's address"),
    ({"CHAT_API_KEY": "no key"}, {}, "CHAT_API_KEY: is no key"),
    ({}, {"model": "openai:tiny-2"}, "openai:tiny-2: the price of a token is unknown"),
    ({}, {"model": "gpt"}, "chat model: 'gpt' is not known"),
    ({}, {"model": "canned:/nowhere/x.jsonl"}, "/nowhere/x.jsonl: cannot be read"),
    ({}, {"per_minute": 0.0}, "per_minute: 0; use a number over 0"),
    ({}, {"threads": 33}, "threads: 33; use 1 to 32"),
    ({}, {"cap_usd": -1.0}, "cap: -1 dollars"),
    ({}, {"prompts": "/nowhere/prompts.toml"}, "prompts.toml: is no readable TOML file"),
    (
        {},
        {"strategy": "image-to-text", "describer": "openai:tiny-2"},
        "openai:tiny-2: the price of a token is unknown",
    ),
    ({}, {"model": "baseline:best"}, "model: 'baseline:best' is no baseline; use random, always-first"),
    ({}, {"version_name": "v9"}, "v9"),
]


def test_what_is_missing_is_one_line_and_nothing_is_stored_or_sent(
    sealed: Project, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = Job.objects.count()
    for changes, more, message in MISSING:
        with monkeypatch.context() as patch:
            for name, value in changes.items():
                patch.setenv(name, value)
            assert message in refused(sealed, **more)
        assert not any(table.objects.exists() for table in (ModelRun, ModelCall, TripletEvaluation)), message
        assert (Job.objects.count(), server.asked) == (jobs, []), message


def test_refused_grades_are_missing_and_stored(sealed: Project, server: ModelServer) -> None:
    server.answers = [Answer(200, FIRST)]
    ask(sealed)
    server.asked.clear()
    by_error = Answer(400, error("not this", code="content_filter"))
    server.answers = [by_error, Answer(200, chat_body('{"grade": 2}'))]
    found = grade(sealed, model=MODEL, cap_usd=1.0, repeats=2)
    assert found["calls"] == found["grades"] == len(server.asked) == 2
    rows = ExplanationGrade.objects.order_by("repeat").select_related("call")
    assert [(row.grade, row.call.state) for row in rows if row.call] == [(None, "refused"), (2, "settled")]
    server.answers = [by_error]
    missing = grade(sealed, model=MODEL, cap_usd=1.0, repeats=1, fresh="anew")["figures"]["judge"]
    assert (missing["missing"], missing["auto_score"]["value"]) == (1, 0.0)
