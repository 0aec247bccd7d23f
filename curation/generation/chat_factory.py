"""Create chat models by the names that commands and runs use."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.generation import names
from curation.generation.chat import ChatModel


def get_chat_model(
    name: str = "",
    *,
    accepts: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> ChatModel:
    """Return the chat model called ``name``: ``canned`` (default), ``canned:FILE.jsonl``, or ``openai:MODEL``.

    Args:
        accepts: what an earlier process found out about the server (``ChatModel.accepts``).

    Raises:
        InvalidInput: an unknown name, a recording that cannot be read, a missing package, address or key.
    """
    parsed = names.parse_chat_model(name)
    if parsed.kind == names.OPENAI:
        from curation.generation.openai_chat import OpenAiChat  # noqa: PLC0415 - optional package, on demand

        return OpenAiChat(parsed.source, accepts=accepts, environment=environment)
    from curation.generation.canned import MadeUpReplies, RecordedReplies  # noqa: PLC0415 - on demand

    if not parsed.source:
        return MadeUpReplies()
    return RecordedReplies(Path(parsed.source))
