"""Whether a qualification submission passes, and what the worker reads about it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hits.domain.answers.exam import ExamScore

MAX_REASON_LENGTH = 1000  # as much as a marketplace lets a requester write about an assignment
DISAGREEMENT_RULE = "A pair counts as reasonable when more than half of its graders say so."


@dataclass(frozen=True, slots=True)
class PassRule:
    """What a round asks for: reasonable pairs, right answers in the exam, and how many people grade each pair."""

    needed: int = 8
    exam_needed: int = 0
    graders: int = 1

    def as_row(self) -> dict[str, Any]:
        """Return the rule as it is kept beside an outcome, disagreement included."""
        return asdict(self) | {"disagreement": DISAGREEMENT_RULE}


@dataclass(frozen=True, slots=True)
class Remark:
    """What a grader wrote about a pair that is not reasonable; photo and pair count from 1."""

    photo: int
    pair: int
    text: str


@dataclass(frozen=True, slots=True)
class Score:
    """What one submission came to; ``graded`` are its pairs that have all their grades."""

    reasonable: int
    graded: int
    pairs: int
    exam: ExamScore

    @property
    def is_complete(self) -> bool:
        """Tell whether every pair has all its grades."""
        return self.pairs > 0 and self.graded == self.pairs


def is_reasonable(grades: Iterable[bool]) -> bool:
    """Return what a pair counts as: reasonable when more than half of its graders say so.

    Two who differ therefore count as not reasonable, until one of them changes their grade or a third person grades.
    """
    votes = list(grades)
    return 2 * sum(votes) > len(votes)


def has_passed(score: Score, rule: PassRule) -> bool:
    """Return whether a completely graded submission passes."""
    return score.reasonable >= rule.needed and score.exam.right >= rule.exam_needed


def needs_remark(score: Score, rule: PassRule, remarks: Sequence[Remark]) -> bool:
    """Return whether no grader has said yet what was wrong with pairs that keep the worker from passing."""
    return score.is_complete and score.reasonable < rule.needed and not remarks


def describe_outcome(score: Score, rule: PassRule, remarks: Sequence[Remark]) -> str:
    """Return what the worker reads: the figures, then what graders wrote, as far as it fits."""
    passed = has_passed(score, rule)
    sentences = [
        f"You {'passed' if passed else 'did not pass'} the qualification: {score.reasonable} of {score.pairs} "
        f"pairs were found reasonable, and {_describe_requirement(rule.needed)}."
    ]
    if score.exam.total:
        requirement = f", and {_describe_requirement(rule.exam_needed)}" if rule.exam_needed else ""
        sentences.append(
            f"You answered {score.exam.right} of {score.exam.total} questions correctly{requirement}."
        )
    sentences.append(
        "You are paid in full either way." if not passed else "You can be invited to training now."
    )
    return _append_remarks(" ".join(sentences), remarks)


def _describe_requirement(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'} needed"


def _append_remarks(text: str, remarks: Sequence[Remark]) -> str:
    for number, remark in enumerate(remarks):
        line = f" Photo {remark.photo}, pair {remark.pair}: {remark.text}"
        left = len(remarks) - number - 1
        more = f" ({left} more remark{'s' if left > 1 else ''} left out.)" if left else ""
        if len(text) + len(line) + len(more) > MAX_REASON_LENGTH:
            count = len(remarks) - number
            return f"{text} ({count} more remark{'s' if count > 1 else ''} left out.)"[:MAX_REASON_LENGTH]
        text += line
    return text
