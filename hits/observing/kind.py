"""Base of kinds whose answer is a few cards about one photo: the answer's schema, its checks, the page's data."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from pydantic import Field

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.records import Record
from hits.domain.answers.review_flags import ReviewCheck, check_pace
from hits.domain.answers.text import MAX_CLUE, MAX_INFERENCE, TextError, clean_line
from hits.domain.images.geometry import Box, BoxError, parse_box
from hits.domain.images.image_facts import ImageFacts
from hits.hints.card import MAX_TEXT, Card, HintRule
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema
from hits.observing.checks import run_checks
from hits.observing.pairs import OBSERVATION, Confidence, ObservationFields, ObservationPair

MAX_BOXES = 20
MAX_CARDS = 5  # the number of distinct colours in the design
HINT_RULES = tuple(HintRule)  # even for kinds without boxes, in which the box rules find nothing


class Unit(Schema):
    """One image, by id."""

    image: int


class Observation(Schema):
    """One card of the page. Boxes are unchecked here: ``check_answer`` names the wrong box."""

    index: int = Field(ge=1, le=MAX_CARDS)
    clue: str = Field(max_length=65_536)
    inference: str = Field(max_length=65_536)
    confidence: int = Field(ge=Confidence.POSSIBLE, le=Confidence.CERTAIN)
    boxes: list[dict[str, Any]] = Field(min_length=1, max_length=MAX_BOXES)


class Answer(Schema):
    """The written cards; the kind defines which of them it requires."""

    observations: list[Observation] = Field(min_length=1, max_length=MAX_CARDS)


class ObservingKind(HitKind):
    """A kind whose answer is ``required`` cards about one photo, and up to ``maximum`` with a bonus."""

    required: ClassVar[int]
    maximum: ClassVar[int]
    hint_rules: ClassVar[tuple[HintRule, ...]] = HINT_RULES
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer
    record_word: ClassVar[tuple[str, str]] = ("pair", "pairs")
    record_types: ClassVar[Mapping[str, type[Schema]]] = {OBSERVATION: ObservationFields}

    def image_ids(self, unit: Payload) -> list[int]:
        """Return the id of the image."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the image, the cards in order, and the limits of each field."""
        return {
            "image": images[unit["image"]].as_page_dict(),
            "required": self.required,
            "cards": [
                {"index": index, "bonus": index > self.required} for index in range(1, self.maximum + 1)
            ],
            "limits": {"clue": MAX_CLUE, "inference": MAX_INFERENCE, "boxes": MAX_BOXES},
        }

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check indices, texts and boxes; return the normalized answer, with cards in order, and its problems."""
        assert isinstance(answer, Answer)
        errors = check_indices([item.index for item in answer.observations], self.required, self.maximum)
        rows = []
        for position, item in enumerate(answer.observations):
            row, found = _check_observation(item, images[unit["image"]], f"observations[{position}]")
            rows.append(row)
            errors += found
        return {"observations": sorted(rows, key=lambda row: row["index"])}, errors

    def hint_cards(self, unit: Payload, images: ImagesById, draft: Payload) -> list[Card]:
        """Return the cards of the draft."""
        return hint_cards(draft, images[unit["image"]])

    def bonus_items(self, answer: Payload) -> int:
        """Return the number of cards beyond the required ones; ``check_answer`` refuses incomplete cards."""
        return sum(item["index"] > self.required for item in answer["observations"])

    def records(self, unit: Payload, answer: Payload) -> list[Record]:
        """Return the answer's pairs in the order of their numbers, on the unit's image."""
        return [pair.as_record(unit["image"]) for pair in self.pairs(answer)]

    @property
    def evidence_templates(self) -> list[str]:
        """Templates of the pairs on their photo."""
        return [f"{self.name}/evidence.html", "hits/observing/evidence.html"]

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the pairs, and the numbers of the unwritten bonus pairs."""
        pairs = self.pairs(answer)
        written = {pair.index for pair in pairs}
        possible = range(1, self.maximum + 1) if self.max_bonus_items else ()
        return {"pairs": pairs, "bonus_not_taken": [index for index in possible if index not in written]}

    def marks(self, unit: Payload, answer: Payload | None) -> list[dict[str, Any]]:
        """Return the boxes of each pair with its number."""
        pairs = self.pairs(answer) if answer is not None else []
        return [{"index": pair.index, "boxes": [box.as_dict() for box in pair.boxes]} for pair in pairs]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return each pair as clue and inference."""
        return [EvidenceRow(pair.clue, pair.inference) for pair in self.pairs(answer)]

    def checks(
        self,
        unit: Payload,
        images: ImagesById,
        answer: Payload,
        *,
        active_seconds: float,
        expected_seconds: int,
    ) -> list[ReviewCheck]:
        """Return the checks of pairs and the pace, compared with the kind's expected time."""
        image = images.get(unit["image"])
        if image is None:
            return [check_pace(active_seconds, expected_seconds)]
        return run_checks(
            self.pairs(answer),
            image_width=image.width,
            image_height=image.height,
            active_seconds=active_seconds,
            expected_seconds=self.expected_seconds,
        )

    def pairs(self, answer: Payload) -> list[ObservationPair]:
        """Return the answer's pairs in the order of their numbers."""
        return [
            ObservationPair.from_fields(item["index"], item, bonus=item["index"] > self.required)
            for item in answer["observations"]
        ]


