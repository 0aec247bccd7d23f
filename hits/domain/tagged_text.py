"""Texts with object tags, such as "Why does [person 3] smile?": one representation for every form of the text.

A text is a list of segments. A segment is a string, or a tag ``{"objects": [0, 2]}`` with the indices of objects,
counted from 0, sorted and distinct. No two strings stand side by side. People read "person 1" (counted from 1). A
published text is a list of tokens: words and single punctuation marks, with a list of indices for each tag (Zellers
et al. 2019, §3 and the dataset's readme; ``dataloaders/vcr.py`` of rowanz/r2c).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hits.domain.control_characters import describe_control_character

Segment = str | Mapping[str, Any]
Segments = Sequence[Segment]
Token = str | list[int]

APOSTROPHES = "'’"
CLOSING_MARKS: tuple[Token, ...] = (".", "?", "!")
# Marks after which, or before which, a text made of tokens has no space.
_CLOSES_LEFT = frozenset(".,?!;:%)]}…-") | frozenset(APOSTROPHES)
_OPENS_RIGHT = frozenset("([{$#-")
_JOINED_ENDINGS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})
_SPACE_PATTERN = re.compile(r"\s+")
_NUMBER_LIST_PATTERN = re.compile(r"(?<![\w.,:'’-])\d+(?:(?:, and |, | and )\d+)*(?![\w-]|[.,:]\d)")


class TaggedTextError(ValueError):
    """A text with tags that is refused; the message names the segment and what to do."""


class ObjectTag(BaseModel):
    """A tag: one object, or a group of objects."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    objects: list[int] = Field(min_length=1)


TaggedText = list[str | ObjectTag]
"""The type of a field with segments in a unit's or an answer's schema."""


def dump_segments(text: Sequence[str | ObjectTag]) -> list[Segment]:
    """Return the segments of a validated field as plain JSON."""
    return [segment if isinstance(segment, str) else segment.model_dump() for segment in text]


def normalize_segments(segments: Segments) -> list[Segment]:
    """Return segments in their one form: NFC, single spaces, no empty or adjacent strings, sorted distinct tags.

    White space at both ends is removed. Inner strings keep one space at each end that has white space.
    """
    joined: list[Segment] = []
    for segment in segments:
        if not isinstance(segment, str):
            joined.append({"objects": sorted(set(segment["objects"]))})
        elif joined and isinstance(joined[-1], str):
            joined[-1] += segment
        else:
            joined.append(segment)
    cleaned = [_clean_string(item) if isinstance(item, str) else item for item in joined]
    if cleaned and isinstance(cleaned[0], str):
        cleaned[0] = cleaned[0].lstrip()
    if cleaned and isinstance(cleaned[-1], str):
        cleaned[-1] = cleaned[-1].rstrip()
    return [item for item in cleaned if item != ""]


def _clean_string(text: str) -> str:
    return _SPACE_PATTERN.sub(" ", unicodedata.normalize("NFC", text))


def check_segments(segments: Any, object_count: int) -> list[Segment]:
    """Return normalized segments whose tags are objects of the image.

    Args:
        segments: parsed JSON.
        object_count: the number of objects of the image.

    Raises:
        TaggedTextError: it is not a list of strings and tags, or a tag is not one of the objects.
    """
    if not isinstance(segments, list | tuple):
        raise TaggedTextError("is not a list of texts and tags")
    for position, segment in enumerate(segments, start=1):
        if isinstance(segment, str):
            control = describe_control_character(segment)
            if control:
                raise TaggedTextError(f"segment {position} {control}")
        elif not isinstance(segment, Mapping) or set(segment) != {"objects"}:
            raise TaggedTextError(f"segment {position} is neither a text nor a tag")
        else:
            _check_tag(segment["objects"], position, object_count)
    return normalize_segments(segments)


def _check_tag(objects: Any, position: int, object_count: int) -> None:
    if not isinstance(objects, list | tuple) or not objects:
        raise TaggedTextError(f"segment {position} is a tag without objects")
    for index in objects:
        if type(index) is not int or not 0 <= index < object_count:
            shown = index + 1 if type(index) is int else index
            raise TaggedTextError(
                f"segment {position} has the tag {shown!r}, but the image has {object_count} objects"
            )


def mentions(segments: Segments) -> list[int]:
    """Return the indices of all tagged objects in order of mention, with repetitions."""
    return [index for segment in segments if not isinstance(segment, str) for index in segment["objects"]]


def character_count(segments: Segments, names: Sequence[str]) -> int:
    """Return the length of the displayed text in characters."""
    return len(display_text(segments, names))


