"""The statistics that Zellers et al. 2019 report (table 3 and appendix B), computed from rows.

Words are counted as in the writing form: runs of letters, digits and apostrophes, and each tag as one word.
"""

from collections import Counter
from typing import Any

from curation.families.vcr.rows import OBJECT_LIST, QUESTION, TRIPLET
from curation.versions.family import Accumulator
from curation.versions.plan import PlannedRow
from hits.domain.tagged_text import count_words, mentions

TEXTS = ("question", "answer", "rationale")


class VcrAccumulator(Accumulator):
    """Counts triplets, questions, films, images, words and mentioned objects."""

    def __init__(self) -> None:
        self._images: set[str] = set()
        self._films: set[str] = set()
        self._annotators: set[str] = set()
        self._words: Counter[str] = Counter()
        self._likelihood: Counter[str] = Counter()
        self._splits: Counter[str] = Counter()
        self._triplets = self._questions = self._object_lists = self._mentions = 0

    def add(self, row: PlannedRow) -> None:
        """Count one row."""
        if row.part == QUESTION:
            self._questions += 1
            self._splits[row.split or "none"] += 1
        if row.part == OBJECT_LIST:
            self._object_lists += 1
        if row.part != TRIPLET:
            return
        self._triplets += 1
        self._images.add(row.row["image"]["url"])
        self._films.add(row.row["movie"])
        self._annotators.update(row.workers)
        self._likelihood[row.row["answer_likelihood"]] += 1
        tagged: set[int] = set()
        for name in TEXTS:
            self._words[name] += count_words(row.row[name])
            tagged.update(mentions(row.row[name]))
        self._mentions += len(tagged)

    def result(self) -> dict[str, Any]:
        """Return the counts, and means per triplet; ``None`` where there is none."""
        n = self._triplets
        return {
            "triplets": n,
            "questions": self._questions,
            "object_lists": self._object_lists,
            "images": len(self._images),
            "films": len(self._films),
            "annotators": len(self._annotators),
            "words": {name: self._words[name] / n if n else None for name in TEXTS},
            "objects_mentioned": self._mentions / n if n else None,
            "triplets_per_image": n / len(self._images) if n else None,
            "likelihood": {name: self._likelihood[name] / n for name in sorted(self._likelihood)},
            "splits": dict(sorted(self._splits.items())),
        }
