"""Files of answers about image triplets: round trips, and one line that names what is wrong in a bad one."""

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.evaluation.nleye import nleye_figures
from curation.evaluation.nleye_files import (
    pair_score_lines,
    parse_submitted_choices,
    parse_submitted_scores,
    parse_triplet_key,
    prediction_lines,
    read_pair_scores,
    read_triplet_key,
    read_triplet_predictions,
    triplet_key_json,
)
from curation.evaluation.nleye_key import PRESENTATIONS, ChoiceCode, PairScores, TripletPredictions
from curation.records import InvalidInput
from tests.support import nleye_loops as loops
from tests.support.nleye_answers import make_key, make_predictions, make_scores, write_files

KEY_ROW = {
    "gold": 1,
    "category": "social",
    "domain": "education",
    "direction": "forward",
    "duration": "short",
}
GOOD = [
    {"id": "a", "presentation": "as_listed", "choice": 1},
    {"id": "a", "presentation": "swapped", "choice": None, "reason": "refused"},
    {"id": 7, "presentation": "swapped", "choice": "equal"},
    {"id": "7", "presentation": "as_listed", "choice": "none", "explanation": "Beide passen."},
]
IDS = ["a", "7"]
SCORES = [{"id": name, "hypothesis": number, "score": number} for name in IDS for number in (1, 2)]


def _write(path: Path, rows: list[Any]) -> Path:
    """Write rows as lines; a string is a line as it is."""
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def _message(read: Callable[[], Any]) -> str:
    with pytest.raises(InvalidInput) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_predictions_are_read_in_any_order(tmp_path: Path) -> None:
    path = _write(tmp_path / "p.jsonl", ["", *GOOD[::-1]])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    found = read_triplet_predictions(path, IDS)
    assert found.predictions.codes.tolist() == [
        [ChoiceCode.FIRST, ChoiceCode.REFUSED],
        [ChoiceCode.NONE, ChoiceCode.EQUAL],
    ]
    assert found.explanations == {("7", "as_listed"): "Beide passen."}


@pytest.mark.parametrize("seed", range(5))
def test_written_files_are_read_as_they_were(tmp_path: Path, seed: int) -> None:
    rows = loops.make_rows(20, random.Random(seed), whole_scores=False)
    key, predictions, scores = make_key(rows), make_predictions(rows), make_scores(rows)
    key_path, predictions_path, scores_path = write_files(tmp_path, key, predictions, scores)
    read_key = read_triplet_key(key_path)
    assert (read_key.ids, read_key.golds.tolist()) == (key.ids, key.golds.tolist())
    assert (read_key.categories, read_key.domains, read_key.cells) == (key.categories, key.domains, key.cells)
    found = read_triplet_predictions(predictions_path, read_key.ids).predictions
    assert np.array_equal(found.codes, predictions.codes)
    found_scores = read_pair_scores(scores_path, read_key.ids)
    assert np.array_equal(found_scores.values, scores.values, equal_nan=True)
    assert nleye_figures(read_key, found, found_scores) == nleye_figures(key, predictions, scores)


def test_presentations_that_were_not_asked_are_written_as_missing() -> None:
    lines = [json.loads(line) for line in prediction_lines(["a"], TripletPredictions.all_missing(1))]
    assert lines == [
        {"id": "a", "presentation": name, "choice": None, "reason": "missing"} for name in PRESENTATIONS
    ]
    scores = [json.loads(line) for line in pair_score_lines(["a"], PairScores.from_rows([(None, 2.5)]))]
    assert [row["score"] for row in scores] == [None, 2.5]


def test_explanations_are_written() -> None:
    texts = {("a", "swapped"): "Der Boden ist nass."}
    lines = list(prediction_lines(["a"], TripletPredictions.from_codes([[1, 2]]), texts))
    assert "explanation" not in json.loads(lines[0])
    assert json.loads(lines[1])["explanation"] == "Der Boden ist nass."


