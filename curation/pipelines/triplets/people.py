"""People's figures on a sealed version: their choices, their ratings of pairs, and their explanations."""

from collections.abc import Sequence
from typing import Any

from curation.evaluation.nleye_explanations import JudgedExplanation, explanation_figures
from curation.evaluation.nleye_people import RatedTriplet, people_figures, rating_figures
from curation.models import ExplanationSource, TripletEvaluation
from curation.selectors.triplets.answers import PersonAnswer, people_answers
from curation.selectors.triplets.evaluations import EvaluatedTriplet
from curation.selectors.triplets.explanations import judged_explanations
from curation.selectors.triplets.people import judged_triplets
from curation.services.triplets.evaluations import finish_evaluation
from validation.domain.judging.triplet_shapes import Shape

PEOPLE = "people"


def evaluate_people(evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]) -> dict[str, Any]:
    """Compute people's figures on the triplets of a version, and store them."""
    project = evaluation.project
    choices = people_answers(project)
    ratings = people_answers(project, [Shape.TRIPLET, Shape.PAIR])
    judged = judged_triplets(triplets, choices)
    figures = people_figures(judged)
    figures["ratings"] = rating_figures([_rated(row, ratings.get(row.id, ())) for row in triplets])
    figures["explanations"] = explanation_figures(_judged_explanations(evaluation, triplets))
    finish_evaluation(evaluation=evaluation, figures=figures, provenance={})
    return {"evaluation": evaluation.pk, "triplets": len(triplets), "judged": figures[PEOPLE]["judged"]}


def _rated(row: EvaluatedTriplet, answers: Sequence[PersonAnswer]) -> RatedTriplet:
    """Return the ratings of both hypotheses, one row a person; a pair's task has one of them."""
    by_person: dict[Any, dict[str, int]] = {}
    for number, answer in enumerate(answers):
        by_person.setdefault(answer.worker or f"imported {number}", {}).update(answer.ratings)
    return RatedTriplet(
        row.id,
        row.row["gold"],
        tuple((rated.get("h1"), rated.get("h2")) for rated in by_person.values() if rated),
    )


def _judged_explanations(
    evaluation: TripletEvaluation, triplets: Sequence[EvaluatedTriplet]
) -> list[JudgedExplanation]:
    """Return the judged explanations of people and models; gold ones and those of imports are not judged."""
    ids = {row.id for row in triplets}
    return [
        JudgedExplanation(_source_label(found.row), found.votes.valid, found.votes.voters)
        for found in judged_explanations(evaluation.project)
        if found.row.triplet.public_id in ids
        and found.row.source in {ExplanationSource.CROWD, ExplanationSource.MODEL}
    ]


def _source_label(row: Any) -> str:
    if row.source == ExplanationSource.CROWD:
        return PEOPLE
    evaluation = row.prediction.evaluation
    return f"{evaluation.label}, {evaluation.strategy}" if evaluation.strategy else evaluation.label
