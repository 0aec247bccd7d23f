"""The corpus statistics that Hessel et al. 2022 report, computed from rows in the published format.

Source: Hessel et al. (ECCV 2022, doi:10.1007/978-3-031-20059-5_32), section 3 (3.5 pairs per image; clues and
inferences of seven tokens on average; a mean and median of 1.17 and 1.0 boxes per clue) and supplement, section 3
(confidence 31 % definitely, 51 % likely, 18 % possibly).
"""

from collections import Counter
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from hits.domain.answers.text import tokenize

CONFIDENCE_LABELS = {3: "certain", 2: "likely", 1: "possible"}


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """Counts, means and shares (0 to 1) of a set of pairs; ``None`` if undefined.

    Tokens are runs of letters or digits, or single punctuation marks. ``splits`` counts pairs.
    """

    images: int
    pairs: int
    pairs_per_image: float | None
    boxes_per_clue_mean: float | None
    boxes_per_clue_median: float | None
    tokens_per_clue: float | None
    tokens_per_inference: float | None
    confidence: dict[str, float | None]
    splits: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as plain JSON."""
        return asdict(self)


class CorpusCounter:
    """Accumulates rows one at a time, so that a version need not be in memory."""

    def __init__(self) -> None:
        self._images: set[str] = set()
        self._boxes: Counter[int] = Counter()
        self._confidence: Counter[int] = Counter()
        self._splits: Counter[str] = Counter()
        self._pairs = self._clue_tokens = self._inference_tokens = 0

    def add(self, row: dict[str, Any], split: str = "") -> None:
        """Count one row in the published format."""
        inputs = row["inputs"]
        self._pairs += 1
        self._images.add(inputs["image"]["url"])
        self._boxes[len(inputs["bboxes"])] += 1
        self._confidence[round(inputs["confidence"])] += 1
        self._splits[split or "none"] += 1
        self._clue_tokens += len(tokenize(inputs["clue"]))
        self._inference_tokens += len(tokenize(row["targets"]["inference"]))

    def result(self) -> CorpusStatistics:
        """Return the statistics of all rows that were added."""
        pairs = self._pairs
        boxes = list(self._boxes.elements())
        return CorpusStatistics(
            images=len(self._images),
            pairs=pairs,
            pairs_per_image=pairs / len(self._images) if pairs else None,
            boxes_per_clue_mean=fmean(boxes) if boxes else None,
            boxes_per_clue_median=float(median(boxes)) if boxes else None,
            tokens_per_clue=self._clue_tokens / pairs if pairs else None,
            tokens_per_inference=self._inference_tokens / pairs if pairs else None,
            confidence={
                label: self._confidence[value] / pairs if pairs else None
                for value, label in CONFIDENCE_LABELS.items()
            },
            splits=dict(sorted(self._splits.items())),
        )