def clean_required_line(
    raw: str, *, maximum: int, path: str, missing_message: str
) -> tuple[str, list[FieldError]]:
    """Return one required text normalized, and its problems; an empty text gets ``missing_message``."""
    try:
        text = clean_line(raw, maximum=maximum)
    except TextError as error:
        return "", [FieldError(path, str(error))]
    return text, [] if text else [FieldError(path, missing_message)]


def check_indices(indices: Sequence[int], required: int, maximum: int) -> list[FieldError]:
    """Return the problems of the cards' numbers: missing, repeated or too high."""
    errors = []
    missing = sorted(set(range(1, required + 1)) - set(indices))
    if missing:
        numbers = ", ".join(str(index) for index in missing)
        errors.append(
            FieldError("observations", f"observation {numbers} is missing: complete 1 to {required}")
        )
    for index in sorted({index for index in indices if indices.count(index) > 1}):
        errors.append(FieldError("observations", f"observation {index} occurs twice: send it once"))
    for index in sorted({index for index in indices if index > maximum}):
        errors.append(FieldError("observations", f"observation {index} is one too many: send 1 to {maximum}"))
    return errors


def hint_cards(draft: Payload, image: ImageFacts, *, boxes: bool = True) -> list[Card]:
    """Return the readable cards of a draft; ``boxes`` is false for kinds whose cards have no boxes."""
    rows = draft.get("observations")
    found: dict[int, Card] = {}
    for row in rows[:MAX_CARDS] if isinstance(rows, list) else ():
        if isinstance(row, dict) and type(row.get("index")) is int and 1 <= row["index"] <= MAX_CARDS:
            drawn = _parse_drawn_boxes(row.get("boxes"), image) if boxes else None
            found[row["index"]] = Card(
                row["index"], drafted_text(row, "clue"), drafted_text(row, "inference"), drawn
            )
    return [found[index] for index in sorted(found)]


def drafted_text(row: Payload, name: str) -> str:
    """Return a text of a draft, at most as long as rules read; empty if it is not a text."""
    value = row.get(name)
    return value[:MAX_TEXT] if isinstance(value, str) else ""


def _parse_drawn_boxes(raw: Any, image: ImageFacts) -> tuple[Box, ...]:
    boxes = []
    for item in raw[:MAX_BOXES] if isinstance(raw, list) else ():
        with suppress(BoxError):
            boxes.append(parse_box(item, image_width=image.width, image_height=image.height))
    return tuple(boxes)


def _check_observation(
    item: Observation, image: ImageFacts, path: str
) -> tuple[dict[str, Any], list[FieldError]]:
    errors: list[FieldError] = []
    row: dict[str, Any] = {"index": item.index, "confidence": item.confidence, "boxes": []}
    for field, maximum in (("clue", MAX_CLUE), ("inference", MAX_INFERENCE)):
        row[field], found = clean_required_line(
            getattr(item, field),
            maximum=maximum,
            path=f"{path}.{field}",
            missing_message=f"observation {item.index} needs a {field}",
        )
        errors += found
    for number, raw in enumerate(item.boxes):
        try:
            box = parse_box(raw, image_width=image.width, image_height=image.height)
        except BoxError as error:
            errors.append(FieldError(f"{path}.boxes[{number}]", str(error)))
        else:
            row["boxes"].append(box.as_dict())
    return row, errors
