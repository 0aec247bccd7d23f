"""Choice rounds: what is launched and refused, who may choose, and how often people are right."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.models import ChoiceRound, Question, QuestionSet, QuestionSetState, Stage
from curation.selectors.choice_rounds import launchable_questions, round_progress
from curation.selectors.choice_votes import ItemVotes, joint_figures, people_figures, read_votes
from curation.services.choice_audits import waive_audits
from curation.services.choice_rounds import ChoiceRoundOptions, launch_choice
from hits.domain.images.unit_objects import MAX_OBJECTS
from hits.models import Attempt, Hit, Image, Record, Unit, Worker
from hits.selectors.eligibility.limits import unit_taken_refusals
from hits.selectors.eligibility.own_work import is_excluded
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work
from tests.support.market import fund
from tests.support.vcr.choices import OVER, choose, launched_round, small_set, unit_hits
from tests.support.vcr.judged import review_unit
from tests.support.vcr.reviews import review_answer
from validation.selectors.work_reviews import reviewers_by_record
from validation.services.report import compute_report

pytestmark = pytest.mark.django_db
REASON = "We only try the pages with this set."


def refusal(question_set: QuestionSet, **options: Any) -> str:
    with pytest.raises(Refused) as caught:
        launch_with(question_set, {"stage": Stage.ANSWER, "sample": 4} | options)
    return str(caught.value)


def launch_with(question_set: QuestionSet, options: dict[str, Any]) -> None:
    launch_choice(question_set=question_set, options=ChoiceRoundOptions(**options), by=None)


def test_units_show_the_questions_of_the_set(work: Work) -> None:
    question_set = small_set(work.project)
    round_ = launched_round(work, question_set)
    assert (round_.batch.redundancy, round_.options["questions"], round_.options["lambda"]) == (5, 4, 0.1)
    for unit, _ in unit_hits(round_):
        question = Question.objects.get(triplet__instance_id=unit.payload["triplet"], stage="answer")
        assert unit.key == f"{question_set.pk}-{question.annot_id}-answer"
        assert unit.payload["label"] == question.label
        assert [row["text"] for row in unit.payload["choices"]] == [row["text"] for row in question.choices]
        assert unit.payload["choices"][question.label]["record"] == unit.payload["triplet"]
        assert unit.payload["answer"] is None
        assert not unit.payload["several_allowed"]


def test_units_leave_out_the_objects_that_workers_never_saw(work: Work) -> None:
    round_ = launched_round(work, small_set(work.project, repeat_objects=MAX_OBJECTS))
    assert [len(unit.payload["objects"]) for unit, _ in unit_hits(round_)] == [MAX_OBJECTS] * 4


def test_rationales_come_with_the_right_answer_and_the_same_triplets(work: Work) -> None:
    question_set = small_set(work.project)
    answers, rationales = (launched_round(work, question_set, stage) for stage in Stage)
    assert [unit.payload["triplet"] for unit, _ in unit_hits(answers)] == [
        unit.payload["triplet"] for unit, _ in unit_hits(rationales)
    ]
    for unit, _ in unit_hits(rationales):
        triplet = Record.objects.get(instance_id=unit.payload["triplet"])
        assert unit.payload["answer"] == triplet.fields["answer"]


def test_authors_of_all_shown_texts_never_choose(work: Work) -> None:
    round_ = launched_round(work, small_set(work.project))
    for unit, _ in unit_hits(round_):
        shown = {unit.payload["triplet"], *(row["record"] for row in unit.payload["choices"])}
        assert len(shown) == 4
        records = Record.objects.filter(instance_id__in=shown).select_related("submission__attempt__worker")
        authors = {row.submission.attempt.worker for row in records if row.submission}
        assert set(unit.excluded_workers.all()) == authors
        assert all(is_excluded(author, unit) for author in authors)


def test_reviewers_of_shown_texts_never_choose(work: Work, django_assert_num_queries: Any) -> None:
    """A review shows the right answer; neither who submitted it nor who only opened it may choose."""
    question_set = small_set(work.project)
    record = question_set.questions.select_related("triplet__image")[0].triplet
    send_to_reviewers(work, record, "REVIEWER", "LOOKED-ONLY")
    known = {"REVIEWER", "LOOKED-ONLY"}
    submission = Record.objects.filter(submission=record.submission)
    reviewed = set(submission.values_list("instance_id", flat=True))
    for stage in Stage:
        for unit, _ in unit_hits(launched_round(work, question_set, stage, sample=None)):
            shown = {unit.payload["triplet"], *(row["record"] for row in unit.payload["choices"])}
            excluded = set(unit.excluded_workers.values_list("worker_id", flat=True))
            assert excluded & known == (known if reviewed & shown else set())
    ids = list(Record.objects.values_list("instance_id", flat=True))
    with django_assert_num_queries(2):
        found = reviewers_by_record(work.project, ids)
    assert set(found) == reviewed


def send_to_reviewers(work: Work, record: Record, reviewer: str, looking: str) -> None:
    """Let one worker review a record's submission, and another one open the review only."""
    assert record.image is not None
    assert record.submission_id is not None
    unit = PlannedUnit(record.submission_id.hex, review_unit(record.image))
    terms = LaunchTerms(redundancy=2)
    batch, _ = launch_batch(
        project=work.project, kind_name="work_review", name="Review", units=[unit], by=None, terms=terms
    )
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    work.answered(hit, reviewer, review_answer())
    worker = Worker.objects.create(environment="local", worker_id=looking)
    Attempt.objects.create(hit=hit, assignment_id="OPENED", worker=worker)


