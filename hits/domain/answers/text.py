"""Text that people type: what is let in, and how it is tidied before it is kept."""

import re
import unicodedata

MAX_CLUE = 300
MAX_INFERENCE = 600
_SPACES = re.compile(r"\s+")


class TextError(ValueError):
    """A text that cannot be kept; the message says why and what to do."""


def clean_line(raw: str, *, maximum: int) -> str:
    """Return ``raw`` in NFC with runs of white space folded to one space.

    Args:
        raw: what was typed.
        maximum: longest text kept, in characters, counted after tidying.

    Raises:
        TextError: control characters, or longer than ``maximum``.
    """
    text = _SPACES.sub(" ", unicodedata.normalize("NFC", raw)).strip()
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn"}:
            raise TextError(f"contains the control character U+{ord(character):04X}: remove it")
    if len(text) > maximum:
        raise TextError(f"has {len(text)} characters: use {maximum} or fewer")
    return text


def tokens(text: str) -> list[str]:
    """Return words and marks as corpus statistics count them: runs of letters or digits, single marks."""
    return re.findall(r"\w+(?:['’]\w+)?|[^\w\s]", text)


LONGEST_ROW_NUMBER = 18  # digits of the largest row number that every database takes


def row_number(text: str) -> int | None:
    """Return the row number that an address or a form names, or ``None`` where it names none."""
    plain = text.isascii() and text.isdigit() and len(text) <= LONGEST_ROW_NUMBER
    return int(text) if plain else None
