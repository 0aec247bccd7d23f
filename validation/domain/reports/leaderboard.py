"""Rated comparison sets in the layout of the published leaderboard's answer key.

Source: the published leaderboard's files and scorer (Hessel et al. 2022, doi:10.1007/978-3-031-20059-5_32).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from hits.domain.hashing import content_sha256

TASK = "comparison"


def make_test_id(gold: str, candidate: str) -> str:
    """Return the id, 32 hex digits, under which the leaderboard scores a candidate of an instance."""
    return content_sha256([TASK, gold, candidate])[:32]


def build_answer_key(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``{"test_id_map", "annotations"}`` as the comparison scorer reads it.

    Each row has ``Input_iid`` and ``candidates``; a candidate has ``source_iid``, ``annot1`` and ``annot2``. A
    candidate with a ``test_id`` keeps it.
    """
    test_id_map: dict[str, dict[str, str]] = {}
    annotations = []
    for row in rows:
        gold = row["Input_iid"]
        for candidate in row["candidates"]:
            source = candidate["source_iid"]
            test_id_map[candidate.get("test_id") or make_test_id(gold, source)] = {
                "Input_iid": gold,
                "candidate": source,
            }
        keys = ("source_iid", "annot1", "annot2")
        annotations.append(
            {
                "Input_iid": gold,
                "candidates": [{key: candidate[key] for key in keys} for candidate in row["candidates"]],
            }
        )
    return {"test_id_map": test_id_map, "annotations": annotations}
