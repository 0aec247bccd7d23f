"""What a chat model is shown and asked about a triplet, by setup and strategy (Ventura et al. 2025 §4.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.evaluation.nleye_key import AS_LISTED
from curation.generation.chat import ChatImage
from curation.generation.pictures import combined_picture
from curation.image_triplets.chat_prompts import ChatPrompts
from curation.selectors.triplets.evaluations import EvaluatedTriplet
from curation.services.triplets.evaluations import (
    COMBINED,
    HYPOTHESES_ONLY,
    IMAGE_TO_TEXT,
    TEXT_ONLY,
    EvaluationOptions,
)

PREMISE = "premise"
HYPOTHESES = ("hypothesis1", "hypothesis2")
_AS_TEXTS = "Descriptions stand for the images."
_EXPLANATION = {"explanation": {"type": "string"}}
_CHOICE = {"choice": {"enum": [1, 2, "equal", "none"]}}
_SCORE = {"score": {"type": "integer", "minimum": 1, "maximum": 10}}
CAPTION_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"description": {"type": "string"}},
    "required": ["description"],
    "additionalProperties": False,
}
Parts = tuple[str | ChatImage, ...]
Describe = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ShownTriplet:
    """A triplet as a strategy can show it. ``read`` returns the file of an image by its hash."""

    triplet: EvaluatedTriplet
    read: Callable[[str], bytes] = field(repr=False)

    def image(self, name: str) -> ChatImage:
        """Return an image: ``premise``, ``hypothesis1`` or ``hypothesis2``."""
        sha256 = self.triplet.row["images"][name]
        return ChatImage(sha256, lambda: self.read(sha256))

    def text(self, name: str) -> str:
        """Return the description of an image, as people wrote it."""
        return str(self.triplet.row[f"{name}_description"])

    def combined(self, names: Sequence[str]) -> ChatImage:
        """Return images side by side as one."""
        pictures = [self.read(self.triplet.row["images"][name]) for name in names]
        return ChatImage.from_bytes(combined_picture(pictures, names=names).data)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the parts of the message, what the model is to do, and the schema of its reply."""

    parts: Parts
    system: str
    schema: Mapping[str, Any]
    version: str
    sha256: str


def choice_question(
    shown: ShownTriplet,
    presentation: str,
    options: EvaluationOptions,
    prompts: ChatPrompts,
    describe: Describe,
) -> Question:
    """Return the question which hypothesis is more plausible, in one order.

    Args:
        describe: returns a model's description of an image, in the strategy image-to-text.
    """
    order = HYPOTHESES if presentation == AS_LISTED else HYPOTHESES[::-1]
    is_blind = options.strategy == HYPOTHESES_ONLY
    prompt = prompts["blind" if is_blind else "triplet"]
    variant = "answer_first" if is_blind else options.variant
    names = [(f"Image {number}", name) for number, name in enumerate(order, start=1)]
    labelled = names if is_blind else [("Context", PREMISE), *names]
    is_first = variant in {"answer_first", "role"}
    properties = {**_CHOICE, **_EXPLANATION} if is_first else {**_EXPLANATION, **_CHOICE}
    return Question(
        (*_show(shown, labelled, options, describe), prompt.text(variant)),
        prompt.system,
        _object(properties),
        prompt.version,
        prompt.sha256,
    )


def score_question(
    shown: ShownTriplet,
    hypothesis: str,
    options: EvaluationOptions,
    prompts: ChatPrompts,
    describe: Describe,
) -> Question:
    """Return the question how plausible one hypothesis is."""
    is_blind = options.strategy == HYPOTHESES_ONLY
    prompt = prompts["blind_pairs" if is_blind else "pairs"]
    name = HYPOTHESES[0] if hypothesis == "h1" else HYPOTHESES[1]
    labelled = [("Image", name)] if is_blind else [("Context", PREMISE), ("Image", name)]
    return Question(
        (*_show(shown, labelled, options, describe), prompt.text("answer_first")),
        prompt.system,
        _object({**_SCORE, **_EXPLANATION}),
        prompt.version,
        prompt.sha256,
    )


def caption_question(image: ChatImage, prompts: ChatPrompts) -> Question:
    """Return the question what an image shows."""
    prompt = prompts["caption"]
    return Question((image, prompt.text()), prompt.system, CAPTION_SCHEMA, prompt.version, prompt.sha256)


def _show(
    shown: ShownTriplet,
    labelled: Sequence[tuple[str, str]],
    options: EvaluationOptions,
    describe: Describe,
) -> Parts:
    if options.strategy == COMBINED:
        places = ", ".join(label for label, _ in labelled)
        return (
            f"One picture shows, from left to right: {places}.",
            shown.combined([name for _, name in labelled]),
        )
    if options.strategy in {TEXT_ONLY, IMAGE_TO_TEXT}:
        read = shown.text if options.strategy == TEXT_ONLY else describe
        return (_AS_TEXTS, *(f"{label}: {read(name)}" for label, name in labelled))
    return tuple(part for label, name in labelled for part in (f"{label}:", shown.image(name)))


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
