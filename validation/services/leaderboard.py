"""Write stored ratings of comparison sets as the published leaderboard's answer key."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hits.domain.files.atomic_files import whole_file
from hits.models import Project, Record, Unit
from hits.observing.pairs import OBSERVATION
from hits.services.errors import BadFile, Refused
from validation.domain.judging.ratings import Judged
from validation.domain.reports.leaderboard import answer_key, test_id
from validation.selectors.judging import comparison
from validation.selectors.ratings import judged

ANNOTATORS = 2
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Key:
    """An answer key, and how much went into it: ``left_out`` sets lack two raters of the same candidate."""

    key: dict[str, Any]
    sets: int
    candidates: int
    left_out: int
    simulated: int


def leaderboard_key(project: Project) -> Key:
    """Return the key of all rated comparison sets, imported and collected, in the order of their first judgment.

    The first two raters of a set, in the order in which they handed in, are annot1 and annot2; further ones are left
    out, since the format has no place for them. A set that was collected here goes under the id of its region's own
    pair, or under its own where that pair is not known or another set has that name. What a rehearsal exports says
    so: ``"rehearsal": true``.

    Raises:
        Refused: no set has two raters.
    """
    answers: dict[str, list[Judged]] = {}
    units: dict[str, int] = {}
    simulated = 0
    for row in judged(project=project, kind=comparison().name):
        simulated += row.simulated
        found = answers.setdefault(row.item, [])
        if row.unit is not None:
            units.setdefault(row.item, row.unit)
        if len(found) < ANNOTATORS:
            found.append(row)
    names = _instance_names(project, units, taken=set(answers))
    rows = [_instance(names.get(item, item), found) for item, found in answers.items()]
    kept = [row for row in rows if row is not None]
    if not kept:
        raise Refused(
            "judgments: no comparison set has two raters yet; launch a rating round, or import a key with "
            "manage.py import_judgments"
        )
    candidates = sum(len(row["candidates"]) for row in kept)
    key = answer_key(_distinct_ids(kept)) | ({"rehearsal": True} if project.is_rehearsal else {})
    return Key(key, len(kept), candidates, len(rows) - len(kept), simulated)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file whole or not at all.

    Raises:
        BadFile: the place cannot be written.
    """
    encoder = json.JSONEncoder(allow_nan=False, ensure_ascii=False)
    try:
        with whole_file(path) as file:
            file.writelines(piece.encode() for piece in encoder.iterencode(value))
            file.write(b"\n")
    except OSError as error:
        raise BadFile(f"--out {path}: {error.strerror}; choose another file") from error


def _instance(name: str, found: Sequence[Judged]) -> dict[str, Any] | None:
    if len(found) < ANNOTATORS:
        return None
    first, second = (row.answer["ratings"] for row in found)
    others = {row["candidate"]: row["rating"] for row in second}
    candidates = [
        {"source_iid": row["candidate"], "annot1": row["rating"], "annot2": others[row["candidate"]]}
        | ({"test_id": row["test_id"]} if row.get("test_id") else {})
        for row in first
        if row["candidate"] in others
    ]
    # A set without any candidate counts in the published mean, one without a common candidate was never compared.
    return {"Input_iid": name, "candidates": candidates} if candidates or not first else None


def _instance_names(project: Project, units: Mapping[str, int], *, taken: set[str]) -> dict[str, str]:
    """Return each collected set's instance id: its region's own pair, unless ``taken`` or an earlier set has it."""
    regions: dict[str, tuple[int, str]] = {}
    items = {unit: item for item, unit in units.items()}
    for some in _in_parts(sorted(items)):
        for unit, payload in Unit.objects.filter(pk__in=some).values_list("pk", "payload"):
            regions[items[unit]] = payload["image"], _region(payload["boxes"])
    pairs: dict[tuple[int, str], list[str]] = {}
    images = sorted({image for image, _ in regions.values()})
    for some in _in_parts(images):
        rows = Record.objects.filter(project=project, type=OBSERVATION, image__in=some)
        for image, boxes, name in rows.order_by("pk").values_list("image_id", "fields__boxes", "instance_id"):
            pairs.setdefault((image, _region(boxes)), []).append(name)
    named: dict[str, str] = {}
    for item, region in regions.items():
        found = pairs.get(region, [])
        if len(found) == 1 and found[0] not in taken:
            named[item] = found[0]
            taken.add(found[0])
    return named


def _region(boxes: Sequence[Mapping[str, int]]) -> str:
    return json.dumps([[box[side] for side in ("left", "top", "width", "height")] for box in boxes])


def _in_parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]


def _distinct_ids(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows; a test id that two files gave to different candidates is derived anew for the later one."""
    taken: set[str] = set()
    for row in rows:
        candidates = []
        for candidate in row["candidates"]:
            name = candidate.get("test_id")
            if name is None or name in taken:
                name = test_id(row["Input_iid"], candidate["source_iid"])
            taken.add(name)
            candidates.append({**candidate, "test_id": name})
        yield {**row, "candidates": candidates}
