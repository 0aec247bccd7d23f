"""Export stored ratings of comparison sets as the published leaderboard's answer key."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hits.domain.files.atomic_files import atomic_file
from hits.models import Project, Record, Unit
from hits.observing.pairs import OBSERVATION
from hits.selectors.records import id_chunks
from hits.services.errors import BadFile, Refused
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.reports.leaderboard import build_answer_key, make_test_id
from validation.selectors.judging import comparison_spec
from validation.selectors.ratings import read_judgments

RATERS_PER_SET = 2


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """An answer key and its counts: ``left_out`` sets have no candidate with two raters."""

    key: dict[str, Any]
    sets: int
    candidates: int
    left_out: int
    simulated: int


def build_leaderboard_answer_key(project: Project) -> AnswerKey:
    """Return the key of all rated comparison sets, imported and collected, in the order of their first judgment.

    A set's first two raters in the order of submission are annot1 and annot2; the format has no field for others.
    A collected set has the id of its region's own pair; if that pair is unknown or the id is taken, it has its own
    id. A rehearsal's key contains ``"rehearsal": true``.

    Raises:
        Refused: no set has two raters.
    """
    answers: dict[str, list[JudgmentRow]] = {}
    units: dict[str, int] = {}
    simulated = 0
    for row in read_judgments(project=project, kind=comparison_spec().name):
        simulated += row.simulated
        judgments = answers.setdefault(row.item, [])
        if row.unit is not None:
            units.setdefault(row.item, row.unit)
        if len(judgments) < RATERS_PER_SET:
            judgments.append(row)
    instance_ids = _instance_ids(project, units, used=set(answers))
    rows = [_instance_row(instance_ids.get(item, item), judgments) for item, judgments in answers.items()]
    complete = [row for row in rows if row is not None]
    if not complete:
        raise Refused(
            "judgments: no comparison set has two raters yet; launch a rating round, or import a key with "
            "manage.py import_judgments"
        )
    candidates = sum(len(row["candidates"]) for row in complete)
    key = build_answer_key(_with_distinct_test_ids(complete)) | (
        {"rehearsal": True} if project.is_rehearsal else {}
    )
    return AnswerKey(key, len(complete), candidates, len(rows) - len(complete), simulated)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file atomically.

    Raises:
        BadFile: the path is not writable.
    """
    encoder = json.JSONEncoder(allow_nan=False, ensure_ascii=False)
    try:
        with atomic_file(path) as file:
            file.writelines(piece.encode() for piece in encoder.iterencode(value))
            file.write(b"\n")
    except OSError as error:
        raise BadFile(f"--out {path}: {error.strerror}; choose another file") from error


def _instance_row(name: str, judgments: Sequence[JudgmentRow]) -> dict[str, Any] | None:
    if len(judgments) < RATERS_PER_SET:
        return None
    first, second = (row.answer["ratings"] for row in judgments)
    second_ratings = {row["candidate"]: row["rating"] for row in second}
    candidates = [
        {"source_iid": row["candidate"], "annot1": row["rating"], "annot2": second_ratings[row["candidate"]]}
        | ({"test_id": row["test_id"]} if row.get("test_id") else {})
        for row in first
        if row["candidate"] in second_ratings
    ]
    # The published mean counts a set without candidates; a set without a common candidate was never compared.
    return {"Input_iid": name, "candidates": candidates} if candidates or not first else None


def _instance_ids(project: Project, units: Mapping[str, int], *, used: set[str]) -> dict[str, str]:
    """Return each collected set's instance id: its region's own pair, unless the id is used."""
    regions: dict[str, tuple[int, str]] = {}
    items = {unit: item for item, unit in units.items()}
    for chunk in id_chunks(sorted(items)):
        for unit, payload in Unit.objects.filter(pk__in=chunk).values_list("pk", "payload"):
            regions[items[unit]] = payload["image"], _region_key(payload["boxes"])
    pairs: dict[tuple[int, str], list[str]] = {}
    for chunk in id_chunks(sorted({image for image, _ in regions.values()})):
        rows = Record.objects.filter(project=project, type=OBSERVATION, image__in=chunk)
        for image, boxes, name in rows.order_by("pk").values_list("image_id", "fields__boxes", "instance_id"):
            pairs.setdefault((image, _region_key(boxes)), []).append(name)
    instance_ids: dict[str, str] = {}
    for item, region in regions.items():
        matches = pairs.get(region, [])
        if len(matches) == 1 and matches[0] not in used:
            instance_ids[item] = matches[0]
            used.add(matches[0])
    return instance_ids


def _region_key(boxes: Sequence[Mapping[str, int]]) -> str:
    return json.dumps([[box[side] for side in ("left", "top", "width", "height")] for box in boxes])


def _with_distinct_test_ids(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows; if two files gave a test id to different candidates, the later one gets a new id."""
    used: set[str] = set()
    for row in rows:
        candidates = []
        for candidate in row["candidates"]:
            name = candidate.get("test_id")
            if name is None or name in used:
                name = make_test_id(row["Input_iid"], candidate["source_iid"])
            used.add(name)
            candidates.append({**candidate, "test_id": name})
        yield {**row, "candidates": candidates}
