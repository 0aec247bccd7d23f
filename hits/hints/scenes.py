"""Hints about a scene that is being written: a premise and two hypotheses (Ventura et al. 2025 §3 and table 16).

Each rule reads the words of one or two texts, without a model. A hint's card is the number of the text that it is
about: 1 the premise, 2 the more plausible hypothesis, 3 the less plausible one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hits.domain.answers.content_words import is_function_word
from hits.domain.answers.review_flags import MIN_SIMILARITY, word_similarity
from hits.domain.answers.scene_facets import MAX_WORDS
from hits.domain.answers.scene_rules import SCENE_TEXTS, are_alike
from hits.domain.answers.word_diff import Word, find_differences, split_into_words
from hits.hints.card import MAX_QUOTE, Hint, HintField, HintRule
from hits.hints.scene_words import BACK_REFERENCES, NAME_PATTERN, NOT_VISIBLE_PATTERNS, WRITTEN_PATTERN

EARLIER_SCENES = 50  # of the same worker, that a scene is compared with
SCENE_RULES = (
    HintRule.COPIED_SCENE,
    HintRule.NOT_VISIBLE,
    HintRule.UNCLEAR_PRONOUN,
    HintRule.TOO_MANY_WORDS,
    HintRule.SEVERAL_DIFFERENCES,
    HintRule.PREMISE_UNUSED,
)
CARDS: Mapping[str, int] = {name: number for number, name in enumerate(SCENE_TEXTS, start=1)}
HYPOTHESES = ("plausible", "implausible")
QUOTED_WORDS = 8
MIN_CONTENT_WORDS = 3  # of a text, before it is compared with another
MIN_PREMISE_WORDS = 5  # content words of a premise that counts as a copy by itself
MIN_SHARED = 0.4  # of the content words of the shorter hypothesis, before their differences are counted
_SHARED_LETTERS = 4  # at the beginning of two words with one root: "cyclist", "cycle"
_MIN_CONTAINED = 3  # letters of a word that stands in another one: "cat", "cats"

# "It" stands for nothing in sentences about weather, light and time.
_WEATHER_PATTERN = re.compile(
    r"\bit(?:['’]s|\s+(?:is|was|has|gets|got|starts?|started|looks?|begins?))?\s+(?:\w+\s+){0,2}?"
    r"(?:rain\w*|snow\w*|hail\w*|storm\w*|thunder\w*|drizzl\w*|pours|pouring|dark|bright|light|sunny|cloudy|foggy|windy"
    r"|hot|cold|warm|freezing|night|day|evening|morning|noon|midnight|dawn|dusk|spring|summer|autumn|winter"
    r"|time|late|early|clear|possible|hard|easy)\b",
    re.IGNORECASE,
)
_PRONOUN_PATTERN = re.compile(
    r"(?<![\w-])(?:he|him|his|himself|she|her|hers|herself|they|them|their|theirs|themselves|it|its|itself)"
    r"(?:['’](?:s|re|d|ll|ve))?(?![\w-])",
    re.IGNORECASE,
)
# Words before a pronoun that are neither function words nor nouns: "Slowly he …", "Suddenly she …", "Yesterday it …".
_NO_NOUNS = frozenset(
    """
    after before until since once because although though however meanwhile maybe perhaps now later today yesterday
    tomorrow tonight soon again already always never often sometimes up down out off over away behind outside inside
    near under not no without
    """.split()  # noqa: SIM905 - a list of words is read more easily than a list of strings
)


@dataclass(frozen=True, slots=True)
class SceneDraft:
    """The texts of a scene, complete or not, and those of the worker's earlier scenes, newest first."""

    texts: Mapping[str, str]
    earlier: Sequence[Mapping[str, str]] = field(default=())


def find_scene_hints(draft: SceneDraft) -> list[Hint]:
    """Return the hints on a scene, text by text, most reliable first in each text."""
    hints = [
        *_unused_premise(draft.texts),
        *(hint for name in SCENE_TEXTS for hint in _text_hints(name, draft.texts[name])),
        *_several_differences(draft.texts),
        *_copied_scene(draft),
    ]
    ranks = {rule: rank for rank, rule in enumerate(SCENE_RULES)}
    return sorted(hints, key=lambda hint: (hint.card, ranks[hint.rule], hint.start))


def _unused_premise(texts: Mapping[str, str]) -> Iterator[Hint]:
    """A hypothesis repeats nothing of the premise and could stand alone.

    It could stand alone if none of its words takes something up: no article "the", no pronoun, no "again" or "other".
    If both hypotheses are so, there is one hint. Words with one root count as a repetition. The rule knows no
    meanings: hypotheses that need the premise may show other things than it, as causes often do.
    """
    alone = [name for name in HYPOTHESES if _stands_alone(texts["premise"], texts[name])]
    for name in alone[:1]:
        yield _quote_first_words(HintRule.PREMISE_UNUSED, name, texts[name], both=len(alone) > 1)


