"""Hints about questions with answers and rationales, whose texts have object tags (Zellers et al. 2019, §B.3).

Every rule reads words and tags alone, without a model. Quotes are parts of the displayed texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hits.domain.answers.review_flags import MIN_SIMILARITY, split_words, word_similarity
from hits.domain.answers.triplets import TRIPLET_TEXTS
from hits.domain.tagged_text import Segments, display_text, mentions
from hits.hints.card import MAX_QUOTE, MAX_TEXT, Hint, HintField, HintRule
from hits.hints.word_lists import EMPTY_WORDS, PEOPLE

SMALL_SHARE = 0.001  # of the image
EARLIER_QUESTIONS = 50  # of the same worker, that a question is compared with
QUOTED_WORDS = 8
TRIPLET_RULES = (
    HintRule.BARE_NUMBER,
    HintRule.GIVEN_NAME,
    HintRule.REPEATS_ANSWER,
    HintRule.COPIED_QUESTION,
    HintRule.PLAIN_QUESTION,
    HintRule.REFERRING_EXPRESSION,
    HintRule.GENERIC_QUESTION,
    HintRule.ALL_UNLIKELY,
    HintRule.SMALL_OBJECT,
)
_NUMBER_PATTERN = re.compile(r"(?<![\w.,:'’$#-])\d{1,3}(?![\w%-]|[.,:]\d)")
# Questions that anybody answers by looking: clothes, colours, counts, places of things.
_PLAIN_PATTERN = re.compile(
    r"^(?:what|which) (?:is|are|does|do) .{0,60}?\b(?:wearing|wear|holding|hold|carrying)\b"
    r"|^(?:what|which) colou?r\b|^how many\b|^what is (?:on|in|behind|next to|under) ",
    re.IGNORECASE,
)
_PEOPLE_WORDS = "|".join(
    sorted(PEOPLE | {"guy", "guys", "lady", "ladies", "gentleman"}, key=len, reverse=True)
)
_REFERRING_PATTERN = re.compile(
    rf"\b(?:the|that|this) (?:\w+ )?(?:{_PEOPLE_WORDS}) "
    r"(?:(?:who|that) (?:is|are) )?(?:on|in|at|with|behind|beside|near|by|to|next|holding|wearing|sitting|standing)\b"
    r"(?: (?:the|a|an|to|of|his|her|their))* ?\w*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TripletCard:
    """One triplet of a draft, complete or not.

    ``texts`` are question, answer and rationale as segments. ``kept_numbers`` are numbers of each text that the
    worker decided to keep as text.
    """

    index: int
    texts: Mapping[str, Segments]
    likelihood: str | None = None
    kept_numbers: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TripletPage:
    """What the page's texts are about.

    ``names`` and ``shares`` are the class of each object and its share of the image. ``avoided`` are names of people
    and films. ``earlier_questions`` are the worker's questions in other tasks, newest first, as displayed.
    """

    names: Sequence[str]
    shares: Sequence[float]
    avoided: Sequence[str] = ()
    earlier_questions: Sequence[str] = ()


def find_triplet_hints(cards: Sequence[TripletCard], page: TripletPage) -> list[Hint]:
    """Return the hints on the triplets of a page, card by card."""
    shown = [_ShownCard(card, page) for card in cards]
    hints = [hint for card in shown for hint in _card_hints(card, page)]
    for position, card in enumerate(shown):
        earlier = [(other.card.index, other.question) for other in shown[:position]]
        hints += _copied_question(card, [*earlier, *((None, text) for text in page.earlier_questions)])
    return hints + _all_unlikely(cards)


class _ShownCard:
    """A card with its displayed texts."""

    def __init__(self, card: TripletCard, page: TripletPage) -> None:
        self.card = card
        self.texts = {name: display_text(card.texts[name], page.names)[:MAX_TEXT] for name in TRIPLET_TEXTS}

    @property
    def question(self) -> str:
        return self.texts["question"]

    def quote(self, rule: HintRule, name: str, start: int, end: int) -> Hint:
        end = min(end, start + MAX_QUOTE)
        return Hint(rule, self.card.index, HintField(name), self.texts[name][start:end], start, end)

    def quote_first_words(self, rule: HintRule, name: str, *, other: int | None = None) -> Hint:
        found = list(re.finditer(r"\S+", self.texts[name]))[:QUOTED_WORDS]
        start, end = (found[0].start(), found[-1].end()) if found else (0, 0)
        return Hint(rule, self.card.index, HintField(name), self.texts[name][start:end], start, end, other)


def _card_hints(card: _ShownCard, page: TripletPage) -> Iterator[Hint]:
    yield from _bare_numbers(card, page)
    yield from _avoided_names(card, page)
    yield from _repeated_answer(card)
    yield from _plain_question(card)
    yield from _referring_expressions(card)
    yield from _generic_question(card)
    yield from _small_objects(card, page)


def _bare_numbers(card: _ShownCard, page: TripletPage) -> Iterator[Hint]:
    """A number that could be an object's is plain text, and the worker did not decide to keep it."""
    for name in TRIPLET_TEXTS:
        kept = card.card.kept_numbers.get(name, frozenset())
        position = 0
        for segment in card.card.texts[name]:
            shown = display_text([segment], page.names)
            for match in _NUMBER_PATTERN.finditer(shown) if isinstance(segment, str) else ():
                is_object = 1 <= int(match.group()) <= len(page.names)
                if is_object and match.group() not in kept:
                    yield card.quote(
                        HintRule.BARE_NUMBER, name, position + match.start(), position + match.end()
                    )
            position += len(shown)


