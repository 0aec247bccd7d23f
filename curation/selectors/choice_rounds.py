"""Read choice rounds: which questions can be launched, which figures exist already, and the progress of a round."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Count, QuerySet

from curation.evaluation.choice_checks import near_copies
from curation.evaluation.choice_items import stage_questions
from curation.models import ChoiceRound, Question, QuestionSet, Stage
from curation.selectors.choice_items import CHUNK_SIZE, built_questions, make_items
from curation.selectors.questions import set_triplets
from hits.models import Project
from hits.selectors.records import id_chunks
from validation.domain.judging.spec import JudgingSpec, Material
from validation.registry import spec_for_material
from validation.selectors.ratings import counted_assignment_filter


def question_spec() -> JudgingSpec:
    """Return the spec of the kind that answers multiple-choice questions."""
    return spec_for_material(Material.QUESTIONS)


def item_id(question: Question) -> str:
    """Return the id of a question's unit, such as ``12-val-17-answer``: unique over sets and stages."""
    return _item_id(question.question_set_id, question.annot_id, question.stage)


def _item_id(question_set_id: int, annot_id: str, stage: str) -> str:
    return f"{question_set_id}-{annot_id}-{stage}"


def annot_id_of_item(item: str) -> str:
    """Return the published id of a question from the id of its unit."""
    return item.split("-", 1)[1].rsplit("-", 1)[0]


class LaunchableQuestion(NamedTuple):
    """A question that can be launched, with the published id of its triplet."""

    pk: int
    instance_id: str


def launchable_questions(
    question_set: QuestionSet, stage: Stage, split: str = ""
) -> list[LaunchableQuestion]:
    """Return the questions that no round of the stage has launched.

    They have choices in both stages, so that the figures of both can be combined. Their triplets, and those that
    the choices of both stages were written for, are still approved, and no photo of them was taken down: versions
    hold only such questions, and the same seed draws the same ones for both stages.
    """
    rows = built_questions(question_set, split)
    complete = rows.values("triplet").annotate(stages=Count("pk")).filter(stages=len(Stage)).values("triplet")
    usable = set_triplets(question_set.project).order_by().values("pk")
    rows = rows.filter(stage=stage.value, label__isnull=False, triplet__in=complete)
    rows = rows.filter(triplet__in=usable)
    launched, lost = _launched_items(question_set, stage), _triplets_that_lost_a_choice(question_set)
    found = rows.order_by("fold", "match_index").values_list(
        "pk", "triplet", "triplet__instance_id", "annot_id"
    )
    return [
        LaunchableQuestion(pk, instance_id)
        for pk, triplet, instance_id, annot_id in found
        if _item_id(question_set.pk, annot_id, stage.value) not in launched and triplet not in lost
    ]


def _triplets_that_lost_a_choice(question_set: QuestionSet) -> set[int]:
    """Return the triplets with a choice, in any stage, that is not approved any more or is on a taken-down photo."""
    rows = Question.objects.filter(question_set=question_set).order_by()
    usable = set_triplets(question_set.project).order_by().values("pk")
    lost: dict[str, set[int]] = defaultdict(set)
    for fold, index in rows.exclude(triplet__in=usable).values_list("fold", "match_index"):
        lost[fold].add(index)
    choices = rows.filter(fold__in=lost).values_list("triplet", "fold", "choices")
    return {
        triplet
        for triplet, fold, found in choices.iterator(chunk_size=CHUNK_SIZE)
        if not lost[fold].isdisjoint(choice["source"] for choice in found)
    }


def _launched_items(question_set: QuestionSet, stage: Stage) -> set[str]:
    rounds = ChoiceRound.objects.filter(question_set=question_set, stage=stage.value)
    return set(rounds.values_list("batch__units__key", flat=True)) - {None}


def triplet_ids_by_match_index(
    question_set: QuestionSet, stage: Stage, questions: Sequence[Question]
) -> dict[tuple[str, int], str]:
    """Return the published ids of the triplets that responses come from, by fold and match index."""
    indices: dict[str, set[int]] = defaultdict(set)
    for question in questions:
        indices[question.fold].update(choice["source"] for choice in question.choices)
    stored = Question.objects.filter(question_set=question_set, stage=stage.value).order_by()
    found: dict[tuple[str, int], str] = {}
    for fold, match_indices in indices.items():
        for chunk in id_chunks(sorted(match_indices)):
            rows = stored.filter(fold=fold, match_index__in=chunk)
            found |= {
                (fold, index): name for index, name in rows.values_list("match_index", "triplet__instance_id")
            }
    return found


def count_relevance_right(questions: Sequence[Question]) -> list[int]:
    """Return in how many questions P_rel scores the right choice highest, and how many it scored; ties are wrong."""
    right = scored = 0
    for row in questions:
        scores = [choice.get("relevance") for choice in row.choices]
        if row.label is None or any(score is None for score in scores):
            continue
        scored += 1
        right += all(score < scores[row.label] for n, score in enumerate(scores) if n != row.label)
    return [right, scored]


def count_copies(stage: Stage, questions: Sequence[Question]) -> dict[str, int]:
    """Return how many questions have a wrong choice that is a near copy, or the same words, as the right one."""
    listing = near_copies(stage_questions(make_items(questions), stage))
    near = {case["annot_id"] for case in listing.cases}
    verbatim = {case["annot_id"] for case in listing.cases if case["jaccard"] == 1}
    return {"near": len(near), "verbatim": len(verbatim)}


def choice_rounds(project: Project) -> "QuerySet[ChoiceRound]":
    """Return the project's choice rounds, newest first."""
    rows = ChoiceRound.objects.filter(question_set__project=project)
    return rows.select_related("question_set", "batch").order_by("-pk")


def round_progress(rounds: Sequence[ChoiceRound]) -> dict[int, tuple[int, int]]:
    """Return by round the received answers, and the required ones; one query."""
    rows = ChoiceRound.objects.filter(pk__in=[row.pk for row in rounds]).annotate(
        units=Count("batch__units", distinct=True),
        received=Count(
            "batch__units__hits__assignments",
            filter=counted_assignment_filter("batch__units__hits__assignments__"),
            distinct=True,
        ),
    )
    found = rows.values_list("pk", "received", "units", "batch__redundancy")
    return {pk: (received, units * redundancy) for pk, received, units, redundancy in found}