CHOICE_LINES = 'use 1, 2, "equal", "none" or null'


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "is empty; give one JSON object per line"),
        (GOOD[:3], "no line for '7', as_listed; give one for each"),
        (GOOD[:1], "no line for 'a', swapped and 2 more; give one for each"),
        ([*GOOD, GOOD[0]], "line 5: 'a', as_listed is on line 1 too; keep one of them"),
        ([{**GOOD[0], "id": "b"}], "line 1: id 'b' is not in the answer key; remove the line"),
        ([{**GOOD[0], "id": True}], "line 1: id is true; give the id as in the answer key"),
        ([{**GOOD[0], "id": None}], "line 1: id is null; give the id as in the answer key"),
        ([{"choice": 1}], "line 1: id is absent; give the id as in the answer key"),
        (
            ['{"id": 1' + "0" * 5000 + "}"],
            "line 1: not valid JSON",
        ),
        (
            [{**GOOD[0], "presentation": "reversed"}],
            'line 1: presentation is "reversed"; use as_listed or swapped',
        ),
        ([{"id": "a", "choice": 1}], "line 1: presentation is absent; use as_listed or swapped"),
        ([{**GOOD[0], "choice": 3}], f"line 1: choice is 3; {CHOICE_LINES}"),
        ([{**GOOD[0], "choice": "first"}], f'line 1: choice is "first"; {CHOICE_LINES}'),
        ([{**GOOD[0], "choice": True}], f"line 1: choice is true; {CHOICE_LINES}"),
        ([{**GOOD[0], "choice": 1.0}], f"line 1: choice is 1.0; {CHOICE_LINES}"),
        ([{**GOOD[0], "choice": [1]}], f"line 1: choice is [1]; {CHOICE_LINES}"),
        ([{**GOOD[0], "choice": float("nan")}], f"line 1: choice is NaN; {CHOICE_LINES}"),
        (
            [{"id": "a", "presentation": "swapped"}],
            f"line 1: choice is absent; {CHOICE_LINES}",
        ),
        (
            [{**GOOD[0], "choice": None, "reason": "tired"}],
            'line 1: reason is "tired"; use refused, unparseable, missing',
        ),
        ([{**GOOD[0], "reason": "refused"}], 'line 1: reason is "refused"; leave it out'),
        ([{**GOOD[0], "reason": ["x"]}], 'line 1: reason is ["x"]; leave it out'),
        ([{**GOOD[0], "explanation": 5}], "line 1: explanation is 5; give a text or leave it out"),
        ([{**GOOD[0], "explanation": "a\0"}], "line 1: explanation has characters that no text has"),
        (['{"id": "a", "id": "7"}'], "line 1: repeated: 'id'; keep one entry for each"),
        (["[1, 2]"], "line 1: is not a JSON object; write one answer per line"),
        (["{id: 1}"], "line 1: not valid JSON"),
    ],
)
def test_bad_predictions_name_file_line_and_field(tmp_path: Path, rows: list[Any], problem: str) -> None:
    path = _write(tmp_path / "p.jsonl", rows)
    assert _message(lambda: read_triplet_predictions(path, IDS)).startswith(f"{path}: {problem}")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "is empty"),
        (SCORES[:3], "no line for '7', hypothesis 2; give one for each"),
        ([*SCORES, SCORES[1]], "line 5: 'a', hypothesis 2 is on line 2 too; keep one of them"),
        ([{**SCORES[0], "hypothesis": 3}], "line 1: hypothesis is 3; use 1 or 2"),
        ([{**SCORES[0], "hypothesis": True}], "line 1: hypothesis is true; use 1 or 2"),
        ([{**SCORES[0], "score": float("nan")}], "line 1: score is NaN; give a finite number"),
        ([{**SCORES[0], "score": float("-inf")}], "line 1: score is -Infinity; give a finite number"),
        (['{"id": "a", "hypothesis": 1, "score": 1e999}'], "line 1: score is Infinity; give a finite number"),
        ([{**SCORES[0], "score": 1e101}], "line 1: score is 1e+101; give a finite number"),
        ([{**SCORES[0], "score": "7"}], 'line 1: score is "7"; give a finite number'),
        ([{**SCORES[0], "score": True}], "line 1: score is true; give a finite number"),
        ([{"id": "a", "hypothesis": 1}], "line 1: score is absent; give a finite number"),
    ],
)
def test_bad_scores_name_file_line_and_field(tmp_path: Path, rows: list[Any], problem: str) -> None:
    path = _write(tmp_path / "s.jsonl", rows)
    assert _message(lambda: read_pair_scores(path, IDS)).startswith(f"{path}: {problem}")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({}, "holds no triplets"),
        ([], "holds no triplets"),
        ({"a": 1}, "'a': is not a JSON object"),
        ({"a": KEY_ROW | {"gold": 0}}, "'a': gold is 0; use 1 or 2"),
        ({"a": KEY_ROW | {"gold": True}}, "'a': gold is true; use 1 or 2"),
        ({"a": KEY_ROW | {"category": "legal"}}, "'a': category is \"legal\"; use physical,"),
        ({"a": KEY_ROW | {"domain": ""}}, "'a': domain is \"\"; name one"),
        ({"a": KEY_ROW | {"direction": None}}, "'a': direction is null; use forward, backward, parallel"),
        ({"a": KEY_ROW | {"duration": "medium"}}, "'a': duration is \"medium\"; use short or long"),
        ({"a": {**KEY_ROW, "duration": None}}, "'a': duration is null; use short or long"),
    ],
)
def test_bad_keys_name_id_and_field(raw: Any, problem: str) -> None:
    assert _message(lambda: parse_triplet_key(raw, "key")).startswith(f"key: {problem}")


