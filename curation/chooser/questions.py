"""Multiple-choice questions about images as models get them: one stage, the image's file and its detected objects.

Files are read in the published layout (``curation.evaluation.choice_items``). No torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from curation.evaluation.choice_items import ChoiceItem, Stage, Text, iterate_json_lines, note_id, parse_item
from curation.records import InvalidInput
from curation.sources import fields
from curation.sources.json_stream import parse_json
from hits.domain.images.polygons import Polygon

CORNERS = 4
MAX_METADATA_BYTES = 1 << 26
Box = tuple[float, float, float, float]
"""Left, top, right and bottom edge in pixels of the image."""


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """One stage of a question with its four responses, of which one is right.

    query: the question; for rationales followed by the answer that they are conditioned on. responses: four texts.
    label: the position of the right response, or None where it is held. objects: the class of each object of the
    image. image, metadata: paths of the image and of its detections, relative to the image folder. boxes, polygons:
    of the objects, empty until ``add_detections`` reads them; an object may have no polygon.
    """

    annot_id: str
    stage: Stage
    query: Text
    responses: tuple[Text, ...]
    label: int | None
    objects: tuple[str, ...]
    image: str
    metadata: str = ""
    boxes: tuple[Box, ...] = ()
    polygons: tuple[tuple[Polygon, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ImageItem:
    """A question with both stages and the paths of its image. location: where it was read, for messages."""

    item: ChoiceItem
    image: str
    metadata: str
    location: str

    def question(self, stage: Stage, *, conditioned_on: int | None = None) -> ChoiceQuestion:
        """Return one stage; see ``read_questions``.

        Raises:
            InvalidInput: the item lacks the stage, or the right answer is needed and held.
        """
        choices = self.item.stages.get(stage)
        if choices is None:
            raise InvalidInput(f"{self.location}: has no {stage}_choices; export it again")
        return ChoiceQuestion(
            annot_id=self.item.annot_id,
            stage=stage,
            query=self.item.question + _condition(self.item, stage, self.location, conditioned_on),
            responses=choices.responses,
            label=choices.label,
            objects=self.item.objects,
            image=self.image,
            metadata=self.metadata,
        )


def read_image_items(path: Path) -> list[ImageItem]:
    """Return the questions of a file in the published layout.

    Raises:
        InvalidInput: a line is not a question, or an id occurs twice; the message names file and line.
    """
    items: list[ImageItem] = []
    lines: dict[str, str] = {}
    for location, record in iterate_json_lines(path):
        found = parse_image_item(record, location)
        note_id(found.item.annot_id, location, lines)
        items.append(found)
    return items


def parse_image_item(record: Mapping[str, Any], location: str) -> ImageItem:
    """Return a line of the published files; see ``read_image_items``."""
    return ImageItem(
        item=parse_item(record, location),
        image=_relative_path(record, "img_fn", location),
        metadata=_relative_path(record, "metadata_fn", location) if record.get("metadata_fn") else "",
        location=location,
    )


def read_questions(path: Path, stage: Stage, *, conditioned_on: int | None = None) -> list[ChoiceQuestion]:
    """Return one stage of all questions of a file in the published layout.

    Args:
        conditioned_on: for rationales, the answer choice that follows the question; None is the right answer.

    Raises:
        InvalidInput: as ``read_image_items``; or a question lacks the stage, or the right answer is needed and held.
    """
    return [found.question(stage, conditioned_on=conditioned_on) for found in read_image_items(path)]


def _condition(item: ChoiceItem, stage: Stage, location: str, conditioned_on: int | None) -> Text:
    """Return the answer that follows the question, if rationales are chosen."""
    if stage is Stage.ANSWER:
        return ()
    if conditioned_on is None:
        if item.right_answer is None:
            raise InvalidInput(
                f"{location}: has no answer_label, on which its rationales depend; give a file with labels"
            )
        return item.right_answer
    answers = item.stages.get(Stage.ANSWER)
    if answers is None:
        raise InvalidInput(f"{location}: has no answer_choices, on which its rationales depend")
    return answers.responses[conditioned_on]


def add_detections(question: ChoiceQuestion, images: Path) -> ChoiceQuestion:
    """Return the question with the boxes and polygons of its objects.

    Args:
        images: the image folder, which has the published metadata of each image (``boxes`` and ``segms``).

    Raises:
        InvalidInput: the metadata is missing or has another number of objects.
    """
    if question.boxes or not question.objects:
        return question
    where = f"question {question.annot_id}: its metadata {question.metadata or '(none named)'}"
    record = _read_metadata(images / question.metadata, where) if question.metadata else None
    if record is None:
        raise InvalidInput(f"{where} cannot be read; give the folder with images and metadata")
    boxes = tuple(_parse_box(box, where) for box in fields.require_list(record, "boxes", where))
    outlines = record.get("segms") or [[] for _ in boxes]
    if len(boxes) != len(question.objects) or not isinstance(outlines, list) or len(outlines) != len(boxes):
        raise InvalidInput(
            f"{where} has not one box and one list of polygons for each of {len(question.objects)} objects; "
            "use files of one release"
        )
    return replace(question, boxes=boxes, polygons=tuple(_parse_polygons(one, where) for one in outlines))


def _read_metadata(path: Path, where: str) -> Mapping[str, Any] | None:
    try:
        if path.stat().st_size > MAX_METADATA_BYTES:
            raise InvalidInput(f"{where} is too large; use the published file")
        return fields.require_object(parse_json(path.read_text("utf-8-sig"), where), where)
    except (OSError, UnicodeDecodeError):
        return None


def _parse_box(value: Any, where: str) -> Box:
    if not isinstance(value, list) or len(value) not in {CORNERS, CORNERS + 1}:
        raise InvalidInput(f"{where}: box {value!r:.40} is not [x1, y1, x2, y2, score]")
    left, top, right, bottom = (fields.require_number(edge, "an edge", where) for edge in value[:CORNERS])
    if right <= left or bottom <= top:
        raise InvalidInput(f"{where}: box {value!r:.40} has no area; use the published file")
    return left, top, right, bottom


def _parse_polygons(value: Any, where: str) -> tuple[Polygon, ...]:
    try:
        return tuple(tuple((float(x), float(y)) for x, y in polygon) for polygon in value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{where}: segms are not lists of [x, y] points; use the published file"
        ) from error


def _relative_path(record: Mapping[str, Any], name: str, location: str) -> str:
    path = fields.require_text(record, name, location)
    if path.startswith("/") or "\\" in path or ".." in PurePosixPath(path).parts:
        raise InvalidInput(f"{location}: {name} {path[:60]!r} leaves the image folder; export it again")
    return path