def _avoided_names(card: _ShownCard, page: TripletPage) -> Iterator[Hint]:
    """The text names an actor, a character or a film."""
    avoided = [re.escape(name) for name in page.avoided if name.strip()]
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(avoided)})(?!\w)", re.IGNORECASE) if avoided else None
    for name in TRIPLET_TEXTS:
        match = pattern.search(card.texts[name]) if pattern else None
        if match:
            yield card.quote(HintRule.GIVEN_NAME, name, *match.span())


def _repeated_answer(card: _ShownCard) -> Iterator[Hint]:
    """The rationale has nearly the same words as the answer."""
    answer, rationale = card.texts["answer"], card.texts["rationale"]
    if answer.strip() and rationale.strip() and word_similarity(answer, rationale) >= MIN_SIMILARITY:
        yield card.quote_first_words(HintRule.REPEATS_ANSWER, "rationale")


def _copied_question(card: _ShownCard, others: Sequence[tuple[int | None, str]]) -> Iterator[Hint]:
    """The question has nearly the same words as another of the page, or as one of the worker's earlier questions."""
    if not split_words(card.question):
        return
    for index, text in others:
        if text.strip() and word_similarity(card.question, text) >= MIN_SIMILARITY:
            yield card.quote_first_words(HintRule.COPIED_QUESTION, "question", other=index)
            return


def _plain_question(card: _ShownCard) -> Iterator[Hint]:
    """The question asks what anybody can see, such as what somebody is wearing."""
    match = _PLAIN_PATTERN.search(card.question)
    if match:
        yield card.quote(HintRule.PLAIN_QUESTION, "question", *match.span())


def _referring_expressions(card: _ShownCard) -> Iterator[Hint]:
    """The text describes a person, such as "the man on the left", where a tag could name them."""
    for name in TRIPLET_TEXTS:
        match = _REFERRING_PATTERN.search(card.texts[name])
        if match:
            yield card.quote(
                HintRule.REFERRING_EXPRESSION,
                name,
                match.start(),
                len(match.group().rstrip()) + match.start(),
            )


def _generic_question(card: _ShownCard) -> Iterator[Hint]:
    """The question has neither a tag nor a content word, so it fits any image."""
    words = split_words(card.question)
    if words and not mentions(card.card.texts["question"]) and set(words) <= EMPTY_WORDS:
        yield card.quote_first_words(HintRule.GENERIC_QUESTION, "question")


def _small_objects(card: _ShownCard, page: TripletPage) -> Iterator[Hint]:
    """A tag points at an object that covers less than 0.1 % of the image."""
    for name in TRIPLET_TEXTS:
        for index in dict.fromkeys(mentions(card.card.texts[name])):
            if page.shares[index] < SMALL_SHARE:
                params = {"object": index + 1, "name": page.names[index]}
                quote = f"{page.names[index]} {index + 1}"
                start = max(0, card.texts[name].find(quote))
                yield Hint(
                    HintRule.SMALL_OBJECT,
                    card.card.index,
                    HintField(name),
                    quote,
                    start,
                    start + len(quote),
                    params=params,
                )


def _all_unlikely(cards: Sequence[TripletCard]) -> list[Hint]:
    """Every answer of the page is unlikely, so none says what most probably happens."""
    chosen = [card for card in cards if card.likelihood is not None]
    if not chosen or any(card.likelihood != "unlikely" for card in chosen):
        return []
    return [Hint(HintRule.ALL_UNLIKELY, chosen[-1].index, HintField.LIKELIHOOD)]
