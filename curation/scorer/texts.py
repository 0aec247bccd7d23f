"""The exact string that a scorer reads for a text. Source: Hessel et al. 2022 §5; prefixes: the published code."""

from collections.abc import Sequence
from enum import StrEnum

from curation.scorer.config import TextMode


class TextKind(StrEnum):
    """A text of a pair: its inference or its clue."""

    INFERENCE = "inference"
    CLUE = "clue"


_PREFIXES = {TextKind.INFERENCE: "inference: ", TextKind.CLUE: "clue: "}


DEFAULT_PROMPT = "{}"  # where the text goes


def format_texts(texts: Sequence[str], kind: TextKind, *, mode: TextMode, prompt: str) -> list[str]:
    """Return texts as the scorer reads them, in training and inference: prefix and text, within the prompt.

    Only multitask training uses prefixes.
    """
    prefix = _PREFIXES[kind] if mode is TextMode.MULTITASK else ""
    # Not str.format: a text may contain braces.
    return [prompt.replace(DEFAULT_PROMPT, prefix + text) for text in texts]
