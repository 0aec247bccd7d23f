"""Every stored leaderboard case, by both ways of scoring, to 1e-9."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.evaluation.comparison import parse_comparison_key, score_comparison
from curation.evaluation.inputs import read_answer_key, read_predictions
from curation.evaluation.localization import parse_localization_key, score_localization
from curation.evaluation.retrieval import parse_retrieval_key, score_retrieval
from tests.support import paths

CASES = paths.CASES / "leaderboard"
FIELDS = {
    "retrieval": {"im2txt": "im2txt", "txt2im": "txt2im", "p_at_1": "p_at_1"},
    "localization": {
        "acc_gt_bbox": "gt_accuracy",
        "n_gt": "gt_images",
        "acc_auto_bbox": "auto_accuracy",
        "n_auto": "auto_images",
        "acc_oracle_bbox": "auto_oracle_accuracy",
    },
    "comparison": {"human": "human", "model": "model", "random": "random", "oracle": "oracle", "n": "images"},
}
MEASURES = {
    "retrieval": (parse_retrieval_key, score_retrieval),
    "localization": (parse_localization_key, score_localization),
    "comparison": (parse_comparison_key, score_comparison),
}


def folders() -> list[Path]:
    found = sorted(path.parent for path in CASES.glob("*/*/expected.json"))
    assert len(found) == 13
    return found


@pytest.mark.parametrize("route", ["json", "npy with ids", "npy without ids"])
@pytest.mark.parametrize("folder", folders(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_case(folder: Path, route: str) -> None:
    measure = folder.parent.name
    parse, score = MEASURES[measure]
    key = parse(read_answer_key(folder / "answer_key.json"))
    ids = key.test_ids
    scores = read_predictions(
        folder / ("predictions.json" if route == "json" else "predictions.npy"),
        ids_path=folder / "instance_ids.json" if route == "npy with ids" else None,
        key_ids=ids,
    )
    result = score(scores, key)
    expected = json.loads((folder / "expected.json").read_text())["exact"]
    compared = 0
    for theirs, ours in FIELDS[measure].items():
        assert getattr(result, ours) == pytest.approx(expected[theirs], abs=1e-9, rel=0), ours
        compared += 1
    assert compared >= 3
