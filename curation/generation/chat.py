"""Chat requests and replies, the interface of chat models, and the keys under which replies are kept."""

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from curation.generation.pictures import LONGEST_SIDE, scale_for_chat
from curation.generation.prices import TokenUsage
from curation.records import InvalidInput

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
ROLES = (SYSTEM, USER, ASSISTANT)
STOP, LENGTH, CONTENT_FILTER = "stop", "length", "content_filter"
"""Finish reasons: the reply is complete, was cut at ``max_tokens``, or was refused by the provider's rules."""
MAX_TOKENS = 32_768
IMAGE_RULE = f"png-{LONGEST_SIDE}"
"""How images are sent; part of every key, so that another scaling is another request."""


@dataclass(frozen=True, slots=True)
class ChatImage:
    """An image of a message. sha256: of its file. read: returns the file's bytes, only when the request is sent."""

    sha256: str
    read: Callable[[], bytes] = field(repr=False, compare=False)

    @classmethod
    def from_bytes(cls, data: bytes) -> "ChatImage":
        """Return the image of a file's bytes."""
        return cls(hashlib.sha256(data).hexdigest(), lambda: data)


@dataclass(frozen=True, slots=True)
class Message:
    """One message: texts and images in the order in which the model sees them."""

    role: str
    parts: tuple[str | ChatImage, ...]

    @property
    def text(self) -> str:
        """The texts, one a line."""
        return "\n".join(part for part in self.parts if isinstance(part, str))


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request. schema: JSON schema of the reply; ``None`` asks for plain text. seed: if the server takes one."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    seed: int | None = None
    temperature: float = 0.0
    max_tokens: int = 512

    @property
    def images(self) -> tuple[ChatImage, ...]:
        """All images in order."""
        return tuple(
            part for message in self.messages for part in message.parts if isinstance(part, ChatImage)
        )

    @property
    def texts(self) -> list[str]:
        """What a price bound counts: each message's texts, and the schema."""
        texts = [message.text for message in self.messages]
        return texts if self.schema is None else [*texts, _canonical(self.schema)]


class SentImage(NamedTuple):
    """The size of an image's file and the size in which it was sent, in pixels."""

    sha256: str
    width: int
    height: int
    sent_width: int
    sent_height: int


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One reply.

    finish: ``stop``, ``length``, ``content_filter``, or the server's own word. usage: as received. model: as the
    reply names it. raw: the whole reply as received, without keys. sent: the parameters that were really sent, which
    lack those that the server does not take. seconds: wall time.
    """

    text: str
    finish: str
    model: str
    usage: Mapping[str, Any] = field(default_factory=dict)
    raw: Any = None
    sent: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[SentImage, ...] = ()
    seconds: float = 0.0

    @property
    def tokens(self) -> TokenUsage:
        """The tokens that the reply says it used."""
        return TokenUsage(
            _count(self.usage, "prompt_tokens", "input_tokens"),
            _count(self.usage, "completion_tokens", "output_tokens"),
        )


class ChatModel(Protocol):
    """Answers messages with texts and images.

    ``name`` is the one in options; ``model`` and ``revision`` say what it resolved to. ``kind`` is that of the
    endpoint and part of every key. ``accepts`` has what the server turned out to take, for the next process.
    """

    name: str
    kind: str
    model: str
    revision: str

    @property
    def accepts(self) -> Mapping[str, Any]:
        """What the server turned out to take; give it to the factory again."""
        ...

    def reply(self, request: ChatRequest) -> ChatReply:
        """Return the reply to a request.

        Raises:
            Transient, Permanent, ContentRefused, BadReply: see ``curation.generation.errors``.
        """
        ...


def check_chat_request(request: ChatRequest) -> None:
    """Check a request by itself, before it costs anything.

    Raises:
        InvalidInput: a value is missing or outside of its limits; the message names the field.
    """
    if not request.messages or not any(message.parts for message in request.messages):
        raise InvalidInput("messages: there is none; write what the model shall do")
    unknown = [message.role for message in request.messages if message.role not in ROLES]
    if unknown:
        raise InvalidInput(f"messages: role {unknown[0]!r} is not known; use {', '.join(ROLES)}")
    if not 1 <= request.max_tokens <= MAX_TOKENS:
        raise InvalidInput(f"max_tokens: {request.max_tokens}; use 1 to {MAX_TOKENS:,}")
    if not (math.isfinite(request.temperature) and request.temperature >= 0):
        raise InvalidInput(f"temperature: {request.temperature}; use a number from 0 on")


def request_sha256(request: ChatRequest) -> str:
    """Return the hash of a request, whichever model it goes to. Images count by the hashes of their files."""
    return described_sha256(describe_request(request))


def described_sha256(described: Mapping[str, Any]) -> str:
    """Return the hash of a request from its record (``describe_request``)."""
    messages = [[message["role"], message["parts"]] for message in described["messages"]]
    names = ("image_rule", "schema", "seed", "temperature", "max_tokens")
    content = _canonical({"messages": messages} | {name: described[name] for name in names})
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def cache_key(kind: str, model: str, request: ChatRequest) -> str:
    """Return the key of a reply: equal for equal requests to the same kind of endpoint and the same model."""
    return hashlib.sha256(_canonical([kind, model, request_sha256(request)]).encode()).hexdigest()


def reply_key(model: ChatModel, request: ChatRequest) -> str:
    """Return the cache key of a request to a model: of its kind, its name and its revision, if it has one."""
    version = f"{model.model}@{model.revision}" if model.revision else model.model
    return cache_key(model.kind, version, request)


def describe_request(request: ChatRequest) -> dict[str, Any]:
    """Return a request as JSON for its record: hashes instead of images."""
    return {
        "messages": [
            {"role": message.role, "parts": [_part_key(part) for part in message.parts]}
            for message in request.messages
        ],
        "image_rule": IMAGE_RULE,
        "schema": request.schema,
        "seed": request.seed,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }


def data_uri(image: ChatImage, where: str = "image") -> tuple[str, SentImage]:
    """Return an image as a PNG data URI, scaled to a longest side of 1,024 pixels, and its sizes.

    Raises:
        InvalidInput: the file is no usable image.
    """
    png, (width, height) = scale_for_chat(image.read(), where)
    uri = "data:image/png;base64," + base64.b64encode(png.data).decode()
    return uri, SentImage(image.sha256, width, height, png.width, png.height)


def _part_key(part: str | ChatImage) -> str | dict[str, str]:
    return part if isinstance(part, str) else {"image": part.sha256}


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def user_message(*parts: str | ChatImage) -> Message:
    """Return a message of the user."""
    return Message(USER, parts)


def system_message(text: str) -> Message:
    """Return a message that says what the model is to do."""
    return Message(SYSTEM, (text,))


def count_images(messages: Sequence[Message]) -> int:
    """Return the number of images in messages."""
    return sum(isinstance(part, ChatImage) for message in messages for part in message.parts)
