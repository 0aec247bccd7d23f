"""Chat models without a network: made-up replies, and replies recorded before.

Made-up replies say nothing about images. They are computed from hashes, so that a re-run gives the same figures, and
are valid for the request's schema. They exist so that every page and measure can be tried offline.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.generation import names
from curation.generation.canned_values import CannedValues
from curation.generation.chat import (
    STOP,
    ChatReply,
    ChatRequest,
    check_chat_request,
    request_sha256,
)
from curation.generation.errors import Permanent
from curation.generation.prices import TOKENS_PER_MESSAGE
from curation.records import InvalidInput

REVISION = "canned/1"
MAX_RECORDING_BYTES = 512 * 1024**2
_BYTES_PER_TOKEN = 4
_SENTENCES = (
    "The context makes this the usual course of events.",
    "People in this situation commonly do this next.",
    "What is seen in the context leads to this outcome.",
    "The two scenes share the same cause.",
    "This follows because the objects in the context are used for it.",
    "The state of the things in the context explains it.",
)


class MadeUpReplies:
    """The chat model ``canned``. Its name says in provenance that no model was asked."""

    kind = names.CANNED
    name = model = names.CANNED
    revision = REVISION

    @property
    def accepts(self) -> Mapping[str, Any]:
        """See ``ChatModel``."""
        return {}

    def reply(self, request: ChatRequest) -> ChatReply:
        """Return the made-up reply to a request: always the same one."""
        check_chat_request(request)
        values = CannedValues(request, _SENTENCES)
        if request.schema is None:
            text = values.sentence("reply")
        else:
            text = json.dumps(values.value(request.schema), ensure_ascii=False)
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in request.texts)
        usage = {
            "prompt_tokens": size // _BYTES_PER_TOKEN + TOKENS_PER_MESSAGE * len(request.messages),
            "completion_tokens": len(text.encode()) // _BYTES_PER_TOKEN + 1,
        }
        raw = {"model": self.model, "text": text, "finish": STOP, "usage": usage}
        return ChatReply(text=text, finish=STOP, model=self.model, usage=usage, raw=raw)


class RecordedReplies:
    """The chat model ``canned:FILE.jsonl``: replies recorded before, found by the request's hash.

    Each line is one JSON object as ``recorded_line`` writes it. A run from such a file repeats bit for bit.
    """

    kind = names.CANNED

    def __init__(self, path: Path) -> None:
        self._path = path
        self._replies, digest = _read_recording(path)
        self.name = f"{names.CANNED}:{path}"
        models = sorted({str(reply.get("model") or "") for reply in self._replies.values()} - {""})
        self.model = " + ".join(models)[: names.MAX_NAME_LENGTH] or path.name
        self.revision = f"sha256:{digest[:16]}"

    @property
    def accepts(self) -> Mapping[str, Any]:
        """See ``ChatModel``."""
        return {}

    def reply(self, request: ChatRequest) -> ChatReply:
        """Return the recorded reply to a request.

        Raises:
            Permanent: none was recorded.
        """
        check_chat_request(request)
        key = request_sha256(request)
        found = self._replies.get(key)
        if found is None:
            raise Permanent(
                f"{self._path.name}: has no reply to request {key}; record it, or use the file of a run with the "
                "same texts, images and parameters"
            )
        usage = found.get("usage")
        return ChatReply(
            text=found["text"],
            finish=found["finish"],
            model=str(found.get("model") or self.model),
            usage=usage if isinstance(usage, dict) else {},
            raw=found,
        )


def recorded_line(key: str, reply: ChatReply) -> str:
    """Return the line of a recording, without its end. ``key`` is the hash of the request (``request_sha256``)."""
    content = {
        "request": key,
        "model": reply.model,
        "finish": reply.finish,
        "usage": dict(reply.usage),
        "text": reply.text,
    }
    return json.dumps(content, ensure_ascii=False)


def _read_recording(path: Path) -> tuple[dict[str, dict[str, Any]], str]:
    try:
        if path.stat().st_size > MAX_RECORDING_BYTES:
            raise InvalidInput(
                f"{path}: is larger than {MAX_RECORDING_BYTES // 1024**2} MB; split the recording"
            )
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be read ({error.strerror}); give a recording in JSON Lines"
        ) from error
    replies: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        reply = _read_line(line, where)
        key = reply["request"]
        if key in replies and replies[key] != reply:
            raise InvalidInput(f"{where}: request {key} has another reply in line {lines[key]}; keep one")
        replies[key], lines[key] = reply, lines.get(key, number)
    if not replies:
        raise InvalidInput(f"{path}: is empty; record replies first")
    return replies, hashlib.sha256(data).hexdigest()


def _read_line(line: bytes, where: str) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        raise InvalidInput(f"{where}: is no JSON object; write one reply a line")
    for name in ("request", "text", "finish"):
        if not isinstance(reply.get(name), str):
            raise InvalidInput(f"{where}: {name} is missing or no text; use lines as a run records them")
    return reply
