"""Sealed versions of image triplets that hold their answers, leaderboards of them, and submissions to them."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from curation.leaderboard.models import Leaderboard
from curation.leaderboard.selectors.boards import board_folder
from curation.leaderboard.services import boards as services
from curation.models import (
    DatasetVersion,
    VersionRow,
)
from curation.services.triplets.nleye_imports import PublishedFolder, import_nleye
from curation.services.triplets.settings import SettingsChange, change_settings
from curation.services.versions import create_sealed_version
from curation.versions.export import export_version
from hits.domain.states import JobState
from hits.models import Project
from hits.services.jobs import jobs
from tests.support.nleye_published import (
    read_lines,
)

COUNT = 12
Files = dict[str, bytes]
Choices = dict[tuple[str, str], tuple[Any, str]]
Scores = dict[tuple[str, str], Any]


def as_lines(rows: Iterable[Any]) -> str:
    """Return rows as lines of JSON."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def seal(project: Project, folder: Path) -> DatasetVersion:
    """Import a folder, and seal a version that holds its answers."""
    import_nleye(project=project, folder=PublishedFolder(folder, licence="CC0"), by=None)
    change_settings(project=project, change=SettingsChange(holds_answers=True), by=None)
    return create_sealed_version(project=project, name="v1", by=None)


def make_board(version: DatasetVersion, **more: Any) -> Leaderboard:
    """Return an open leaderboard of a sealed version, whose files are written."""
    board = services.create_leaderboard(
        version=version,
        split="test",
        wording=services.Wording("Triplets"),
        limits=services.SubmissionLimits(daily=20, total=20),
        by=None,
        queue=False,
        **more,
    )
    assert board.job is not None
    job = jobs.run_in_process(job=board.job)
    assert job.state == JobState.DONE, job.error
    board.refresh_from_db()
    services.set_board_is_open(board=board, is_open=True, by=None)
    return board


def stored_rows(version: DatasetVersion) -> list[tuple[str, dict[str, Any]]]:
    """Return the id and row of each sealed triplet, in sealed order."""
    rows = VersionRow.objects.filter(version=version, part="nleye_triplet").order_by("pk")
    return list(rows.values_list("instance_id", "row"))


def export(version: DatasetVersion, folder: Path) -> Path:
    """Write the files of a version; returns their folder."""
    return export_version(version, folder).folder


def answers(board: Leaderboard, seed: int) -> tuple[Files, Choices, Scores]:
    """Return the files of a submission, and its answers by triplet and presentation or hypothesis."""
    rng = random.Random(seed)
    held = board_folder(board) / "held"
    choices, scores = {}, {}
    files: dict[str, list[dict[str, Any]]] = {"triplet.jsonl": [], "pairs.jsonl": []}
    for row in read_lines(held / "triplet.jsonl"):
        choice = rng.choice([1, 1, 2, 2, "equal", "none", None])
        reason = {"reason": rng.choice(["refused", "unparseable"])} if choice is None else {}
        choices[row["triplet"], row["shown"]] = (choice, reason.get("reason", ""))
        files["triplet.jsonl"].append({"id": row["id"], "choice": choice, **reason})
    for row in read_lines(held / "pairs.jsonl"):
        score = rng.choice([None, rng.uniform(1, 10), rng.randint(1, 10)])
        scores[row["triplet"], row["shown"]] = score
        files["pairs.jsonl"].append({"pair_id": row["id"], "score": score})
    submitted = {f"test_set_predictions/{name}": as_lines(rows).encode() for name, rows in files.items()}
    return submitted, choices, scores
