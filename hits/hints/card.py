"""The input and output of hint rules."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from hits.domain.images.geometry import Box

MAX_TEXT = 1000  # characters of a field that rules read; no valid field is longer
MAX_QUOTE = 200


class HintRule(StrEnum):
    """The rules in the order of hints: most reliable first."""

    NO_BOX = "no_box"
    PROFANITY = "profanity"
    PRONOUN = "pronoun"
    REPEATS_CLUE = "repeats_clue"
    REPEATS_OTHER = "repeats_other"
    CONTRADICTS = "contradicts"
    CAPTION_LIKE = "caption_like"
    BOX_TOO_LARGE = "box_too_large"
    BOX_TOO_SMALL = "box_too_small"
    # about a question with answer and rationale (hits.hints.triplets)
    BARE_NUMBER = "bare_number"
    GIVEN_NAME = "given_name"
    REPEATS_ANSWER = "repeats_answer"
    COPIED_QUESTION = "copied_question"
    PLAIN_QUESTION = "plain_question"
    REFERRING_EXPRESSION = "referring_expression"
    GENERIC_QUESTION = "generic_question"
    ALL_UNLIKELY = "all_unlikely"
    SMALL_OBJECT = "small_object"
    # about a scene that is being written (hits.hints.scenes)
    COPIED_SCENE = "copied_scene"
    NOT_VISIBLE = "not_visible"
    UNCLEAR_PRONOUN = "unclear_pronoun"
    TOO_MANY_WORDS = "too_many_words"
    SEVERAL_DIFFERENCES = "several_differences"
    PREMISE_UNUSED = "premise_unused"
    # about an explanation of images (hits.hints.explanations)
    IMAGE_NUMBER = "image_number"
    ONLY_LOOKS = "only_looks"
    REPEATS_DESCRIPTION = "repeats_description"
    TOO_FEW_WORDS = "too_few_words"


class HintField(StrEnum):
    """The field of a card that a hint is about."""

    CLUE = "clue"
    INFERENCE = "inference"
    BOXES = "boxes"
    QUESTION = "question"
    ANSWER = "answer"
    RATIONALE = "rationale"
    LIKELIHOOD = "likelihood"
    PREMISE = "premise"
    PLAUSIBLE = "plausible"
    IMPLAUSIBLE = "implausible"
    EXPLANATION = "explanation"


@dataclass(frozen=True, slots=True)
class Card:
    """One card of a draft, complete or not. ``boxes`` is None if the kind has no boxes."""

    index: int
    clue: str = ""
    inference: str = ""
    boxes: tuple[Box, ...] | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint. The page writes its message from ``rule`` and ``params``.

    ``quote`` is ``text[start:end]`` of the card's field, in code points; hints about boxes have no quote.
    ``other`` is the index of the card that this one was compared with.
    """

    rule: HintRule
    card: int
    field: HintField
    quote: str = ""
    start: int = 0
    end: int = 0
    other: int | None = None
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the hint as plain JSON."""
        return dataclasses.asdict(self) | {"rule": self.rule.value, "field": self.field.value}


@dataclass(frozen=True, slots=True)
class ImageSize:
    """Natural size of the image in pixels."""

    width: int
    height: int


TextPair = tuple[str, str]


class SimilarityModel(Protocol):
    """Scores the similarity of two texts."""

    def score_similarity(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        """Return a cosine for each pair, or ``None`` without an answer within ``budget`` seconds."""
        ...


class ContradictionModel(Protocol):
    """Scores the contradiction of two texts (natural-language inference)."""

    def score_contradiction(self, pairs: Sequence[TextPair], budget: float) -> list[float] | None:
        """Return a probability for each pair, or ``None`` without an answer within ``budget`` seconds."""
        ...
