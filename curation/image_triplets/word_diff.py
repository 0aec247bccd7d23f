"""Mark what a rewritten text lost or changed, for prompts that a model augmented (Ventura et al. 2025 §3, §E.1)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hits.domain.answers.content_words import is_function_word
from hits.domain.answers.word_diff import (
    Difference,
    Hunk,
    HunkKind,
    Word,
    compare_texts,
    find_differences,
    split_into_words,
)

__all__ = [
    "Difference",
    "Hunk",
    "HunkKind",
    "MarkedWord",
    "TextPart",
    "changed_content_words",
    "compare_texts",
    "find_differences",
    "lost_content_words",
    "mark_difference",
    "mark_rewriting",
]


@dataclass(frozen=True, slots=True)
class MarkedWord:
    """A content word of the original that the rewritten text lacks: ``original[start:end]``.

    ``replacement`` is what stands in its place; empty if nothing does.
    """

    text: str
    start: int
    end: int
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A run of words of one fate, without the spaces at its end, which follow as ``gap``."""

    kind: HunkKind
    text: str
    gap: str
    is_marked: bool


def mark_difference(first: str, second: str) -> tuple[list[TextPart], list[TextPart]]:
    """Return the parts of two texts; the words in which they differ are marked."""
    hunks = compare_texts(first, second)
    return (
        [_part(hunk, hunk.before) for hunk in hunks if hunk.kind is not HunkKind.INSERT],
        [_part(hunk, hunk.after) for hunk in hunks if hunk.kind is not HunkKind.DELETE],
    )


def mark_rewriting(original: str, rewritten: str) -> list[TextPart]:
    """Return the parts of both texts in one line, deletions before what replaces them.

    Deletions are marked if they lose or change a content word.
    """
    starts = {word.start for word in _missing_words(original, rewritten)}
    parts, at = [], 0
    for hunk in compare_texts(original, rewritten):
        lost = any(at <= start < at + len(hunk.before) for start in starts)
        part = _part(hunk, hunk.after or hunk.before, is_marked=hunk.kind is HunkKind.DELETE and lost)
        parts.append(part if part.gap else replace(part, gap=" "))  # the end of a text is no end here
        at += len(hunk.before)
    return parts


def _part(hunk: Hunk, text: str, *, is_marked: bool | None = None) -> TextPart:
    shown = text.rstrip()
    marked = hunk.kind is not HunkKind.EQUAL if is_marked is None else is_marked
    return TextPart(hunk.kind, shown, text[len(shown) :], marked)


def changed_content_words(original: str, rewritten: str) -> list[MarkedWord]:
    """Return the content words of ``original`` in whose place ``rewritten`` has other words."""
    return [word for word in _missing_words(original, rewritten) if word.replacement]


def lost_content_words(original: str, rewritten: str) -> list[MarkedWord]:
    """Return the content words of ``original`` that ``rewritten`` leaves out."""
    return [word for word in _missing_words(original, rewritten) if not word.replacement]


def _missing_words(original: str, rewritten: str) -> Iterator[MarkedWord]:
    """Yield the content words of the original that stand nowhere in the rewritten text.

    A word that only moved is not missing. Words are compared in lower case, without a possessive 's, and hyphenated
    words part by part. Other forms of a word are other words: "cries" is missing where "is crying" stands.
    """
    kept = {form for word in split_into_words(rewritten) for form in _forms(word.key)}
    words = iter(split_into_words(original))
    hunks = compare_texts(original, rewritten)
    for hunk, following in zip(hunks, [*hunks[1:], None], strict=True):
        own = [] if hunk.kind is HunkKind.INSERT else [next(words) for _ in hunk.words]
        if hunk.kind is HunkKind.DELETE:
            is_replaced = following is not None and following.kind is HunkKind.INSERT
            replacement = following.after.strip() if following is not None and is_replaced else ""
            yield from (
                MarkedWord(original[word.start : word.end], word.start, word.end, replacement)
                for word in own
                if _is_missing(word, kept)
            )


def _is_missing(word: Word, kept: set[str]) -> bool:
    return not is_function_word(word.key) and not set(_forms(word.key)) <= kept


def _forms(key: str) -> list[str]:
    return [part.removesuffix("'s") for part in key.split("-")]