def _stands_alone(premise: str, hypothesis: str) -> bool:
    words, own = _content(premise), _content(hypothesis)
    if min(len(words), len(own)) < MIN_CONTENT_WORDS:
        return False
    if any(word.key in BACK_REFERENCES for word in split_into_words(hypothesis)):
        return False
    return not any(_are_related(first.key, second.key) for first in words for second in own)


def _are_related(first: str, second: str) -> bool:
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) >= _SHARED_LETTERS and shorter[:_SHARED_LETTERS] == longer[:_SHARED_LETTERS]:
        return True
    return shorter == longer or (len(shorter) >= _MIN_CONTAINED and shorter in longer)


def _text_hints(name: str, text: str) -> Iterator[Hint]:
    yield from _not_visible(name, text)
    yield from _too_many_words(name, text)
    yield from _unclear_pronoun(name, text)


def _not_visible(name: str, text: str) -> Iterator[Hint]:
    """The text names what somebody says, thinks, smells or hears, or a brand or a person by name."""
    for sense, pattern in NOT_VISIBLE_PATTERNS.items():
        match = pattern.search(text)
        if match and not (sense == "words" and WRITTEN_PATTERN.search(text[: match.start()])):
            yield _quote(HintRule.NOT_VISIBLE, name, text, match.span(), sense=sense)
    match = NAME_PATTERN.search(text)
    if match:
        yield _quote(HintRule.NOT_VISIBLE, name, text, match.span(), sense="names")


def _too_many_words(name: str, text: str) -> Iterator[Hint]:
    """The text has more words than one picture shows; the hint quotes nothing, so that it stays while text grows."""
    if len(split_into_words(text)) > MAX_WORDS:
        yield Hint(HintRule.TOO_MANY_WORDS, CARDS[name], HintField(name), params={"most": MAX_WORDS})


def _unclear_pronoun(name: str, text: str) -> Iterator[Hint]:
    """A pronoun stands before any noun of its own text, from which its picture is drawn.

    Any word counts as a noun that is no function word and does not end in -ly or -ing.
    """
    weather = [match.span() for match in _WEATHER_PATTERN.finditer(text)]
    for match in _PRONOUN_PATTERN.finditer(text):
        if any(start <= match.start() < end for start, end in weather):
            continue
        if not any(_is_noun(word) for word in split_into_words(text[: match.start()])):
            yield _quote(HintRule.UNCLEAR_PRONOUN, name, text, match.span())
        return


def _is_noun(word: Word) -> bool:
    return not (is_function_word(word.key) or word.key in _NO_NOUNS or word.key.endswith(("ly", "ing")))


def _several_differences(texts: Mapping[str, str]) -> Iterator[Hint]:
    """The hypotheses have the same words but for several places.

    Hypotheses that share hardly a word show two events, in which no single thing could differ: they give no hint.
    """
    first, second = (texts[name] for name in HYPOTHESES)
    words = [{word.key for word in _content(text)} for text in (first, second)]
    shorter = min(len(found) for found in words)
    if shorter < MIN_CONTENT_WORDS or len(words[0] & words[1]) < MIN_SHARED * shorter:
        return
    places = len(find_differences(first, second))
    if places > 1:
        params = {"places": places}
        yield Hint(
            HintRule.SEVERAL_DIFFERENCES, CARDS["implausible"], HintField("implausible"), params=params
        )


def _copied_scene(draft: SceneDraft) -> Iterator[Hint]:
    """The scene, or its premise alone, has nearly the words of one of the worker's earlier scenes."""
    premise = draft.texts["premise"]
    if len(_content(premise)) < MIN_CONTENT_WORDS:
        return
    for scene in draft.earlier:
        is_long = len(_content(premise)) >= MIN_PREMISE_WORDS
        same_premise = is_long and _are_nearly_alike(premise, scene["premise"])
        if same_premise or _are_nearly_alike(_all_texts(draft.texts), _all_texts(scene)):
            yield _quote_first_words(HintRule.COPIED_SCENE, "premise", premise)
            return


def _are_nearly_alike(first: str, second: str) -> bool:
    return are_alike(first, second) or word_similarity(first, second) >= MIN_SIMILARITY


def _all_texts(texts: Mapping[str, str]) -> str:
    return " ".join(texts[name] for name in SCENE_TEXTS)


def _content(text: str) -> list[Word]:
    return [word for word in split_into_words(text) if not is_function_word(word.key)]


def _quote_first_words(rule: HintRule, name: str, text: str, **params: object) -> Hint:
    words = split_into_words(text)[:QUOTED_WORDS]
    return _quote(rule, name, text, (words[0].start, words[-1].end), **params)


def _quote(rule: HintRule, name: str, text: str, span: tuple[int, int], **params: object) -> Hint:
    start, end = span[0], min(span[1], span[0] + MAX_QUOTE)
    return Hint(rule, CARDS[name], HintField(name), text[start:end], start, end, params=params)
