"""Match the inferences about an image to its regions, one to one (Sherlock; Hessel et al. 2022 §4.2)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from string import ascii_uppercase
from typing import Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.answers.text import MAX_INFERENCE
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import Purpose
from hits.kind import FieldError, HitKind, Schema, UnitBox
from validation.domain.reports.localization import MAX_PAIRS, MIN_PAIRS

COLOUR_COUNT = 5  # observation colours; the sixth region reuses the first colour with another letter
_ID = r"^[0-9a-f]{16}$"


class Region(Schema):
    """One region: its boxes, under an id that does not reveal the inference written for it."""

    id: str = Field(pattern=_ID)
    boxes: list[UnitBox] = Field(min_length=1)


class Inference(Schema):
    """One inference, under an id that does not reveal its region."""

    id: str = Field(pattern=_ID)
    text: str = Field(min_length=1, max_length=MAX_INFERENCE)


class Unit(Schema):
    """An image with as many regions as inferences. ``truth`` (inference id -> region id) never reaches the page."""

    set: str = Field(min_length=1, max_length=64)
    image: int
    regions: list[Region] = Field(min_length=MIN_PAIRS, max_length=MAX_PAIRS)
    inferences: list[Inference] = Field(min_length=MIN_PAIRS, max_length=MAX_PAIRS)
    truth: dict[str, str]

    @field_validator("regions", "inferences")
    @classmethod
    def _check_distinct(cls, rows: list[Any]) -> list[Any]:
        if len({row.id for row in rows}) != len(rows):
            raise ValueError("an id occurs twice: list each once")
        return rows

    @field_validator("truth")
    @classmethod
    def _check_one_to_one(cls, truth: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "regions" not in info.data or "inferences" not in info.data:
            return truth  # invalid lists have errors of their own
        inferences = {row.id for row in info.data["inferences"]}
        regions = {row.id for row in info.data["regions"]}
        if set(truth) != inferences or len(truth) != len(regions) or set(truth.values()) != regions:
            raise ValueError("match each inference to its own region, and use every region")
        return truth


class Match(Schema):
    """One inference and the region chosen for it."""

    inference: str = Field(max_length=64)
    region: str = Field(max_length=64)


class Answer(Schema):
    """A complete one-to-one assignment."""

    matches: list[Match] = Field(max_length=10 * MAX_PAIRS)


class LocalizationMatch(HitKind):
    """A worker chooses the region of each inference; the answer key is the pair's own region."""

    name: ClassVar[str] = "localization_match"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Match statements to the marked parts of a photo"
    description: ClassVar[str] = (
        "See a photo with several marked parts and as many statements. Say which part each statement is about."
    )
    keywords: ClassVar[str] = "photo, image, matching, statements, reasoning"
    paper: ClassVar[str] = "Hessel et al. 2022 §4.2"
    purpose: ClassVar[Purpose] = Purpose.JUDGING
    launches_from_units: ClassVar[bool] = True
    reward_cents: ClassVar[int] = 50
    redundancy: ClassVar[int] = 2
    arms: ClassVar[int] = 2
    expected_seconds: ClassVar[int] = 120
    duration_seconds: ClassVar[int] = 20 * 60
    Unit: ClassVar[type[Schema]] = Unit
    Answer: ClassVar[type[Schema]] = Answer

    def image_ids(self, unit: Mapping[str, Any]) -> list[int]:
        """Return the one image's id."""
        return [unit["image"]]

    def unit_for_page(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], seed: str, arm: int | None = None
    ) -> dict[str, Any]:
        """Return image, regions with letters, and inferences, both in the order of this seed; never the truth."""
        order = self.shown(unit, seed, arm)
        boxes = {row["id"]: row["boxes"] for row in unit["regions"]}
        texts = {row["id"]: row["text"] for row in unit["inferences"]}
        return {
            "image": images[unit["image"]].as_page_dict(),
            "regions": [
                {
                    "id": key,
                    "letter": ascii_uppercase[index],
                    "colour": index % COLOUR_COUNT + 1,
                    "boxes": boxes[key],
                }
                for index, key in enumerate(order["regions"])
            ],
            "inferences": [{"id": key, "text": texts[key]} for key in order["inferences"]],
        }

    def shown(self, unit: Mapping[str, Any], seed: str, arm: int | None = None) -> dict[str, Any]:
        """Return both orders as ids; they are drawn separately, so that neither reveals the other."""
        # Arm 0 has an order drawn from the set's id, arm 1 its reverse; attempts without an arm use the seed.
        order_seed = seed if arm is None else f"set {unit['set']}"
        orders = {
            name: _shuffle_ids(unit[name], f"{order_seed}/{name}") for name in ("regions", "inferences")
        }
        return {name: order[::-1] if arm else order for name, order in orders.items()}

    def marks(self, unit: Mapping[str, Any], answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the regions, numbered in the unit's order."""
        return [
            {"index": number, "boxes": region["boxes"], "label": "Region"}
            for number, region in enumerate(unit["regions"], start=1)
        ]

    def answer_rows(self, unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[EvidenceRow]:
        """Return each inference with the region chosen for it."""
        texts = {row["id"]: row["text"] for row in unit["inferences"]}
        regions = {region["id"]: f"Region {number}" for number, region in enumerate(unit["regions"], start=1)}
        return [
            EvidenceRow(
                texts.get(row["inference"], row["inference"]), regions.get(row["region"], row["region"])
            )
            for row in answer["matches"]
        ]

    def check_answer(
        self, unit: Mapping[str, Any], images: Mapping[int, ImageFacts], answer: Schema
    ) -> tuple[dict[str, Any], list[FieldError]]:
        """Require each inference and each region exactly once; return the matches in the unit's order."""
        assert isinstance(answer, Answer)
        inferences = [row["id"] for row in unit["inferences"]]
        regions = [row["id"] for row in unit["regions"]]
        errors = [
            *_unknown_id_errors("inference", set(inferences), answer.matches),
            *_unknown_id_errors("region", set(regions), answer.matches),
            *_repeated_id_errors("statement", (row.inference for row in answer.matches), set(inferences)),
            *_repeated_id_errors("marked part", (row.region for row in answer.matches), set(regions)),
        ]
        region_of = {row.inference: row.region for row in answer.matches}
        missing = sum(key not in region_of for key in inferences)
        if missing:
            errors.append(
                FieldError(
                    "matches",
                    f"{missing} of {len(inferences)} statements have no marked part: give each its own",
                )
            )
        ordered = [{"inference": key, "region": region_of[key]} for key in inferences if key in region_of]
        return {"matches": ordered}, errors


def _shuffle_ids(rows: Sequence[Mapping[str, Any]], seed: str) -> list[str]:
    # Shuffles sorted ids, so that the page does not reveal the unit's order.
    keys = sorted(row["id"] for row in rows)
    Random(seed).shuffle(keys)  # noqa: S311 - an order of display, no secret
    return keys


def _unknown_id_errors(field: str, known: set[str], matches: Sequence[Match]) -> list[FieldError]:
    return [
        FieldError(f"matches[{index}].{field}", f"{key!r} is not part of this task")
        for index, row in enumerate(matches)
        if (key := getattr(row, field)) not in known
    ]


def _repeated_id_errors(noun: str, ids: Iterable[str], known: set[str]) -> list[FieldError]:
    counts = Counter(ids)
    return [
        FieldError("matches", f"{noun} {key} is used {counts[key]} times: use it once")
        for key in sorted(counts)
        if counts[key] > 1 and key in known
    ]


KIND = LocalizationMatch()
