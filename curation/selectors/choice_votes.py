"""Read what people chose in choice rounds, and how often their majority is right."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curation.evaluation.choices import correct_majorities
from curation.models import ChoiceRound
from curation.selectors.choice_rounds import annot_id_of_item, question_spec
from hits.models import Project, Unit
from validation.domain.reports.planner import wilson_interval
from validation.selectors.ratings import read_judgments

PERCENT = 100


@dataclass(frozen=True, slots=True)
class ItemVotes:
    """What people chose in one stage of a question: the chosen indices, and how many say that several are right."""

    annot_id: str
    label: int
    votes: tuple[int, ...]
    several: int = 0


def read_votes(project: Project, rounds: Sequence[ChoiceRound]) -> dict[int, list[ItemVotes]]:
    """Return by round the votes on its questions, without questions that nobody has answered; two queries.

    Rejected answers do not count.
    """
    by_batch = {row.batch_id: row.pk for row in rounds}
    labels = _labels_by_item(list(by_batch))
    found: dict[tuple[int, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in read_judgments(project=project, kind=question_spec().name, batches=list(by_batch)):
        if row.batch is not None:
            found[row.batch, row.item].append(row.answer)
    votes: dict[int, list[ItemVotes]] = {row.pk: [] for row in rounds}
    for (batch, item), answers in found.items():
        if item not in labels:
            continue
        annot_id, label = labels[item]
        chosen = tuple(int(answer["choice"]) for answer in answers)
        several = sum(answer.get("several") is True for answer in answers)
        votes[by_batch[batch]].append(ItemVotes(annot_id, label, chosen, several))
    return votes


def _labels_by_item(batches: Sequence[int]) -> dict[str, tuple[str, int]]:
    """Return the published id and the label of each launched question by the key of its unit; one query."""
    units = Unit.objects.filter(batch__in=batches).values_list("key", "payload__label")
    return {key: (annot_id_of_item(key), label) for key, label in units}


@dataclass(frozen=True, slots=True)
class PeopleFigures:
    """How often the majority of people is right, in percent, with Wilson's interval over the questions.

    ``expected`` counts 1/k where k choices have the most votes, the right one among them; ``first`` counts the first
    of them alone. ``single`` is the share of single answers that are right. In ``several`` questions most people say
    that another choice is right, too. Figures are ``None`` without questions.
    """

    questions: int
    answers: int
    expected: float | None
    low: float | None
    high: float | None
    first: float | None
    single: float | None
    several: int


def people_figures(votes: Sequence[ItemVotes]) -> PeopleFigures:
    """Return the figures of some questions of one stage."""
    answers = sum(len(item.votes) for item in votes)
    if not votes:
        return PeopleFigures(0, 0, None, None, None, None, None, 0)
    correct = correct_majorities([item.votes for item in votes], [item.label for item in votes])
    expected = float(correct.expected.mean())
    interval = wilson_interval(len(votes), expected)
    right = sum(item.votes.count(item.label) for item in votes)
    return PeopleFigures(
        questions=len(votes),
        answers=answers,
        expected=PERCENT * expected,
        low=PERCENT * interval.low,
        high=PERCENT * interval.high,
        first=PERCENT * float(correct.first.mean()),
        single=PERCENT * right / answers,
        several=sum(2 * item.several > len(item.votes) for item in votes),
    )


@dataclass(frozen=True, slots=True)
class JointFigures:
    """Q→AR of people in percent: the product of both majorities of each question, with Wilson's interval."""

    questions: int
    expected: float | None
    low: float | None
    high: float | None
    first: float | None


def joint_figures(answers: Sequence[ItemVotes], rationales: Sequence[ItemVotes]) -> JointFigures:
    """Return Q→AR over the questions that people answered in both stages."""
    first_stage = {item.annot_id: item for item in answers}
    second_stage = {item.annot_id: item for item in rationales}
    ids = sorted(first_stage.keys() & second_stage.keys())
    if not ids:
        return JointFigures(0, None, None, None, None)
    correct = [
        correct_majorities([stage[key].votes for key in ids], [stage[key].label for key in ids])
        for stage in (first_stage, second_stage)
    ]
    expected = float(np.mean(correct[0].expected * correct[1].expected))
    interval = wilson_interval(len(ids), expected)
    return JointFigures(
        questions=len(ids),
        expected=PERCENT * expected,
        low=PERCENT * interval.low,
        high=PERCENT * interval.high,
        first=PERCENT * float(np.mean(correct[0].first * correct[1].first)),
    )
