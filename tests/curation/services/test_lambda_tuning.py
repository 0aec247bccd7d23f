"""The choice of λ by pilots: drafts, what people and P_rel choose, and the recorded choice."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.models import ChoiceRound, QuestionSet, QuestionSetState, Stage
from curation.selectors.lambda_pilots import lambda_rows
from curation.services import lambda_tuning
from curation.services.lambda_tuning import choose_lambda, launch_pilot, request_draft
from hits.models import Job
from hits.services.errors import Conflict, Refused
from tests.support.judging.work import Work
from tests.support.market import fund
from tests.support.threads import is_another_blocked, together
from tests.support.vcr.built_sets import store_synthetic_project
from tests.support.vcr.choices import OVER, choose, small_set, unit_hits
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db
WAIVER = "A pilot on few questions, which nobody publishes."


def score_right_choices_highest(question_set: QuestionSet) -> None:
    for row in question_set.questions.all():
        for position, choice in enumerate(row.choices):
            choice["relevance"] = 0.9 if position == row.label else 0.1
        row.save(update_fields=["choices"])


def test_rows_have_people_relevance_and_copies_by_value(work: Work) -> None:
    question_set = small_set(work.project)
    score_right_choices_highest(question_set)
    first, _ = launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=4, by=None)
    work.publish(first.batch)
    again, is_new = launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=4, by=None)
    assert (again.pk, is_new) == (first.pk, False)
    choose(work, first, [[True] * 5, [True] * 5, [True] * 5, [False] * 5], several=False)
    (row,) = lambda_rows(work.project, Stage.ANSWER)
    assert (row.value, row.launched, row.received, row.required) == (0.1, 4, 20, 20)
    assert row.people.expected == pytest.approx(75)
    assert row.relevance_percent == 100
    assert lambda_rows(work.project, Stage.RATIONALE) == []
    assert json.loads(json.dumps(row.as_json()))["people"]["questions"] == 4


def test_ties_of_relevance_are_no_right_choice(work: Work) -> None:
    question_set = small_set(work.project)
    for row in question_set.questions.all():
        row.choices = [choice | {"relevance": 0.5} for choice in row.choices]
        row.save(update_fields=["choices"])
    launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=4, by=None)
    assert lambda_rows(work.project, Stage.ANSWER)[0].relevance_percent == 0


def test_copies_of_the_right_choice_are_counted(work: Work) -> None:
    question_set = small_set(work.project)
    row = question_set.questions.filter(stage="answer")[0]
    assert row.label is not None
    row.choices[(row.label + 1) % 4]["text"] = row.choices[row.label]["text"]
    row.save(update_fields=["choices"])
    launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=20, by=None)
    (found,) = lambda_rows(work.project, Stage.ANSWER)
    assert found.verbatim >= 1
    assert found.near >= found.verbatim


def test_choice_and_figures_are_part_of_the_provenance(work: Work) -> None:
    question_set = small_set(work.project)
    with pytest.raises(Refused, match="nobody has answered a pilot"):
        choose_lambda(question_set=question_set, stage=Stage.ANSWER, by=None)
    pilot, _ = launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=2, by=None)
    work.publish(pilot.batch)
    choose(work, pilot, [[True], [True]], several=False)
    choose_lambda(question_set=question_set, stage=Stage.ANSWER, by=None)
    question_set.refresh_from_db()
    chosen = question_set.provenance["lambda_choice"]["answer"]
    assert chosen["value"] == 0.1
    assert chosen["pilots"][0]["people"]["expected"] == 100
    other = QuestionSet.objects.create(
        project=work.project,
        name="final",
        state=QuestionSetState.DRAFT,
        secret="0" * 64,
        options=question_set.options | {"lambda_answer": 0.2},
    )
    with pytest.raises(Refused, match=r"its λ 0.2 was not tried; tried: 0.1"):
        choose_lambda(question_set=other, stage=Stage.ANSWER, by=None)
    other.state = QuestionSetState.BUILDING
    with pytest.raises(Conflict, match="not built yet"):
        choose_lambda(question_set=other, stage=Stage.ANSWER, by=None)


def test_draft_over_a_limit_needs_a_reason(work: Work) -> None:
    question_set = small_set(work.project, audits=OVER, similarity="vectors")
    with pytest.raises(Refused, match="over the limit"):
        launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=2, by=None)
    launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=2, by=None, waiver=WAIVER)
    launch_pilot(question_set=question_set, stage=Stage.RATIONALE, each=2, by=None, waiver=WAIVER)
    assert question_set.waivers.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_launches_at_once_give_one_pilot(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    question_set = small_set(work.project)
    launch, launching = lambda_tuning.launch_choice, []

    def launch_when_both_have_begun(**options: Any) -> Any:
        launching.append(options)
        wait_until(lambda: len(launching) > 1 or is_another_blocked())
        return launch(**options)

    monkeypatch.setattr(lambda_tuning, "launch_choice", launch_when_both_have_begun)
    (first, first_is_new), (second, second_is_new) = together(
        [lambda: launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=4, by=None)] * 2
    )
    assert first.pk == second.pk
    assert sorted([first_is_new, second_is_new]) == [False, True]
    assert ChoiceRound.objects.count() == 1


def test_values_out_of_range_and_other_options_are_refused(work: Work) -> None:
    with pytest.raises(Refused, match="values: -1"):
        request_draft(project=work.project, value=-1, options={}, by=None)
    with pytest.raises(CommandError, match="no list of numbers"):
        call_command("tune_lambda", "--project", work.project.slug, "--values", "a,b")


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_command_builds_launches_reports_and_repeats_nothing(
    work: Work, capsys: pytest.CaptureFixture[str]
) -> None:
    fund()
    store_synthetic_project(work.project)
    options = {
        "project": work.project.slug,
        "values": (0.01, 1.0),
        "each": 5,
        "stage": "answer",
        "folds": 3,
        "small": True,
        "waive": WAIVER,
        "json": True,
    }
    call_command("tune_lambda", **options)
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["value"], row["launched"], row["required"]) for row in rows] == [(0.01, 5, 25), (1.0, 5, 25)]
    assert all(row["relevance_percent"] is not None for row in rows)
    triplets = [
        [unit.payload["triplet"] for unit, _ in unit_hits(row)] for row in ChoiceRound.objects.order_by("pk")
    ]
    assert triplets[0] == triplets[1], "every value is tried on the same triplets"
    counts = (ChoiceRound.objects.count(), QuestionSet.objects.count(), Job.objects.count())
    call_command("tune_lambda", **options)
    assert counts == (ChoiceRound.objects.count(), QuestionSet.objects.count(), Job.objects.count())
    capsys.readouterr()
    with pytest.raises(CommandError, match="other options"):
        call_command("tune_lambda", **options | {"seed": 5})
    with pytest.raises(CommandError, match="nobody has answered"):
        call_command("tune_lambda", **options | {"choose": "lambda 1"})