def test_a_parallel_triplet_of_a_key_may_have_a_duration() -> None:
    row = KEY_ROW | {"direction": "parallel"}
    key = parse_triplet_key({"a": row, "b": row | {"duration": None}}, "key")
    assert key.cells == ("parallel", "parallel")
    assert triplet_key_json(key)["a"]["duration"] is None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    for read in (read_triplet_predictions, read_pair_scores):
        assert _message(lambda read=read: read(path, IDS)).startswith(f"{path}: cannot be read")
    assert _message(lambda: read_triplet_key(path)).startswith(f"{path}: cannot be read")


def _lines(rows: list[Any]) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())


def test_a_submission_has_an_opaque_id_for_each_presentation_and_pair() -> None:
    ids = ["x1", "x2", "x3", "x4"]  # two presentations of one triplet, then of the next
    rows = [
        {"id": name, "choice": choice} for name, choice in zip(ids[::-1], (2, None, "equal", 1), strict=True)
    ]
    rows[0]["explanation"] = "Because."
    found = parse_submitted_choices(_lines(rows), "triplet.jsonl", ids)
    assert found.as_predictions().codes.tolist() == [
        [ChoiceCode.FIRST, ChoiceCode.EQUAL],
        [ChoiceCode.MISSING, ChoiceCode.SECOND],
    ]
    assert found.explanations == {"x4": "Because."}
    scores = parse_submitted_scores(
        _lines([{"pair_id": "x2", "score": 3}, {"pair_id": "x1", "score": None}]), "pairs.jsonl", ids[:2]
    )
    assert scores == [None, 3.0]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"id": "x1", "choice": 3}], f"line 1: choice is 3; {CHOICE_LINES}"),
        ([{"id": "x9", "choice": 1}], "line 1: id 'x9' is not in the answer key; remove the line"),
        ([{"id": "x1", "choice": 1}] * 2, "line 2: 'x1' is on line 1 too; keep one of them"),
        ([{"id": "x1", "choice": 1}], "no line for 'x2'; give one for each"),
    ],
)
def test_a_bad_submission_names_line_and_id(rows: list[Any], problem: str) -> None:
    def read() -> Any:
        return parse_submitted_choices(_lines(rows), "triplet.jsonl", ["x1", "x2"])

    assert _message(read).startswith(f"triplet.jsonl: {problem}")
    named = [{"pair_id": row["id"], "score": 1} for row in rows]
    if "choice" not in problem:
        expected = (
            f"pairs.jsonl: {problem.replace('id ', 'pair_id ', 1) if 'answer key' in problem else problem}"
        )
        found = _message(lambda: parse_submitted_scores(_lines(named), "pairs.jsonl", ["x1", "x2"]))
        assert found.startswith(expected)
