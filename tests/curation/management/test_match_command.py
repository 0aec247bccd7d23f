"""``match_adversarially``: one line with status 2 for bad input, and what it writes."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

N = 6


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Write good input of six triplets; return its paths."""
    generator = np.random.default_rng(0)
    relevance, nli = generator.random((N, N)), generator.random((N, N))
    similarity = np.maximum(nli, nli.T)
    np.fill_diagonal(similarity, 1.0)
    paths = {name: tmp_path / f"{name}.npy" for name in ("relevance", "nli", "similarity")}
    for name, matrix in (("relevance", relevance), ("nli", nli), ("similarity", similarity)):
        np.save(paths[name], matrix)
    return paths


def run(*arguments: Any, **options: Any) -> dict[str, Any]:
    out = StringIO()
    call_command("match_adversarially", *map(str, arguments), "--json", stdout=out, **options)
    (line,) = out.getvalue().strip().splitlines()
    result: dict[str, Any] = json.loads(line)
    return result


def good(files: dict[str, Path], *more: Any) -> list[Any]:
    return ["--relevance", files["relevance"], "--nli", files["nli"], "--lambda", "0.1", *more]


def refused(*arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert caught.value.returncode == 2
    message = str(caught.value)
    assert "\n" not in message
    return message


def change(path: Path, position: tuple[int, int], value: float) -> None:
    matrix = np.load(path)
    matrix[position] = value
    np.save(path, matrix)


def write(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(value))
    return path


def test_output_has_rounds_and_choices(files: dict[str, Path]) -> None:
    result = run(*good(files))
    assert set(result) == {"rounds", "choices", "seconds", "peak_mib"}
    keys = {"bucket", "round", "feasible", "total", "gap", "min_reduced_cost", "k", "reason"}
    assert [set(item) for item in result["rounds"]] == [keys] * 3
    assert [row[0] for row in result["choices"]] == list(range(N))
    assert all(len(set(row)) == 4 for row in result["choices"])


def test_similarity_file_gives_the_result_of_its_entailment_file(files: dict[str, Path]) -> None:
    similarity = ["--relevance", files["relevance"], "--similarity", files["similarity"], "--lambda", "0.1"]
    assert run(*similarity)["choices"] == run(*good(files))["choices"]


def test_diagonal_of_entailment_is_not_read(files: dict[str, Path]) -> None:
    expected = run(*good(files))["choices"]
    change(files["nli"], (2, 2), np.nan)
    assert run(*good(files))["choices"] == expected


def test_out_file_has_rounds_and_choices(files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "A.json"
    result = run(*good(files, "--out", out))
    assert json.loads(out.read_text()) == {name: result[name] for name in ("rounds", "choices")}


def test_infeasible_bucket_is_a_result(files: dict[str, Path], tmp_path: Path) -> None:
    buckets = write(tmp_path, "B.json", ["a", "a", "a", "b", "b", "b"])
    result = run(*good(files, "--buckets", buckets))
    assert [(item["bucket"], item["round"], item["feasible"]) for item in result["rounds"]] == [
        (bucket, number, number < 3) for bucket in "ab" for number in (1, 2, 3)
    ]
    last = result["rounds"][-1]
    assert last["reason"] == "a bucket of 3 is too small: 3 rounds need at least 4 triplets"
    assert (last["total"], last["gap"]) == (None, None)
    assert all(len(row) == 3 for row in result["choices"])


def test_lines_for_people_name_totals_and_reasons(files: dict[str, Path], tmp_path: Path) -> None:
    out = StringIO()
    buckets = write(tmp_path, "B.json", ["a", "a", "a", "a", "b", "b"])
    call_command("match_adversarially", *map(str, good(files, "--buckets", buckets)), stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("bucket a, round 1: total -")
    assert lines[-1] == "bucket b, round 2: a bucket of 2 is too small: 3 rounds need at least 4 triplets"


def test_lines_for_people_show_unprintable_names_escaped(files: dict[str, Path], tmp_path: Path) -> None:
    out = StringIO()
    buckets = write(tmp_path, "B.json", ["a\nb \x1b[31m\ud800"] * 6)
    call_command("match_adversarially", *map(str, good(files, "--buckets", buckets)), stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(r"bucket 'a\nb \x1b[31m\ud800', round 1: total -")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, True), }",
        "[" * 9_000,
    ],
)
def test_damaged_header_is_refused(files: dict[str, Path], header: str) -> None:
    length = len(header) + 1
    start = b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little")
    files["relevance"].write_bytes(start + header.encode() + b"\n" + bytes(8))
    assert "not a plain .npy array" in refused(*good(files))


