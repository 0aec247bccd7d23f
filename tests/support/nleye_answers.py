"""Keys and answers about image triplets from rows, and files of them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from curation.evaluation.nleye_files import pair_score_lines, prediction_lines, triplet_key_json
from curation.evaluation.nleye_key import ChoiceCode, PairScores, TripletKey, TripletPredictions
from tests.support.nleye_loops import Row

TOLERANCE = 1e-12
FACETS = {"category": "social", "domain": "education", "cell": "forward-short"}


def assert_close(found: Any, expected: Any) -> None:
    """Assert that nested values are equal, floats to 1e-12; None equals None alone."""
    if isinstance(expected, dict):
        assert set(found) == set(expected)
        for name, value in expected.items():
            assert_close(found[name], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert_close(ours, theirs)
    elif isinstance(expected, float):
        assert found is not None
        assert abs(found - expected) <= TOLERANCE
    else:
        assert found == expected


def make_key(rows: Iterable[Row]) -> TripletKey:
    """Return the key of rows; facets that a row leaves out are those of ``FACETS``."""
    full = [FACETS | row for row in rows]
    return TripletKey.from_rows((r["id"], r["gold"], r["category"], r["domain"], r["cell"]) for r in full)


def make_predictions(rows: Iterable[Row]) -> TripletPredictions:
    """Return the answers of rows; None is unparseable, and an absent one is missing."""
    return TripletPredictions.from_codes(
        [_code(row.get(name, "missing")) for name in ("as_listed", "swapped")] for row in rows
    )


def make_scores(rows: Iterable[Row]) -> PairScores:
    """Return the scores of rows."""
    return PairScores.from_rows((row["h1"], row["h2"]) for row in rows)


def _code(answer: str | None) -> ChoiceCode:
    if answer is None:
        return ChoiceCode.UNPARSEABLE
    return (
        ChoiceCode.from_names(answer)
        if answer in {"first", "second", "equal", "none"}
        else ChoiceCode.from_names("", answer)
    )


def write_files(
    folder: Path, key: TripletKey, predictions: TripletPredictions, scores: PairScores
) -> tuple[Path, Path, Path]:
    """Write key, predictions and pair scores; return their paths."""
    paths = folder / "key.json", folder / "predictions.jsonl", folder / "scores.jsonl"
    texts: Sequence[Any] = (
        [json.dumps(triplet_key_json(key))],
        prediction_lines(key.ids, predictions),
        pair_score_lines(key.ids, scores),
    )
    for path, lines in zip(paths, texts, strict=True):
        path.write_text("".join(lines), encoding="utf-8")
    return paths
