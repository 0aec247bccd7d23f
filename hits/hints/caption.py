"""Does a sentence say only what a camera records? Grammar and word lists, no model."""

import re
from dataclasses import dataclass

from hits.hints import words

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# "to" before a verb says what for: "holding a phone to call a taxi". Before a noun it says where to.
_PURPOSE = re.compile(
    r"(?<!next )(?<!close )(?<!up )"
    r"\bto (?!an?\b|the\b|each\b|its?\b|his\b|her\b|their\b|some\b|one\b|another\b)[a-z]+"
)
_SUBJECT_WORDS = 7  # a caption's verb or preposition comes soon


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


def caption_span(text: str) -> tuple[int, int] | None:
    """Return the part that reads like a caption as (start, end), or ``None`` when something is inferred."""
    found = [_Word(m.group().casefold().replace("’", "'"), m.start(), m.end()) for m in _WORD.finditer(text)]
    if len(found) < 3 or _interprets(found, text):  # noqa: PLR2004 - two words are no caption yet
        return None
    ways = (_picture, _existence, _progressive, _fragment, _posture, _location)
    end = next(filter(None, (way(found) for way in ways)), 0)
    return (found[0].start, found[end - 1].end) if end else None


def _interprets(found: list[_Word], text: str) -> bool:
    negated = any(word.text.endswith("n't") for word in found)
    told = any(word.text in words.INTERPRETING for word in found)
    return negated or told or bool(_PURPOSE.search(text.casefold()))


def _picture(found: list[_Word]) -> int:
    """Return the words up to what is shown, where the camera itself is spoken of: "a close-up of a pizza"."""
    for place, word in enumerate(found[:5]):
        if word.text == "of" and place and found[place - 1].text in words.PICTURES:
            return min(len(found), place + 3)
    return 0


def _existence(found: list[_Word]) -> int:
    """Return the words up to the thing: "there is a book" of "there is a book on the bed"."""
    first, second, third = (word.text for word in found[:3])
    if first == "there" and second in words.BE and third in words.INDEFINITE:
        return min(len(found), 4)
    if first == "there's" and second in words.INDEFINITE:
        return min(len(found), 3)
    return 0


def _progressive(found: list[_Word]) -> int:
    """Return the words up to the verb: "a man is standing", "the dogs are both lying"."""
    if not _names_something(found[0]):
        return 0
    for place, word in enumerate(found[:_SUBJECT_WORDS]):
        if place and word.text in words.BE:
            verb = place + 1
            while verb < len(found) and found[verb].text in words.SMALL_ADVERBS:
                verb += 1
            if verb < len(found) and found[verb].text in words.VISIBLE_ING | words.VISIBLE_PAST:
                return verb + 1
            return 0
    return 0


def _fragment(found: list[_Word]) -> int:
    """Return the words up to a participle that stands for a verb: "two giraffes standing"."""
    if found[0].text not in words.INDEFINITE | words.PEOPLE:
        return 0
    for place, word in enumerate(found[:_SUBJECT_WORDS]):
        if word.text in words.BE:
            return 0
        if place and word.text in words.VISIBLE_ING | words.VISIBLE_PAST:
            return place + 1
    return 0


def _location(found: list[_Word]) -> int:
    """Return the words up to the preposition: "a book on" the bed, "several horses are in" a meadow."""
    if found[0].text not in words.INDEFINITE:
        return 0
    for place, word in enumerate(found[1:_SUBJECT_WORDS], start=1):
        if word.text in words.PLACING and place > 1 and place + 1 < len(found):
            return place + 1
    return 0


def _posture(found: list[_Word]) -> int:
    """Return the words up to the verb: "a stop sign stands" behind the flowers."""
    if not _names_something(found[0]):
        return 0
    for place, word in enumerate(found[:_SUBJECT_WORDS]):
        if place > 0 and word.text in words.VISIBLE_PRESENT:
            return place + 1
    return 0


def _names_something(word: _Word) -> bool:
    return word.text in words.INDEFINITE | words.DEFINITE | words.PEOPLE
