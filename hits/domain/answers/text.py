"""Validate and normalize text that people type."""

import re
import unicodedata

from hits.domain.control_characters import describe_control_character

MAX_CLUE = 300
MAX_INFERENCE = 600
_WHITESPACE_PATTERN = re.compile(r"\s+")


class TextError(ValueError):
    """A text that is refused; the message names the reason and the fix."""


def clean_line(raw: str, *, maximum: int) -> str:
    """Return ``raw`` in NFC with each run of white space as one space.

    Args:
        raw: the typed text.
        maximum: the largest length in characters, after normalization.

    Raises:
        TextError: control characters, or longer than ``maximum``.
    """
    text = _WHITESPACE_PATTERN.sub(" ", unicodedata.normalize("NFC", raw)).strip()
    control = describe_control_character(text)
    if control:
        raise TextError(control)
    if len(text) > maximum:
        raise TextError(f"has {len(text)} characters: use {maximum} or fewer")
    return text


def has_visible_text(text: str) -> bool:
    """Return whether a text has a character that people see; spaces of no width are none."""
    return any(unicodedata.category(character)[0] not in "CZ" for character in text)


def tokenize(text: str) -> list[str]:
    """Return tokens as corpus statistics count them: runs of letters or digits, and single punctuation marks."""
    return re.findall(r"\w+(?:['’]\w+)?|[^\w\s]", text)


MAX_ROW_NUMBER_DIGITS = 18  # digits of the largest row number that every database accepts


def parse_digits(text: str) -> int | None:
    """Return the number of an address or a form field, or ``None`` if the text is not plain digits."""
    plain = text.isascii() and text.isdigit() and len(text) <= MAX_ROW_NUMBER_DIGITS
    return int(text) if plain else None


def shorten_text(text: str, max_length: int) -> str:
    """Return a text, cut with an ellipsis if it is longer than ``max_length``."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
