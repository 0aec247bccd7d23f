"""Multiple-choice questions with both stages as plain records, and their reading from the published files.

The answer of a question is chosen first; then a rationale, given the question and its right answer (Zellers et al.
2019 §2, doi:10.1109/CVPR.2019.00688). A file has one JSON object per line; its fields are those of the dataset's
readme and of ``dataloaders/vcr.py`` of rowanz/r2c.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from curation.evaluation.inputs import parse_json
from curation.records import InvalidInput, Stage
from hits.domain.tagged_text import Segment, segments_of_tokens

CHOICES = 4
Token = str | tuple[int, ...]
"""A word or a punctuation mark, or a tag: the indices of one or more objects, from 0."""
Text = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class StageChoices:
    """The four responses of one stage.

    label: the position of the right response, or None where it is held. sources: for each response, the
    ``match_index`` of the question that it was written for. rounds: 0 for the right response, else the match round,
    1 to 3. Both are empty where a file does not have them.
    """

    responses: tuple[Text, ...]
    label: int | None = None
    sources: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChoiceItem:
    """A question about an image, with the stages that it has.

    right_answer: the words after the question when rationales are chosen; None where it is held. objects: the class
    of each object of the image. fold: the match fold, within which wrong responses were matched. match_index: the
    question's number within the fold.
    """

    annot_id: str
    image: str
    objects: tuple[str, ...]
    question: Text
    stages: Mapping[Stage, StageChoices]
    right_answer: Text | None = None
    movie: str = ""
    fold: str = ""
    match_index: int | None = None


@dataclass(frozen=True, slots=True)
class StageQuestion:
    """One stage of a question whose label is known: what models see, and the right response."""

    item: ChoiceItem
    stage: Stage
    query: Text
    choices: StageChoices
    label: int

    @property
    def responses(self) -> tuple[Text, ...]:
        """The four responses."""
        return self.choices.responses


def stage_questions(items: Iterable[ChoiceItem], stage: Stage) -> list[StageQuestion]:
    """Return one stage of all items that have it with its label."""
    found = (stage_question(item, stage) for item in items)
    return [question for question in found if question is not None]


def stage_question(item: ChoiceItem, stage: Stage) -> StageQuestion | None:
    """Return one stage of an item; None if it is absent, or its label or the answer before it is held.

    The query of a rationale is the question and its right answer.
    """
    choices = item.stages.get(stage)
    if choices is None or choices.label is None:
        return None
    query = item.question
    if stage is Stage.RATIONALE:
        if not item.right_answer:
            return None
        query += item.right_answer
    return StageQuestion(item, stage, query, choices, choices.label)


def replace_responses(item: ChoiceItem, responses: Mapping[Stage, tuple[Text, ...]]) -> ChoiceItem:
    """Return the item with other responses in some stages; the right answer before rationales changes too."""
    stages = {
        stage: replace(choices, responses=responses.get(stage, choices.responses))
        for stage, choices in item.stages.items()
    }
    return replace(item, stages=stages, right_answer=_right_answer(stages, item.right_answer))


def tagged_objects(text: Text) -> frozenset[int]:
    """Return the objects that a text tags."""
    return frozenset(index for token in text if not isinstance(token, str) for index in token)


def words(text: Text) -> list[str]:
    """Return the lower-cased tokens with a letter or a digit; tags are left out."""
    return [token.lower() for token in text if isinstance(token, str) and any(map(str.isalnum, token))]


def class_tokens(text: Text, objects: Sequence[str]) -> list[str]:
    """Return the lower-cased tokens, with each tag as its classes: what is left if nobody sees which object it is."""
    return [
        token.lower() if isinstance(token, str) else "+".join(sorted(f"<{objects[i]}>" for i in token))
        for token in text
    ]


def to_segments(text: Text) -> list[Segment]:
    """Return a text as segments, with the spaces that people expect (``hits.domain.tagged_text``)."""
    return segments_of_tokens([token if isinstance(token, str) else list(token) for token in text])


def plain_text(tokens: Sequence[str | Sequence[int]]) -> Text:
    """Return tokens of JSON, with tags as lists, as a text. Equal words share their memory."""
    return tuple(sys.intern(token) if isinstance(token, str) else tuple(token) for token in tokens)


def iterate_json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each JSON object of a file of lines with ``path: line n`` for messages; empty lines are skipped.

    Raises:
        InvalidInput: the file cannot be read, or a line is not a JSON object.
    """
    try:
        with path.open("rb") as file:
            for number, data in enumerate(file, start=1):
                if not data.strip():
                    continue
                location = f"{path}: line {number}"
                record = parse_json(data, location)
                if not isinstance(record, dict):
                    raise InvalidInput(f"{location}: is not a JSON object; write one question per line")
                yield location, record
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}); check the path") from error


