"""One small pure function per rule. Comparisons of meaning are in ``find_hints``, since they need an encoder.

docs/hints.md justifies the thresholds with the output of ``tests/benchmarks/hints.py``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hits.domain.answers.pronouns import find_pronouns
from hits.domain.answers.review_flags import MIN_SIMILARITY, word_similarity
from hits.domain.images.geometry import Box, summed_box_share
from hits.hints import word_lists
from hits.hints.caption import caption_span
from hits.hints.card import MAX_QUOTE, Card, Hint, HintField, HintRule, ImageSize

LARGE_SHARE = 0.9
# The first percentile of the object boxes in COCO: 7 × 7 px of 640 × 480.
SMALL_SHARE = 0.00018
QUOTED_WORDS = 8
_WORD_PATTERN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_PROFANITY_PATTERN = re.compile(rf"(?<!\w)(?:{'|'.join(word_lists.PROFANITY)})(?!\w)", re.IGNORECASE)
_MASK_PATTERN = re.compile(r"(?<=[a-z@10$3])[@10$3](?=[a-z@10$3])", re.IGNORECASE)
_UNMASKED = {"@": "a", "1": "i", "0": "o", "$": "s", "3": "e"}
_MIN_REST_SIMILARITY = 0.6
WordSpan = tuple[int, int, dict[str, str]]  # start and end of a found word, and the hint's params


def find_missing_box(card: Card, size: ImageSize | None) -> list[Hint]:
    """Clue and inference are written, but the photo has no box."""
    written = card.clue.strip() and card.inference.strip()
    return [Hint(HintRule.NO_BOX, card.index, HintField.BOXES)] if written and card.boxes == () else []


def find_large_box(card: Card, size: ImageSize | None) -> list[Hint]:
    """A box covers nearly the whole photo, so it selects nothing."""
    return _box_hint(HintRule.BOX_TOO_LARGE, card, size, lambda share: share >= LARGE_SHARE)


def find_small_box(card: Card, size: ImageSize | None) -> list[Hint]:
    """A box is tiny, most likely an accidental click."""
    return _box_hint(HintRule.BOX_TOO_SMALL, card, size, lambda share: share < SMALL_SHARE)


def _box_hint(
    rule: HintRule, card: Card, size: ImageSize | None, is_wrong: Callable[[float], bool]
) -> list[Hint]:
    if size is None:
        return []
    for number, box in enumerate(card.boxes or (), start=1):
        share = _area_share(box, size)
        if is_wrong(share):
            params = {"box": number, "boxes": len(card.boxes or ()), "share": round(share, 6)}
            return [Hint(rule, card.index, HintField.BOXES, params=params)]
    return []


def _area_share(box: Box, size: ImageSize) -> float:
    return summed_box_share([box], image_width=size.width, image_height=size.height)


def find_pronoun_hints(card: Card, size: ImageSize | None) -> list[Hint]:
    """The text uses he, she or their forms. A repeated word gives one hint."""

    def find(text: str) -> list[WordSpan]:
        return [(found.start, found.end, {"form": found.form.value}) for found in find_pronouns(text)]

    return _word_hints(card, HintRule.PRONOUN, find)


def find_profanity(card: Card, size: ImageSize | None) -> list[Hint]:
    """The text has swear words, insults or slurs, as whole words; "f@ggot" and "sh1t" are recognized."""

    def find(text: str) -> list[WordSpan]:
        plain = _MASK_PATTERN.sub(lambda match: _UNMASKED[match.group()], text)  # offsets stay valid
        return [(match.start(), match.end(), {}) for match in _PROFANITY_PATTERN.finditer(plain)]

    return _word_hints(card, HintRule.PROFANITY, find)


def _word_hints(card: Card, rule: HintRule, find: Callable[[str], list[WordSpan]]) -> list[Hint]:
    hints: dict[tuple[HintField, str], Hint] = {}
    for field, text in ((HintField.CLUE, card.clue), (HintField.INFERENCE, card.inference)):
        for start, end, params in find(text):
            quote = text[start:end]
            hint = Hint(rule, card.index, field, quote, start, end, params=params)
            hints.setdefault((field, quote.casefold()), hint)
    return list(hints.values())


def find_caption_like_inference(card: Card, size: ImageSize | None) -> list[Hint]:
    """The inference only describes what a camera records."""
    span = caption_span(card.inference)
    return [_quote_hint(card, HintRule.CAPTION_LIKE, *span)] if span else []


def find_repeated_clue(card: Card, size: ImageSize | None) -> list[Hint]:
    """The inference repeats its clue, word for word or nearly."""
    if not has_same_words(card.clue, card.inference):
        return []
    return [inference_hint(card, HintRule.REPEATS_CLUE, by="words")]


def find_repeated_inference(card: Card, other: Card) -> list[Hint]:
    """The inference repeats an earlier card's inference, word for word or nearly."""
    if not has_same_words(card.inference, other.inference):
        return []
    return [inference_hint(card, HintRule.REPEATS_OTHER, other=other.index, by="words")]


