"""The rules of a reviewer's advice; ``static/work_review/advice.js`` has the same."""

import re

from hits.domain.answers.text import TextError, clean_line
from hits.domain.tagged_text import count_words

MIN_WORDS = 8
MAX_SENTENCES = 3
MAX_CHARACTERS = 600
_END_PATTERN = re.compile(r"[.!?…]+[\"'”’)\]]*\s+")


def count_sentences(text: str) -> int:
    """Return the number of sentences: one more than the ends that a capital letter follows."""
    trimmed = text.strip()
    if not trimmed:
        return 0
    return 1 + sum(trimmed[end.end()].isupper() for end in _END_PATTERN.finditer(trimmed))


def clean_advice(raw: str) -> tuple[str, str]:
    """Return the advice on one line, and its problem with what to do; the problem is empty if there is none."""
    try:
        text = clean_line(raw, maximum=MAX_CHARACTERS)
    except TextError as error:
        return "", str(error)
    return text, _find_length_problem(text)


def _find_length_problem(text: str) -> str:
    words, sentences = count_words([text]), count_sentences(text)
    if words < MIN_WORDS:
        return f"has {words} words: write at least {MIN_WORDS}, which the author can use"
    if sentences > MAX_SENTENCES:
        return f"has {sentences} sentences: use one to {MAX_SENTENCES}"
    return ""
