"""Comparison rows in the layout of the Sherlock leaderboard's files: public instances, and the answer key.

``curation.evaluation.comparison`` has the measures.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from validation.domain.reports.leaderboard import TASK, build_answer_key, make_test_id

__all__ = ["TASK", "build_answer_key", "make_test_id", "public_instances"]


def public_instances(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one instance per candidate, without its ratings."""
    for row in rows:
        for candidate in row["candidates"]:
            yield {
                "image": row["image"],
                "region": row["region"],
                "inference": candidate["inference"],
                "test_id": make_test_id(row["Input_iid"], candidate["source_iid"]),
                "extra_info": {"task": TASK},
            }
