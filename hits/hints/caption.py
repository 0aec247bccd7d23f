"""Find sentences that only describe what a camera records, by grammar and word lists without a model."""

import re
from dataclasses import dataclass

from hits.hints import word_lists

_WORD_PATTERN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# "to" before a verb names a purpose: "holding a phone to call a taxi". Before a noun it names a direction.
_PURPOSE_PATTERN = re.compile(
    r"(?<!next )(?<!close )(?<!up )"
    r"\bto (?!an?\b|the\b|each\b|its?\b|his\b|her\b|their\b|some\b|one\b|another\b)[a-z]+"
)
_SUBJECT_WORDS = 7  # a caption's verb or preposition is among its first words


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


def caption_span(text: str) -> tuple[int, int] | None:
    """Return the part that reads like a caption as (start, end), or ``None`` if the text infers something."""
    tokens = [_Word(m.group().casefold().replace("’", "'"), *m.span()) for m in _WORD_PATTERN.finditer(text)]
    if len(tokens) < 3 or _has_inference(tokens, text):  # noqa: PLR2004 - two words are no caption yet
        return None
    patterns = (
        _match_picture,
        _match_existence,
        _match_progressive,
        _match_fragment,
        _match_posture,
        _match_location,
    )
    end = next(filter(None, (pattern(tokens) for pattern in patterns)), 0)
    return (tokens[0].start, tokens[end - 1].end) if end else None


def _has_inference(tokens: list[_Word], text: str) -> bool:
    is_negated = any(word.text.endswith("n't") for word in tokens)
    has_interpreting_word = any(word.text in word_lists.INTERPRETING for word in tokens)
    return is_negated or has_interpreting_word or bool(_PURPOSE_PATTERN.search(text.casefold()))


def _match_picture(tokens: list[_Word]) -> int:
    """Return the number of words up to the object after a word for a picture: "a close-up of a pizza"."""
    for index, word in enumerate(tokens[:5]):
        if word.text == "of" and index and tokens[index - 1].text in word_lists.PICTURES:
            return min(len(tokens), index + 3)
    return 0


def _match_existence(tokens: list[_Word]) -> int:
    """Return the number of words up to the object: "there is a book" of "there is a book on the bed"."""
    first, second, third = (word.text for word in tokens[:3])
    if first == "there" and second in word_lists.BE and third in word_lists.INDEFINITE:
        return min(len(tokens), 4)
    if first == "there's" and second in word_lists.INDEFINITE:
        return min(len(tokens), 3)
    return 0


def _match_progressive(tokens: list[_Word]) -> int:
    """Return the number of words up to the verb: "a man is standing", "the dogs are both lying"."""
    if not _starts_noun_phrase(tokens[0]):
        return 0
    for index, word in enumerate(tokens[:_SUBJECT_WORDS]):
        if index and word.text in word_lists.BE:
            verb = index + 1
            while verb < len(tokens) and tokens[verb].text in word_lists.SMALL_ADVERBS:
                verb += 1
            if verb < len(tokens) and tokens[verb].text in word_lists.VISIBLE_ING | word_lists.VISIBLE_PAST:
                return verb + 1
            return 0
    return 0


def _match_fragment(tokens: list[_Word]) -> int:
    """Return the number of words up to a participle without a verb: "two giraffes standing"."""
    if tokens[0].text not in word_lists.INDEFINITE | word_lists.PEOPLE:
        return 0
    for index, word in enumerate(tokens[:_SUBJECT_WORDS]):
        if word.text in word_lists.BE:
            return 0
        if index and word.text in word_lists.VISIBLE_ING | word_lists.VISIBLE_PAST:
            return index + 1
    return 0


def _match_location(tokens: list[_Word]) -> int:
    """Return the number of words up to the preposition: "a book on" the bed, "several horses are in" a meadow."""
    if tokens[0].text not in word_lists.INDEFINITE:
        return 0
    for index, word in enumerate(tokens[1:_SUBJECT_WORDS], start=1):
        if word.text in word_lists.PLACING and index > 1 and index + 1 < len(tokens):
            return index + 1
    return 0


def _match_posture(tokens: list[_Word]) -> int:
    """Return the number of words up to the verb: "a stop sign stands" behind the flowers."""
    if not _starts_noun_phrase(tokens[0]):
        return 0
    for index, word in enumerate(tokens[:_SUBJECT_WORDS]):
        if index > 0 and word.text in word_lists.VISIBLE_PRESENT:
            return index + 1
    return 0


def _starts_noun_phrase(word: _Word) -> bool:
    return word.text in word_lists.INDEFINITE | word_lists.DEFINITE | word_lists.PEOPLE
