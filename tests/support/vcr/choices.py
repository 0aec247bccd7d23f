"""Choice rounds of small question sets, and people who choose."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from curation.models import ChoiceRound, QuestionSet, QuestionSetState, Stage
from curation.services.choice_rounds import ChoiceRoundOptions, launch_choice
from hits.models import Hit, Project, Unit
from tests.support.judging.work import Work
from tests.support.vcr.question_sets import store_question_set
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import make_synthetic_set

FOLDS = {"train-0": 8, "val-0": 6, "test-0": 6}
CLEAN: dict[str, Any] = {"questions": {"answer": 20, "rationale": 20}, "over": []}
OVER = CLEAN | {"over": ["longest (answer)"]}


def small_set(
    project: Project, *, audits: dict[str, Any] = CLEAN, repeat_objects: int = 1, **options: Any
) -> QuestionSet:
    """Store a draft set of twenty questions that was audited.

    Args:
        audits: its audits.
        repeat_objects: how often the object list of each image is repeated.
        options: those that it was built with.
    """
    made = make_synthetic_set(FOLDS).triplets
    triplets = [replace(row, objects=row.objects * repeat_objects) for row in made]
    records = store_triplets(project, triplets)
    found = store_question_set(project, triplets, records, state=QuestionSetState.DRAFT)
    found.options = {"similarity": "nli:folder", "lambda_answer": 0.1, "lambda_rationale": 0.01} | options
    found.audits = audits
    found.save(update_fields=["options", "audits"])
    return found


def launched_round(
    work: Work, question_set: QuestionSet, stage: Stage = Stage.ANSWER, **options: Any
) -> ChoiceRound:
    """Launch a round, and let the marketplace have it."""
    chosen = ChoiceRoundOptions(stage=stage, **({"sample": 4} | options))
    round_, _ = launch_choice(question_set=question_set, options=chosen, by=None)
    work.publish(round_.batch)
    return round_


def unit_hits(round_: ChoiceRound) -> list[tuple[Unit, Hit]]:
    """Return the units of a round with their HITs, in the order of their triplets."""
    units = Unit.objects.filter(batch=round_.batch)
    return sorted(((unit, unit.hits.get()) for unit in units), key=lambda row: row[0].payload["triplet"])


def choose(
    work: Work, round_: ChoiceRound, rights: Sequence[Sequence[bool]], *, names: str = "J", **more: Any
) -> None:
    """Let people choose: for each question whether each of them is right. Wrong ones take the next choice."""
    for (unit, hit), answers in zip(unit_hits(round_), rights, strict=True):
        for number, is_right in enumerate(answers):
            label = unit.payload["label"]
            answer = {"choice": label if is_right else (label + 1) % 4, **more}
            work.answered(hit, f"{names}{number}", answer)