def read_items(path: Path, metadata: Path | None = None) -> list[ChoiceItem]:
    """Return the questions of a file in the published layout.

    Only ``objects``, ``question`` and the choices of a stage are needed. ``annot_id`` is ``id`` or the line's number
    if it is absent.

    Args:
        metadata: the folder of the images' metadata, whose ``names`` are the objects; each line's ``objects``, if it
            has any, must be the same.

    Raises:
        InvalidInput: a line is not a question, or an id occurs twice; the message names file, line and field.
    """
    items: list[ChoiceItem] = []
    lines: dict[str, str] = {}
    for location, record in iterate_json_lines(path):
        if metadata is not None:
            record["objects"] = _read_object_names(record, metadata, location)
        item = parse_item(record, location)
        note_id(item.annot_id, location, lines)
        items.append(item)
    if not items:
        raise InvalidInput(f"{path}: has no questions; give a file with one JSON object per line")
    return items


def note_id(annot_id: str, location: str, lines: dict[str, str]) -> None:
    """Add the line of a question to those of the questions before it.

    Raises:
        InvalidInput: one of these has the same id; the message names both lines.
    """
    if annot_id in lines:
        raise InvalidInput(
            f"{location}: annot_id {annot_id} is that of {lines[annot_id]}; give each question its own"
        )
    lines[annot_id] = location.rpartition(": ")[2]


def _read_object_names(record: Mapping[str, Any], folder: Path, location: str) -> list[str]:
    """Return the names in the metadata of a question's image."""
    name = str(record.get("metadata_fn") or "")
    if not name or name.startswith("/") or ".." in Path(name).parts:
        raise InvalidInput(f"{location}: metadata_fn {name[:60]!r} is not a file of the metadata folder")
    path = folder / name
    try:
        found = parse_json(path.read_bytes(), str(path))
    except OSError as error:
        raise InvalidInput(f"{location}: {path} cannot be read ({error.strerror or error})") from error
    names = found.get("names") if isinstance(found, dict) else None
    if not isinstance(names, list) or not all(isinstance(known, str) for known in names):
        raise InvalidInput(f"{path}: has no list of names; use the published metadata")
    if record.get("objects") not in (None, names):
        raise InvalidInput(f"{location}: its objects are not those of {path}; use files of one release")
    return names


def parse_item(record: Mapping[str, Any], location: str) -> ChoiceItem:
    """Return one line of the published files as an item; see ``read_items``."""
    objects = record.get("objects")
    if not isinstance(objects, list) or not all(isinstance(name, str) for name in objects):
        raise InvalidInput(f"{location}: objects must be a list of class names; export it again")
    stages = {
        stage: _parse_stage(record, stage, len(objects), location)
        for stage in Stage
        if record.get(f"{stage}_choices") is not None
    }
    if not stages:
        raise InvalidInput(f"{location}: has neither answer_choices nor rationale_choices; export it again")
    return ChoiceItem(
        annot_id=question_id(record, location),
        image=str(record.get("img_id") or record.get("img_fn") or question_id(record, location)),
        objects=tuple(objects),
        question=_parse_text(record.get("question"), len(objects), f"{location}: question"),
        stages=stages,
        right_answer=_right_answer(stages, None),
        movie=str(record.get("movie") or ""),
        fold=str(record.get("match_fold") or ""),
        match_index=record["match_index"] if type(record.get("match_index")) is int else None,
    )


