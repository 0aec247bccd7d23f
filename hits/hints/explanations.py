"""Hints about texts that explain why one image follows from another (Ventura et al. 2025 §4.2, E.2).

An explanation tells the story between two images. Judges do not accept one that names likeness of style, describes an
image again, or speaks of an image by its number. Every rule reads words alone, without a model.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hits.domain.answers.review_flags import MIN_SIMILARITY, split_words, word_similarity
from hits.hints.caption import caption_span
from hits.hints.card import MAX_QUOTE, MAX_TEXT, Card, Hint, HintField, HintRule
from hits.hints.rules import find_profanity

MIN_WORDS = 5
QUOTED_WORDS = 8
EXPLANATION_RULES = (
    HintRule.PROFANITY,
    HintRule.IMAGE_NUMBER,
    HintRule.ONLY_LOOKS,
    HintRule.REPEATS_DESCRIPTION,
    HintRule.TOO_FEW_WORDS,
)
_CARD = 1
_IMAGE_WORDS = r"(?:image|picture|photo|photograph|hypothesis|option)"
_NUMBER_PATTERN = re.compile(
    rf"\b{_IMAGE_WORDS}\s+(?:number\s+|no\.?\s*|#\s*)?(?:1|2|one|two)\b"
    rf"|\b(?:first|second|other|left|right|1st|2nd)\s+{_IMAGE_WORDS}\b",
    re.IGNORECASE,
)
_LOOKS_PATTERN = re.compile(
    r"\b(?:similar(?:ity|ly)?|resembl\w+|colou?rs?|style|background|lighting|wallpaper|patterns?|image quality"
    r"|(?:same|matching) (?:clothes|light)|looks? (?:more )?(?:alike|realistic|real))\b",
    re.IGNORECASE,
)
# Words that tell a story: what caused what, what came before or after, what somebody wants.
_STORY_PATTERN = re.compile(
    r"\b(?:because|since|so|therefore|thus|hence|after|before|when|while|until|if|usually|often|always|never|then|later"
    r"|caus\w+|led|leads?|made|makes?|wants?|wanted|needs?|needed|tr(?:y|ies|ied)|would|will|had|has been"
    r"|in order to|due to|that is why|which is why)\b",
    re.IGNORECASE,
)


def find_explanation_hints(text: str, *, descriptions: Sequence[str] = ()) -> list[Hint]:
    """Return the hints on an explanation, most reliable first.

    Args:
        descriptions: texts of the images, where the writer knows them; an explanation should not repeat one.
    """
    shown = text[:MAX_TEXT]
    if not shown.strip():
        return []
    return [
        *_profanity(shown),
        *_image_number(shown),
        *_only_looks(shown),
        *_repeated(shown, descriptions),
        *_too_few_words(shown),
    ]


def _hint(rule: HintRule, text: str, start: int, end: int) -> Hint:
    end = min(end, start + MAX_QUOTE)
    return Hint(rule, _CARD, HintField.EXPLANATION, text[start:end], start, end)


def _first_words(rule: HintRule, text: str) -> Hint:
    found = list(re.finditer(r"\S+", text))[:QUOTED_WORDS]
    return _hint(rule, text, found[0].start(), found[-1].end())


def _profanity(text: str) -> Iterator[Hint]:
    for hint in find_profanity(Card(_CARD, inference=text), None):
        yield replace(hint, field=HintField.EXPLANATION)


def _image_number(text: str) -> Iterator[Hint]:
    """The text names an image by its number or place, which differs between readers."""
    match = _NUMBER_PATTERN.search(text)
    if match:
        yield _hint(HintRule.IMAGE_NUMBER, text, *match.span())


def _only_looks(text: str) -> Iterator[Hint]:
    """The text is about how the images look, and tells no story."""
    match = _LOOKS_PATTERN.search(text)
    if match and not _STORY_PATTERN.search(text):
        yield _hint(HintRule.ONLY_LOOKS, text, *match.span())


def _repeated(text: str, descriptions: Sequence[str]) -> Iterator[Hint]:
    """The text has nearly the words of a description, or reads like one."""
    if any(word_similarity(text, other) >= MIN_SIMILARITY for other in descriptions if other.strip()):
        yield _first_words(HintRule.REPEATS_DESCRIPTION, text)
        return
    span = caption_span(text)
    if span and not _STORY_PATTERN.search(text):
        yield _hint(HintRule.REPEATS_DESCRIPTION, text, *span)


def _too_few_words(text: str) -> Iterator[Hint]:
    """A few words tell no story."""
    if len(split_words(text)) < MIN_WORDS:
        yield _first_words(HintRule.TOO_FEW_WORDS, text)
