"""Measures of multiple-choice questions: Q→A, QA→R and Q→AR, for models and for people.

A model chooses the first of its highest scores. A rationale is chosen given the right answer, whatever the model
answered; Q→AR needs both (Zellers et al. 2019 §5, doi:10.1109/CVPR.2019.00688; ``models/README.md`` and
``models/eval_q2ar.py`` of rowanz/r2c). Chance is 25, 25 and 6.25 %.

The figures of an evaluation, as plain JSON:

    {"choices": {"q_a": F, "qa_r": F, "q_ar": F, "questions": n, "images": m, "counts": {...}, "chance": {...}},
     "rounds": {"answer": R, "rationale": R}, "joint": {"answer": L, "rationale": L}, "drops": {name: D},
     "people": {...}}

F is ``{"value", "low", "high"}`` in percent, see ``intervals.Figure``. R, L and D are described at ``round_figures``,
``joint_lift`` and ``drop_figures``, those of people at ``choice_people.majority_figures``; each may be absent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_items import CHOICES, ChoiceItem, Stage, StageChoices
from curation.evaluation.intervals import ratio_figure
from curation.records import InvalidInput

MATCH_ROUNDS = (1, 2, 3)
PERCENT = 100.0
MEASURE_NAMES = ("q_a", "qa_r", "q_ar")
CHANCE: Mapping[str, float] = {"q_a": 25.0, "qa_r": 25.0, "q_ar": 6.25}
CHOICES_TASK = "choices"


@dataclass(frozen=True, slots=True)
class StageKey:
    """The right responses of n questions in one stage, and where the four responses come from.

    labels: (n,) positions from 0 to 3. sources: (n, 4) the match index of the question that each response was written
    for. rounds: (n, 4) 0 for the right response, else its match round. Both are -1 where they are not known.
    """

    labels: NDArray[np.int64]
    sources: NDArray[np.int64]
    rounds: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChoiceKey:
    """The right responses of n questions.

    ids: distinct. images: the image of each question. folds: its match fold, or empty.
    """

    ids: tuple[str, ...]
    images: tuple[str, ...]
    folds: tuple[str, ...]
    stages: Mapping[Stage, StageKey]

    @classmethod
    def from_items(cls, items: Sequence[ChoiceItem]) -> "ChoiceKey":
        """Return the key of the items whose labels are known in both stages."""
        known = [item for item in items if all(_label(item, stage) is not None for stage in Stage)]
        return cls.from_rows(
            [item.annot_id for item in known],
            [item.image for item in known],
            [item.fold for item in known],
            {stage: [item.stages[stage] for item in known] for stage in Stage},
        )

    @classmethod
    def from_rows(
        cls,
        ids: Sequence[str],
        images: Sequence[str],
        folds: Sequence[str],
        choices: Mapping[Stage, Sequence[StageChoices]],
    ) -> "ChoiceKey":
        """Return the key of questions whose labels are known; their responses may be left out."""
        stages = {stage: _stage_key(rows) for stage, rows in choices.items()}
        return cls(tuple(ids), tuple(images), tuple(folds), stages)

    @property
    def answers(self) -> NDArray[np.int64]:
        """The position of each right answer: (n,)."""
        return self.stages[Stage.ANSWER].labels

    @property
    def rationales(self) -> NDArray[np.int64]:
        """The position of each right rationale: (n,)."""
        return self.stages[Stage.RATIONALE].labels

    def take(self, rows: Sequence[int]) -> "ChoiceKey":
        """Return the key of some of the questions, in the given order."""
        index = np.asarray(rows, dtype=np.int64)
        return ChoiceKey(
            tuple(self.ids[row] for row in rows),
            tuple(self.images[row] for row in rows),
            tuple(self.folds[row] for row in rows),
            {
                stage: StageKey(found.labels[index], found.sources[index], found.rounds[index])
                for stage, found in self.stages.items()
            },
        )


def _label(item: ChoiceItem, stage: Stage) -> int | None:
    return item.stages[stage].label if stage in item.stages else None


def _stage_key(rows: Sequence[StageChoices]) -> StageKey:
    unknown = (-1,) * CHOICES
    return StageKey(
        labels=np.array([row.label for row in rows], dtype=np.int64),
        sources=np.array([row.sources or unknown for row in rows], dtype=np.int64).reshape(-1, CHOICES),
        rounds=np.array([row.rounds or unknown for row in rows], dtype=np.int64).reshape(-1, CHOICES),
    )


@dataclass(frozen=True, slots=True)
class ChoicePredictions:
    """Scores of n questions; higher is better.

    answers: (n, 4). rationales: (n, 4, 4), for each answer the scores of the rationales given that answer.
    """

    answers: NDArray[np.float64]
    rationales: NDArray[np.float64]

    def take(self, rows: Sequence[int]) -> "ChoicePredictions":
        """Return the scores of some of the questions, in the given order."""
        index = np.asarray(rows, dtype=np.int64)
        return ChoicePredictions(self.answers[index], self.rationales[index])


@dataclass(frozen=True, slots=True)
class CorrectChoices:
    """Which of n questions are right in each stage: (n,) shares from 0 to 1."""

    answers: NDArray[np.float64]
    rationales: NDArray[np.float64]

    @property
    def q_ar(self) -> NDArray[np.float64]:
        """Which are right in both stages: the product of these."""
        return self.answers * self.rationales

    def by_measure(self) -> dict[str, NDArray[np.float64]]:
        """Return which questions are right by measure, in the order of tables."""
        return dict(zip(MEASURE_NAMES, (self.answers, self.rationales, self.q_ar), strict=True))


def stage_scores(predictions: ChoicePredictions, key: ChoiceKey) -> dict[Stage, NDArray[np.float64]]:
    """Return the scores that count in each stage, (n, 4); of rationales those given the right answer alone."""
    rationales = predictions.rationales[np.arange(len(key.ids)), key.answers]
    return {Stage.ANSWER: predictions.answers, Stage.RATIONALE: rationales}


def correct_choices(predictions: ChoicePredictions, key: ChoiceKey) -> CorrectChoices:
    """Return which questions are right; of equal highest scores the first counts, as in the published scorer.

    Raises:
        InvalidInput: the predictions are of another number of questions.
    """
    n = len(key.ids)
    if predictions.answers.shape != (n, CHOICES) or predictions.rationales.shape != (n, CHOICES, CHOICES):
        raise InvalidInput(f"predictions: they are not of the key's {n} questions; give one row for each")
    right = {
        stage: correct_positions(scores, key.stages[stage].labels)
        for stage, scores in stage_scores(predictions, key).items()
    }
    return CorrectChoices(right[Stage.ANSWER], right[Stage.RATIONALE])


def correct_positions(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 where the first of the highest of four scores is the right one, else 0: (n,)."""
    return (scores.argmax(axis=1) == labels).astype(np.float64)


