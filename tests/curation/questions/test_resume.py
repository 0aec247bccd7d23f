"""A build that is stopped in the middle resumes, and its files are those of a build that was not."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.models import QuestionSet, QuestionSetState
from curation.pipelines.questions import build, finish
from curation.pipelines.questions.folder import SetFolder
from curation.services.questions import QuestionSetOptions, request_question_set
from hits.domain.states import JobState
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs
from tests.support.vcr.built_sets import build_set, files_of, store_synthetic_project

pytestmark = pytest.mark.django_db
SIZES = {"train-0": 24, "val-0": 24, "test-0": 24}


def nth_call_fails(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, number: int) -> None:
    """Let the nth call of a function of a module fail, and the others work."""
    calls: list[None] = []
    work = getattr(module, name)

    def counted(*args: Any, **more: Any) -> Any:
        calls.append(None)
        if len(calls) == number:
            raise Refused("stopped in the middle")
        return work(*args, **more)

    monkeypatch.setattr(module, name, counted)


@pytest.mark.parametrize(
    ("function", "number"),
    [
        ("match_bucket", 3),
        pytest.param("store_questions", 4, marks=pytest.mark.long),
        pytest.param("audit_question_set", 1, marks=pytest.mark.long),
    ],
)
def test_build_that_failed_resumes_with_the_same_files(
    project: Project, monkeypatch: pytest.MonkeyPatch, function: str, number: int
) -> None:
    store_synthetic_project(project, SIZES)
    nth_call_fails(monkeypatch, build, function, number)
    options = QuestionSetOptions(folds=3, small=True)
    job = jobs.run_in_process(job=request_question_set(project, "stopped", options, queue=False))
    assert job.state == JobState.FAILED
    assert job.resumable
    stopped = QuestionSet.objects.get(name="stopped")
    assert stopped.state == QuestionSetState.BUILDING
    call_command("build_questions", "--resume", str(job.pk))
    stopped.refresh_from_db()
    assert stopped.state == QuestionSetState.DRAFT
    assert stopped.questions.count() == 144, "no question is missing or doubled"
    assert stopped.audits
    assert files_of(stopped) == files_of(build_set(project, "whole"))


@pytest.mark.long
def test_build_killed_while_planning_plans_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    store_synthetic_project(project, SIZES)
    job = request_question_set(project, "killed", QuestionSetOptions(folds=3, small=True), queue=False)

    def killed(*args: Any, **more: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("curation.pipelines.questions.plan.make_buckets", killed)
        jobs.run_in_process(job=job)
    assert Job.objects.get(pk=job.pk).state == JobState.FAILED
    call_command("build_questions", "--resume", str(job.pk))
    assert files_of(QuestionSet.objects.get(name="killed")) == files_of(build_set(project, "whole"))


def test_refused_set_leaves_no_files(
    project: Project, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    store_synthetic_project(project, {"train-0": 12, "val-0": 3, "test-0": 12})
    job = request_question_set(project, "small", QuestionSetOptions(folds=3, small=True), queue=False)
    row = QuestionSet.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        jobs.run_in_process(job=job)
    assert not QuestionSet.objects.exists()
    assert files_of(row) == {}


def test_questions_are_made_again_with_the_same_secret(project: Project) -> None:
    store_synthetic_project(project, SIZES)
    built = build_set(project)
    before = {row.pk: (row.choices, row.label) for row in built.questions.all()}
    folder = build.SetFolder.of(built)
    plan = build.read_plan(folder)
    assert plan is not None
    for fold in plan.folds:
        writer = finish.FoldWriter(built, fold, build.read_triplets(folder.triplets(fold.name)))
        for stage in build.Stage:
            made = writer.finish_stage(stage, build._fold_matches(folder, plan, fold, stage))
            for question in made.questions:
                stored = built.questions.get(stage=stage, fold=fold.name, match_index=question.match_index)
                assert (question.choices, question.label) == before[stored.pk]


@pytest.mark.parametrize("damage", ["buckets", "folds"])
def test_damaged_file_of_a_stopped_build_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    store_synthetic_project(project, SIZES)
    nth_call_fails(monkeypatch, build, "match_bucket", 3)
    options = QuestionSetOptions(folds=3, small=True)
    job = jobs.run_in_process(job=request_question_set(project, "stopped", options, queue=False))
    stopped = QuestionSet.objects.get(name="stopped")
    path = min((SetFolder.of(stopped).path / damage).iterdir())
    path.write_text(path.read_text("utf-8")[:50], "utf-8")
    with pytest.raises(CommandError, match=rf"{damage}/{path.name}: was lost or damaged .* build it again"):
        call_command("build_questions", "--resume", str(job.pk))
