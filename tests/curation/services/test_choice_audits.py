"""A question set's audits are stored with it; over a limit, only a written reason lets people solve it."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from curation.evaluation.choice_items import Stage, item_record, parse_item
from curation.models import AuditWaiver, QuestionSet
from curation.pipelines.choice_audits import audit_items, audit_question_set
from curation.selectors.choice_audits import current_waiver, launch_refusal
from curation.selectors.choice_items import question_set_items
from curation.services.choice_audits import request_choice_audits, store_audits, waive_audits
from hits.domain.tagged_text import tokenize_segments
from hits.models import AuditEvent, Project
from hits.services.errors import Conflict, Refused
from tests.support.vcr.question_sets import store_synthetic_set

pytestmark = pytest.mark.django_db
FOLDS = {"train-0": 24, "val-0": 22, "test-0": 20}
REASON = "The pilot only measures how long people need."


@pytest.fixture
def question_set(project: Project) -> QuestionSet:
    return store_synthetic_set(project, FOLDS).question_set


def test_items_of_a_set_have_the_published_tokens(question_set: QuestionSet) -> None:
    items = question_set_items(question_set)
    assert [(item.fold, item.match_index) for item in items] == [
        (fold, index) for fold in sorted(FOLDS) for index in range(FOLDS[fold])
    ]
    item = items[0]
    row = question_set.questions.get(fold=item.fold, match_index=0, stage=Stage.RATIONALE)
    assert row.label is not None
    fields = row.triplet.fields
    assert list(item.question) == [
        token if isinstance(token, str) else tuple(token)
        for token in tokenize_segments(fields["question"], closing="?")
    ]
    choices = item.stages[Stage.RATIONALE]
    assert choices.label == row.label
    assert choices.sources[row.label] == item.match_index
    assert choices.rounds[row.label] == 0
    assert item.right_answer == item.stages[Stage.ANSWER].responses[item.stages[Stage.ANSWER].label or 0]
    assert item.objects
    assert parse_item(json.loads(json.dumps(item_record(item))), "line 1") == item
    assert len(question_set_items(question_set, "val")) == FOLDS["val-0"]


def test_items_of_a_set_need_few_queries(
    question_set: QuestionSet, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(3):
        question_set_items(question_set)


def test_stage_that_was_set_aside_is_absent(question_set: QuestionSet) -> None:
    row = question_set.questions.filter(stage=Stage.ANSWER).order_by("pk")[:1].get()
    question_set.questions.filter(pk=row.pk).update(choices=[], label=None, set_aside="too few")
    item = next(item for item in question_set_items(question_set) if item.annot_id == row.annot_id)
    assert set(item.stages) == {Stage.RATIONALE}
    assert item.right_answer  # rationales are still chosen given the right answer


def test_audits_are_stored_with_the_set(question_set: QuestionSet) -> None:
    assert launch_refusal(question_set) == "set first: it is not audited yet; run audit_choices first"
    audits = audit_question_set(question_set)
    question_set.refresh_from_db()
    assert question_set.audits == audits == json.loads(json.dumps(audits))
    assert audits["questions"] == {"answer": 66, "rationale": 66}
    assert audits["sources"]["answer"]["times"] == {"3": 66}
    assert audits["tag_overlap"] == audit_items(question_set_items(question_set))["tag_overlap"]
    assert AuditEvent.objects.filter(action="question_set.audit").count() == 1


def _store_over(question_set: QuestionSet, **more: Any) -> None:
    store_audits(question_set=question_set, audits={"over": ["tag_overlap (answer)"], **more}, by=None)


def test_set_over_a_limit_is_refused_until_somebody_writes_why(
    question_set: QuestionSet, admin: User
) -> None:
    _store_over(question_set)
    assert "over the limit: tag_overlap (answer)" in str(launch_refusal(question_set))
    waiver = waive_audits(question_set=question_set, reason=f"  {REASON}\n", by=admin)
    assert (waiver.reason, waiver.by) == (REASON, admin)
    assert launch_refusal(question_set) is None
    assert waive_audits(question_set=question_set, reason=REASON, by=admin) == waiver
    assert AuditWaiver.objects.count() == 1
    newer = waive_audits(question_set=question_set, reason=f"{REASON} It is paid.", by=admin)
    assert current_waiver(question_set) == newer


def test_reason_counts_for_the_same_audits_only(question_set: QuestionSet, admin: User) -> None:
    _store_over(question_set)
    waive_audits(question_set=question_set, reason=REASON, by=admin)
    _store_over(question_set)
    assert launch_refusal(question_set) is None
    _store_over(question_set, questions={"answer": 65})
    assert launch_refusal(question_set) is not None


def test_set_within_its_limits_needs_no_reason(question_set: QuestionSet, admin: User) -> None:
    store_audits(question_set=question_set, audits={"over": []}, by=admin)
    assert launch_refusal(question_set) is None
    with pytest.raises(Conflict, match="no audit is over a limit"):
        waive_audits(question_set=question_set, reason=REASON, by=admin)


@pytest.mark.parametrize("reason", ["", "because I say so", "x" * 1001])
def test_reason_of_a_wrong_length_is_refused(question_set: QuestionSet, admin: User, reason: str) -> None:
    _store_over(question_set)
    with pytest.raises(Refused, match=f"reason: has {len(reason)} characters"):
        waive_audits(question_set=question_set, reason=reason, by=admin)
    assert not AuditWaiver.objects.exists()


def test_set_without_questions_is_refused(question_set: QuestionSet) -> None:
    question_set.questions.update(choices=[])
    for act in (
        lambda: request_choice_audits(question_set=question_set, by=None),
        lambda: audit_question_set(question_set),
    ):
        with pytest.raises(Refused, match="has no questions yet"):
            act()


def _run(*arguments: Any) -> dict[str, Any]:
    out = StringIO()
    call_command("audit_choices", *map(str, arguments), "--json", stdout=out, stderr=StringIO())
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


@pytest.mark.django_db(transaction=True)
def test_command_audits_a_set_as_a_job(question_set: QuestionSet) -> None:
    found = _run("--project", question_set.project.slug, "--set", "first")
    question_set.refresh_from_db()
    assert found["state"] == "done"
    assert {name: found[name] for name in question_set.audits} == question_set.audits


@pytest.mark.django_db(transaction=True)
def test_command_writes_a_changed_copy_of_a_set(question_set: QuestionSet, tmp_path: Any) -> None:
    out = tmp_path / "singular.jsonl"
    where = ("--project", question_set.project.slug, "--set", "first")
    found = _run(*where, "--perturb", "singular", "--out", out)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert 0 < len(records) == found["written"] < found["questions"] == 66
    assert {record["annot_id"] for record in records} <= set(
        question_set.questions.values_list("annot_id", flat=True)
    )


@pytest.mark.parametrize(
    ("name", "message"), [("other", "there is no such question set"), ("", "give --data FILE")]
)
def test_command_names_the_known_sets(question_set: QuestionSet, name: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("audit_choices", "--project", question_set.project.slug, "--set", name)