def _right_answer(stages: Mapping[Stage, StageChoices], otherwise: Text | None) -> Text | None:
    answers = stages.get(Stage.ANSWER)
    return otherwise if answers is None or answers.label is None else answers.responses[answers.label]


def question_id(record: Mapping[str, Any], location: str) -> str:
    """Return the id of a line of the published files: ``annot_id``, else ``id``, else the line's number."""
    return str(record.get("annot_id") or record.get("id") or location.rpartition(": ")[2])


def _parse_stage(record: Mapping[str, Any], stage: Stage, object_count: int, location: str) -> StageChoices:
    responses = record[f"{stage}_choices"]
    if not isinstance(responses, list) or len(responses) != CHOICES:
        raise InvalidInput(f"{location}: {stage}_choices must have {CHOICES} texts; export it again")
    texts = tuple(
        _parse_text(tokens, object_count, f"{location}: {stage}_choices {number}")
        for number, tokens in enumerate(responses)
    )
    return replace(parse_stage_key(record, stage, location), responses=texts)


def parse_stage_key(record: Mapping[str, Any], stage: Stage, location: str) -> StageChoices:
    """Return the label, sources and rounds of a stage, without its responses.

    Raises:
        InvalidInput: the label is not a number from 0 to 3, or the others are not four whole numbers.
    """
    label = record.get(f"{stage}_label")
    if label is not None and (type(label) is not int or not 0 <= label < CHOICES):
        raise InvalidInput(
            f"{location}: {stage}_label {label!r:.20} is not 0 to {CHOICES - 1}; export it again"
        )
    return StageChoices(
        responses=(),
        label=label,
        sources=_parse_integers(record, f"{stage}_sources", location),
        rounds=_parse_integers(record, f"{stage}_match_iter", location),
    )


def _parse_integers(record: Mapping[str, Any], name: str, location: str) -> tuple[int, ...]:
    values = record.get(name)
    if values is None:
        return ()
    if not isinstance(values, list) or len(values) != CHOICES or any(type(v) is not int for v in values):
        raise InvalidInput(f"{location}: {name} must have {CHOICES} whole numbers; export it again")
    return tuple(values)


def _parse_text(tokens: Any, object_count: int, location: str) -> Text:
    if not isinstance(tokens, list) or not tokens:
        raise InvalidInput(f"{location}: must be a list of words and tags; export it again")
    for token in tokens:
        _check_token(token, object_count, location)
    return plain_text(tokens)


def _check_token(token: Any, object_count: int, location: str) -> None:
    if isinstance(token, str):
        return
    if not isinstance(token, list) or not token or any(type(index) is not int for index in token):
        raise InvalidInput(f"{location}: {token!r:.40} is neither a word nor a tag; export it again")
    for index in token:
        if not 0 <= index < object_count:
            raise InvalidInput(
                f"{location}: tag {index} is not one of the {object_count} objects; export it again"
            )


def question_line(record: Mapping[str, Any]) -> str:
    """Return a question's fields as a line of the published files, with its line end."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def item_record(item: ChoiceItem) -> dict[str, Any]:
    """Return the fields of an item that ``parse_item`` reads, as a line of the published files has them."""
    record: dict[str, Any] = {
        "annot_id": item.annot_id,
        "movie": item.movie,
        "img_id": item.image,
        "objects": list(item.objects),
        "question": list(item.question),
        "match_fold": item.fold,
        "match_index": item.match_index,
    }
    return record | stage_fields(item)


def stage_fields(item: ChoiceItem) -> dict[str, Any]:
    """Return the published fields of an item's stages."""
    found: dict[str, Any] = {}
    for stage, choices in item.stages.items():
        found[f"{stage}_choices"] = [list(text) for text in choices.responses]
        found[f"{stage}_label"] = choices.label
        if choices.sources:
            found[f"{stage}_sources"] = list(choices.sources)
        if choices.rounds:
            found[f"{stage}_match_iter"] = list(choices.rounds)
    return found