@pytest.mark.parametrize(
    ("name", "position", "value", "message"),
    [
        ("relevance", (1, 4), np.nan, "row 1, column 4 is nan; give numbers from 0 to 1"),
        ("relevance", (5, 0), np.inf, "row 5, column 0 is inf"),
        ("relevance", (0, 0), 1.5, "row 0, column 0 is 1.5"),
        ("nli", (3, 2), -0.25, "row 3, column 2 is -0.25"),
    ],
)
def test_value_that_is_no_probability_is_refused(
    files: dict[str, Path], name: str, position: tuple[int, int], value: float, message: str
) -> None:
    change(files[name], position, value)
    found = refused(*good(files))
    assert found.startswith(f"{name} ({files[name]}): ")
    assert message in found


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        ((2, 4), 0.125, "row 2, column 4 is 0.125, but row 4, column 2 is"),
        ((3, 3), 0.5, "row 3, column 3 is 0.5; a text's similarity to itself is 1"),
        ((1, 2), np.nan, "row 1, column 2 is nan"),
    ],
)
def test_similarity_that_is_no_similarity_is_refused(
    files: dict[str, Path], position: tuple[int, int], value: float, message: str
) -> None:
    change(files["similarity"], position, value)
    arguments = ["--relevance", files["relevance"], "--similarity", files["similarity"], "--lambda", "0.1"]
    assert message in refused(*arguments)


@pytest.mark.parametrize(
    ("name", "matrix", "message"),
    [
        ("relevance", np.zeros((N, N + 1)), "the shape is (6, 7); save as many rows as columns"),
        ("relevance", np.zeros((N, N), np.int64), "the type is int64"),
        ("nli", np.zeros((N + 1, N + 1)), "7 rows for 6 of the relevance"),
        ("nli", np.zeros(N), "the shape is (6,)"),
    ],
)
def test_matrix_of_another_shape_or_type_is_refused(
    files: dict[str, Path], name: str, matrix: Any, message: str
) -> None:
    np.save(files[name], matrix)
    assert message in refused(*good(files))


@pytest.mark.parametrize(
    ("option", "values", "message"),
    [
        ("ids", ["a", "b", "c", "a", "d", "e"], "repeated: 'a'"),
        ("ids", ["a", "b"], "2 for 6 rows"),
        ("ids", list(range(N)), "must be a JSON list of strings"),
        ("texts", ["a"] * (N + 1), "7 for 6 rows"),
        ("images", [1.5] * N, "must be a JSON list of strings or whole numbers"),
        ("buckets", {"a": 1}, "must be a JSON list of strings"),
    ],
)
def test_list_that_does_not_fit_is_refused(
    files: dict[str, Path], tmp_path: Path, option: str, values: Any, message: str
) -> None:
    path = write(tmp_path, f"{option}.json", values)
    found = refused(*good(files, f"--{option}", path))
    assert found.startswith(f"{option} ({path}): ")
    assert message in found


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--same-image", "forbidden"], "give --images"),
        (["--rounds", "0"], "rounds: 0 is too few"),
        (["--shortlist", "0"], "shortlist: 0 is too small"),
        (["--lambda", "-1"], "lambda: -1.0 is no weight"),
        (["--lambda", "nan"], "lambda: nan is no weight"),
        (["--lambda", "1e308"], "lambda: 1e+308 is too large; give at most 1e+06"),
    ],
)
def test_unusable_option_is_refused(files: dict[str, Path], more: list[str], message: str) -> None:
    assert message in refused(*good(files, *more))


def test_missing_files_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    files["nli"] = tmp_path / "absent.npy"
    assert "cannot be read" in refused(*good(files))


def test_refused_input_leaves_no_file(files: dict[str, Path], tmp_path: Path) -> None:
    change(files["relevance"], (0, 1), np.nan)
    out = tmp_path / "A.json"
    refused(*good(files, "--out", out))
    assert not out.exists()


def test_shortlist_is_widened_unless_it_is_not_to_be(files: dict[str, Path]) -> None:
    narrow = good(files, "--shortlist", "1", "--shortlist-by", "rows")
    widened = run(*narrow)
    assert all(item["feasible"] and item["k"] > 1 for item in widened["rounds"])
    stopped = run(*narrow, "--no-widen")
    assert [(item["feasible"], item["k"]) for item in stopped["rounds"]] == [(False, 1)]
    assert stopped["rounds"][0]["reason"].startswith("with shortlists of 1, ")
    assert stopped["choices"] == [[index] for index in range(N)]
