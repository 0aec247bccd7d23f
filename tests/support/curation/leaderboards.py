"""A leaderboard of two tasks, small enough to reckon by hand, and zips to hand in to it."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from curation.leaderboard.models import Leaderboard, LeaderboardEntry, LeaderboardTeam
from curation.leaderboard.selectors.boards import board_folder
from curation.leaderboard.services import boards, entries
from curation.models import DatasetVersion
from curation.services import versions as services
from hits.domain.states import JobState
from hits.models import Job, Project
from hits.services.jobs import jobs
from tests.support.judging.work import Work

# Two photos with two texts each: rows are photos, columns texts. Sorted, the ids run along the rows.
RETRIEVAL = {"r00": ["a", "a"], "r01": ["a", "b"], "r10": ["b", "a"], "r11": ["b", "b"]}
RATINGS = {"c1": (1, 1), "c2": (2, 3), "c3": (3, 2)}
COMPARISON: dict[str, Any] = {
    "test_id_map": {name: {"Input_iid": "x", "candidate": name} for name in RATINGS},
    "annotations": [
        {
            "Input_iid": "x",
            "candidates": [
                {"source_iid": name, "annot1": one, "annot2": other} for name, (one, other) in RATINGS.items()
            ],
        }
    ],
}
EXPECTED = {"comparison": 3, "retrieval_0": 4}
PERFECT: Mapping[str, Sequence[float]] = {"comparison": [1, 2, 3], "retrieval_0": [9, 0, 0, 9]}
HALF: Mapping[str, Sequence[float]] = {"comparison": [3, 2, 1], "retrieval_0": [9, 0, 9, 0]}
FACTS: dict[str, Any] = {
    "references": {
        "human": {"comparison": {"value": 33.3, "low": None, "high": None}},
        "random": {"p_at_1": {"value": 50.0, "low": None, "high": None}},
    },
    "counts": {"p_at_1": 2, "im2txt": 2, "txt2im": 2, "comparison": 1},
    "without": [],
}


def sealed_version(project: Project, name: str = "v1") -> DatasetVersion:
    """Return a sealed version of three pairs."""
    work = Work(project)
    work.observed(work.image(1))
    version = services.create_version(project=project, name=name, by=None)
    return services.seal_version(version=version, by=None)


def made_board(
    project: Project,
    *,
    title: str = "Street scenes",
    limits: boards.SubmissionLimits | None = None,
    is_open: bool = True,
    version: DatasetVersion | None = None,
) -> Leaderboard:
    """Return a leaderboard whose files are written."""
    board = boards.create_leaderboard(
        version=version or project.versions.first() or sealed_version(project),
        split="",
        wording=boards.Wording(title, "Ask the organisers for a key."),
        limits=limits or boards.SubmissionLimits(daily=5, total=9),
        by=None,
        queue=False,
    )
    Job.objects.filter(pk=board.job_id).update(state=JobState.DONE)
    write_files(board)
    boards.mark_leaderboard_built(board=board, tasks=dict(EXPECTED), sha256="ab" * 32, facts=FACTS)
    if is_open:
        boards.set_board_is_open(board=board, is_open=True, by=None)
    return board


def write_files(board: Leaderboard) -> None:
    """Write keys and instances as the published layout has them."""
    home = board_folder(board)
    for name, key in (("retrieval_0", RETRIEVAL), ("comparison", COMPARISON)):
        task = name.partition("_")[0]
        held, public = home / "held" / f"all_{task}", home / "public" / f"all_{task}"
        held.mkdir(parents=True)
        public.mkdir(parents=True)
        (held / f"all_{name}_answer_key.json").write_text(json.dumps(key))
        (public / f"all_{name}_instance_ids.json").write_text(json.dumps(sorted(key)))
    (home / "instances.zip").write_bytes(zipped({"all_comparison/a.json": b"[]"}))


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of some files: the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 22, 9, 0, 0)), data)
    return out.getvalue()


def npy(values: Any, dtype: Any = np.float64) -> bytes:
    """Return the bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, np.asarray(values, dtype=dtype))
    return out.getvalue()


def predictions(scores: Mapping[str, Any] = PERFECT) -> bytes:
    """Return a zip in the published layout."""
    return zipped({f"test_set_predictions/{name}.npy": npy(values) for name, values in scores.items()})


def variant(number: int) -> bytes:
    """Return one of many zips that differ."""
    return predictions({"comparison": [1, 2, 3], "retrieval_0": [9 + number, 0, 0, 9]})


def submitted_entry(
    team: LeaderboardTeam, data: bytes, *, model: str = "Model", file_name: str = "test_set_predictions.zip"
) -> LeaderboardEntry:
    """Submit, and return the entry as it waits."""
    about = entries.ModelDescription(model)
    return entries.submit_entry(
        team=team, description=about, upload=entries.UploadedZip([data], file_name), queue=False
    )[0]


def scored(team: LeaderboardTeam, data: bytes, **more: Any) -> LeaderboardEntry:
    """Submit, have it scored, and return the scored entry."""
    entry = submitted_entry(team, data, **more)
    assert entry.job is not None
    jobs.run_in_process(job=entry.job)
    entry.refresh_from_db()
    return entry
