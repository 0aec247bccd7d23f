"""Apply the rules to the cards of a page: word rules first, then one call per model, within a time budget."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations

from hits.hints.card import Card, ContradictionModel, Hint, HintRule, ImageSize, SimilarityModel, TextPair
from hits.hints.rules import CARD_RULES, PAIR_RULES, are_opposed, inference_hint, sort_hints

BUDGET_SECONDS = 0.3  # seconds for all model calls of one check
# Chosen on one half of the labelled pairs and evaluated on the other half (docs/hints.md).
MIN_COSINES = {HintRule.REPEATS_CLUE: 0.79, HintRule.REPEATS_OTHER: 0.79}
MIN_CONTRADICTIONS = {HintRule.CONTRADICTS: 0.9}
Comparison = tuple[HintRule, Card, Card]
HintKeys = set[tuple[HintRule, int, int | None]]


def find_hints(
    cards: Sequence[Card],
    size: ImageSize | None,
    rules: Collection[HintRule],
    encoder: SimilarityModel | None = None,
    contradiction_model: ContradictionModel | None = None,
    *,
    budget: float = BUDGET_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> list[Hint]:
    """Return the hints on a page, card by card, most reliable first.

    Args:
        cards: the draft's cards, in the order of the page.
        size: of the image, in pixels; without it, box sizes are not checked.
        rules: the enabled rules.
        encoder, contradiction_model: for similarity and contradiction; without them only word rules apply.
        budget: seconds for all model calls together; a call without a reply gives no hints.
    """
    deadline = clock() + budget
    hints = [
        hint
        for card in cards
        for rule, find in CARD_RULES.items()
        if rule in rules
        for hint in find(card, size)
    ]
    for earlier, card in combinations(cards, 2):
        hints += [hint for rule, find in PAIR_RULES.items() if rule in rules for hint in find(card, earlier)]
    known = {(hint.rule, hint.card, hint.other) for hint in hints}
    if encoder is not None:
        comparisons = _repetition_comparisons(cards, rules, known)
        hints += _model_hints(comparisons, encoder.score_similarity, deadline - clock(), MIN_COSINES)
    if contradiction_model is not None and HintRule.CONTRADICTS in rules:
        comparisons = _list_card_comparisons(cards, HintRule.CONTRADICTS, known)
        hints += _model_hints(
            comparisons, contradiction_model.score_contradiction, deadline - clock(), MIN_CONTRADICTIONS
        )
    return sort_hints(hints)


def _repetition_comparisons(
    cards: Sequence[Card], rules: Collection[HintRule], known: HintKeys
) -> list[Comparison]:
    """Return the comparisons that word rules did not decide; a card paired with itself is compared with its clue."""
    comparisons: list[Comparison] = []
    if HintRule.REPEATS_CLUE in rules:
        comparisons += [
            (HintRule.REPEATS_CLUE, card, card)
            for card in cards
            if card.clue.strip()
            and card.inference.strip()
            and (HintRule.REPEATS_CLUE, card.index, None) not in known
        ]
    if HintRule.REPEATS_OTHER in rules:
        comparisons += _list_card_comparisons(cards, HintRule.REPEATS_OTHER, known)
    # Sentence vectors hardly reflect a "not", and a denial is not a repetition.
    return [comparison for comparison in comparisons if not are_opposed(*_compared_texts(comparison))]


def _list_card_comparisons(cards: Sequence[Card], rule: HintRule, known: HintKeys) -> list[Comparison]:
    written = [card for card in cards if card.inference.strip()]
    pairs = combinations(written, 2)
    return [(rule, card, other) for other, card in pairs if (rule, card.index, other.index) not in known]


def _compared_texts(comparison: Comparison) -> tuple[str, str]:
    _, card, other = comparison
    return card.inference, card.clue if card is other else other.inference


def _model_hints(
    comparisons: Sequence[Comparison],
    score: Callable[[Sequence[TextPair], float], list[float] | None],
    seconds: float,
    minimums: Mapping[HintRule, float],
) -> list[Hint]:
    """Return the hints for comparisons that score at least the minimum; none without time or a reply."""
    scores = (
        score([_compared_texts(row) for row in comparisons], seconds) if comparisons and seconds > 0 else None
    )
    return [
        inference_hint(card, rule, other=None if card is other else other.index, by="meaning", score=found)
        for (rule, card, other), found in zip(comparisons, scores or (), strict=False)
        if found >= minimums[rule]
    ]
