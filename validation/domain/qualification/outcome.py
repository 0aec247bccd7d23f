"""Whether a qualification submission passes, and the message about it to the worker."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hits.domain.answers.exam import ExamScore

MAX_REASON_LENGTH = 1000  # characters; MTurk's limit for feedback on an assignment
DISAGREEMENT_RULE = "A pair counts as reasonable when more than half of its graders say so."


@dataclass(frozen=True, slots=True)
class PassRule:
    """What passes: ``needed`` reasonable pairs and ``exam_needed`` right answers; ``graders`` grade each pair."""

    needed: int = 8
    exam_needed: int = 0
    graders: int = 1

    def as_row(self) -> dict[str, Any]:
        """Return the rule as data to store with an outcome, with the rule for disagreeing graders."""
        return asdict(self) | {"disagreement": DISAGREEMENT_RULE}


@dataclass(frozen=True, slots=True)
class Remark:
    """A grader's remark about an item, such as a pair, that is not reasonable; photo and item count from 1."""

    photo: int
    pair: int
    text: str


@dataclass(frozen=True, slots=True)
class Score:
    """The counts of one submission's pairs; ``graded`` are the pairs that have all their grades."""

    reasonable: int
    graded: int
    pairs: int
    exam: ExamScore

    @property
    def is_complete(self) -> bool:
        """Whether every pair has all its grades."""
        return self.pairs > 0 and self.graded == self.pairs


def is_reasonable(grades: Iterable[bool]) -> bool:
    """Return whether more than half of a pair's grades are reasonable.

    A pair with two different grades is not reasonable until a grader changes their grade or a third person grades.
    """
    votes = list(grades)
    return 2 * sum(votes) > len(votes)


def has_passed(score: Score, rule: PassRule) -> bool:
    """Return whether a completely graded submission passes."""
    return score.reasonable >= rule.needed and score.exam.right >= rule.exam_needed


def needs_remark(score: Score, rule: PassRule, remarks: Sequence[Remark]) -> bool:
    """Return whether the submission fails and no grader has written a remark about its pairs."""
    return score.is_complete and score.reasonable < rule.needed and not remarks


def describe_outcome(
    score: Score,
    rule: PassRule,
    remarks: Sequence[Remark],
    *,
    noun: tuple[str, str] = ("pair", "pairs"),
    has_training: bool = True,
) -> str:
    """Return the message to the worker: the figures, then graders' remarks up to the maximum length.

    ``noun`` is the singular and plural of what graders grade. ``has_training``: whether training follows.
    """
    passed = has_passed(score, rule)
    found = f"{noun[0]} was" if score.pairs == 1 else f"{noun[1]} were"
    sentences = [
        f"You {'passed' if passed else 'did not pass'} the qualification: {score.reasonable} of {score.pairs} "
        f"{found} found reasonable, and {_describe_minimum(rule.needed)}."
    ]
    if score.exam.total:
        requirement = f", and {_describe_minimum(rule.exam_needed)}" if rule.exam_needed else ""
        sentences.append(
            f"You answered {score.exam.right} of {score.exam.total} questions correctly{requirement}."
        )
    if not passed:
        sentences.append("You are paid in full either way.")
    elif has_training:
        sentences.append("You can be invited to training now.")
    else:
        sentences.append("Tasks for qualified workers are open to you now.")
    return _append_remarks_that_fit(" ".join(sentences), remarks, noun[0])


def _describe_minimum(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'} needed"


def _append_remarks_that_fit(text: str, remarks: Sequence[Remark], noun: str) -> str:
    for number, remark in enumerate(remarks):
        line = f" Photo {remark.photo}, {noun} {remark.pair}: {remark.text}"
        remaining = len(remarks) - number - 1
        more = f" ({remaining} more remark{'s' if remaining > 1 else ''} left out.)" if remaining else ""
        if len(text) + len(line) + len(more) > MAX_REASON_LENGTH:
            count = len(remarks) - number
            return f"{text} ({count} more remark{'s' if count > 1 else ''} left out.)"[:MAX_REASON_LENGTH]
        text += line
    return text
