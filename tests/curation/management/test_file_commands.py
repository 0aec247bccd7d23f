"""The three file commands: figures, JSON, and one line with status 2 for bad input."""

import json
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from tests.support.children import ROOT
from tests.support.paths import CASES

KEYS = {
    "retrieval": {"im2txt": "im2txt", "txt2im": "txt2im", "p_at_1": "p_at_1"},
    "localization": {
        "gt_accuracy": "acc_gt_bbox",
        "gt_images": "n_gt",
        "auto_accuracy": "acc_auto_bbox",
        "auto_images": "n_auto",
        "auto_oracle_accuracy": "acc_oracle_bbox",
    },
    "comparison": {"human": "human", "model": "model", "random": "random", "oracle": "oracle", "images": "n"},
}
FOLDERS = sorted(path for path in (CASES / "leaderboard").glob("*/*") if path.is_dir())


def _json(*args: Any, **options: Any) -> dict[str, Any]:
    out = StringIO()
    call_command(*args, "--json", stdout=out, **options)
    (line,) = out.getvalue().strip().splitlines()
    result: dict[str, Any] = json.loads(line)
    return result


@pytest.mark.parametrize("route", ["npy", "npy without ids", "json"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_published_case_is_equalled(folder: Path, route: str) -> None:
    expected = json.loads((folder / "expected.json").read_text())["exact"]
    arguments = ["--answer-key", str(folder / "answer_key.json")]
    if route == "json":
        arguments += ["--predictions", str(folder / "predictions.json")]
    else:
        arguments += ["--predictions", str(folder / "predictions.npy")]
        arguments += ["--instance-ids", str(folder / "instance_ids.json")] if route == "npy" else []
    measured = _json("evaluate", folder.parent.name, *arguments)
    names = KEYS[folder.parent.name]
    assert set(measured) == set(names)
    for ours, theirs in names.items():
        if expected[theirs] is None:
            assert measured[ours] is None
        else:
            assert measured[ours] == pytest.approx(expected[theirs], abs=1e-9, rel=0)


def test_there_are_cases_of_all_three() -> None:
    assert {path.parent.name for path in FOLDERS} == set(KEYS)
    assert len(FOLDERS) >= 12


def _fails(match: str, *args: Any) -> None:
    with pytest.raises(CommandError, match=match) as caught:
        call_command(*args, stdout=StringIO())
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)


def test_a_missing_prediction_is_named(tmp_path: Path) -> None:
    folder = CASES / "leaderboard" / "retrieval" / "n20_s7_sameimage"
    scores = json.loads((folder / "predictions.json").read_text())
    lost = sorted(scores)[3]
    del scores[lost]
    (tmp_path / "p.json").write_text(json.dumps(scores))
    _fails(
        lost, "evaluate", "retrieval", "--predictions", str(tmp_path / "p.json"),
        "--answer-key", str(folder / "answer_key.json"),
    )  # fmt: skip


def test_nan_is_named_and_never_scored(tmp_path: Path) -> None:
    folder = CASES / "leaderboard" / "comparison" / "n1_s0_plain"
    scores = np.load(folder / "predictions.npy")
    scores[2] = np.nan
    np.save(tmp_path / "p.npy", scores)
    _fails(
        "NaN", "evaluate", "comparison", "--predictions", str(tmp_path / "p.npy"),
        "--answer-key", str(folder / "answer_key.json"),
    )  # fmt: skip


def test_deduplicate_writes_labels_and_keeps_one_of_each(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(20, 16))
    features = np.concatenate([base, base + 1e-3 * rng.normal(size=(20, 16))]).astype(np.float32)
    np.save(tmp_path / "f.npy", features)
    out = tmp_path / "labels.npy"
    arguments = ["--features", str(tmp_path / "f.npy"), "--clusters", "20", "--out", str(out), "--seed", "3"]
    result = _json("deduplicate", *arguments)
    labels = np.load(out)
    assert labels.dtype == np.int64
    assert labels[:20].tolist() == labels[20:].tolist() == list(range(20))
    assert result["clusters"] == len(result["kept"]) == 20
    assert sorted(labels[result["kept"]].tolist()) == list(range(20))
    assert result["seconds"] >= 0
    assert result["peak_mib"] > 0
    assert _json("deduplicate", *arguments)["kept"] == result["kept"]


@pytest.mark.parametrize(
    ("array", "clusters", "match"),
    [
        (np.zeros((3, 4), np.float32), 2, "row 0"),
        (np.array([[1, np.nan], [1, 2]], np.float32), 1, "row 0"),
        (np.ones((3, 4), np.int64), 2, "save it as float32"),
        (np.ones(4, np.float32), 2, "shape"),
        (np.eye(3, dtype=np.float32), 4, "4 is not possible with 3"),
    ],
)
def test_bad_features_leave_nothing_behind(tmp_path: Path, array: Any, clusters: int, match: str) -> None:
    np.save(tmp_path / "f.npy", array)
    out = tmp_path / "out.npy"
    _fails(
        match,
        "deduplicate",
        "--features",
        str(tmp_path / "f.npy"),
        "--clusters",
        str(clusters),
        "--out",
        str(out),
    )
    assert not out.exists()


def _comparison_files(folder: Path, n: int = 60) -> list[str]:
    rng = np.random.default_rng(1)
    np.save(folder / "p.npy", rng.normal(size=(n, n)))
    np.save(folder / "e.npy", rng.normal(size=(n, 8)).astype(np.float32))
    (folder / "t.json").write_text(json.dumps([f"sentence {i}" for i in range(n)]))
    return ["--texts", str(folder / "t.json"), "--text-embeddings", str(folder / "e.npy")]


def test_comparison_sets_from_a_matrix(tmp_path: Path) -> None:
    files = _comparison_files(tmp_path)
    result = _json("build_comparison_sets", "--plausibility", str(tmp_path / "p.npy"), *files)
    matrix = np.load(tmp_path / "p.npy")
    used = [index for item in result["sets"] for index in item["chosen"]]
    assert result["sets"]
    assert len(used) == len(set(used)) == 10 * len(result["sets"])
    for item in result["sets"]:
        row = matrix[item["instance"]]
        assert all(row[index] > row[item["instance"]] for index in item["chosen"])
    assert sorted(item["rank"] for item in result["sets"]) == list(range(1, len(result["sets"]) + 1))
    assert len(result["sets"]) + len(result["skipped"]) == 60
    assert all({"instance", "reason", "available"} == set(row) for row in result["skipped"])
    more = _json("build_comparison_sets", "--plausibility", str(tmp_path / "p.npy"), *files, "--details")
    assert set(more["funnel"]) == {"inferences", "soft", "cap"}
    assert set(more["details"][0]["promise"]) == {"words", "similarity", "plausibility"}
    assert {"eligible", "available", "gold", "similarity", "objectives", "margins"} <= set(more["details"][0])


def test_streamed_embeddings_give_the_matrix_s_sets(tmp_path: Path) -> None:
    files = _comparison_files(tmp_path)
    rng = np.random.default_rng(2)
    images, inferences = rng.normal(size=(60, 16)), rng.normal(size=(60, 16))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    inferences /= np.linalg.norm(inferences, axis=1, keepdims=True)
    for name, array in (("a", images), ("b", inferences), ("p", images @ inferences.T)):
        np.save(tmp_path / f"{name}.npy", array)
    plain = _json("build_comparison_sets", "--plausibility", str(tmp_path / "p.npy"), *files)
    streamed = _json(
        "build_comparison_sets", "--image-embeddings", str(tmp_path / "a.npy"),
        "--inference-embeddings", str(tmp_path / "b.npy"), *files,
    )  # fmt: skip
    assert streamed == plain


def test_comparison_sets_errors_name_the_mismatch(tmp_path: Path) -> None:
    files = _comparison_files(tmp_path)
    matrix = ["--plausibility", str(tmp_path / "p.npy")]
    _fails("give --plausibility", "build_comparison_sets", *files)
    (tmp_path / "c.json").write_text("[1, 2, 99]")
    _fails("99", "build_comparison_sets", *matrix, *files, "--candidates", str(tmp_path / "c.json"))
    (tmp_path / "t.json").write_text(json.dumps(["only one"]))
    _fails("60 scored inferences", "build_comparison_sets", *matrix, *files)


def test_messages_name_the_file(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.zeros((3, 4), np.float32))
    _fails(
        r"f\.npy\): row 0 is all zeros",
        "deduplicate",
        "--features",
        str(tmp_path / "f.npy"),
        "--clusters",
        "2",
    )
    (tmp_path / "p.json").write_text('{"a": 1}')
    (tmp_path / "k.json").write_text("{}")
    files = ["--predictions", str(tmp_path / "p.json"), "--answer-key", str(tmp_path / "k.json")]
    _fails(r"p\.json\): 'a' not in the answer key", "evaluate", "retrieval", *files)


def test_soft_deduplication_keeps_the_lowest_or_draws_by_seed(tmp_path: Path) -> None:
    files = _comparison_files(tmp_path)
    matrix = ["--plausibility", str(tmp_path / "p.npy"), *files]
    plain = _json("build_comparison_sets", *matrix)
    drawn = [_json("build_comparison_sets", *matrix, "--seed", str(seed)) for seed in (5, 5, 6, 7)]
    assert drawn[0] == drawn[1]
    assert any(other != plain for other in drawn)
    _fails("--seed -1: is negative", "build_comparison_sets", *matrix, "--seed", "-1")


def test_deduplicate_refuses_a_negative_seed(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.eye(3, dtype=np.float32))
    files = ["--features", str(tmp_path / "f.npy"), "--clusters", "2"]
    _fails("--seed -1: is negative", "deduplicate", *files, "--seed", "-1")


@pytest.mark.parametrize("flags", [[], ["--features", "f.npy", "--clusters", "many"], ["--no-such"]])
def test_bad_flags_get_one_line(flags: list[str]) -> None:
    command = [sys.executable, "manage.py", "deduplicate", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("manage.py deduplicate: error: ")
