"""Read a model's description of an image: from a JSON object, or a complete plain text."""

import re

from curation.evaluation.nleye_replies import CUT_FINISH
from curation.models import ModelCall
from curation.pipelines.triplets.chat_runner import Asked, read_object

_DEBRIS_PATTERN = re.compile(r'[{}]|```|"description"|^\[|^(null|true|false)$')
"""What a plain description never has: parts of JSON that cannot be read."""


class NotDescribed(Exception):
    """No reply describes the image; ``call`` is the last one."""

    def __init__(self, call: ModelCall) -> None:
        super().__init__(f"{call.subject}: no reply describes it")
        self.call = call


def read_description(asked: Asked) -> str:
    """Return the description of the newest reply that has one.

    Raises:
        NotDescribed: each is empty, cut off, or the debris of JSON.
    """
    for call in reversed(asked.calls):
        if text := json_description(call) or _plain_description(call):
            return text
    raise NotDescribed(asked.last)


def json_description(call: ModelCall) -> str:
    """Return the description in the JSON object of a complete reply; empty if there is none."""
    found = (read_object(call.text) or {}).get("description")
    return _if_words(found) if isinstance(found, str) and call.finish != CUT_FINISH else ""


def _plain_description(call: ModelCall) -> str:
    text = call.text.strip()
    return "" if call.finish == CUT_FINISH or _DEBRIS_PATTERN.search(text) else _if_words(text)


def _if_words(text: str) -> str:
    return text.strip() if any(character.isalpha() for character in text) else ""
