"""Chat models of OpenAI-compatible servers: OpenAI, vLLM, Ollama, LiteLLM's proxy, gateways to other providers."""

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from curation.generation import names
from curation.generation.chat import (
    CONTENT_FILTER,
    ChatImage,
    ChatReply,
    ChatRequest,
    Message,
    SentImage,
    check_chat_request,
    data_uri,
)
from curation.generation.endpoint import CHAT, read_endpoint
from curation.generation.errors import AskDifferently, BadReply, Permanent
from curation.generation.keys import blank_keys
from curation.generation.openai_client import call, create_client, refused_parameter

FORMATS = ("json_schema", "json_object", "none")
"""How JSON is asked for, from the strictest way on; a server that refuses one is asked in the next."""
_LEFT_OUT = ("seed", "temperature")  # parameters that some models refuse
_LENGTHS = ("max_tokens", "max_completion_tokens")  # OpenAI's newer models know only the second
_MAX_REPLY_BYTES = 16 * 1024**2
_REFUSAL_PATTERN = re.compile(
    r"unsupported|unknown|unrecogni|not support|unexpected|extra|not allowed|not permitted|invalid"
)
_FORMAT_WORDS_PATTERN = re.compile(r"response_format|json_schema|json_object|guided")


class OpenAiChat:
    """A chat model of an OpenAI-compatible server (``CHAT_API_URL``, ``CHAT_API_KEY``).

    accepts: what an earlier process found out about the server, from ``accepts`` of its model; a parameter that is
    refused is asked for once and then left out.
    """

    kind = names.OPENAI

    def __init__(
        self,
        model: str,
        *,
        accepts: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._endpoint = read_endpoint(CHAT, environment)
        self._client = create_client(self._endpoint, max_reply_bytes=_MAX_REPLY_BYTES)
        self.name = f"{names.OPENAI}:{model}"
        self.model = model
        self.revision = ""  # a server states none; the model's name in each reply is stored
        known = accepts or {}
        self._format = known["format"] if known.get("format") in FORMATS else FORMATS[0]
        self._length = known["length"] if known.get("length") in _LENGTHS else _LENGTHS[0]
        self._left_out = {name for name in _LEFT_OUT if name in known.get("left_out", ())}

    @property
    def accepts(self) -> Mapping[str, Any]:
        """See ``ChatModel``."""
        return {"format": self._format, "length": self._length, "left_out": sorted(self._left_out)}

    def reply(self, request: ChatRequest) -> ChatReply:
        """See ``ChatModel``."""
        check_chat_request(request)
        sent: list[SentImage] = []
        messages = [_message(message, sent) for message in request.messages]
        parameters = self._parameters(request)
        completions = self._client.chat.completions.with_raw_response
        started = time.monotonic()
        try:
            found = call(
                self._endpoint,
                lambda: completions.create(model=self.model, messages=messages, **parameters),
            )
        except Permanent as failure:
            different = self._ask_differently(failure, parameters)
            if different is None:
                raise
            raise different from None
        return self._read_reply(found, parameters, tuple(sent), time.monotonic() - started)

    def _parameters(self, request: ChatRequest) -> dict[str, Any]:
        parameters: dict[str, Any] = {self._length: request.max_tokens}
        if "temperature" not in self._left_out:
            parameters["temperature"] = request.temperature
        if request.seed is not None and "seed" not in self._left_out:
            parameters["seed"] = request.seed
        if request.schema is not None and self._format == "json_schema":
            schema = {"name": "reply", "schema": request.schema, "strict": _is_strict(request.schema)}
            parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and self._format == "json_object":
            parameters["response_format"] = {"type": "json_object"}
        return parameters

    def _ask_differently(self, failure: Permanent, sent: Mapping[str, Any]) -> AskDifferently | None:
        """Leave out what the server refuses, if it says so and it was sent."""
        named, message = refused_parameter(failure)

        def refuses(pattern: str) -> bool:
            if named:
                return re.search(pattern, named) is not None
            return re.search(pattern, message) is not None and _REFUSAL_PATTERN.search(message) is not None

        found = ""
        if _LENGTHS[0] in sent and refuses(rf"\b{_LENGTHS[0]}\b") and _LENGTHS[1] in message:
            self._length, found = _LENGTHS[1], _LENGTHS[0]
        elif "response_format" in sent and refuses(_FORMAT_WORDS_PATTERN.pattern):
            found = str(sent["response_format"]["type"])
            if self._format == found:  # another thread may have been refused before
                self._format = FORMATS[FORMATS.index(found) + 1]
        else:
            for name in _LEFT_OUT:
                if name in sent and refuses(rf"\b{name}\b"):
                    self._left_out.add(name)
                    found = name
                    break
        if not found:
            return None
        return AskDifferently(f"{self.name}: does not take {found}", retry_after=0.0, raw=failure.raw)

    def _read_reply(
        self,
        found: dict[str, Any],
        parameters: Mapping[str, Any],
        images: tuple[SentImage, ...],
        seconds: float,
    ) -> ChatReply:
        raw = blank_keys(found)
        choices = raw.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise BadReply(f"{self._endpoint.label}: the reply has no message", raw=raw)
        refusal = message.get("refusal")
        usage = raw.get("usage")
        return ChatReply(
            text=refusal if isinstance(refusal, str) and refusal else _text(message.get("content")),
            finish=CONTENT_FILTER if refusal else str(choice.get("finish_reason") or ""),
            model=str(raw.get("model") or self.model),
            usage=usage if isinstance(usage, dict) else {},
            raw=raw,
            sent=dict(parameters),
            images=images,
            seconds=seconds,
        )


def _message(message: Message, sent: list[SentImage]) -> dict[str, Any]:
    """Return a message for the server; a message of texts alone is plain, which every server understands."""
    if not any(isinstance(part, ChatImage) for part in message.parts):
        return {"role": message.role, "content": message.text}
    content: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, str):
            content.append({"type": "text", "text": part})
            continue
        uri, sizes = data_uri(part, f"image {len(sent) + 1}")
        sent.append(sizes)
        content.append({"type": "image_url", "image_url": {"url": uri}})
    return {"role": message.role, "content": content}


def _text(content: Any) -> str:
    """Return the text of a reply's content: a text, or a list of parts, as some servers send it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _is_strict(schema: Any) -> bool:
    """Return whether every object of a schema lists all of its properties as required and allows no other.

    Only such a schema may be sent as strict.
    """
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    return all(map(_is_strict, schema.values()))
