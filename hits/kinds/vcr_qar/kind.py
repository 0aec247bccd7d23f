"""Ask, answer and explain: questions about one image, with tags of its objects (Zellers et al. 2019 §3, §B.3)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.records import Record
from hits.domain.answers.review_flags import ReviewCheck, check_pace
from hits.domain.answers.triplets import (
    MAX_TRIPLETS,
    WrittenTriplet,
    clean_triplet,
    count_missing_mentions,
    describe_missing_mentions,
    display_triplet,
    page_limits,
    triplet_row,
)
from hits.domain.images.objects_unit import (
    OTHER_OBJECTS_MESSAGE,
    SHA256_PATTERN,
    ObjectsUnit,
    object_marks,
    objects_for_page,
)
from hits.domain.images.unit_objects import object_names
from hits.domain.states import Purpose
from hits.hints.card import Hint, HintRule
from hits.hints.triplet_drafts import read_triplet_cards, read_triplet_page
from hits.hints.triplets import EARLIER_QUESTIONS, TRIPLET_RULES, find_triplet_hints
from hits.kind import FieldError, HitKind, ImagesById, Payload, Schema
from hits.kinds.vcr_qar.checks import run_checks

TRIPLET = "triplet"  # record types, and parts of a sealed version
INTEREST = "interest"
INTEREST_INDEX = MAX_TRIPLETS + 1
Interest = Annotated[int, Field(ge=-1, le=1)]
_INTEREST_LABELS = {-1: "boring", 0: "okay", 1: "especially interesting"}


class Answer(Schema):
    """One to three triplets, the verdict on the image, and the object list that the page showed."""

    triplets: list[WrittenTriplet] = Field(min_length=1, max_length=MAX_TRIPLETS)
    interest: Interest
    objects_sha256: str = Field(max_length=64)


class TripletFields(WrittenTriplet):
    """The fields of a record of type ``triplet``."""

    objects_sha256: str = Field(pattern=SHA256_PATTERN)


class InterestFields(Schema):
    """The fields of a record of type ``interest``."""

    verdict: Interest
    objects_sha256: str = Field(pattern=SHA256_PATTERN)


class VcrQar(HitKind):
    """Collects questions with answers and rationales, and whether the image is interesting."""

    name: ClassVar[str] = "vcr_qar"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Ask, answer and explain what is going on in one photo"
    description: ClassVar[str] = (
        "Write a question about what is going on in a movie frame, its answer, and why the answer is right. "
        "Two more earn a bonus."
    )
    keywords: ClassVar[str] = "photo, image, movie, question, reasoning, writing"
    paper: ClassVar[str] = "Zellers et al. 2019 §3, §B.3"
    purpose: ClassVar[Purpose] = Purpose.COLLECTING
    families: ClassVar[frozenset[str]] = frozenset({"vcr"})
    launches_from_units: ClassVar[bool] = True
    scope_field: ClassVar[str] = "image"
    reward_cents: ClassVar[int] = 22
    bonus_cents: ClassVar[int] = 22
    max_bonus_items: ClassVar[int] = MAX_TRIPLETS - 1
    expected_seconds: ClassVar[int] = 65
    duration_seconds: ClassVar[int] = 30 * 60
    hint_rules: ClassVar[tuple[HintRule, ...]] = TRIPLET_RULES
    earlier_for_hints: ClassVar[int] = EARLIER_QUESTIONS
    record_word: ClassVar[tuple[str, str]] = ("triplet", "triplets")
    counted_types: ClassVar[frozenset[str]] = frozenset({TRIPLET})
    unit_planner: ClassVar[str] = "objects"
    record_types: ClassVar[Mapping[str, type[Schema]]] = {TRIPLET: TripletFields, INTEREST: InterestFields}
    Unit: ClassVar[type[Schema]] = ObjectsUnit
    Answer: ClassVar[type[Schema]] = Answer
    examples: ClassVar[tuple[Mapping[str, str], ...]] = (
        {
            "weak": "“What is *person 2* holding?” · “*person 2* holds a *cup 4*.” · “I can see the *cup 4*.”",
            "good": "“Why does *person 1* wait outside the door?” · “*person 1* wants to surprise *person 2* with "
            "the *cake 3*.” · “Nobody carries a *cake 3* with burning candles unless somebody has a birthday, and "
            "*person 2* still sits with the back to the door.” · likely",
            "why": "anybody can answer the first question by looking. The second one asks why, and its "
            "reason says what in the picture leads there and what everybody knows about birthdays.",
            "picture": "vcr_qar/example.svg",
            "alt": "A drawing with four numbered boxes: person 1 stands behind a half open door with cake 3, whose "
            "candles burn; person 2 sits at a table with the back to the door, and cup 4 steams on the table.",
        },
    )

    def image_ids(self, unit: Payload) -> list[int]:
        """Return the id of the image."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Payload, images: ImagesById, seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return image, objects, captions, the cards and the rules; never the names to avoid."""
        return {
            **objects_for_page(unit, images),
            "cards": [{"index": index, "bonus": index > 1} for index in range(1, MAX_TRIPLETS + 1)],
            "limits": page_limits(),
        }

    def check_answer(
        self, unit: Payload, images: ImagesById, answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Check texts, tags and the object list; return the normalized answer and its problems."""
        assert isinstance(answer, Answer)
        names = object_names(unit["objects"])
        errors, rows = [], []
        if answer.objects_sha256 != unit["objects_sha256"]:
            errors.append(FieldError("objects_sha256", OTHER_OBJECTS_MESSAGE))
        for position, triplet in enumerate(answer.triplets):
            texts, problems = clean_triplet(triplet.texts(), names, f"triplets[{position}]")
            rows.append({**texts, "likelihood": triplet.likelihood})
            errors += problems
        missing = count_missing_mentions(rows)
        if missing:
            errors.append(FieldError("triplets", describe_missing_mentions(missing, len(rows))))
        normalized = {
            "triplets": rows,
            "interest": answer.interest,
            "objects_sha256": answer.objects_sha256,
        }
        return normalized, errors

    def bonus_items(self, answer: Payload) -> int:
        """Return the number of triplets beyond the first; ``check_answer`` refuses incomplete ones."""
        return len(answer["triplets"]) - 1

    def records(self, unit: Payload, answer: Payload) -> list[Record]:
        """Return a record for each triplet, and one for the verdict on the image."""
        shared = {"objects_sha256": answer["objects_sha256"]}
        images = (unit["image"],)
        triplets = [
            Record(TRIPLET, number, images, {**triplet, **shared}, bonus=number > 1)
            for number, triplet in enumerate(answer["triplets"], start=1)
        ]
        return [
            *triplets,
            Record(INTEREST, INTEREST_INDEX, images, {"verdict": answer["interest"], **shared}),
        ]

    def marks(self, unit: Payload, answer: Payload | None) -> list[dict[str, Any]]:
        """Return the numbered boxes of the objects."""
        return object_marks(unit)

    @property
    def evidence_templates(self) -> list[str]:
        """The triplets beside their image."""
        return [f"{self.name}/evidence.html", "hits/mentions/evidence.html"]

    def evidence(self, unit: Payload, answer: Payload) -> dict[str, Any]:
        """Return the triplets, the verdict on the image, and the objects for their tags."""
        return {
            "triplets": answer["triplets"],
            "interest": _INTEREST_LABELS[answer["interest"]],
            "objects": object_names(unit["objects"]),
            "captions": unit["captions"],
        }

    def unit_rows(self, unit: Payload) -> list[EvidenceRow]:
        """Return the captions, and the classes of the objects with their numbers."""
        listed = ", ".join(
            f"{name} {number}" for number, name in enumerate(object_names(unit["objects"]), start=1)
        )
        captions = [EvidenceRow("Caption", caption) for caption in unit["captions"]]
        return [*captions, EvidenceRow("Objects", listed)]

    def answer_rows(self, unit: Payload, answer: Payload) -> list[EvidenceRow]:
        """Return each question with its answer and rationale, as people read them."""
        names = object_names(unit["objects"])
        return [triplet_row(triplet, names) for triplet in answer["triplets"]]

    def checks(
        self,
        unit: Payload,
        images: ImagesById,
        answer: Payload,
        *,
        active_seconds: float,
        expected_seconds: int,
    ) -> list[ReviewCheck]:
        """Return the checks of the texts, and the pace for this number of triplets."""
        image = images.get(unit["image"])
        pace = check_pace(active_seconds, expected_seconds * len(answer["triplets"]))
        if image is None:
            return [pace]
        page = read_triplet_page(unit, width=image.width, height=image.height)
        cards = read_triplet_cards(answer, len(unit["objects"]))
        return [*run_checks(find_triplet_hints(cards, page)), pace]

    def own_hints(
        self,
        unit: Payload,
        images: ImagesById,
        draft: Payload,
        earlier: Sequence[tuple[Payload, Payload]] = (),
    ) -> list[Hint]:
        """Return the hints on the readable triplets of a draft."""
        image = images[unit["image"]]
        questions = [
            display_triplet(triplet, object_names(other["objects"]))["question"]
            for other, answer in earlier
            for triplet in answer["triplets"]
        ]
        page = read_triplet_page(
            unit, width=image.width, height=image.height, earlier_questions=questions[:EARLIER_QUESTIONS]
        )
        return find_triplet_hints(read_triplet_cards(draft, len(unit["objects"])), page)


KIND = VcrQar()
