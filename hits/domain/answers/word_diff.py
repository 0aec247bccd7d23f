"""Compare two texts word by word, as ``static/js/hit/word-diff.js`` does on task pages; a test compares both."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import pairwise

from hits.domain.answers.content_words import is_function_word

_WORD_PATTERN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# Of one word of each text; two texts of 400 characters, the most that task pages compare, cannot have more.
MAX_EQUAL_PAIRS = 40_000
MAX_LINKING_WORDS = 1  # equal function words between two changes that make one difference


@dataclass(frozen=True, slots=True)
class Word:
    """One word, ``text[start:end]`` of its text; ``key`` is what it is compared by."""

    key: str
    start: int
    end: int


class HunkKind(StrEnum):
    """What became of a part of the first text in the second one."""

    EQUAL = "equal"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of words with one fate.

    ``before`` is its part of the first text, empty for an insertion; ``after`` its part of the second text, empty for
    a deletion. All parts of a text, joined, are the text. ``words`` are the compared keys.
    """

    kind: HunkKind
    before: str
    after: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two texts differ: the words of each, without the spaces around them; either may be empty."""

    before: str
    after: str
    words_before: tuple[str, ...]
    words_after: tuple[str, ...]


def split_into_words(text: str) -> list[Word]:
    """Return the words of a text: runs of letters and digits, with apostrophes and hyphens inside."""
    return [
        Word(match.group().lower().replace("’", "'"), match.start(), match.end())
        for match in _WORD_PATTERN.finditer(text)
    ]


def compare_texts(first: str, second: str) -> list[Hunk]:
    """Return the runs of equal, deleted and inserted words, in order; a deletion stands before its insertion.

    Case and the form of apostrophes make no difference. Characters between words belong to the word before them.
    """
    words_a, words_b = split_into_words(first), split_into_words(second)
    parts_a, parts_b = _parts(first, words_a), _parts(second, words_b)
    keys_a, keys_b = [word.key for word in words_a], [word.key for word in words_b]
    hunks = []
    for tag, a_start, a_end, b_start, b_end in _opcodes(keys_a, keys_b):
        before, after = "".join(parts_a[a_start:a_end]), "".join(parts_b[b_start:b_end])
        if tag == "equal":
            hunks.append(Hunk(HunkKind.EQUAL, before, after, tuple(keys_a[a_start:a_end])))
            continue
        if a_end > a_start:
            hunks.append(Hunk(HunkKind.DELETE, before, "", tuple(keys_a[a_start:a_end])))
        if b_end > b_start:
            hunks.append(Hunk(HunkKind.INSERT, "", after, tuple(keys_b[b_start:b_end])))
    return hunks


def _opcodes(first: Sequence[str], second: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the edits as ``difflib`` has them; between texts of few repeated words, one for all that is inside.

    Each search of difflib visits every pair of equal words. Where there are too many pairs, what stands between the
    equal words at the start and those at the end is deleted and inserted as a whole.
    """
    counts = Counter(second)
    if sum(counts[word] for word in first) <= MAX_EQUAL_PAIRS:
        return SequenceMatcher(a=first, b=second, autojunk=False).get_opcodes()
    shorter = min(len(first), len(second))
    start = next((n for n in range(shorter) if first[n] != second[n]), shorter)
    end = next((n for n in range(shorter - start) if first[-1 - n] != second[-1 - n]), shorter - start)
    a_end, b_end = len(first) - end, len(second) - end
    edits = [
        ("equal", 0, start, 0, start),
        ("replace", start, a_end, start, b_end),
        ("equal", a_end, len(first), b_end, len(second)),
    ]
    return [edit for edit in edits if edit[2] > edit[1] or edit[4] > edit[3]]


def _parts(text: str, words: Sequence[Word]) -> list[str]:
    """Return the text cut before each word but the first."""
    if not words:
        return []
    cuts = [0, *(word.start for word in words[1:]), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def find_differences(first: str, second: str) -> list[Difference]:
    """Return the places where two texts differ, in order.

    Places with one equal function word between them are one: "puts on her hat" and "takes off her coat". A place
    where only function words differ, such as "a" and "the", is left out, unless there is no other.
    """
    found = [_as_difference(hunks) for hunks in _joined_changes(compare_texts(first, second))]
    telling = [
        row for row in found if not all(is_function_word(word) for word in row.words_before + row.words_after)
    ]
    return telling or found


def _joined_changes(hunks: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    """Yield the hunks of each change, neighbouring changes joined with the words between them."""
    change: list[Hunk] = []
    link: Hunk | None = None
    for hunk in hunks:
        if hunk.kind is not HunkKind.EQUAL:
            change += [*([link] if link else []), hunk]
            link = None
        elif change and link is None and _is_link(hunk):
            link = hunk
        elif change:
            yield change
            change, link = [], None
    if change:
        yield change


def _is_link(hunk: Hunk) -> bool:
    return len(hunk.words) <= MAX_LINKING_WORDS and all(is_function_word(word) for word in hunk.words)


def _as_difference(hunks: Sequence[Hunk]) -> Difference:
    return Difference(
        before=_trimmed("".join(hunk.before for hunk in hunks)),
        after=_trimmed("".join(hunk.after for hunk in hunks)),
        words_before=tuple(word for hunk in hunks if hunk.kind is not HunkKind.INSERT for word in hunk.words),
        words_after=tuple(word for hunk in hunks if hunk.kind is not HunkKind.DELETE for word in hunk.words),
    )


def _trimmed(text: str) -> str:
    """Return a text from its first word to its last one."""
    words = split_into_words(text)
    return text[words[0].start : words[-1].end] if words else ""