def count_words(segments: Segments) -> int:
    """Return the number of words: runs of letters, digits and apostrophes, and each tag as one word."""
    return sum(_count_string_words(s) if isinstance(s, str) else 1 for s in segments)


def _count_string_words(text: str) -> int:
    count, in_word = 0, False
    for character in text:
        is_letter = is_word_character(character)
        if is_letter and not in_word:
            count, in_word = count + 1, True
        elif not is_letter and character not in APOSTROPHES:
            in_word = False
    return count


def is_word_character(character: str) -> bool:
    """Return whether a character is a letter, a digit or a combining mark."""
    return unicodedata.category(character)[0] in "LNM"


def display_text(segments: Segments, names: Sequence[str]) -> str:
    """Return the text as people read it: each object as its class and its number from 1 (``person 3``).

    Args:
        segments: the text.
        names: the class of each object of the image.
    """
    return _join(segments, lambda index: f"{names[index]} {index + 1}")


def class_text(segments: Segments, names: Sequence[str]) -> str:
    """Return the text with each object as its class alone, for models that must not see which object it is."""
    return _join(segments, lambda index: names[index])


def original_text(segments: Segments) -> str:
    """Return the published ``*_orig`` text: bare numbers from 1, groups as "1 and 2" or "1, 2, and 3".

    It is lossy: "3 o'clock" and object 3 look alike. Read texts back from their tokens.
    """
    return "".join(
        segment
        if isinstance(segment, str)
        else _join_words([str(i + 1) for i in segment["objects"]], ", and ")
        for segment in segments
    )


def _join(segments: Segments, label: Any) -> str:
    return "".join(
        segment if isinstance(segment, str) else _join_words([label(i) for i in segment["objects"]], " and ")
        for segment in segments
    )


def _join_words(words: Sequence[str], last: str) -> str:
    if len(words) <= 2:  # noqa: PLR2004
        return " and ".join(words)
    return ", ".join(words[:-1]) + last + words[-1]


def tokenize_segments(segments: Segments, *, closing: str = "") -> list[Token]:
    """Return the published tokens: words, single punctuation marks, and a list of indices for each tag.

    Args:
        segments: the text.
        closing: the mark that is appended if the text does not end with one, such as ``"?"``.
    """
    tokens: list[Token] = []
    for segment in segments:
        if isinstance(segment, str):
            tokens += _string_tokens(segment)
        else:
            tokens.append(list(segment["objects"]))
    if closing and tokens and tokens[-1] not in CLOSING_MARKS:
        tokens.append(closing)
    return tokens


def _string_tokens(text: str) -> Iterator[str]:
    word = ""
    for character in text:
        if is_word_character(character):
            word += character
            continue
        if word:
            yield word
            word = ""
        if not character.isspace():
            yield character
    if word:
        yield word


def segments_of_tokens(tokens: Iterable[Token]) -> list[Segment]:
    """Return the segments of published tokens; ``tokenize_segments`` returns the same tokens again.

    Punctuation is attached to its word, if the mark belongs to one side.
    """
    segments: list[Segment] = []
    previous: Token = ""
    before: Token = ""
    for token in tokens:
        space = " " if segments and _needs_space(before, previous, token) else ""
        if isinstance(token, str):
            segments.append(space + token)
        else:
            segments += [space, {"objects": list(token)}]
        before, previous = previous, token
    return normalize_segments(segments)


def _needs_space(before: Token, previous: Token, token: Token) -> bool:
    if isinstance(previous, str) and previous in _OPENS_RIGHT:
        return False
    if not isinstance(token, str):
        return True
    if token in _CLOSES_LEFT:
        return False
    is_ending = isinstance(previous, str) and previous in APOSTROPHES and token.lower() in _JOINED_ENDINGS
    return not (is_ending and before != "")


def read_original(text: str, object_count: int) -> list[Segment]:
    """Return the segments of a text with bare numbers: each number from 1 to ``object_count`` is a tag.

    Numbers joined by commas or "and" are one group. Other numbers stay text.
    """
    segments: list[Segment] = []
    position = 0
    for match in _NUMBER_LIST_PATTERN.finditer(text):
        indices = [int(number) - 1 for number in re.findall(r"\d+", match.group())]
        if not all(0 <= index < object_count for index in indices):
            continue
        segments += [text[position : match.start()], {"objects": indices}]
        position = match.end()
    return normalize_segments([*segments, text[position:]])


def copy_key(segments: Segments, names: Sequence[str]) -> tuple[str, ...]:
    """Return what verbatim copies have in common: lower-cased tokens with tags as their classes."""
    return tuple(
        token.lower() if isinstance(token, str) else "+".join(sorted(f"<{names[i]}>" for i in token))
        for token in tokenize_segments(segments)
    )
