"""Folders in the published layout of NL-Eye, written with nothing of ours, and reading of exported ones."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.pictures import picture

ROLES = ("premise", "hypothesis1", "hypothesis2")
HEADER = (
    "sample_id",
    "reasoning_category",
    "domain",
    "time_direction",
    "time_duration",
    "premise_description",
    "hypothesis1_description",
    "hypothesis2_description",
    "gold_hypothesis",
    "gold_explanation",
    "explanations",
)


def published_rows(count: int) -> list[dict[str, str]]:
    """Return rows of a table whose gold alternates; the parallel ones have a duration, as the published ones do."""
    return [
        {
            "sample_id": str(number),
            "reasoning_category": ("social", "physical", "cultural")[number % 3],
            "domain": ("religion", "healthcare")[number % 2],
            "time_direction": ("parallel", "forward", "backward")[number % 3],
            "time_duration": ("short", "long")[number % 2],
            "premise_description": f"A queue of {number} people stands in rain.",
            "hypothesis1_description": f"Umbrellas, {number} of them, are open.",
            "hypothesis2_description": f"Sunshades, “{number}” of them,\nlie on sand.",
            "gold_hypothesis": str(1 + number % 2),
            "gold_explanation": f'People stay dry under "{number}" umbrellas.',
            "explanations": json.dumps([f"Rain is wet, {number} times.", "Wet people open umbrellas."]),
        }
        for number in range(1, count + 1)
    ]


def table_bytes(rows: Sequence[Mapping[str, str]], header: Sequence[str] = HEADER) -> bytes:
    """Return the bytes of a table; other columns are added behind the known ones."""
    more = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in header]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, [*header, *more])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def write_published(folder: Path, rows: Sequence[Mapping[str, str]], *, split: str = "test") -> Path:
    """Write a table and three small images for each of its rows; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{split}_set.csv").write_bytes(table_bytes(rows))
    for row in rows:
        home = folder / "images" / row["sample_id"]
        home.mkdir(parents=True)
        for place, role in enumerate(ROLES):
            (home / f"{role}.png").write_bytes(picture(48, 40, seed=10 * int(row["sample_id"]) + place))
    return folder


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def folder_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file below a folder by its path there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def sha256(data: bytes) -> str:
    """Return a hash as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
