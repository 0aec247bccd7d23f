"""Verify an exported version: checksums, the published lines against the sealed rows, and the dataset's invariants.

Invariants of a line (readme of VCR 1.0; Zellers et al. 2019 §4): its own text is the right choice, rounds are a
permutation of 0 to 3, and every choice is, but for its tags, the right one of the question that it was written for.
Over a complete fold, each response is wrong exactly three times.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.evaluation.choice_items import (
    CHOICES,
    ChoiceItem,
    Stage,
    Text,
    iterate_json_lines,
    parse_item,
)
from curation.families.vcr.export import BLIND, IMAGES_FOLDER, public_file
from curation.families.vcr.published import without_answers
from curation.families.vcr.rows import OBJECT_LIST, QUESTION, TRIPLET
from curation.matching.folds import HELD_SPLITS
from curation.records import InvalidInput
from curation.versions.board import HELD, PUBLIC
from curation.versions.proof import check_export_rows
from hits.domain.hashing import canonical_json

ROUNDS = CHOICES - 1
_WORDS_BESIDE_CLASSES = frozenset({"the", "and", ","})
_FORBIDDEN_NAMES = ("seal.jsonl", "annotators.jsonl", "answer_key.jsonl", "secrets.json")


def check_export(folder: Path, *, images: Path | None = None) -> int:
    """Verify everything in an exported folder and return its number of triplets.

    Raises:
        InvalidInput: a file, row or invariant is broken; the message names file and row.
    """
    private, public = folder / HELD, folder / PUBLIC
    open_files = dict.fromkeys(_open_question_files(public), QUESTION)
    parts = [TRIPLET, QUESTION, OBJECT_LIST]
    count = check_export_rows(folder, parts, images=images, private_folder=HELD, further_files=open_files)
    items = [item for name in open_files for item in _read_questions(folder, folder / name)]
    for path in sorted(private.glob(f"{QUESTION}_*.jsonl")):
        items += _read_held_questions(folder, path, path.stem.removeprefix(f"{QUESTION}_"))
    check_invariants(items)
    _check_public_folder(public)
    return count


def _open_question_files(public: Path) -> list[str]:
    """Return the published files of questions with their answers."""
    held = {Path(public_file(split)).name for split in HELD_SPLITS}
    other = {"photos.jsonl", *held}
    return [f"{PUBLIC}/{path.name}" for path in sorted(public.glob("*.jsonl")) if path.name not in other]


def _read_questions(folder: Path, path: Path) -> Iterator[ChoiceItem]:
    """Yield the questions of a file, and check the metadata of their images."""
    for location, row in iterate_json_lines(path):
        _check_metadata(folder, row, location)
        yield parse_item(row, location)


def _read_held_questions(folder: Path, path: Path, split: str) -> Iterator[ChoiceItem]:
    """Yield the questions of a held split, and compare the published file with them."""
    if split == BLIND:
        yield from (parse_item(row, location) for location, row in iterate_json_lines(path))
        return
    published = iterate_json_lines(folder / public_file(split))
    for location, row in iterate_json_lines(path):
        name, line = next(published, ("", {}))
        if canonical_json(line) != canonical_json(without_answers(row)):
            raise InvalidInput(f"{name or location}: differs from what was sealed; export the version again")
        _check_metadata(folder, row, location)
        yield parse_item(row, location)
    extra = next(published, None)
    if extra is not None:
        raise InvalidInput(f"{extra[0]}: is not in the version; export the version again")


def _check_metadata(folder: Path, row: Mapping[str, Any], location: str) -> None:
    """Check that a question's metadata have its objects."""
    path = folder / PUBLIC / IMAGES_FOLDER / row["metadata_fn"]
    try:
        names = json.loads(path.read_text("utf-8"))["names"]
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInput(f"{location}: {path} cannot be read; export the version again") from error
    if names != row["objects"]:
        raise InvalidInput(f"{location}: {path} has other objects; export the version again")


def check_invariants(items: Sequence[ChoiceItem]) -> None:
    """Check the invariants of questions that have sources and labels.

    Raises:
        InvalidInput: one is broken; the message names the question and the stage.
    """
    by_index = {(item.fold, item.match_index): item for item in items}
    if len(by_index) != len(items):
        raise InvalidInput("match_index: a fold has a number twice; build the question set again")
    for stage in Stage:
        wrong: dict[str, Counter[int]] = defaultdict(Counter)
        for item in items:
            _check_stage(item, stage, by_index)
            choices = item.stages[stage]
            wrong[item.fold].update(source for source in choices.sources if source != item.match_index)
        for fold, counts in wrong.items():
            index, most = counts.most_common(1)[0]
            if most > ROUNDS:
                raise InvalidInput(
                    f"fold {fold}, {stage}: response {index} is wrong {most} times; it may be {ROUNDS}"
                )


def _check_stage(
    item: ChoiceItem, stage: Stage, by_index: Mapping[tuple[str, int | None], ChoiceItem]
) -> None:
    where = f"{item.annot_id}, {stage}"
    choices = item.stages.get(stage)
    if choices is None or choices.label is None:
        raise InvalidInput(f"{where}: has no choices or no label; export the version again")
    if choices.sources[choices.label] != item.match_index:
        raise InvalidInput(f"{where}: its right choice has another source than itself")
    if sorted(choices.rounds) != list(range(CHOICES)) or choices.rounds[choices.label] != 0:
        raise InvalidInput(
            f"{where}: its rounds {list(choices.rounds)} are not 0 for the right choice and 1 to 3"
        )
    for source, response in zip(choices.sources, choices.responses, strict=True):
        origin = by_index.get((item.fold, source))
        if origin is None:
            continue  # that question lost one of its own choices; its text may still be used
        origin_choices = origin.stages[stage]
        assert origin_choices.label is not None
        if not same_but_for_tags(response, origin_choices.responses[origin_choices.label], origin.objects):
            raise InvalidInput(f"{where}: its choice {source} is not the text of {origin.annot_id}")


def same_but_for_tags(response: Text, original: Text, objects: Sequence[str]) -> bool:
    """Return whether a response is a text with its tags replaced by other tags, or by words such as "the car".

    Args:
        objects: the class of each object of the image of ``original``.
    """
    position = 0
    for token in original:
        if isinstance(token, str):
            if response[position : position + 1] != (token,):
                return False
            position += 1
        elif position < len(response) and not isinstance(response[position], str):
            position += 1
        else:
            width = _width_of_words(response[position:], [objects[index] for index in token])
            if not width:
                return False
            position += width
    return position == len(response)


def _width_of_words(response: Text, classes: Sequence[str]) -> int:
    """Return how many tokens at the start of a response name the classes of a tag by words; 0 if they do not."""
    letters = "".join(_letters(name) for name in classes)
    seen = ""
    for width, token in enumerate(response, start=1):
        if not isinstance(token, str):
            return 0
        seen += "" if token.lower() in _WORDS_BESIDE_CLASSES else _letters(token)
        if seen == letters:
            return width
        if not letters.startswith(seen):
            return 0
    return 0


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _check_public_folder(folder: Path) -> None:
    """Check that nothing that is held lies among the published files."""
    for path in folder.rglob("*"):
        if path.name in _FORBIDDEN_NAMES:
            raise InvalidInput(f"{path}: must not be published; export the version again")
