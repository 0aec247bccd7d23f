"""Which words the scorer reads for a text, by how it was trained. Source: paper 001 §5; prefixes: published code."""

from collections.abc import Sequence
from enum import StrEnum

from curation.scorer.config import TextMode


class TextKind(StrEnum):
    """Which text of a pair."""

    INFERENCE = "inference"
    CLUE = "clue"


_PREFIXES = {TextKind.INFERENCE: "inference: ", TextKind.CLUE: "clue: "}


PLAIN_PROMPT = "{}"  # where the text goes


def worded(texts: Sequence[str], kind: TextKind, *, mode: TextMode, prompt: str) -> list[str]:
    """Return texts as a scorer of that card reads them, in training and in use: a prompt, and within it a prefix.

    Only multitask training has prefixes.
    """
    prefix = _PREFIXES[kind] if mode is TextMode.MULTITASK else ""
    # Not str.format: a text may hold braces of its own.
    return [prompt.replace(PLAIN_PROMPT, prefix + text) for text in texts]
