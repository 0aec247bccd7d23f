"""Read the origins of images from ``provenance.jsonl`` of a folder in the published layout."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curation.evaluation.inputs import parse_json
from curation.families.nleye.export import PROVENANCE_FILE
from curation.families.nleye.read import check_inside
from curation.records import InvalidInput
from hits.domain.answers.storable_json import find_unstorable

# Of the texts of an image's origin, in characters.
ORIGIN_LENGTHS: Mapping[str, int] = {
    "generator": 200,
    "model": 200,
    "revision": 120,
    "licence": 120,
    "prompt": 20_000,
    "revised_prompt": 20_000,
    "negative_prompt": 20_000,
}


@dataclass(frozen=True, slots=True)
class ImageSource:
    """What ``provenance.jsonl`` tells of an image; empty where nobody knows. Micro-dollars."""

    generator: str = ""
    model: str = ""
    revision: str = ""
    licence: str = ""
    prompt: str = ""
    revised_prompt: str = ""
    negative_prompt: str = ""
    seed: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cost_micro: int = 0


def read_provenance(folder: Path) -> dict[str, ImageSource]:
    """Return the origin of each image by its hash, from ``provenance.jsonl`` if the folder has one.

    Raises:
        InvalidInput: the file cannot be read, or a value is wrong; the message names line and field.
    """
    path = folder / PROVENANCE_FILE
    if not path.is_file():
        return {}
    check_inside(folder, path, path.name)
    found: dict[str, ImageSource] = {}
    for number, row in _json_lines(path):
        for role, value in row.items():
            if isinstance(value, Mapping):
                where = f"{path.name}, line {number}, {role}"
                found[_text(value, "sha256", where)] = _image_source(value, where)
    return found


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path.name}: cannot be read as UTF-8; save it again") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = parse_json(line.encode(), f"{path.name}, line {number}")
        if not isinstance(row, dict):
            raise InvalidInput(f"{path.name}, line {number}: is no JSON object; export the version again")
        for place, problem in find_unstorable(row):
            raise InvalidInput(f"{path.name}, line {number}, {place}: {problem}")
        yield number, row


def _image_source(row: Mapping[str, Any], where: str) -> ImageSource:
    texts = {name: _text(row, name, where, limit) for name, limit in ORIGIN_LENGTHS.items()}
    seed, cost, parameters = row.get("seed"), row.get("cost_micro_usd") or 0, row.get("parameters") or {}
    for name, number in (("seed", seed), ("cost_micro_usd", cost)):
        if number is not None and (type(number) is not int or number < 0):
            raise InvalidInput(f"{where}, {name}: is no whole number from 0; correct it")
    if not isinstance(parameters, dict):
        raise InvalidInput(f"{where}, parameters: is no JSON object; correct it")
    return ImageSource(**texts, seed=seed, parameters=parameters, cost_micro=cost)


def _text(row: Mapping[str, Any], name: str, where: str, limit: int = 64) -> str:
    value = row.get(name) or ""
    if not isinstance(value, str):
        raise InvalidInput(f"{where}, {name}: is no text; correct it")
    if len(value) > limit:
        raise InvalidInput(f"{where}, {name}: is longer than {limit:,} characters; shorten it")
    return value
