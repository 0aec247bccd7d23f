"""Matching: the published cases in one form, files for the command, and matrices of the size of real buckets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.paths import CASES

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MatchCase:
    """A case. expected: bucket -> its rounds, with assignments by row number.

    members: bucket -> row numbers. choices: per query, the right response first; None where ties allow several.
    """

    name: str
    relevance: Matrix
    nli: Matrix
    weight: float
    rounds: int
    texts: tuple[str, ...]
    images: tuple[int, ...] | None
    forbids_images: bool
    buckets: tuple[str, ...]
    shortlist: tuple[int, str] | None
    members: dict[str, list[int]]
    expected: dict[str, list[dict[str, Any]]]
    choices: list[list[int]] | None


def read_cases() -> list[MatchCase]:
    """Return every case of both files."""
    vcr = json.loads((CASES / "vcr_matching.json").read_text())["matching"]
    earlier = json.loads((CASES / "adversarial_matching.json").read_text())["cases"]
    cases = [case for item in vcr if "expected_sparse" not in item for case in _read_vcr(item)]
    cases += [case for item in vcr if "expected_sparse" in item for case in _read_shortlists(item)]
    return cases + [_read_earlier(item) for item in earlier]


def _read_vcr(item: dict[str, Any]) -> list[MatchCase]:
    by_bucket = item.get("expected_by_bucket")
    if by_bucket:
        members = {name: found["members"] for name, found in by_bucket.items()}
        expected = {name: found["rounds"] for name, found in by_bucket.items()}
        return [_make_case(item, members=members, expected=expected)]
    cases = [_make_case(item, expected={"all": item["expected"]}, choices=item.get("choices"))]
    if "expected_same_image_forbidden" in item:
        expected = {"all": item["expected_same_image_forbidden"]}
        choices = item["choices_same_image_forbidden"]
        cases.append(_make_case(item, expected=expected, choices=choices, forbids_images=True))
    return cases


def _read_shortlists(item: dict[str, Any]) -> list[MatchCase]:
    cases = [_make_case(item, expected={"all": [item["dense"] | {"round": 1, "feasible": True}]})]
    for found in item["expected_sparse"]:
        by = "both" if found["rows_and_columns"] else "rows"
        cases.append(_make_case(item, expected={"all": [found | {"round": 1}]}, shortlist=(found["k"], by)))
    return cases


def _read_earlier(item: dict[str, Any]) -> MatchCase:
    expected = [
        {"round": found["iteration"], "total": found["total_weight"]} | found for found in item["iterations"]
    ]
    item = item | {"P_rel": item["Prel"], "rounds": 3}
    return _make_case(item, expected={"all": expected}, choices=item["choices_sources"])


def _make_case(
    item: dict[str, Any], *, expected: dict[str, list[dict[str, Any]]], **fields: Any
) -> MatchCase:
    n = item["n"]
    texts = [f"text {index}" for index in range(n)]
    for group in item.get("same_text", []):
        for index in group:
            texts[index] = f"Text  {group[0]}"  # letters' case and spaces make no other text
    members = fields.pop("members", {"all": list(range(n))})
    buckets = [next(name for name, found in members.items() if index in found) for index in range(n)]
    shortlist = fields.get("shortlist")
    name = item["name"] + (" same image forbidden" if fields.get("forbids_images") else "")
    return MatchCase(
        name=name + (f" k={shortlist[0]} {shortlist[1]}" if shortlist else ""),
        relevance=np.array(item["P_rel"], dtype=np.float64),
        nli=np.array(item["P_nli"], dtype=np.float64),
        weight=item["lambda"],
        rounds=item["rounds"],
        texts=tuple(texts),
        images=tuple(item["image"]) if "image" in item else None,
        forbids_images=fields.get("forbids_images", False),
        buckets=tuple(buckets),
        shortlist=shortlist,
        members=members,
        expected=expected,
        choices=fields.get("choices"),
    )


def save_case(case: MatchCase, folder: Path, order: Sequence[int]) -> list[str]:
    """Write a case's files with its rows in another order; return the command's options. Ids name the rows."""
    names = {"relevance": case.relevance, "nli": case.nli}
    options: list[str] = []
    for name, matrix in names.items():
        np.save(folder / f"{name}.npy", matrix[np.ix_(order, order)])
        options += [f"--{name}", str(folder / f"{name}.npy")]
    lists: dict[str, Sequence[Any]] = {
        "ids": [f"row {index:03d}" for index in range(len(order))],
        "texts": case.texts,
        "buckets": case.buckets,
    }
    if case.images is not None:
        lists["images"] = case.images
        options += ["--same-image", "forbidden" if case.forbids_images else "allowed"]
    for name, values in lists.items():
        (folder / f"{name}.json").write_text(json.dumps([values[index] for index in order]))
        options += [f"--{name}", str(folder / f"{name}.json")]
    if case.shortlist is not None:
        k, by = case.shortlist
        options += ["--shortlist", str(k), "--shortlist-by", by, "--no-widen"]
    return [*options, "--lambda", str(case.weight), "--rounds", str(case.rounds)]


def make_scores(n: int, hubness: float, seed: int = 0, dimensions: int = 96) -> tuple[Matrix, Matrix]:
    """Return made-up P_rel and P_sim, (n, n) each, with topics of about sixty responses.

    hubness: spread of the responses' general attractiveness, in logits: 0 none, 1.2 realistic, 3 hard, as relevance
    saturates and ties abound.
    """
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((max(8, n // 60), dimensions))
    topics = centres[generator.integers(len(centres), size=n)]
    responses = _unit(topics + 0.9 * generator.standard_normal((n, dimensions)))
    queries = _unit(responses + 0.11 * generator.standard_normal((n, dimensions)))
    relevance = 14 * (queries @ responses.T - 0.55)
    relevance += hubness * generator.standard_normal(n)
    return _squash(np.clip(relevance, -9.2, 9.2, out=relevance)), _squash(
        16 * (responses @ responses.T - 0.75)
    )


def _squash(logits: Matrix) -> Matrix:
    """Return 1 / (1 + exp(-x)) in place of x."""
    np.negative(logits, out=logits)
    np.exp(logits, out=logits)
    logits += 1.0
    return np.reciprocal(logits, out=logits)


def _unit(rows: Matrix) -> Matrix:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