def test_stages_of_a_question_go_to_different_people(work: Work) -> None:
    question_set = small_set(work.project)
    answers, rationales = (launched_round(work, question_set, stage) for stage in Stage)
    (unit, hit), *_ = unit_hits(answers)
    work.answered(hit, "J1", {"choice": 0})
    judge = Worker.objects.get(worker_id="J1")
    for other, other_hit in unit_hits(rationales):
        is_same = other.payload["triplet"] == unit.payload["triplet"]
        assert bool(unit_taken_refusals(judge, other_hit)) == is_same
    copy = small_copy(question_set)
    for other, other_hit in unit_hits(launched_round(work, copy)):
        assert bool(unit_taken_refusals(judge, other_hit)) == (
            other.payload["triplet"] == unit.payload["triplet"]
        )


def small_copy(question_set: QuestionSet) -> QuestionSet:
    """Return a second set of the same questions, as another λ may give it."""
    rows = list(question_set.questions.all())
    question_set.pk, question_set.name, question_set._state.adding = None, "second", True
    question_set.save()
    for row in rows:
        row.pk, row.question_set = None, question_set
    Question.objects.bulk_create(rows)
    return question_set


def test_questions_are_launched_once_per_stage_and_only_complete_ones(work: Work) -> None:
    question_set = small_set(work.project)
    removed = question_set.questions.filter(stage="rationale").order_by("pk")[0]
    Question.objects.filter(pk=removed.pk).update(choices=[], label=None, set_aside="no match")
    taken_down = question_set.questions.exclude(triplet=removed.triplet)[0].triplet.image
    assert taken_down is not None
    Image.objects.filter(pk=taken_down.pk).update(taken_down_at=work.clock)
    left = launchable_questions(question_set, Stage.ANSWER)
    gone = question_set.questions.filter(triplet__image=taken_down)
    unusable = set(gone.values_list("stage", "fold", "match_index"))
    lost = {removed.triplet_id} | {
        row.triplet_id
        for row in question_set.questions.all()
        if not unusable.isdisjoint((row.stage, row.fold, choice["source"]) for choice in row.choices)
    }
    left_of = {
        stage: set(
            question_set.questions.filter(stage=stage).exclude(triplet__in=lost).values_list("pk", flat=True)
        )
        for stage in Stage
    }
    assert {row.pk for row in left} == left_of[Stage.ANSWER], "nobody sees a text about a photo that is gone"
    assert 4 < len(left) < 19
    first = {unit.key for unit, _ in unit_hits(launched_round(work, question_set, sample=4))}
    second = {unit.key for unit, _ in unit_hits(launched_round(work, question_set, sample=None))}
    assert len(first | second) == len(left)
    assert "none of set first is left for the stage answer" in refusal(question_set)
    assert {row.pk for row in launchable_questions(question_set, Stage.RATIONALE)} == left_of[Stage.RATIONALE]


