"""Put the rules to the cards of a page. Words first; meanings are asked for in one call, within a budget."""

import time
from collections.abc import Callable, Collection, Sequence
from itertools import combinations

from hits.hints.card import Card, ContradictionModel, Encoder, Hint, Rule, Size
from hits.hints.rules import ALONE, AMONG, in_order, opposed, quoting

BUDGET = 0.3  # seconds, for all questions of one check together
# Chosen on one half of the measured pairs, reported on the other: docs/hints.md.
COSINES = {Rule.REPEATS_CLUE: 0.79, Rule.REPEATS_OTHER: 0.79}
CONTRADICTION = 0.9
Question = tuple[Rule, Card, Card]


def check(
    cards: Sequence[Card],
    size: Size | None,
    rules: Collection[Rule],
    encoder: Encoder | None = None,
    model: ContradictionModel | None = None,
    *,
    budget: float = BUDGET,
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
        hint for card in cards for rule, find in ALONE.items() if rule in rules for hint in find(card, size)
    ]
    for earlier, card in combinations(cards, 2):
        hints += [hint for rule, find in AMONG.items() if rule in rules for hint in find(card, earlier)]
    said = {(hint.rule, hint.card, hint.other) for hint in hints}
    if encoder is not None:
        hints += _by_meaning(_questions(cards, rules, said), encoder, ends - clock())
    if model is not None and Rule.CONTRADICTS in rules:
        asked = [q for q in _among(cards, Rule.CONTRADICTS) if (q[0], q[1].index, q[2].index) not in said]
        hints += _denied(asked, model, ends - clock())
    return in_order(hints)


def _questions(
    cards: Sequence[Card], rules: Collection[Rule], said: set[tuple[Rule, int, int | None]]
) -> list[Question]:
    """Return the comparisons that words have not settled; a card compared with itself means with its clue."""
    asked: list[Question] = []
    if Rule.REPEATS_CLUE in rules:
        asked += [
            (Rule.REPEATS_CLUE, card, card)
            for card in cards
            if card.clue.strip()
            and card.inference.strip()
            and (Rule.REPEATS_CLUE, card.index, None) not in said
        ]
    if Rule.REPEATS_OTHER in rules:
        asked += [
            question
            for question in _among(cards, Rule.REPEATS_OTHER)
            if (Rule.REPEATS_OTHER, question[1].index, question[2].index) not in said
        ]
    # Sentence vectors hardly see a "not": what is denied is no repetition.
    return [question for question in asked if not opposed(*_texts(question))]


def _among(cards: Sequence[Card], rule: Rule) -> list[Question]:
    written = [card for card in cards if card.inference.strip()]
    return [(rule, card, earlier) for earlier, card in combinations(written, 2)]


def _texts(question: Question) -> tuple[str, str]:
    _, card, other = question
    return card.inference, card.clue if card is other else other.inference


def _by_meaning(asked: Sequence[Question], encoder: Encoder, seconds: float) -> list[Hint]:
    scores = encoder.similar([_texts(q) for q in asked], seconds) if asked and seconds > 0 else None
    return _hints(asked, scores, lambda rule, score: score >= COSINES[rule])


def _denied(asked: Sequence[Question], model: ContradictionModel, seconds: float) -> list[Hint]:
    scores = model.contradict([_texts(q) for q in asked], seconds) if asked and seconds > 0 else None
    return _hints(asked, scores, lambda rule, score: score >= CONTRADICTION)


def _hints(
    asked: Sequence[Question], scores: Sequence[float] | None, enough: Callable[[Rule, float], bool]
) -> list[Hint]:
    return [
        quoting(card, rule, other=None if card is other else other.index, by="meaning", score=score)
        for (rule, card, other), score in zip(asked, scores or (), strict=False)
        if enough(rule, score)
    ]
