"""Split texts into words; lists of words that are no topic."""

import re
from collections.abc import Collection, Iterator

_WORD_PATTERN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def parse_word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(text.split())


# Words without a topic that inferences often use and scikit-learn's stop words lack: hedges, and light verbs.
HEDGE_WORDS = parse_word_set("""
    ago anybody away did does doing everybody gets getting goes going gone got having inside just kind later let like
    likely lot lots maybe near need needs outside possibly probably puts quite really recently shall somebody soon
    sort suggest suggests theirs thing things way yes
    """)
# scikit-learn's stop words that photos can show. Problems of its list: Nothman et al. 2018, doi:10.18653/v1/W18-2502.
VISIBLE_WORDS = parse_word_set("bill bottom cry empty fire front full mill side system thick thin top")
_ENDINGS = frozenset(("s", "d", "ll", "ve", "re", "m"))
MIN_WORD_LENGTH = 2  # letters of a topical word


def word_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word in lower case with its span, ``text[start:end]``."""
    for match in _WORD_PATTERN.finditer(text):
        yield match.group().casefold().replace("’", "'"), match.start(), match.end()


def topical_words(text: str, function_words: Collection[str]) -> list[str]:
    """Return the topical words of a text, in lower case and in order.

    function_words: words to leave out, and so are contractions with one of them ("she's", "isn't").
    """
    return [
        word
        for word, _, _ in word_spans(text)
        if len(word) >= MIN_WORD_LENGTH and not _is_function_word(word, function_words)
    ]


def _is_function_word(word: str, function_words: Collection[str]) -> bool:
    head, apostrophe, ending = word.partition("'")
    if not apostrophe:
        return word in function_words
    return word.endswith("n't") or (ending in _ENDINGS and head in function_words)
