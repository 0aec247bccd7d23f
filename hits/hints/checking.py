"""Put the rules to the cards of a page. Words first; meanings are asked for in one call, within a budget."""

import time
from collections.abc import Callable, Collection, Sequence
from itertools import combinations

from hits.hints.card import Card, ContradictionModel, Encoder, Hint, HintRule, ImageSize
from hits.hints.rules import CARD_RULES, PAIR_RULES, are_opposed, inference_hint, sort_hints

BUDGET_SECONDS = 0.3  # seconds, for all questions of one check together
# Chosen on one half of the measured pairs, reported on the other: docs/hints.md.
MIN_COSINES = {HintRule.REPEATS_CLUE: 0.79, HintRule.REPEATS_OTHER: 0.79}
MIN_CONTRADICTION = 0.9
Comparison = tuple[HintRule, Card, Card]


def find_hints(
    cards: Sequence[Card],
    size: ImageSize | None,
    rules: Collection[HintRule],
    encoder: Encoder | None = None,
    model: ContradictionModel | None = None,
    *,
    budget: float = BUDGET_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> list[Hint]:
    """Return the hints on a page, card by card, the surest first.

    Args:
        cards: as they stand, in the order of the page.
        size: of the image, in pixels; without one nothing is said about the sizes of boxes.
        rules: those that are switched on. encoder, model: who answers about meanings; without them words decide.
        budget: seconds that all answers together may take; no answer is no hint.
    """
    ends = clock() + budget
    hints = [
        hint
        for card in cards
        for rule, find in CARD_RULES.items()
        if rule in rules
        for hint in find(card, size)
    ]
    for earlier, card in combinations(cards, 2):
        hints += [hint for rule, find in PAIR_RULES.items() if rule in rules for hint in find(card, earlier)]
    said = {(hint.rule, hint.card, hint.other) for hint in hints}
    if encoder is not None:
        hints += _similarity_hints(_repetition_comparisons(cards, rules, said), encoder, ends - clock())
    if model is not None and HintRule.CONTRADICTS in rules:
        asked = [
            q
            for q in _compare_cards(cards, HintRule.CONTRADICTS)
            if (q[0], q[1].index, q[2].index) not in said
        ]
        hints += _contradiction_hints(asked, model, ends - clock())
    return sort_hints(hints)


def _repetition_comparisons(
    cards: Sequence[Card], rules: Collection[HintRule], said: set[tuple[HintRule, int, int | None]]
) -> list[Comparison]:
    """Return the comparisons that words have not settled; a card compared with itself means with its clue."""
    asked: list[Comparison] = []
    if HintRule.REPEATS_CLUE in rules:
        asked += [
            (HintRule.REPEATS_CLUE, card, card)
            for card in cards
            if card.clue.strip()
            and card.inference.strip()
            and (HintRule.REPEATS_CLUE, card.index, None) not in said
        ]
    if HintRule.REPEATS_OTHER in rules:
        asked += [
            question
            for question in _compare_cards(cards, HintRule.REPEATS_OTHER)
            if (HintRule.REPEATS_OTHER, question[1].index, question[2].index) not in said
        ]
    # Sentence vectors hardly see a "not": what is denied is no repetition.
    return [question for question in asked if not are_opposed(*_texts(question))]


def _compare_cards(cards: Sequence[Card], rule: HintRule) -> list[Comparison]:
    written = [card for card in cards if card.inference.strip()]
    return [(rule, card, earlier) for earlier, card in combinations(written, 2)]


def _texts(question: Comparison) -> tuple[str, str]:
    _, card, other = question
    return card.inference, card.clue if card is other else other.inference


def _similarity_hints(asked: Sequence[Comparison], encoder: Encoder, seconds: float) -> list[Hint]:
    scores = encoder.score_similarity([_texts(q) for q in asked], seconds) if asked and seconds > 0 else None
    return _hints_from_scores(asked, scores, lambda rule, score: score >= MIN_COSINES[rule])


def _contradiction_hints(
    asked: Sequence[Comparison], model: ContradictionModel, seconds: float
) -> list[Hint]:
    scores = model.score_contradiction([_texts(q) for q in asked], seconds) if asked and seconds > 0 else None
    return _hints_from_scores(asked, scores, lambda rule, score: score >= MIN_CONTRADICTION)


def _hints_from_scores(
    asked: Sequence[Comparison], scores: Sequence[float] | None, enough: Callable[[HintRule, float], bool]
) -> list[Hint]:
    return [
        inference_hint(card, rule, other=None if card is other else other.index, by="meaning", score=score)
        for (rule, card, other), score in zip(asked, scores or (), strict=False)
        if enough(rule, score)
    ]
