"""Comparison rows in the leaderboard's layout: instances for those who predict, a key for the scorer.

Source: the published leaderboard's files; measures in ``curation.evaluation.comparison``.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from hits.domain.hashing import content_sha256

TASK = "comparison"


def test_id(gold: str, candidate: str) -> str:
    """Return the 32-hex id under which a candidate of an instance is scored."""
    return content_sha256([TASK, gold, candidate])[:32]


def instances(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one instance per candidate, without its ratings."""
    for row in rows:
        for candidate in row["candidates"]:
            yield {
                "image": row["image"],
                "region": row["region"],
                "inference": candidate["inference"],
                "test_id": test_id(row["Input_iid"], candidate["source_iid"]),
                "extra_info": {"task": TASK},
            }


def answer_key(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return ``{"test_id_map", "annotations"}`` as the comparison scorer reads it."""
    names: dict[str, dict[str, str]] = {}
    annotations = []
    for row in rows:
        gold = row["Input_iid"]
        for candidate in row["candidates"]:
            source = candidate["source_iid"]
            names[test_id(gold, source)] = {"Input_iid": gold, "candidate": source}
        keys = ("source_iid", "annot1", "annot2")
        annotations.append(
            {
                "Input_iid": gold,
                "candidates": [{key: candidate[key] for key in keys} for candidate in row["candidates"]],
            }
        )
    return {"test_id_map": names, "annotations": annotations}
