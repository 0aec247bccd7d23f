"""Paid replies that a database refuses are stored in another form, settled, and never sent again."""

import io
import json
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from PIL import Image as Pillow

from curation.generation.canned import MadeUpReplies
from curation.generation.chat import ChatReply
from curation.models import CallState, GeneratedImage, ModelCall, ModelRun, PromptSet, TripletPrediction
from curation.services.triplets import model_calls
from hits.models import Project
from tests.support.generation import picture_file
from tests.support.model_server import Answer, ModelServer, chat_body, image_body
from tests.support.nleye_jobs import (
    IMAGE_PRICES,
    call_states,
    evaluate,
    run_json,
    sealed_triplets,
    set_prices,
    states,
)
from tests.support.nleye_stored import approve_prompts, keep_scenes, nleye_project, store_scenes
from tests.support.undone import undone

pytestmark = pytest.mark.django_db
MODEL = "openai:tiny-1"
PRICES = f"""[chat."{MODEL}"]
usd_per_million_input_tokens = 2
usd_per_million_output_tokens = 10
tokens_per_image = 100
"""
COST = 21 * 2 + 7 * 10  # micro-dollars by the usage of ``chat_body``
CALLS = 2  # one triplet in two orders
CHOICE = '{"choice": 1, "explanation": "It broke."}'
DEEP = b"[" * 600 + b"]" * 600
IMAGE_PRICE = 40_000  # micro-dollars


def body(text: str = CHOICE, **changes: Any) -> bytes:
    """Return the bytes of a chat reply with other values."""
    return json.dumps(chat_body(text) | changes).encode()


def with_field(reply: bytes, value: bytes) -> bytes:
    """Return a reply with one more field of JSON text."""
    return reply[:-1] + b', "more": ' + value + b"}"


CHATS = [
    ("half a pair in the text", body(CHOICE + "\ud83d"), COST, "first", "It broke."),
    ("half a pair in the model's name", body(model="tiny-\ud83d"), COST, "first", "It broke."),
    ("nul", body(CHOICE + "\x00"), COST, "first", "It broke."),
    ("NaN", with_field(body(), b"NaN"), COST, "first", "It broke."),
    ("deep", with_field(body(), DEEP), COST, "first", "It broke."),
    ("deep content", body('{"choice": 1, "x": ' + DEEP.decode() + "}"), COST, "first", ""),
    ("half a pair in JSON", body('{"choice": 1, "explanation": "Ok \\ud83d"}'), COST, "first", "Ok \ufffd"),
    ("nul in JSON", body('{"choice": 1, "explanation": "Ok \\u0000"}'), COST, "first", "Ok \ufffd"),
    ("half a pair in a field", body(id="\udfff"), COST, "first", "It broke."),
]


def test_a_chat_reply_that_no_database_takes_is_stored_and_settled(
    project: Project, researcher: User, server: ModelServer
) -> None:
    sealed_triplets(project, 1, researcher)
    set_prices(project, PRICES)
    for name, data, cost, choice, explanation in CHATS:
        server.asked.clear()
        server.answers = [Answer(200, data)]
        with undone():
            found = evaluate(project, model=MODEL, cap_usd=1.0)
            assert (found["calls"], found["committed_micro_usd"]) == (CALLS, CALLS * cost), name
            assert call_states() == states(settled=CALLS), name
            rows = TripletPrediction.objects.values_list("choice", "explanation")
            assert set(rows) == {(choice, explanation)}, name
            assert all(call.reply["choices"] for call in ModelCall.objects.all()), name
            again = evaluate(project, model=MODEL, cap_usd=1.0)
            assert (again["calls"], len(server.asked)) == (0, CALLS), name


@pytest.mark.parametrize(
    ("tokens", "cost"),
    [(10**23, None), (float("nan"), None), (2**62, model_calls.MAX_COST_MICRO)],
)
def test_an_absurd_usage_is_stored_and_counts(
    project: Project, researcher: User, server: ModelServer, tokens: Any, cost: int | None
) -> None:
    """No number counts at the reserved price; a number that is too large ends the run after its call."""
    sealed_triplets(project, 1, researcher)
    set_prices(project, PRICES)
    server.answers = [Answer(200, body(usage={"prompt_tokens": tokens, "completion_tokens": 7}))]
    found = evaluate(project, model=MODEL, cap_usd=1.0)
    calls = ModelCall.objects.all()
    assert [call.cost_micro for call in calls] == [cost or call.reserved_micro for call in calls]
    assert len(calls) == len(server.asked) == (1 if cost else CALLS)
    assert ("stopped" in found) == bool(cost)
    assert ModelRun.objects.get().committed_micro == sum(call.cost_micro or 0 for call in calls)