def accuracies(correct: CorrectChoices) -> dict[str, float | None]:
    """Return Q→A, QA→R and Q→AR as shares from 0 to 1; None without questions."""
    return {name: float(found.mean()) if len(found) else None for name, found in correct.by_measure().items()}


def choice_figures(
    correct: CorrectChoices, images: Sequence[str], *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the figures of the three measures over the same questions; see ``measure_figures``.

    Args:
        images: the image of each question.
    """
    return measure_figures({name: (found, images) for name, found in correct.by_measure().items()}, rng=rng)


def measure_figures(
    measured: Mapping[str, tuple[NDArray[np.float64], Sequence[str]]], *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the figures of measures in percent, with bootstrap intervals over images.

    The questions of an image hang together, so whole images are drawn.

    Args:
        measured: by measure, which of its questions are right (n,), and the image of each.
    """
    figures: dict[str, Any] = {}
    for name, (found, images) in measured.items():
        rows = {image: row for row, image in enumerate(dict.fromkeys(images))}
        groups = np.array([rows[image] for image in images], dtype=np.int64)
        figures[name] = ratio_figure(PERCENT * found, groups, rng=rng).as_json()
    counts = {name: len(images) for name, (_, images) in measured.items()}
    all_images = {image for _, images in measured.values() for image in images}
    totals = {"questions": max(counts.values(), default=0), "images": len(all_images)}
    return figures | totals | {"counts": counts, "chance": dict(CHANCE)}


def round_figures(
    scores: NDArray[np.float64], labels: NDArray[np.int64], rounds: NDArray[np.int64]
) -> dict[str, Any]:
    """Return which wrong responses a model chooses, by their match round, in percent of the questions.

    ``{"1": {"chosen", "right_above"}, "2": …, "3": …, "questions": n}``. chosen: it chose the wrong response of this
    round. right_above: it scored the right response higher than the one of this round; ties count half. A model that
    is fooled more by late rounds finds texts that were matched with less freedom.

    Args:
        scores: (n, 4). labels: (n,). rounds: (n, 4), 0 at the label.
    """
    rows = np.arange(len(labels))
    chosen = rounds[rows, scores.argmax(axis=1)] if len(labels) else np.zeros(0, dtype=np.int64)
    right = scores[rows, labels]
    found: dict[str, Any] = {"questions": len(labels)}
    for number in MATCH_ROUNDS:
        row, column = np.nonzero(rounds == number)
        wrong = scores[row, column]
        above = (right[row] > wrong) + 0.5 * (right[row] == wrong)
        found[str(number)] = {
            "chosen": PERCENT * float((chosen == number).mean()) if len(labels) else None,
            "right_above": PERCENT * float(above.mean()) if len(above) else None,
        }
    return found


def stage_round_figures(key: ChoiceKey, predictions: ChoicePredictions) -> dict[str, Any]:
    """Return ``round_figures`` of both stages, over the questions whose match rounds are known."""
    found: dict[str, Any] = {}
    for stage, scores in stage_scores(predictions, key).items():
        known = key.stages[stage]
        rows = np.flatnonzero((known.rounds >= 0).all(axis=1))
        if len(rows):
            found[stage.value] = round_figures(scores[rows], known.labels[rows], known.rounds[rows])
    return found


@dataclass(frozen=True, slots=True)
class CorrectMajorities:
    """How right the majority of people is, for n items: (n,) each.

    first: 1 where the first of the most voted responses is right. expected: 1/k where the right one is among k most
    voted ones; it is the accuracy of a random choice among them.
    """

    first: NDArray[np.float64]
    expected: NDArray[np.float64]


def most_voted(votes: Sequence[int]) -> list[int]:
    """Return the responses with the most votes, in ascending order; without votes, none."""
    counts = np.bincount(np.asarray(votes, dtype=np.int64), minlength=CHOICES) if votes else np.zeros(CHOICES)
    return [index for index, count in enumerate(counts.tolist()) if count and count == counts.max()]


def correct_majorities(votes: Sequence[Sequence[int]], labels: Sequence[int]) -> CorrectMajorities:
    """Return how right the majority is in each item, with both readings of equal votes.

    Args:
        votes: of each item, the responses that people chose. labels: the right responses.

    Raises:
        InvalidInput: an item has no vote.
    """
    first, expected = [], []
    for number, (chosen, label) in enumerate(zip(votes, labels, strict=True)):
        best = most_voted(chosen)
        if not best:
            raise InvalidInput(f"votes: item {number} has none; leave it out")
        first.append(float(best[0] == label))
        expected.append(1 / len(best) if label in best else 0.0)
    return CorrectMajorities(np.array(first), np.array(expected))


def drop_figures(
    key: ChoiceKey,
    predictions: ChoicePredictions,
    changed_ids: Sequence[str],
    changed_predictions: ChoicePredictions,
) -> dict[str, Any]:
    """Return by how much a model loses on changed copies of some questions, in percent.

    ``{"questions": n, "q_a": {"before", "after", "drop"}, "qa_r": …, "q_ar": …}``, all over the changed questions.

    Args:
        changed_ids: the questions that have a copy. changed_predictions: the scores of these copies, in this order.

    Raises:
        InvalidInput: a copy is of a question that the key does not have, or there is none.
    """
    rows = {name: row for row, name in enumerate(key.ids)}
    unknown = [name for name in changed_ids if name not in rows]
    if unknown or not changed_ids:
        problem = (
            f"{unknown[0]!r} is not a question of the key" if unknown else "there are no changed questions"
        )
        raise InvalidInput(f"changed copy: {problem}; use the copy of this set")
    chosen = [rows[name] for name in changed_ids]
    own = key.take(chosen)
    before = accuracies(correct_choices(predictions.take(chosen), own))
    after = accuracies(correct_choices(changed_predictions, own))
    found: dict[str, Any] = {"questions": len(chosen)}
    for name in MEASURE_NAMES:
        first, second = PERCENT * (before[name] or 0.0), PERCENT * (after[name] or 0.0)
        found[name] = {"before": first, "after": second, "drop": first - second}
    return found


def joint_lift(correct: NDArray[np.float64], joint: NDArray[np.float64]) -> dict[str, float | None]:
    """Return by how much the choice of all of a fold together lifts a model's accuracy, in percent.

    Each response is right once, so inference across questions gains without any image (the rules of the leaderboard
    forbid it).

    Args:
        correct, joint: (n,) which questions are right, if chosen one by one and if chosen together.
    """
    alone = PERCENT * float(correct.mean()) if len(correct) else None
    together = PERCENT * float(joint.mean()) if len(joint) else None
    lift = together - alone if alone is not None and together is not None else None
    return {"alone": alone, "together": together, "lift": lift}
