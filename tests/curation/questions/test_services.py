"""Accepting, rejecting and deleting question sets."""

import pytest
from django.contrib.auth.models import User

from curation.models import AuditWaiver, ChoiceEvaluation, Question, QuestionSet, QuestionSetState
from curation.selectors.questions import find_question_set, question_sets, stand_in_of_similarity
from curation.services.choice_audits import request_choice_audits, store_audits, waive_audits
from curation.services.questions import (
    accept_question_set,
    delete_question_set,
    reject_question_set,
    request_question_set,
)
from curation.services.versions import create_sealed_version
from hits.models import AuditEvent, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from tests.support.vcr.question_sets import store_question_set
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import make_synthetic_set

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(project: Project) -> QuestionSet:
    """Return a draft whose audits are within their limits."""
    synthetic = make_synthetic_set({"train-0": 6})
    records = store_triplets(project, synthetic.triplets)
    found = store_question_set(project, synthetic.triplets, records, state=QuestionSetState.DRAFT)
    store_audits(question_set=found, audits={"over": []}, by=None)
    return found


def state_of(found: QuestionSet) -> str:
    return QuestionSet.objects.get(pk=found.pk).state


def test_draft_is_accepted_and_rejected_again(draft: QuestionSet, researcher: User) -> None:
    accept_question_set(question_set=draft, by=researcher)
    accept_question_set(question_set=draft, by=researcher)
    assert state_of(draft) == QuestionSetState.ACCEPTED
    assert AuditEvent.objects.filter(action="question_set.accept").count() == 1, "a second time does nothing"
    reject_question_set(question_set=draft, by=researcher)
    assert state_of(draft) == QuestionSetState.DRAFT


def test_set_over_a_limit_is_accepted_only_with_a_written_reason(
    draft: QuestionSet, researcher: User
) -> None:
    store_audits(question_set=draft, audits={"over": ["tag_overlap (answer)"]}, by=None)
    with pytest.raises(Refused, match=r"over the limit: tag_overlap \(answer\)"):
        accept_question_set(question_set=draft, by=researcher)
    assert state_of(draft) == QuestionSetState.DRAFT
    waive_audits(question_set=draft, reason="A pilot that measures this leak itself.", by=researcher)
    accept_question_set(question_set=draft, by=researcher)
    assert state_of(draft) == QuestionSetState.ACCEPTED


def test_set_that_is_not_built_is_neither_accepted_nor_rejected(draft: QuestionSet) -> None:
    QuestionSet.objects.filter(pk=draft.pk).update(state=QuestionSetState.BUILDING)
    for act in (accept_question_set, reject_question_set):
        with pytest.raises(Conflict, match="is not built yet"):
            act(question_set=draft, by=None)


def test_draft_is_deleted_with_its_questions(draft: QuestionSet, researcher: User) -> None:
    delete_question_set(question_set=draft, by=researcher)
    assert not QuestionSet.objects.exists()
    assert not Question.objects.exists()


def test_set_that_something_depends_on_is_not_deleted(draft: QuestionSet, researcher: User) -> None:
    accept_question_set(question_set=draft, by=None)
    with pytest.raises(Conflict, match="is accepted; reject it first"):
        delete_question_set(question_set=draft, by=None)
    reject_question_set(question_set=draft, by=None)
    ChoiceEvaluation.objects.create(
        project=draft.project, question_set=draft, source="people", label="people"
    )
    with pytest.raises(Conflict, match="stays as their evidence"):
        delete_question_set(question_set=draft, by=None)
    assert draft.questions.count() == 12
    assert AuditWaiver.objects.count() == 0


def test_set_that_is_being_built_is_not_deleted(project: Project, draft: QuestionSet) -> None:
    job = request_question_set(project, "second")
    found = find_question_set(project, "second")
    assert found is not None
    with pytest.raises(Conflict, match="is being built; cancel the job first"):
        delete_question_set(question_set=found, by=None)
    jobs.cancel_job(job=job)
    delete_question_set(question_set=found, by=None)
    assert [row.name for row in question_sets(project)] == ["first"]


def test_set_of_a_sealed_version_is_not_deleted(draft: QuestionSet) -> None:
    """The version's export has the set's secret key, which is read by the set's name."""
    accept_question_set(question_set=draft, by=None)
    create_sealed_version(project=draft.project, name="v1", by=None)
    reject_question_set(question_set=draft, by=None)
    with pytest.raises(Conflict, match="version v1 has its questions, and needs its secret key"):
        delete_question_set(question_set=draft, by=None)
    assert draft.questions.count() == 12


def test_set_that_is_being_audited_is_not_deleted(draft: QuestionSet) -> None:
    job = request_choice_audits(question_set=draft, by=None, queue=False)
    with pytest.raises(Conflict, match="is being audited"):
        delete_question_set(question_set=draft, by=None)
    jobs.cancel_job(job=job)
    delete_question_set(question_set=draft, by=None)
    assert not QuestionSet.objects.exists()


def test_build_of_a_deleted_set_is_not_resumed(project: Project, draft: QuestionSet) -> None:
    job = request_question_set(project, "second")
    jobs.cancel_job(job=job)
    delete_question_set(question_set=QuestionSet.objects.get(name="second"), by=None)
    job.refresh_from_db()
    assert not job.resumable


def test_set_is_found_by_name_or_number(draft: QuestionSet) -> None:
    assert find_question_set(draft.project, "first") == draft
    assert find_question_set(draft.project, str(draft.pk)) == draft
    for name in ("none", "9" * 30, "9" * 5000, "²"):
        assert find_question_set(draft.project, name) is None


def test_stand_in_of_a_set_is_that_of_its_similarity_model() -> None:
    assert "stands in for" in stand_in_of_similarity(QuestionSet(options={"similarity": "vectors"}))
    assert stand_in_of_similarity(QuestionSet(options={"similarity": "nli:/models/bert"})) == ""
