"""What a HIT kind is. One folder below ``hits/kinds`` or ``validation/kinds`` holds one subclass.

A kind is a definition: what it is called, what a unit of work looks like, what an answer must hold,
what it pays. It reads no database and imports no framework, so that a reader, a test and a
researcher's notebook can use it alone.
"""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hits.domain.answers.evidence import EvidenceRow, answer_rows, humanize
from hits.domain.answers.exam import ExamScore, GradableItem
from hits.domain.answers.records import Record, RecordError
from hits.domain.answers.review_flags import ReviewCheck, check_pace
from hits.domain.answers.storable_json import find_unstorable
from hits.domain.hashing import content_sha256
from hits.domain.images.image_facts import IMAGE_TEXTS, ImageFacts, neutralize_images
from hits.domain.states import Purpose
from hits.hints.card import Card, HintRule

MAX_RECORD_INDEX = 32_767  # the number of an answer's record is a small one everywhere
MAX_RECORD_TYPE = 40


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
        arms: how many orders or variants its page has, which are balanced over a unit's workers (hits.domain.arms).
        once: whether somebody who opened a unit may never open it again, returned or not.
        unit_word: what one unit and several are called on console pages.
        record_word: what one record of an answer and several are called there.
        launches_from_units: whether researchers may launch it from a file of units. Kinds whose access rests on their
            own service, such as those that pay or qualify people, say no.
        page_facts: what a page may tell of an image beside its picture and size. Alternative text and credit can give
            the right answer away; a kind that leaves them out shows "Image 1", "Image 2" in their place.
        record_types: the schema of the fields of each type of record that an answer gives.
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
    redundancy: ClassVar[int] = 1
    expected_seconds: ClassVar[int]
    duration_seconds: ClassVar[int] = 30 * 60
    lifetime_seconds: ClassVar[int] = 14 * 24 * 3600
    auto_approval_seconds: ClassVar[int] = 7 * 24 * 3600
    hint_rules: ClassVar[tuple[HintRule, ...]] = ()
    examples: ClassVar[tuple[Mapping[str, str], ...]] = ()
    record_types: ClassVar[Mapping[str, type[Schema]]] = {}
    arms: ClassVar[int] = 1
    is_single_attempt: ClassVar[bool] = False
    unit_word: ClassVar[tuple[str, str]] = ("photo", "photos")
    record_word: ClassVar[tuple[str, str]] = ("record", "records")
    launches_from_units: ClassVar[bool] = False
    page_facts: ClassVar[frozenset[str]] = IMAGE_TEXTS
    Unit: ClassVar[type[Schema]]
    Answer: ClassVar[type[Schema]]

    @property
    def template(self) -> str:
        """Path of the task's template."""
        return f"{self.name}/task.html"

    def sample(self) -> dict[str, Any] | None:
        """Return the kind's sample from ``sample.json`` in its folder; ``None`` where it brings none.

        ``unit`` and ``answer``: each text ``photo:N`` stands for the id of the Nth photo of whoever tries it.
        """
        source = Path(inspect.getfile(type(self))).with_name("sample.json")
        return json.loads(source.read_text(encoding="utf-8")) if source.is_file() else None

    def instructions_markdown(self) -> str | None:
        """Return the kind's own text from ``instructions.md`` in its folder; ``None`` where its template has it."""
        source = Path(inspect.getfile(type(self))).with_name("instructions.md")
        return source.read_text(encoding="utf-8") if source.is_file() else None

    @abstractmethod
    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the ids of the images that the unit shows."""

    @property
    def takes_photos(self) -> bool:
        """Whether units can be planned from photos alone; a kind that overrides ``plan_units`` says so here."""
        return set(self.Unit.model_fields) == {"image"}

    def plan_units(self, photos: Sequence[int]) -> list[dict[str, Any]]:
        """Return the units that ask about photos (ids, in order); kinds that do not take photos plan none."""
        return [{"image": photo} for photo in photos] if self.takes_photos else []

    def unit_key(self, unit: Mapping[str, Any]) -> str:
        """Return the name of a unit in its batch, at most 80 characters: equal for equal units only."""
        return f"image-{unit['image']}" if set(unit) == {"image"} else content_sha256(dict(unit))

    def page_images(self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts]) -> dict[int, ImageFacts]:
        """Return the facts of a unit's images without what its page must not tell (``page_facts``)."""
        return neutralize_images(images, self.image_ids(unit), self.page_facts)

    def subject(self, unit: Mapping[str, Any]) -> str:
        """Return what a unit is about: its first image, or its own content where it shows none.

        Two units about one subject are never told apart by it: an attention check borrows from another subject.
        """
        images = self.image_ids(unit)
        return f"image-{images[0]}" if images else content_sha256(dict(unit))

    @abstractmethod
    def page_unit(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the unit as the page's script needs it, images resolved.

        ``arm`` says which order or variant to show, of kinds that have any. Without one, which attempts from before
        there were arms are, ``seed`` fixes any shuffle.
        """

    def region(self, unit: Mapping[str, Any]) -> list[UnitBox]:
        """Return the boxes that the page draws into the unit's first image (``hits.domain.images.region_drawing``).

        Kinds whose page draws its boxes itself, or shows none, return an empty list.
        """
        return []

    def shown(self, unit: Mapping[str, Any], seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return what the page of this ``seed`` and ``arm`` showed differently from other workers', such as an order.

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

    def records(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Record]:
        """Return the records in an answer; kinds that collect none return an empty list.

        ``read_records`` checks them against ``record_types``. An exception marks the assignment and stops nothing.
        """
        return []

    def read_records(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Record]:
        """Return the records in an answer, checked: known types, valid fields, no index twice, images of the unit.

        Raises:
            RecordError: they cannot be read; the message names the record and the field.
        """
        try:
            found = list(self.records(unit, answer))  # a generator is read once
            images = set(self.image_ids(unit))
            return [self._checked_record(record, images) for record in _check_indices(found)]
        except RecordError:
            raise
        except (
            Exception
        ) as error:  # a kind may be wrong in any way, and the work of its workers is kept all the same
            raise RecordError(f"{self.name}.records: {type(error).__name__}: {error}") from error

    def _checked_record(self, record: Record, images: set[int]) -> Record:
        where = f"record {record.index}"
        if record.type not in self.record_types:
            known = ", ".join(sorted(self.record_types)) or "none"
            raise RecordError(f"{where}: type {record.type!r} is not one of {self.name}; known: {known}")
        if type(record.bonus) is not bool:
            raise RecordError(f"{where}: bonus {record.bonus!r}; use True or False")
        foreign = sorted(set(record.images) - images)
        if foreign:
            raise RecordError(f"{where}: image {foreign[0]} is not one of its unit")
        try:
            fields = self.record_types[record.type].model_validate(record.fields).model_dump(mode="json")
        except ValidationError as error:
            first = field_errors(error)[0]
            raise RecordError(f"{where}, {first.field}: {first.message}") from error
        for path, problem in find_unstorable(fields):
            raise RecordError(f"{where}, {path}: {problem}")
        return replace(record, fields=fields)

    def find_problems(self) -> list[str]:
        """Return what is wrong with the kind itself, in sentences: said at start, before anybody works on it."""
        return [
            f"record type {name!r} has {len(name)} characters; use at most {MAX_RECORD_TYPE}"
            for name in self.record_types
            if len(name) > MAX_RECORD_TYPE
        ]

    # What console pages show of units and answers

    @property
    def evidence_templates(self) -> list[str]:
        """Templates of the read-only view of a unit and its answer, the kind's own first, a table as fallback.

        They find ``unit``, ``answer`` (``None`` where there is none), ``images`` (facts in the order of
        ``image_ids``), ``marks``, ``unit_lines``, ``lines`` and ``evidence`` in their context.
        """
        return [f"{self.name}/evidence.html", "hits/review/evidence.html"]

    @property
    def review_templates(self) -> list[str]:
        """Templates of a submission on the review page, the kind's own first; the usual one shows the evidence."""
        return [f"{self.name}/review.html", "hits/review/_evidence.html"]

    def evidence(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the kind's own evidence template needs beside the unit and the answer."""
        return {}

    def marks(self, unit: Mapping[str, Any], answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the boxes on the first image as groups of ``{"index", "boxes", "label"}``, pixels of the image."""
        boxes = [box.model_dump() for box in self.region(unit)]
        return [{"index": 1, "boxes": boxes, "label": "Region"}] if boxes else []

    def unit_rows(self, unit: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return what a unit says besides its images, line by line, for people who read an answer to it."""
        images = set(self.image_ids(unit))
        rows: list[EvidenceRow] = []
        for name, said in unit.items():
            if isinstance(said, str):
                rows.append(EvidenceRow(humanize(name), said))  # as it was launched, to the letter
            elif not _holds_images(said, images):
                rows += answer_rows({name: said}, self.Unit)
        return rows

    def answer_rows(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return an answer line by line, as a person reads it."""
        return answer_rows(answer, self.Answer)

    def checks(
        self,
        unit: Mapping[str, Any],
        images: Mapping[int, ImageFacts],
        answer: Mapping[str, Any],
        *,
        active_seconds: float,
        expected_seconds: int,
    ) -> list[ReviewCheck]:
        """Return what a reviewer should look at in an answer; times in seconds."""
        return [check_pace(active_seconds, expected_seconds)]

    def gradable_items(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[GradableItem]:
        """Return what people grade piece by piece, in the order of the page; only qualifying kinds have any."""
        return []

    def exam_score(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> ExamScore:
        """Return how the answer did in the unit's exam; kinds without an exam ask nothing."""
        return ExamScore(right=0, total=0)

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


def _holds_images(value: Any, images: Collection[int]) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(type(one) is int and one in images for one in values)


def _check_indices(records: Sequence[Record]) -> Sequence[Record]:
    seen: set[int] = set()
    for record in records:
        if not isinstance(record, Record):
            raise RecordError(f"records: {type(record).__name__} is no Record")
        is_number = type(record.index) is int and 1 <= record.index <= MAX_RECORD_INDEX
        if not is_number or record.index in seen:
            raise RecordError(
                f"record {record.index}: number records from 1 to {MAX_RECORD_INDEX:,}, each once over all types"
            )
        seen.add(record.index)
    return records


def field_errors(error: ValidationError) -> list[FieldError]:
    """Return pydantic's findings with paths as a person writes them: ``observations[1].clue``."""
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path = ""
        for part in item["loc"]:
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
        found.append(FieldError(path or "answer", item["msg"]))
    return found