def find_contradiction(card: Card, other: Card) -> list[Hint]:
    """The inference contradicts another card's: one is negated, or one word is replaced by its opposite."""
    if not are_opposed(card.inference, other.inference):
        return []
    return [inference_hint(card, HintRule.CONTRADICTS, other=other.index, by="words")]


CARD_RULES: dict[HintRule, Callable[[Card, ImageSize | None], list[Hint]]] = {
    HintRule.NO_BOX: find_missing_box,
    HintRule.BOX_TOO_LARGE: find_large_box,
    HintRule.BOX_TOO_SMALL: find_small_box,
    HintRule.PRONOUN: find_pronoun_hints,
    HintRule.PROFANITY: find_profanity,
    HintRule.CAPTION_LIKE: find_caption_like_inference,
    HintRule.REPEATS_CLUE: find_repeated_clue,
}
PAIR_RULES: dict[HintRule, Callable[[Card, Card], list[Hint]]] = {
    HintRule.REPEATS_OTHER: find_repeated_inference,
    HintRule.CONTRADICTS: find_contradiction,
}


def has_same_words(a: str, b: str) -> bool:
    """Return whether two non-empty texts have (nearly) the same words and neither denies the other."""
    first, second = _split_words(a), _split_words(b)
    if not first or not second or are_opposed(a, b):
        return False
    return first == second or word_similarity(a, b) >= MIN_SIMILARITY


def are_opposed(a: str, b: str) -> bool:
    """Return whether two texts differ only by a negation or by one pair of opposites, or nearly so."""
    first, second = set(_split_words(a)), set(_split_words(b))
    negations_a, negations_b = _find_negations(first), _find_negations(second)
    opposites = next(
        (pair for pair in word_lists.ANTONYMS if _is_split(pair, first - second, second - first)), None
    )
    if bool(negations_a) != bool(negations_b):
        return opposites is None and _is_rest_similar(first - negations_a, second - negations_b)
    return opposites is not None and _is_rest_similar(first - opposites, second - opposites)


def _is_split(pair: frozenset[str], only_a: set[str], only_b: set[str]) -> bool:
    return len(pair & only_a) == 1 and len(pair & only_b) == 1


def _find_negations(found: set[str]) -> set[str]:
    return {word for word in found if word in word_lists.NEGATIONS or word.endswith("n't")}


def _is_rest_similar(first: set[str], second: set[str]) -> bool:
    return bool(first | second) and len(first & second) / len(first | second) >= _MIN_REST_SIMILARITY


def _split_words(text: str) -> list[str]:
    return [match.group().casefold().replace("’", "'") for match in _WORD_PATTERN.finditer(text)]


def inference_hint(
    card: Card, rule: HintRule, *, by: str, other: int | None = None, score: float | None = None
) -> Hint:
    """Return a hint about an inference that quotes its first words. ``by`` is "words" or "meaning"."""
    found = list(_WORD_PATTERN.finditer(card.inference))[:QUOTED_WORDS]
    start, end = (found[0].start(), found[-1].end()) if found else (0, len(card.inference))
    params = {"by": by} | ({} if score is None else {"score": round(score, 3)})
    return _quote_hint(card, rule, start, end, other=other, params=params)


def _quote_hint(
    card: Card,
    rule: HintRule,
    start: int,
    end: int,
    other: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> Hint:
    end = min(end, start + MAX_QUOTE)
    quote = card.inference[start:end]
    return Hint(rule, card.index, HintField.INFERENCE, quote, start, end, other, params or {})


def sort_hints(hints: Sequence[Hint]) -> list[Hint]:
    """Return hints card by card, the most reliable rule first."""
    ranks = {rule: rank for rank, rule in enumerate(HintRule)}
    return sorted(hints, key=lambda hint: (hint.card, ranks[hint.rule], hint.field, hint.start))
