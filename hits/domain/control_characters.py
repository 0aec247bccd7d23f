"""Find control characters, which no text of a person contains."""

import unicodedata

_CATEGORIES = frozenset({"Cc", "Cs", "Co", "Cn"})


def describe_control_character(text: str) -> str:
    """Return that a text contains a control character, and which; empty if it has none. White space is allowed."""
    for character in text:
        if unicodedata.category(character) in _CATEGORIES and not character.isspace():
            return f"contains the control character U+{ord(character):04X}: remove it"
    return ""
