"""Commands whose work is a job: run here or left to a worker, stopped, resumed."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import current_app, shared_task
from django.core.management import CommandError, call_command, get_commands, load_command_class

from hits.domain.states import JobState
from hits.management.jobs import JobCommand, absolute_model_folder, absolute_path
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs

pytestmark = pytest.mark.django_db(transaction=True)


class Count(JobCommand):
    """Counts, in one go."""

    task = "hits.test_count"
    tasks = (task,)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Ask for it."""
        return jobs.enqueue(task=self.task, title="Count", resumable=True, queue=queue)


class CountByParts(Count):
    """Counts, in two parts."""

    task = "hits.test_count_by_parts"
    tasks = (task,)


@pytest.fixture
def trouble() -> Iterator[list[BaseException]]:
    """Register the tasks; what stands in the list is raised once, in the middle of the counting."""
    found: list[BaseException] = []

    @shared_task(name="hits.test_count")
    def count(job_id: int) -> None:
        with jobs.leased_job(job_id) as progress:
            if progress is not None:
                progress.log("Counting")
                progress.advance(2, 3)
                if found:
                    raise found.pop()
                jobs.set_result(job=progress.job, counted=3)

    @shared_task(name="hits.test_count_by_parts")
    def by_parts(job_id: int) -> None:
        with jobs.leased_job(job_id) as progress:
            if progress is not None and progress.job.runs == 1:
                raise SplitIntoSubjobs(
                    task="hits.test_count", subjobs=[PlannedSubjob("One", 3), PlannedSubjob("Two", 3)]
                )

    current_app.finalize()
    yield found
    for name in ("hits.test_count", "hits.test_count_by_parts"):
        current_app.tasks.pop(name, None)


def _call(command: JobCommand, **options: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(command, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def test_job_command_runs_and_prints_the_result(trouble: list[BaseException]) -> None:
    out, err = _call(Count(), json=True)
    job = Job.objects.get()
    assert json.loads(out) == {"job": job.pk, "state": "done", "counted": 3}
    assert [line.strip() for line in err.splitlines() if line.strip()] == ["Counting", "Done"]
    out, _ = _call(Count())
    assert out == "Count: counted 3\n"


def test_job_command_background_queues_the_job(trouble: list[BaseException]) -> None:
    out, _ = _call(Count(), background=True)
    job = Job.objects.get()
    assert (job.state, out) == (JobState.QUEUED, f"Job {job.pk} is queued: Count\n")


@pytest.mark.parametrize("background", [True, False])
def test_worker_is_woken_only_for_background_jobs(
    trouble: list[BaseException], monkeypatch: pytest.MonkeyPatch, background: bool
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(jobs, "wake_job", lambda job: woken.append(job.pk))
    _call(Count(), background=background)
    job = Job.objects.get()
    assert woken == ([job.pk] if background else [])
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED)
    _call(Count(), background=background, resume=job.pk)
    assert woken == ([job.pk] * 2 if background else [])


def test_refusal_exits_with_2_and_names_resume(trouble: list[BaseException]) -> None:
    trouble.append(Refused("photo 3 is broken; restore it"))
    with pytest.raises(CommandError) as raised:
        _call(Count())
    job = Job.objects.get()
    assert str(raised.value) == f"Count: photo 3 is broken; restore it; to resume: --resume {job.pk}"
    assert raised.value.returncode == 2
    out, _ = _call(Count(), resume=job.pk, json=True)
    assert json.loads(out)["counted"] == 3
    with pytest.raises(CommandError, match="cannot be resumed"):
        _call(Count(), resume=job.pk)
    with pytest.raises(CommandError, match="there is no such job"):
        _call(Count(), resume=job.pk + 1)


@pytest.mark.parametrize("command", [Count(), CountByParts()])
def test_fault_is_one_line_and_leaves_no_open_job(trouble: list[BaseException], command: JobCommand) -> None:
    trouble.append(ZeroDivisionError("oops"))
    with pytest.raises(CommandError, match="ZeroDivisionError: oops; to resume: --resume") as raised:
        _call(command)
    assert raised.value.returncode == 2
    assert "\n" not in str(raised.value)
    assert not Job.objects.filter(state__in=["queued", "running", "waiting"]).exists()
    _call(command, resume=Job.objects.get(parent=None).pk)


def test_command_resumes_only_its_own_jobs(trouble: list[BaseException]) -> None:
    trouble.append(Refused("photo 3 is broken"))
    with pytest.raises(CommandError):
        _call(CountByParts())
    whole, part = Job.objects.get(parent=None), Job.objects.filter(state="failed").exclude(parent=None).get()
    foreign = f"--resume {whole.pk}: the job belongs to another command (Count, hits.test_count_by_parts); "
    with pytest.raises(CommandError) as raised:
        _call(Count(), resume=whole.pk)
    assert str(raised.value) == f"{foreign}resume it with that command"
    assert raised.value.returncode == 2
    with pytest.raises(CommandError, match=r"another command \(One, hits.test_count\)"):
        _call(CountByParts(), resume=part.pk)
    whole.refresh_from_db()
    assert whole.state == JobState.FAILED


def test_job_commands_name_existing_tasks() -> None:
    loaded = [
        load_command_class(app, name)
        for name, app in get_commands().items()
        if app in {"hits", "validation", "curation"}
    ]
    commands = [command for command in loaded if isinstance(command, JobCommand)]
    assert len(commands) >= 8
    current_app.loader.import_default_modules()
    for command in commands:
        assert command.tasks, command.__module__
        assert set(command.tasks) <= set(current_app.tasks), command.__module__


def test_paths_and_models_are_stored_as_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    assert absolute_path("vg") == str(tmp_path / "vg")
    assert absolute_path("/data/vg") == "/data/vg"
    assert absolute_path("") == ""
    assert absolute_model_folder("clip:tiny") == f"clip:{tmp_path}/tiny"
    assert absolute_model_folder("hf:/no/such") == "hf:/no/such"
    for place in ("./later", "../later", ".later/tiny", "."):  # no hub id begins so, there or not
        assert absolute_model_folder(f"hf:{place}") == f"hf:{(tmp_path / place).absolute()}"
    for name in ("clip:openai/clip-vit-base-patch32", "label-sentence", "tiny", "clip:", ""):
        assert absolute_model_folder(name) == name


@pytest.mark.parametrize("command", [Count(), CountByParts()])
def test_ctrl_c_stops_the_job_and_it_resumes(trouble: list[BaseException], command: JobCommand) -> None:
    trouble.append(KeyboardInterrupt())
    with pytest.raises(CommandError, match="stopped; to resume: --resume"):
        _call(command)
    assert not Job.objects.filter(state__in=["queued", "running", "waiting"]).exists()
    job = Job.objects.get(parent=None)
    assert job.state == JobState.CANCELLED
    _call(command, resume=job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE
