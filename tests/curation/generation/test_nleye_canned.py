"""Chat models without a network, and the keys under which replies are kept."""

import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.generation.canned import MadeUpReplies, RecordedReplies, recorded_line
from curation.generation.chat import (
    ChatImage,
    ChatReply,
    ChatRequest,
    Message,
    cache_key,
    describe_request,
    reply_key,
    request_sha256,
    system_message,
    user_message,
)
from curation.generation.chat_factory import get_chat_model
from curation.generation.errors import Permanent
from curation.generation.image_factory import get_generator
from curation.generation.prices import TokenUsage
from curation.records import InvalidInput

CHOICE = {
    "type": "object",
    "properties": {"explanation": {"type": "string"}, "choice": {"enum": [1, 2, "equal", "none"]}},
    "required": ["explanation", "choice"],
    "additionalProperties": False,
}


def image(name: str) -> ChatImage:
    """Return an image that nobody may read: made-up replies need none."""
    return ChatImage(hashlib.sha256(name.encode()).hexdigest(), lambda: pytest.fail("the image was read"))


def triplet(number: int, *, swapped: bool = False, schema: Any = CHOICE) -> ChatRequest:
    first, second = (image(f"{number} {role}") for role in ("h1", "h2"))
    shown = (second, first) if swapped else (first, second)
    return ChatRequest((system_message("Choose."), user_message(image(f"{number} premise"), *shown)), schema)


def choose(request: ChatRequest) -> Any:
    return json.loads(MadeUpReplies().reply(request).text)["choice"]


def test_made_up_choices_are_neither_constant_nor_tied_to_a_position() -> None:
    """Two thirds follow a taste for content, whatever the order: 5/9 of the triplets are answered consistently."""
    count = 900
    listed = [choose(triplet(number)) for number in range(count)]
    swapped = [choose(triplet(number, swapped=True)) for number in range(count)]
    assert {1, 2, "equal", "none"} == set(listed)
    valid = [(a, b) for a, b in zip(listed, swapped, strict=True) if {a, b} <= {1, 2}]
    first_share = sum(a == 1 for a, _ in valid) / len(valid)
    same_hypothesis = sum(a != b for a, b in valid) / len(valid)
    assert 0.45 < first_share < 0.55
    assert abs(same_hypothesis - 5 / 9) < 0.05
    others = sum(answer not in {1, 2} for answer in listed) / count
    assert abs(others - 0.1) < 0.03


def test_a_reply_depends_on_the_request_alone() -> None:
    request = triplet(1)
    assert MadeUpReplies().reply(request) == get_chat_model().reply(request)
    command = "from tests.curation.generation.test_nleye_canned import *; print(choose(triplet(1)))"
    path = [f"import sys; sys.path.insert(0, {str(Path.cwd())!r})", command]
    found = subprocess.run(
        [sys.executable, "-c", "; ".join(path)], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(choose(request))


SCHEMAS: dict[str, Any] = {
    "score": {"type": "object", "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 10}}},
    "grade": {"type": "object", "properties": {"grade": {"enum": [0, 1, 2]}}},
    "share": {"type": "number", "minimum": 2, "maximum": 3},
    "nested": {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"$ref": "#/$defs/part"}, "minItems": 1, "maxItems": 3}
        },
        "$defs": {
            "part": {
                "type": "object",
                "properties": {
                    "flag": {"type": "boolean"},
                    "kind": {"const": "x"},
                    "text": {"type": "string", "minLength": 100, "maxLength": 120},
                    "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
                    "either": {"type": ["integer", "null"]},
                },
                "required": ["flag", "kind", "text", "maybe", "either"],
                "additionalProperties": False,
            }
        },
    },
}


def is_valid(name: str, value: Any) -> bool:
    """Return whether a value is valid for one of the schemas; written down a second time, by hand."""
    if name == "score":
        return value.keys() == {"score"} and type(value["score"]) is int and 1 <= value["score"] <= 10
    if name == "grade":
        return value.keys() == {"grade"} and value["grade"] in {0, 1, 2}
    if name == "share":
        return type(value) is float and 2 <= value <= 3
    return (
        value.keys() == {"list"} and 1 <= len(value["list"]) <= 3 and all(map(is_valid_part, value["list"]))
    )


def is_valid_part(part: Any) -> bool:
    return (
        part.keys() == {"flag", "kind", "text", "maybe", "either"}
        and type(part["flag"]) is bool
        and part["kind"] == "x"
        and 100 <= len(part["text"]) <= 120
        and (part["maybe"] is None or type(part["maybe"]) is str)
        and (part["either"] is None or type(part["either"]) is int)
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_made_up_replies_are_valid_for_their_schema_and_vary(name: str) -> None:
    replies = {MadeUpReplies().reply(triplet(number, schema=SCHEMAS[name])).text for number in range(40)}
    assert [text for text in replies if not is_valid(name, json.loads(text))] == []
    assert len(replies) > 2


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#/$defs/none"}, "is not defined in it"),
        ({"$ref": "#"}, "not defined|without end"),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}},
            },
            "without end",
        ),
        ({"type": "string", "pattern": "^a"}, "has pattern, for which canned makes up no value"),
    ],
)
def test_a_schema_without_a_value_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        MadeUpReplies().reply(triplet(1, schema=schema))


def test_rewritten_prompts_keep_the_words_that_were_given() -> None:
    names = ["premise", "hypothesis_a", "environment", "components"]
    properties = {name: {"type": "string"} for name in names[:3]}
    properties["components"] = {"type": "array", "items": {"type": "string"}, "maxItems": 2}
    text = "Rewrite these.\nPremise: A man runs.\nHypothesis a: He is late.\n"
    request = ChatRequest((user_message(text),), {"type": "object", "properties": properties})
    found = json.loads(MadeUpReplies().reply(request).text)
    assert list(found) == names
    assert found["premise"].startswith("A man runs, in ") or found["premise"].startswith("A man runs, on ")
    assert found["hypothesis_a"].removeprefix("He is late, ") == found["premise"].removeprefix("A man runs, ")
    assert found["environment"] == found["premise"].removeprefix("A man runs, ")
    assert len(found["components"]) <= 2


def test_plain_replies_and_usage() -> None:
    reply = MadeUpReplies().reply(triplet(1, schema=None))
    assert reply.text.endswith(".")
    assert (reply.finish, reply.model) == ("stop", "canned")
    assert reply.tokens.input_tokens is not None
    assert reply.tokens.output_tokens is not None


def test_recorded_replies_repeat_bit_for_bit(tmp_path: Path) -> None:
    requests = [triplet(number) for number in range(5)]
    replies = [ChatReply(f'{{"choice": {n}}} ü', "stop", "big-1", {"prompt_tokens": n}) for n in range(5)]
    path = tmp_path / "run.jsonl"
    path.write_text(
        "\n".join(recorded_line(request_sha256(a), b) for a, b in zip(requests, replies, strict=True))
        + "\n\n"
    )
    model = get_chat_model(f"canned:{path}")
    for request, reply in zip(requests, replies, strict=True):
        found = model.reply(request)
        assert (found.text, found.finish, found.model, found.usage) == (
            reply.text,
            "stop",
            "big-1",
            reply.usage,
        )
    assert model.model == "big-1"
    assert model.revision == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    with pytest.raises(
        Permanent, match=r"^run.jsonl: has no reply to request [0-9a-f]{64}; record it"
    ) as caught:
        model.reply(triplet(9))
    assert caught.value.may_cost is False


LINE = '{"request": "a", "text": "x", "finish": "stop"}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; record replies first"),
        ("{}\n", "line 1: request is missing or no text"),
        (f"{LINE}\nnonsense\n", "line 2: is no JSON object"),
        (f"{LINE}\n[1]", "line 2: is no JSON object"),
        (f"{LINE}\n" + LINE.replace('"x"', "3"), "line 2: text is missing or no text"),
        (
            f"{LINE}\n{LINE}\n" + LINE.replace('"x"', '"y"'),
            "line 3: request a has another reply in line 1; keep one",
        ),
    ],
)
def test_a_wrong_recording_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        RecordedReplies(path)
    assert message in str(caught.value)


def test_a_missing_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.jsonl: cannot be read \(No such file"):
        get_chat_model(f"canned:{tmp_path}/none.jsonl")


def test_a_key_changes_with_everything_that_the_reply_depends_on() -> None:
    base = triplet(1)
    changed = [
        triplet(1, swapped=True),
        triplet(2),
        triplet(1, schema=None),
        dataclasses.replace(base, seed=1),
        dataclasses.replace(base, temperature=0.5),
        dataclasses.replace(base, max_tokens=100),
        dataclasses.replace(base, messages=(*base.messages, Message("assistant", ("ok",)))),
        dataclasses.replace(base, messages=tuple(reversed(base.messages))),
    ]
    keys = [request_sha256(request) for request in (base, *changed)]
    assert len(set(keys)) == len(keys)
    assert request_sha256(triplet(1)) == keys[0]
    assert len({cache_key(kind, model, base) for kind in ("openai", "canned") for model in ("a", "b")}) == 4
    assert reply_key(MadeUpReplies(), base) == cache_key("canned", "canned@canned/1", base)


def test_an_images_key_is_its_hash_whatever_it_is_read_from() -> None:
    text = user_message("a", ChatImage.from_bytes(b"pixels"))
    same = user_message("a", ChatImage(hashlib.sha256(b"pixels").hexdigest(), lambda: b"other"))
    assert request_sha256(ChatRequest((text,))) == request_sha256(ChatRequest((same,)))
    # A text that looks like an image's key is another request.
    fake = user_message("a", json.dumps({"image": hashlib.sha256(b"pixels").hexdigest()}))
    assert request_sha256(ChatRequest((fake,))) != request_sha256(ChatRequest((same,)))
    described = json.dumps(describe_request(ChatRequest((text,))))
    assert hashlib.sha256(b"pixels").hexdigest() in described


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4)),
        ({"input_tokens": 3, "output_tokens": 4}, (3, 4)),
        ({"prompt_tokens": -1, "completion_tokens": True}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_usage_is_read_in_both_spellings(
    usage: dict[str, Any], tokens: tuple[int | None, int | None]
) -> None:
    assert ChatReply("", "stop", "m", usage).tokens == TokenUsage(*tokens)


def test_the_offline_defaults_load_no_optional_package() -> None:
    code = (
        "import sys\n"
        "from curation.generation import canned, chat_factory, endpoint, folder_import, image_factory, retries\n"
        "chat_factory.get_chat_model(); image_factory.get_generator()\n"
        "print(sorted({'openai', 'diffusers', 'torch', 'transformers', 'django'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_import_draws_nothing() -> None:
    with pytest.raises(InvalidInput, match="import draws nothing; import a folder"):
        get_generator("import")