IMAGES = [
    ("seed", image_body(picture_file(), seed=10**30), {}),
    ("usage", image_body(picture_file()) | {"usage": {"x": float("nan")}}, {"usage": {"x": "nan"}}),
    (
        "prompt",
        image_body(picture_file(), revised_prompt="a \ud83d\x00"),
        {"revised_prompt": "a \ufffd\ufffd"},
    ),
    ("deep", with_field(json.dumps(image_body(picture_file())).encode(), DEEP), {}),
]


def prepare_scene(project: Project, by: User, count: int = 1) -> None:
    """Store kept scenes with approved prompts, and the price of the server's model."""
    rows = store_scenes(nleye_project(project), count)
    keep_scenes(rows, by)
    approve_prompts(rows, by)
    set_prices(project, IMAGE_PRICES)


def draw(project: Project) -> dict[str, Any]:
    """Draw one premise of each scene."""
    return run_json("generate_images", project=project.slug, generator=MODEL, candidates=1, cap_usd=1.0)


def test_an_image_whose_facts_no_database_takes_is_stored(
    project: Project, researcher: User, server: ModelServer
) -> None:
    prepare_scene(project, researcher)
    for name, data, facts in IMAGES:
        server.asked.clear()
        server.answers = [Answer(200, data)]
        with undone():
            found = draw(project)
            assert (found["images"], found["committed_micro_usd"]) == (1, IMAGE_PRICE), name
            row = GeneratedImage.objects.get()
            assert row.seed is None
            assert {key: getattr(row, key) for key in facts} == facts, name
            assert call_states() == states(settled=1), name
            assert (draw(project)["images"], len(server.asked)) == (0, 1), name


def test_an_image_that_is_too_large_to_be_stored_is_a_bad_reply(
    project: Project, researcher: User, server: ModelServer, settings: Any
) -> None:
    """A JPEG within the limit becomes a PNG that is over it."""
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Pillow.fromarray(noise).save(buffer, "JPEG", quality=50)
    settings.MAX_IMAGE_BYTES = 100_000
    assert len(buffer.getvalue()) < settings.MAX_IMAGE_BYTES < 200 * 200 * 3 * 0.9
    prepare_scene(project, researcher, 2)
    server.answers = [Answer(200, image_body(buffer.getvalue())), Answer(200, image_body(picture_file()))]
    found = draw(project)
    assert (found["images"], found["bad_replies"]) == (1, 1)
    assert found["committed_micro_usd"] == 2 * IMAGE_PRICE
    assert "maybe_paid_twice" not in found
    call = ModelCall.objects.get(state=CallState.FAILED)
    assert "is too large" in call.error
    assert call.cost_micro == IMAGE_PRICE


def test_prompts_with_half_a_pair_are_stored_without_it(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_scenes(store_scenes(nleye_project(project), 1), researcher)
    text = (
        '{"premise": "A \\ud83d lamp.", "a": "A ball.", "b": "A book.", '
        '"components": ["a boy \\u0000"], "environment": "room \\udfff"}'
    )
    reply = ChatReply(text, "stop", "canned", raw={"text": text})
    monkeypatch.setattr(MadeUpReplies, "reply", lambda *_: reply)
    assert run_json("augment_prompts", project=project.slug)["prompts"] == 1
    row = PromptSet.objects.get()
    assert (row.premise, row.components, row.environment) == (
        "A \ufffd lamp.",
        ["a boy \ufffd"],
        "room \ufffd",
    )


def test_a_description_with_half_a_pair_is_asked_about(
    project: Project, researcher: User, server: ModelServer
) -> None:
    sealed_triplets(project, 1, researcher)
    set_prices(project, PRICES)
    described = [Answer(200, body(f'{{"description": "a \\ud83d lamp {number}"}}')) for number in range(3)]
    server.answers = [*described, Answer(200, body())]
    found = evaluate(project, model=MODEL, cap_usd=1.0, strategy="image-to-text")
    assert found["calls"] == 3 + CALLS
    question = server.asked[-1].json["messages"][1]["content"]
    assert json.dumps(question).count("\\ufffd lamp") == 3
    assert TripletPrediction.objects.filter(choice="first").count() == CALLS
