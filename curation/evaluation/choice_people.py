"""How right the majority of people is, on each stage and on both (Zellers et al. 2019 §6 and appendix G)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_items import Stage
from curation.evaluation.choices import CHOICES_TASK, PERCENT, correct_majorities, measure_figures, most_voted


@dataclass(frozen=True, slots=True)
class StageVotes:
    """The votes of people on one stage of n items.

    images: the image of each item. votes: the responses that people chose. labels: the right ones.
    """

    ids: tuple[str, ...]
    images: tuple[str, ...]
    votes: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]


def majority_figures(stages: Mapping[Stage, StageVotes], *, rng: np.random.Generator) -> dict[str, Any]:
    """Return ``choices`` and ``people`` for the majority of people.

    Different people solve the two stages of an item, so its Q→AR is the product of both. ``choices`` gives
    each of k most voted responses 1/k; ``people`` has the accuracies if the first of them counts (``first_on_ties``,
    in percent), the number of judgments, of items by measure, and of items with a tie.
    """
    correct = {stage: correct_majorities(found.votes, found.labels) for stage, found in stages.items()}
    rows = {stage: {name: row for row, name in enumerate(found.ids)} for stage, found in stages.items()}
    answers, rationales = rows.get(Stage.ANSWER, {}), rows.get(Stage.RATIONALE, {})
    both = [name for name in answers if name in rationales]
    measured: dict[str, tuple[NDArray[np.float64], Sequence[str]]] = {}
    first: dict[str, NDArray[np.float64]] = {}
    for measure, stage in (("q_a", Stage.ANSWER), ("qa_r", Stage.RATIONALE)):
        if stage in stages:
            measured[measure] = (correct[stage].expected, stages[stage].images)
            first[measure] = correct[stage].first
    if both:
        pair = [[answers[name] for name in both], [rationales[name] for name in both]]
        correct_answers, correct_rationales = correct[Stage.ANSWER], correct[Stage.RATIONALE]
        images = [stages[Stage.ANSWER].images[row] for row in pair[0]]
        measured["q_ar"] = (correct_answers.expected[pair[0]] * correct_rationales.expected[pair[1]], images)
        first["q_ar"] = correct_answers.first[pair[0]] * correct_rationales.first[pair[1]]
    votes = [chosen for found in stages.values() for chosen in found.votes]
    people = {
        "first_on_ties": {name: PERCENT * float(found.mean()) for name, found in first.items()},
        "judgments": sum(map(len, votes)),
        "ties": sum(len(most_voted(chosen)) > 1 for chosen in votes),
    }
    return {CHOICES_TASK: measure_figures(measured, rng=rng), "people": people}
