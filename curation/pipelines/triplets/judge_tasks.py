"""What a judge is asked to grade: candidates, and checks of the judge itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from curation.models import ExplanationSource
from curation.selectors.triplets.evaluations import EvaluatedTriplet
from curation.selectors.triplets.explanations import JudgedExplanation, text_key

CANDIDATE, OTHER, PEOPLE = "candidate", "other_triplet", "people"


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """One grade to ask for: an explanation against references, in one order."""

    triplet: EvaluatedTriplet
    explanation: JudgedExplanation
    references: tuple[str, ...]
    purpose: str
    repeat: int

    @property
    def slot(self) -> tuple[int, str, int]:
        """What identifies the stored grade."""
        return self.explanation.row.pk, self.purpose, self.repeat


def judge_tasks(
    triplets: Mapping[str, EvaluatedTriplet],
    explained: Mapping[str, Sequence[JudgedExplanation]],
    repeats: int,
) -> Iterator[JudgeTask]:
    """Yield what is graded: candidates of models, gold of other triplets, and people's own, leave one out."""
    golds = [
        (key, row)
        for key, rows in sorted(explained.items())
        for row in rows
        if row.row.source == ExplanationSource.GOLD
    ]
    for key, rows in sorted(explained.items()):
        references = [row for row in rows if _is_reference(row)]
        texts = tuple(row.row.text for row in references)
        for row in rows:
            others = tuple(text for text in texts if text_key(text) != text_key(row.row.text))
            for repeat in range(1, repeats + 1):
                if row.row.source == ExplanationSource.MODEL and texts:
                    yield JudgeTask(triplets[key], row, texts, CANDIDATE, repeat)
                elif row.row.source == ExplanationSource.CROWD and others:
                    yield JudgeTask(triplets[key], row, others, PEOPLE, repeat)
    for position, (key, row) in enumerate(golds):
        other = golds[(position + 1) % len(golds)][0]
        texts = tuple(found.row.text for found in explained[other] if _is_reference(found))
        if other != key and texts:
            for repeat in range(1, repeats + 1):
                yield JudgeTask(triplets[other], row, texts, OTHER, repeat)


def _is_reference(found: JudgedExplanation) -> bool:
    """Whether an explanation is a reference: gold, imported, or a person's with at least one vote."""
    source = found.row.source
    return source in {ExplanationSource.GOLD, ExplanationSource.REFERENCE} or (
        source == ExplanationSource.CROWD and found.votes.valid > 0
    )
