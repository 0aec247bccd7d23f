"""``manage.py evaluate nleye``: the figures of files, as JSON and as lines, and one line for bad input."""

import json
import random
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.evaluation.nleye import nleye_figures
from tests.support import nleye_loops as loops
from tests.support.nleye_answers import make_key, make_predictions, make_scores, write_files


@pytest.fixture
def rows() -> list[loops.Row]:
    """Made-up answers about 120 triplets, in no category but the first four."""
    return loops.make_rows(120, random.Random(1))


@pytest.fixture
def files(rows: list[loops.Row], tmp_path: Path) -> tuple[Path, Path, Path]:
    """Answer key, predictions and pair scores."""
    return write_files(tmp_path, make_key(rows), make_predictions(rows), make_scores(rows))


def _run(*arguments: Any) -> str:
    out = StringIO()
    call_command("evaluate", "nleye", *map(str, arguments), stdout=out)
    return out.getvalue()


def _error(*arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        _run(*arguments)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_command_has_the_figures_of_the_arrays(
    rows: list[loops.Row], files: tuple[Path, Path, Path]
) -> None:
    key, predictions, scores = make_key(rows), make_predictions(rows), make_scores(rows)
    arguments = ("--answer-key", files[0], "--json")
    alone = json.loads(_run("--predictions", files[1], *arguments))
    assert alone == nleye_figures(key, predictions)
    both = json.loads(_run("--predictions", files[1], "--pair-scores", files[2], *arguments))
    assert both == nleye_figures(key, predictions, scores)
    pairs = json.loads(_run("--pair-scores", files[2], *arguments))
    assert pairs == nleye_figures(key, None, scores)


def test_lines_name_each_measure(rows: list[loops.Row], files: tuple[Path, Path, Path]) -> None:
    text = _run("--predictions", files[1], "--pair-scores", files[2], "--answer-key", files[0])
    share = 100 * loops.measure_triplets(rows)["consistency_accuracy"]
    assert f"consistency accuracy: {share:.1f} % (" in text
    assert "; chance 25 %" in text
    assert f"position test: p = {loops.measure_triplets(rows)['position_p']:.4g}" in text
    social = [row for row in rows if row["category"] == "physical"]
    assert f"physical, {len(social)} triplets: " in text
    assert f"mean difference of scores: {loops.measure_pairs(rows)['mean_difference']:.2f} (" in text
    assert "cultural, 0 triplets: nothing to measure" in text


def test_bad_input_is_one_line_with_status_2(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    key, predictions, scores = files
    lines = predictions.read_text().splitlines(keepends=True)
    predictions.write_text("".join(lines[:-1]))
    assert _error("--predictions", predictions, "--answer-key", key).startswith(
        f"{predictions}: no line for 't"
    )
    (tmp_path / "empty").write_text("")
    assert "is empty" in _error("--predictions", tmp_path / "empty", "--answer-key", key)
    assert "give --predictions FILE, --pair-scores FILE or both" in _error("--answer-key", key)
    assert "--instance-ids: belongs to .npy files" in _error(
        "--pair-scores", scores, "--answer-key", key, "--instance-ids", key
    )


def test_the_other_tasks_need_predictions_and_know_no_pair_scores(files: tuple[Path, Path, Path]) -> None:
    for arguments, problem in (
        ([], "give --predictions FILE"),
        (["--pair-scores", str(files[2])], "--pair-scores: belongs to nleye"),
    ):
        with pytest.raises(CommandError, match=problem) as caught:
            call_command("evaluate", "comparison", "--answer-key", str(files[0]), *arguments)
        assert caught.value.returncode == 2