def test_launch_is_refused_with_the_reason(work: Work) -> None:
    question_set = small_set(work.project, audits=OVER, similarity="vectors")
    assert "over the limit: longest (answer)" in refusal(question_set, purpose="pilot")
    waive_audits(question_set=question_set, reason=REASON, by=None)
    assert "similarity model is a stand-in" in refusal(question_set)
    assert "sample: 20 questions can be launched" in refusal(question_set, purpose="pilot", sample=21)
    assert "sample: 6 questions can be launched" in refusal(
        question_set, purpose="pilot", sample=7, split="val"
    )
    assert "purpose: 'trial' is not offered" in refusal(question_set, purpose="trial")
    assert "sample: 0 is too few" in refusal(question_set, sample=0)
    assert not ChoiceRound.objects.exists()
    assert launched_round(work, question_set, purpose="pilot").options["stand_in"]
    assert launched_round(work, question_set, accept_stand_in=True).options["accepted_stand_in"]
    question_set.state = QuestionSetState.BUILDING
    question_set.save(update_fields=["state"])
    with pytest.raises(Conflict, match="is not built yet"):
        launched_round(work, question_set, purpose="pilot")


def test_set_without_audits_is_refused(work: Work) -> None:
    assert "not audited yet" in refusal(small_set(work.project, audits={}), purpose="pilot")


def test_pilot_asks_whether_several_are_right(work: Work) -> None:
    question_set = small_set(work.project)
    round_ = launched_round(work, question_set, purpose="pilot", sample=2)
    choose(work, round_, [[True, True, False], [True] * 3], several=True)
    votes = read_votes(work.project, [round_])[round_.pk]
    assert [(len(item.votes), item.several) for item in votes] == [(3, 3), (3, 3)]
    assert people_figures(votes).several == 2


def test_majorities_are_counted_with_both_readings_of_ties(work: Work) -> None:
    question_set = small_set(work.project)
    answers, rationales = (launched_round(work, question_set, stage) for stage in Stage)
    choose(
        work, answers, [[True] * 5, [True, True, False, False], [False] * 5, [True, True, True, False, False]]
    )
    choose(work, rationales, [[True] * 5, [True] * 5, [True] * 5, [False] * 5], names="K")
    votes = read_votes(work.project, [answers, rationales])
    found = people_figures(votes[answers.pk])
    tied = next(unit for unit, _ in unit_hits(answers)[1:2])
    is_first = tied.payload["label"] < (tied.payload["label"] + 1) % 4
    assert (found.questions, found.answers) == (4, 19)
    assert found.expected == pytest.approx(100 * (1 + 0.5 + 0 + 1) / 4)
    assert found.first == pytest.approx(100 * (2 + is_first) / 4)
    assert found.single == pytest.approx(100 * 10 / 19)
    assert found.low is not None
    assert found.high is not None
    assert found.expected is not None
    assert found.low < found.expected < found.high
    joint = joint_figures(votes[answers.pk], votes[rationales.pk])
    assert (joint.questions, joint.expected) == (4, pytest.approx(100 * 1.5 / 4))
    assert round_progress([answers, rationales]) == {answers.pk: (19, 20), rationales.pk: (20, 20)}


def test_figures_without_votes_are_none() -> None:
    assert people_figures([]).expected is None
    assert joint_figures([], [ItemVotes("val-1", 0, (0,))]).expected is None
    other = joint_figures([ItemVotes("val-2", 0, (0,))], [ItemVotes("val-1", 0, (0,))])
    assert (other.questions, other.expected) == (0, None)


def test_report_counts_single_answers_against_the_right_choice(work: Work) -> None:
    round_ = launched_round(work, small_set(work.project))
    choose(work, round_, [[True] * 4 + [False]] * 4)
    figures = compute_report(project=work.project, kind="vcr_choice").figures
    assert figures["baseline"]["accuracy"] == pytest.approx(80)
    assert figures["baseline"]["chance"] == pytest.approx(25)
    assert "alpha_nominal" in figures["dimensions"]["choice"]["coefficients"]


@pytest.mark.django_db(transaction=True)
def test_command_launches_a_round_and_refuses_in_one_line(
    work: Work, capsys: pytest.CaptureFixture[str]
) -> None:
    fund()
    question_set = small_set(work.project, similarity="vectors")
    options = {"project": work.project.slug, "question_set": "first", "stage": "answer", "sample": 3}
    with pytest.raises(CommandError, match="accept the stand-in") as caught:
        call_command("launch_choice", **options)
    assert caught.value.returncode == 2
    with pytest.raises(CommandError, match="no such question set"):
        call_command("launch_choice", **options | {"question_set": "third"})
    call_command("launch_choice", **options, accept_stand_in=True)
    assert "3 questions, answers" in capsys.readouterr().out
    assert Hit.objects.filter(unit__batch__kind="vcr_choice").count() == 3
    assert Unit.objects.filter(batch__choice_round__question_set=question_set).count() == 3
