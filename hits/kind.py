"""The base class of HIT kinds. Each folder in ``hits/kinds`` or ``validation/kinds`` has one subclass.

A kind defines its names, its units, its answers and its pay. It reads no database and imports no framework, so that
tests and notebooks can use it alone.
"""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from hits.domain.answers.evidence import EvidenceRow, answer_rows, humanize
from hits.domain.answers.exam import ExamRule, ExamScore, GradableItem
from hits.domain.answers.records import Record, RecordError
from hits.domain.answers.review_flags import ReviewCheck, check_pace
from hits.domain.answers.storable_json import find_unstorable
from hits.domain.hashing import content_sha256
from hits.domain.images.image_facts import IMAGE_TEXTS, ImageFacts, hide_image_texts
from hits.domain.renamed import RefusesOldNames
from hits.domain.schema import FieldError, Schema, UnitBox
from hits.domain.states import Purpose
from hits.hints.card import Card, Hint, HintRule

MAX_RECORD_INDEX = 32_767  # every database stores it in a small integer
MAX_RECORD_TYPE = 40
Payload = Mapping[str, Any]  # a unit or an answer, as JSON has it
ImagesById = Mapping[int, ImageFacts]


class InvalidInput(ValueError):
    """A unit or an answer that breaks the kind's rules; ``errors`` lists all problems."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = list(errors)
        super().__init__("; ".join(f"{e.field}: {e.message}" for e in self.errors))

    def as_list(self) -> list[dict[str, str]]:
        """Return the errors as plain dictionaries, for an API reply."""
        return [asdict(error) for error in self.errors]


class InvalidAnswer(InvalidInput):
    """An invalid answer of a worker."""


class InvalidUnit(InvalidInput):
    """An invalid unit of a researcher."""


class HitKind(RefusesOldNames, ABC):
    """One type of task.

    Class attributes (money in integer cents, times in seconds):
        name: the folder's name. version: incremented when the meaning of answers changes.
        paper: the citation that the kind follows.
        reward_cents, bonus_cents: per assignment, and per extra item (``bonus_items``).
        redundancy: the default number of workers per unit.
        expected_seconds: active time that a careful worker needs; shown before acceptance.
        hint_rules: the live hints of its page; ``hint_cards`` returns the texts that they check.
        earlier_for_hints: how many earlier answers of the same worker ``own_hints`` reads.
        arms: how many orders or variants its page has, balanced over a unit's workers (hits.domain.units.arms).
        is_single_attempt: whether a worker who opened a unit may never open it again, even after returning it.
        scope_field: the field of a unit that stands for its key where a worker does a unit once in the project: units
            with one value of it, such as two questions about one text, exclude one another. Empty: the unit's key.
        reveals: fields of a unit with ids of things of which its page tells more than others may know. blind_to:
            fields with ids of such things. Whoever opened a unit that reveals an id gets none that is blind to it.
        unit_word: singular and plural of a unit on console pages.
        record_word: singular and plural of a record on console pages; ``counted_types`` are the types of records that
            it counts, all if empty.
        launches_from_units: whether researchers may launch it from a file of units. False for kinds with their own
            launch service, such as those that pay or qualify workers.
        unit_planner: the planner of its units in the setting ``UNIT_PLANNERS``, if they need more than photos.
        page_facts: the texts of an image that a page may show. Alternative text and credit can reveal the right
            answer; a kind without them shows "Image 1", "Image 2".
        record_types: the schema of the fields of each type of record in an answer.
        families: the dataset families for which a kind collects, or whose workers a qualifying or training kind
            prepares; empty for all families without a kind of their own.
        exam_rule: what passes by default, for qualifying kinds.
        examples: worked examples of the kind's instructions, as rows of ``{"weak", "good", "why"}`` and, with a
            drawing, ``{"picture", "alt"}`` (a static path).
    """

    RENAMED = {
        "assignments_per_hit": "redundancy",
        "usual_seconds": "expected_seconds",
        "once": "is_single_attempt",
        "gradable": "gradable_items",
        "answer_lines": "answer_rows",
        "page_unit": "unit_for_page",
        "unit_lines": "unit_rows",
    }
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
    earlier_for_hints: ClassVar[int] = 0
    examples: ClassVar[tuple[Mapping[str, str], ...]] = ()
    record_types: ClassVar[Mapping[str, type[Schema]]] = {}
    families: ClassVar[frozenset[str]] = frozenset()
    exam_rule: ClassVar[ExamRule] = ExamRule()
    arms: ClassVar[int] = 1
    is_single_attempt: ClassVar[bool] = False
    scope_field: ClassVar[str] = ""
    reveals: ClassVar[tuple[str, ...]] = ()
    blind_to: ClassVar[tuple[str, ...]] = ()
    unit_word: ClassVar[tuple[str, str]] = ("photo", "photos")
    record_word: ClassVar[tuple[str, str]] = ("record", "records")
    counted_types: ClassVar[frozenset[str]] = frozenset()
    launches_from_units: ClassVar[bool] = False
    unit_planner: ClassVar[str] = ""
    page_facts: ClassVar[frozenset[str]] = IMAGE_TEXTS
    Unit: ClassVar[type[Schema]]
    Answer: ClassVar[type[Schema]]

    @property
    def template(self) -> str:
        """Path of the task's template."""
        return f"{self.name}/task.html"

    def sample(self) -> dict[str, Any] | None:
        """Return the kind's sample from ``sample.json`` in its folder, or ``None`` without one.

        In ``unit`` and ``answer`` each text ``photo:N`` is a placeholder for the id of the Nth photo.
        """
        source = Path(inspect.getfile(type(self))).with_name("sample.json")
        return json.loads(source.read_text(encoding="utf-8")) if source.is_file() else None

    def instructions_markdown(self) -> str | None:
        """Return the text of ``instructions.md`` in the kind's folder, or ``None`` if its template has the text."""
        source = Path(inspect.getfile(type(self))).with_name("instructions.md")
        return source.read_text(encoding="utf-8") if source.is_file() else None

    @abstractmethod
    def image_ids(self, unit: Payload) -> list[int]:
        """Return the ids of the images that the unit shows."""

    @property
    def takes_photos(self) -> bool:
        """Whether photos are enough to plan units; a kind that overrides ``plan_units`` overrides this too."""
        return set(self.Unit.model_fields) == {"image"}

    def plan_units(self, photos: Sequence[int]) -> list[dict[str, Any]]:
        """Return the units for photos (ids, in order); empty for kinds that do not take photos."""
        return [{"image": photo} for photo in photos] if self.takes_photos else []

    def unit_key(self, unit: Payload) -> str:
        """Return the key of a unit in its batch, at most 80 characters: only equal units have equal keys."""
        return f"image-{unit['image']}" if set(unit) == {"image"} else content_sha256(dict(unit))

    def page_images(self, unit: Payload, images: ImagesById) -> dict[int, ImageFacts]:
        """Return the facts of a unit's images without the texts that its page must not show (``page_facts``)."""
        return hide_image_texts(images, self.image_ids(unit), self.page_facts)

    def subject(self, unit: Payload) -> str:
        """Return the key of a unit's subject: its first image, or its content if it has no image.

        An attention check takes its wrong answer from a unit with another subject.
        """
        images = self.image_ids(unit)
        return f"image-{images[0]}" if images else content_sha256(dict(unit))

    @abstractmethod
    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return the unit for the page's script, with its images resolved.

        ``arm`` is the order or variant to show. Older attempts have no arm; then ``seed`` fixes the shuffle.
        """

    def region(self, unit: Payload) -> list[UnitBox]:
        """Return the boxes that the page draws into the unit's first image (``hits.domain.images.region_drawing``).

        Kinds whose page draws its boxes itself, or shows none, return an empty list.
        """
        return []

    def shown(self, unit: Payload, seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return what differs between workers on the page of this ``seed`` and ``arm``, such as an order.

        It is stored beside the answer. Kinds that show everybody the same return an empty mapping.
        """
        return {}

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Return the normalized answer, and the problems that the schema cannot find."""
        return answer.model_dump(), []

    def bonus_items(self, answer: Payload) -> int:
        """Return the number of extra items for which an approved answer earns a bonus."""
        return 0

    def records(self, unit: Payload, answer: Payload) -> list[Record]:
        """Return the records in an answer; empty for kinds that collect none.

        ``read_records`` checks them against ``record_types``. An exception marks the assignment but stops nothing.
        """
        return []

    def read_records(self, unit: Payload, answer: Payload) -> list[Record]:
        """Return the checked records of an answer: known types, valid fields, unique indices, images of the unit.

        Raises:
            RecordError: a record is invalid; the message names it and the field.
        """
        try:
            found = list(self.records(unit, answer))  # a generator is read once
            images = set(self.image_ids(unit))
            return [self._clean_record(record, images) for record in _check_indices(found)]
        except RecordError:
            raise
        except Exception as error:  # a kind may raise anything; the answers of its workers are kept anyway
            raise RecordError(f"{self.name}.records: {type(error).__name__}: {error}") from error

    def _clean_record(self, record: Record, images: set[int]) -> Record:
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
        """Return the problems of the kind itself, which the system check reports at start."""
        problems = [
            f"record type {name!r} has {len(name)} characters; use at most {MAX_RECORD_TYPE}"
            for name in self.record_types
            if len(name) > MAX_RECORD_TYPE
        ]
        named = (("scope_field", [self.scope_field]), ("reveals", self.reveals), ("blind_to", self.blind_to))
        problems += [
            f"{attribute} {name!r} is no field of its units"
            for attribute, names in named
            for name in names
            if name and name not in self.Unit.model_fields
        ]
        return problems

    # Units and answers on console pages

    @property
    def evidence_templates(self) -> list[str]:
        """Templates of the read-only view of a unit and its answer: the kind's own, or a table as fallback.

        Their context has ``unit``, ``answer`` (or ``None``), ``images`` (facts in the order of ``image_ids``),
        ``marks``, ``unit_rows``, ``answer_rows`` and ``evidence``.
        """
        return [f"{self.name}/evidence.html", "hits/review/evidence.html"]

    @property
    def review_templates(self) -> list[str]:
        """Templates of a submission on the review page, the kind's own first; the usual one shows the evidence."""
        return [f"{self.name}/review.html", "hits/review/_evidence.html"]

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the extra context of the kind's own evidence template."""
        return {}

    def marks(self, unit: Payload, answer: Payload | None) -> list[dict[str, Any]]:
        """Return the boxes on the first image as groups of ``{"index", "boxes", "label"}``, pixels of the image."""
        boxes = [box.model_dump() for box in self.region(unit)]
        return [{"index": 1, "boxes": boxes, "label": "Region"}] if boxes else []

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the rows of a unit besides its images, for people who read an answer to it."""
        images = set(self.image_ids(unit))
        rows: list[EvidenceRow] = []
        for name, value in unit.items():
            if isinstance(value, str):
                rows.append(EvidenceRow(humanize(name), value))  # unchanged, as launched
            elif not _has_only_images(value, images):
                rows += answer_rows({name: value}, self.Unit)
        return rows

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return the rows of an answer, as a person reads it."""
        return answer_rows(answer, self.Answer)

    def checks(
        self,
        unit: Payload,
        images: ImagesById,
        answer: Payload,
        *,
        active_seconds: float,
        expected_seconds: int,
    ) -> list[ReviewCheck]:
        """Return the checks of an answer for a reviewer; times in seconds."""
        return [check_pace(active_seconds, expected_seconds)]

    def gradable_items(self, unit: Payload, answer: Payload) -> list[GradableItem]:
        """Return the items that people grade, in the order of the page; only qualifying kinds have any."""
        return []

    def exam_score(self, unit: Payload, answer: Payload) -> ExamScore:
        """Return the answer's score in the unit's exam; kinds without an exam have no questions."""
        return ExamScore(right=0, total=0)

    def hint_cards(self, unit: Payload, images: ImagesById, draft: Payload) -> list[Card]:
        """Return the cards of an unfinished answer for live hints; unreadable parts are left out."""
        return []

    def own_hints(
        self,
        unit: Payload,
        images: ImagesById,
        draft: Payload,
        earlier: Sequence[tuple[Payload, Payload]] = (),
    ) -> list[Hint]:
        """Return hints on an unfinished answer that the kind finds itself, beside those on its cards.

        ``earlier`` are the worker's last answers to tasks of this kind, as (unit, answer), newest first.
        """
        return []

    def parse_unit(self, raw: Any) -> dict[str, Any]:
        """Return a valid unit.

        Raises:
            InvalidUnit: with all problems.
        """
        try:
            return self.Unit.model_validate(raw).model_dump()
        except ValidationError as error:
            raise InvalidUnit(field_errors(error)) from error

    def parse_answer(self, unit: Payload, images: ImagesById, raw: Any) -> dict[str, Any]:
        """Return a valid, normalized answer to ``unit``.

        Raises:
            InvalidAnswer: with all problems.
        """
        try:
            answer = self.Answer.model_validate(raw)
        except ValidationError as error:
            raise InvalidAnswer(field_errors(error)) from error
        normalized, errors = self.check_answer(unit, images, answer)
        if errors:
            raise InvalidAnswer(errors)
        return normalized


def _has_only_images(value: Any, image_ids: Collection[int]) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(type(item) is int and item in image_ids for item in values)


def _check_indices(records: Sequence[Record]) -> Sequence[Record]:
    seen: set[int] = set()
    for record in records:
        if not isinstance(record, Record):
            raise RecordError(f"records: {type(record).__name__} is not a Record")
        is_number = type(record.index) is int and 1 <= record.index <= MAX_RECORD_INDEX
        if not is_number or record.index in seen:
            raise RecordError(
                f"record {record.index}: use each number from 1 to {MAX_RECORD_INDEX:,} at most once over all types"
            )
        seen.add(record.index)
    return records


def field_errors(error: ValidationError) -> list[FieldError]:
    """Return pydantic's errors with readable paths, such as ``observations[1].clue``."""
    found = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path = ""
        for key in item["loc"]:
            path += f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
        found.append(FieldError(path or "answer", item["msg"]))
    return found
