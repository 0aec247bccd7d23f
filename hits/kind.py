"""What a HIT kind is. One folder below ``hits/kinds`` or ``validation/kinds`` holds one subclass.

A kind is a definition: what it is called, what a unit of work looks like, what an answer must hold,
what it pays. It reads no database and imports no framework, so that a reader, a test and a
researcher's notebook can use it alone.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hits.domain.facts import ImageFacts
from hits.domain.observation import ExamScore, GradedPair, ObservationPair
from hits.domain.states import Purpose
from hits.hints.card import Card, Rule


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with an input: where (``observations[1].clue``) and what to do."""

    field: str
    message: str


class InvalidInput(ValueError):
    """A unit or an answer that breaks the kind's rules; ``errors`` lists every place."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = list(errors)
        super().__init__("; ".join(f"{e.field}: {e.message}" for e in self.errors))

    def as_list(self) -> list[dict[str, str]]:
        """Return the errors as plain dictionaries, for an API reply."""
        return [asdict(error) for error in self.errors]


class InvalidAnswer(InvalidInput):
    """An answer that a worker sent."""


class InvalidUnit(InvalidInput):
    """A unit that a researcher wants worked on."""


class Schema(BaseModel):
    """Base of input and answer schemas: unknown fields are refused, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class UnitBox(Schema):
    """A box that a unit shows, in pixels of the natural image."""

    left: int = Field(ge=0)
    top: int = Field(ge=0)
    width: int = Field(ge=1)
    height: int = Field(ge=1)


class HitKind(ABC):
    """One type of task.

    Class attributes (money in integer cents, times in seconds):
        name: the folder's name. version: raised when the meaning of answers changes.
        paper: the paper and section that the kind follows.
        reward_cents, bonus_cents: per assignment, and per extra item (``bonus_items``).
        usual_seconds: active time that a careful worker needs; shown before acceptance.
        hint_rules: which live hints its page offers; ``hint_cards`` says what they look at.
        examples: worked examples that come with the kind's own instructions, as rows of
            ``{"weak", "good", "why"}`` and, where a drawing belongs to them, ``{"picture", "alt"}`` (a static path).
    """

    name: ClassVar[str]
    version: ClassVar[int]
    title: ClassVar[str]
    description: ClassVar[str]
    keywords: ClassVar[str]
    paper: ClassVar[str]
    purpose: ClassVar[Purpose]
    reward_cents: ClassVar[int]
    bonus_cents: ClassVar[int] = 0
    max_bonus_items: ClassVar[int] = 0
    assignments_per_hit: ClassVar[int] = 1
    usual_seconds: ClassVar[int]
    duration_seconds: ClassVar[int] = 30 * 60
    lifetime_seconds: ClassVar[int] = 14 * 24 * 3600
    auto_approval_seconds: ClassVar[int] = 7 * 24 * 3600
    hint_rules: ClassVar[tuple[Rule, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, str], ...]] = ()
    Unit: ClassVar[type[Schema]]
    Answer: ClassVar[type[Schema]]

    @property
    def template(self) -> str:
        """Path of the task's template."""
        return f"{self.name}/task.html"

    def instructions_markdown(self) -> str | None:
        """Return the kind's own text from ``instructions.md`` in its folder; ``None`` where its template has it."""
        source = Path(inspect.getfile(type(self))).with_name("instructions.md")
        return source.read_text(encoding="utf-8") if source.is_file() else None

    @abstractmethod
    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the ids of the images that the unit shows."""

    @abstractmethod
    def page_unit(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str
    ) -> dict[str, Any]:
        """Return the unit as the page's script needs it, images resolved; ``seed`` fixes any shuffle."""

    def region(self, unit: Mapping[str, Any]) -> list[UnitBox]:
        """Return the boxes that the page shows drawn into the unit's first image, by ``hits.domain.regions``.

        Kinds whose page draws its boxes itself, or shows none, return an empty list.
        """
        return []

    def shown(self, unit: Mapping[str, Any], seed: str) -> dict[str, Any]:
        """Return what the page of this ``seed`` showed differently from other workers', such as an order.

        It is kept beside the answer. Kinds that show everybody the same return nothing.
        """
        return {}

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Return the tidied answer and what the schema alone cannot see."""
        return answer.model_dump(), []

    def bonus_items(self, answer: Mapping[str, Any]) -> int:
        """Return how many extra items an accepted answer earns a bonus for."""
        return 0

    def observations(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[ObservationPair]:
        """Return the observation pairs in an answer; kinds that collect none return an empty list."""
        return []

    def graded_pairs(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[GradedPair]:
        """Return the pairs that people grade, in the order of the page; only qualifying kinds have any."""
        return []

    def exam_score(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> ExamScore:
        """Return how the answer did in the unit's exam; kinds without an exam ask nothing."""
        return ExamScore(right=0, asked=0)

    def hint_cards(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], draft: Mapping[str, Any]
    ) -> list[Card]:
        """Return the cards of an unfinished answer for live hints; whatever cannot be read is left out."""
        return []

    def parse_unit(self, raw: Any) -> dict[str, Any]:
        """Return a valid unit.

        Raises:
            InvalidUnit: with every field that is wrong.
        """
        try:
            return self.Unit.model_validate(raw).model_dump()
        except ValidationError as error:
            raise InvalidUnit(field_errors(error)) from error

    def parse_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], raw: Any
    ) -> dict[str, Any]:
        """Return a valid, tidied answer to ``unit``.

        Raises:
            InvalidAnswer: with every field that is wrong.
        """
        try:
            answer = self.Answer.model_validate(raw)
        except ValidationError as error:
            raise InvalidAnswer(field_errors(error)) from error
        tidy, errors = self.check_answer(unit, images, answer)
        if errors:
            raise InvalidAnswer(errors)
        return tidy


def field_errors(error: ValidationError) -> list[FieldError]:
    """Return pydantic's findings with paths as a person writes them: ``observations[1].clue``."""
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path = ""
        for part in item["loc"]:
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
        found.append(FieldError(path or "answer", item["msg"]))
    return found
