"""Which explanations count: none of rejected work, no replaced gold, and none of a model that saw no premise."""

import pytest
from django.contrib.auth.models import User

from curation.models import ExplanationSource, TripletExplanation, VersionRow
from curation.selectors.triplets.explanations import judged_explanations
from curation.services.triplets.explanation_rounds import explanation_sources, take_in_crowd_explanations
from curation.services.triplets.judging import take_in_model_explanations
from curation.services.triplets.triplets import write_gold_explanation
from curation.services.versions import create_sealed_version
from hits.domain.states import AssignmentStatus
from hits.models import Assignment, Project, Submission
from tests.support import nleye_stored as stored
from tests.support.nleye_jobs import evaluate, sealed_triplets

pytestmark = pytest.mark.django_db


def reject(submission: Submission) -> str:
    """Reject a submitted answer, and return its explanation."""
    rows = Assignment.objects.filter(submission=submission)
    assert rows.update(status=AssignmentStatus.REJECTED) == 1
    return str(submission.answer["why"])


def test_an_explanation_of_rejected_work_is_neither_judged_nor_published(
    project: Project, researcher: User
) -> None:
    triplets = stored.store_triplets(project, 1, researcher)
    stored.explain(triplets, researcher)
    work = stored.judge(project, {triplets[0].public_id: ("right",) * 5}, researcher)
    assert take_in_crowd_explanations(project) == 5
    early = reject(work[0])
    (page,) = explanation_sources(project)
    assert early not in {row.text for row in page.source.explanations}
    assert len(page.source.explanations) == 4
    stored.judge_explanations(project, researcher, lambda ids: ids)
    late = reject(work[1])
    version = create_sealed_version(project=project, name="v1", by=researcher)
    rows = VersionRow.objects.filter(version=version)
    kept = {submission.answer["why"] for submission in work[2:]}
    assert set(rows.get(part="nleye_triplet").row["explanations"]) == kept
    published = {row.row["text"] for row in rows.filter(part="nleye_explanation", row__source="crowd")}
    assert published == kept
    assert not {early, late} & {found.row.text for found in judged_explanations(project)}
    Assignment.objects.filter(submission=work[1]).update(status=AssignmentStatus.APPROVED)
    (again,) = [found for found in judged_explanations(project) if found.row.text == late]
    assert again.votes.valid == 3, "approved after all, it counts with its votes"


def test_a_replaced_gold_explanation_is_not_published(project: Project, researcher: User) -> None:
    (triplet,) = stored.store_triplets(project, 1, researcher)
    for text in ("Lamps fall by themselves.", "The ball hit the lamp."):
        write_gold_explanation(triplet=triplet, text=text, by=researcher)
    gold = [row.row.text for row in judged_explanations(project)]
    assert gold == ["The ball hit the lamp."]
    assert triplet.explanations.count() == 2, "the history keeps both"


def test_explanations_of_a_model_without_the_premise_are_not_judged(
    project: Project, researcher: User
) -> None:
    sealed_triplets(project, 3, researcher)
    evaluate(project, strategy="hypotheses-only", seed=1)
    assert take_in_model_explanations(project) == 0
    assert not TripletExplanation.objects.filter(source=ExplanationSource.MODEL).exists()
