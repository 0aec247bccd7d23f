"""The statistics that Ventura et al. 2025 §3 report, computed from rows."""

from collections import Counter
from typing import Any

from curation.families.nleye.rows import ANSWER, EXPLANATION, TRIPLET
from curation.versions.family import Accumulator
from curation.versions.plan import PlannedRow
from hits.domain.answers.scene_facets import temporal_cell


class NlEyeAccumulator(Accumulator):
    """Counts triplets by category, temporal cell, domain and gold, and people's answers."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._by: dict[str, Counter[str]] = {
            name: Counter() for name in ("categories", "temporal", "domains", "gold", "splits")
        }
        self._images: set[str] = set()
        self._annotators: set[str] = set()

    def add(self, row: PlannedRow) -> None:
        """Count one row."""
        self._counts[row.part] += 1
        self._annotators.update(worker for worker in row.workers if worker)
        if row.part in {ANSWER, EXPLANATION} and row.row["worker"]:
            self._annotators.add(row.row["worker"])
        if row.part == ANSWER:
            self._counts["right"] += row.row["is_gold"]
        if row.part != TRIPLET:
            return
        content = row.row
        self._by["categories"][content["reasoning_category"]] += 1
        self._by["temporal"][temporal_cell(content["time_direction"], content["time_duration"])] += 1
        self._by["domains"][content["domain"]] += 1
        self._by["gold"][str(content["gold"])] += 1
        self._by["splits"][row.split or "none"] += 1
        self._images.update(content["images"].values())

    def result(self) -> dict[str, Any]:
        """Return the counts; the share of right answers is ``None`` without answers."""
        answers = self._counts[ANSWER]
        return {
            "triplets": self._counts[TRIPLET],
            "images": len(self._images),
            "answers": answers,
            "right_answers": self._counts["right"] / answers if answers else None,
            "explanations": self._counts[EXPLANATION],
            "annotators": len(self._annotators),
            **{name: dict(sorted(found.items())) for name, found in self._by.items()},
        }
