"""A job's page and what it asks for while it waits: parts, log, cancelling and resuming."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits.api.jobs import MAX_LINES
from hits.domain.states import JobState
from hits.models import Job, JobLine, Project
from hits.services.jobs import jobs
from hits.views import jobs as views
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def whole(project: Project) -> Job:
    """Return a resumable job of twelve that waits for two parts; an earlier run did two of the twelve."""
    job = jobs.enqueue(task="hits.nothing", title="Count the photos", project=project, resumable=True)
    Job.objects.filter(pk=job.pk).update(
        state=JobState.WAITING, done=2, total=12, runs=2, started_at=timezone.now(), cursor={"since": 2}
    )
    _part(job, "The left half", JobState.DONE, 5)
    _part(job, "The right half", JobState.RUNNING, 1)
    for text in ("The left half: done", "One <b>odd</b> photo"):
        jobs.write_log_line(job, text)
    job.refresh_from_db()
    return job


def _part(whole: Job, title: str, state: JobState, done: int) -> Job:
    return Job.objects.create(
        task=whole.task, title=title, project=whole.project, parent=whole, state=state, done=done, total=5
    )


@pytest.fixture
def researcher_client(client: Client, researcher: User) -> Client:
    """Return a signed-in researcher's browser."""
    client.force_login(researcher)
    return client


def _page(job: Job) -> str:
    return reverse("job-detail", args=[job.pk])


def test_job_page_shows_subjobs_log_and_result(researcher_client: Client, whole: Job) -> None:
    page = squeezed(researcher_client.get(_page(whole)))
    assert "Waiting for its steps" in page
    assert '<progress max="12" value="8"' in page, "two of before, five and one of the parts"
    assert page.index("The right half</a>") < page.index("The left half</a>"), (
        "what is being done comes first"
    )
    assert "One &lt;b&gt;odd&lt;/b&gt; photo" in page
    assert f'data-job-log="{JobLine.objects.last().pk}"' in page
    assert f'action="{reverse("job-cancel", args=[whole.pk])}"' in page
    assert f'action="{reverse("job-resume", args=[whole.pk])}"' not in page
    assert "<dt>Runs</dt><dd>2</dd>" in page


def test_subjob_links_its_parent_and_cannot_be_resumed(researcher_client: Client, whole: Job) -> None:
    part = whole.subjobs.get(title="The left half")
    Job.objects.filter(pk=part.pk).update(state=JobState.FAILED, error="no disk", resumable=True)
    page = squeezed(researcher_client.get(_page(part)))
    assert f'<a href="{_page(whole)}">Count the photos</a> / Step' in page
    assert "no disk" in page
    assert reverse("job-resume", args=[part.pk]) not in page


def test_subjobs_are_paged_failed_first(
    researcher_client: Client, whole: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "SUBJOBS_PER_PAGE", 2)
    _part(whole, "The middle", JobState.FAILED, 0)
    first, second = (researcher_client.get(_page(whole), {"page": n}).context["page"] for n in (1, 2))
    assert [part.title for part in first] == ["The middle", "The right half"]
    assert [part.title for part in second] == ["The left half"]


def test_job_page_shows_newest_lines_and_log_file_all(
    researcher_client: Client, whole: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_LINES_SHOWN", 3)
    for number in range(5):
        jobs.write_log_line(whole, f"Line {number}")
    page = squeezed(researcher_client.get(_page(whole)))
    assert [n for n in range(5) if f"Line {n}</li>" in page] == [2, 3, 4]
    assert "Newest 3 lines; 4 earlier lines" in page
    reply = researcher_client.get(reverse("job-log", args=[whole.pk]))
    assert reply["Content-Type"] == "text/plain; charset=utf-8"
    lines = b"".join(reply.streaming_content).decode().splitlines()
    assert len(lines) == 7
    assert lines[-1].endswith(" Line 4")
    assert f"{timezone.now():%Y-%m-%d}" in lines[0]


def test_job_api_returns_later_lines_and_all_subjobs(researcher_client: Client, whole: Job) -> None:
    url = reverse("api-job", args=[whole.pk])
    short = researcher_client.get(url).json()
    assert (short["state"], short["done"], short["total"], short["resumable"]) == ("waiting", 8, 12, True)
    assert "lines" not in short
    assert "parts" not in short
    full = researcher_client.get(url, {"after": 0}).json()
    assert [line["text"] for line in full["lines"]] == ["The left half: done", "One <b>odd</b> photo"]
    assert [(part["state"], part["done"], part["total"]) for part in full["parts"]] == [
        ("done", 5, 5),
        ("running", 1, 5),
    ]
    newest = full["lines"][-1]["id"]
    assert researcher_client.get(url, {"after": newest}).json()["lines"] == []
    jobs.write_log_line(whole, "Late")
    assert [line["text"] for line in researcher_client.get(url, {"after": newest}).json()["lines"]] == [
        "Late"
    ]


def test_job_api_pages_a_long_log(researcher_client: Client, whole: Job) -> None:
    JobLine.objects.bulk_create([JobLine(job=whole, text=str(n)) for n in range(MAX_LINES)])
    url, after, seen = reverse("api-job", args=[whole.pk]), 0, []
    for _ in range(2):
        lines = researcher_client.get(url, {"after": after}).json()["lines"]
        after = lines[-1]["id"]
        seen += [line["text"] for line in lines]
    assert len(seen) == MAX_LINES + 2
    assert seen[-1] == str(MAX_LINES - 1)


@pytest.mark.parametrize("after", ["", "x", "-1", "1.5"])
def test_job_api_names_a_bad_line_id(researcher_client: Client, whole: Job, after: str) -> None:
    reply = researcher_client.get(reverse("api-job", args=[whole.pk]), {"after": after})
    assert reply.status_code == 400
    assert "send the id of the last line, or 0" in str(reply.json())


def test_cancelling_a_job_stops_its_subjobs(researcher_client: Client, whole: Job) -> None:
    page = squeezed(researcher_client.post(reverse("job-cancel", args=[whole.pk]), follow=True))
    assert "cancellation requested. Finished work is kept." in page
    whole.refresh_from_db()
    assert whole.state == JobState.CANCELLED
    assert whole.subjobs.get(title="The right half").cancel_requested
    assert f'action="{reverse("job-resume", args=[whole.pk])}"' in page, "it can be taken up again"


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.CANCELLED])
def test_a_stopped_job_is_resumed_once(researcher_client: Client, project: Project, state: JobState) -> None:
    job = jobs.enqueue(task="hits.nothing", title="Count", project=project, resumable=True)
    Job.objects.filter(pk=job.pk).update(state=state, error="no disk", done=3, total=9)
    url = reverse("job-resume", args=[job.pk])
    page = squeezed(researcher_client.post(url, follow=True))
    assert "Count is queued and resumes where it stopped." in page
    job.refresh_from_db()
    assert (job.state, job.error, job.done) == (JobState.QUEUED, "", 3)
    again = squeezed(researcher_client.post(url, follow=True))
    assert "Not resumed: Count: it cannot be resumed" in again


def test_resume_is_refused_while_another_job_holds_the_key(
    researcher_client: Client, project: Project
) -> None:
    description: dict[str, Any] = {
        "task": "hits.nothing",
        "project": project,
        "exclusive_key": "one",
        "resumable": True,
    }
    first = jobs.enqueue(title="First", **description)
    Job.objects.filter(pk=first.pk).update(state=JobState.FAILED)
    jobs.enqueue(title="Second", **description)
    page = squeezed(researcher_client.post(reverse("job-resume", args=[first.pk]), follow=True))
    assert "Not resumed: First: another one is running; wait for it or cancel it." in page
    first.refresh_from_db()
    assert first.state == JobState.FAILED


def test_outsiders_cannot_resume_or_read_the_log(
    client: Client, whole: Job, outsider: User, annotator: User
) -> None:
    Job.objects.filter(pk=whole.pk).update(state=JobState.FAILED)
    for user in (outsider, annotator):
        client.force_login(user)
        assert client.get(reverse("job-log", args=[whole.pk])).status_code == 404
        assert client.post(reverse("job-resume", args=[whole.pk])).status_code == 404
        assert client.get(reverse("api-job", args=[whole.pk]), {"after": 0}).status_code == 404
    whole.refresh_from_db()
    assert whole.state == JobState.FAILED


def test_job_card_links_the_job_page(researcher_client: Client, project: Project) -> None:
    job = jobs.enqueue(task="curation.deduplicate_images", title="De-duplicate", project=project)
    page = squeezed(researcher_client.get(reverse("curation", args=[project.slug])))
    assert f'href="{_page(job)}"><b>De-duplicate</b>' in page
    assert "data-job-log" not in page, "only the job's own page follows its log"


def test_job_result_is_formatted(researcher_client: Client, whole: Job) -> None:
    result = {
        "problems": [],
        "dry_run": False,
        "images": 104000,
        "seed": 345705,
        "solvable": 0.6156862745098,
        "splits": {"train": 7000, "val": 20},
        "rows": [{"image": "a.jpg", "why": "gone"}],
        "left": [f"{number}.jpg" for number in range(views.MAX_LIST_ITEMS + 2)],
        "warning": "",
    }
    Job.objects.filter(pk=whole.pk).update(state=JobState.DONE, result=result)
    page = squeezed(researcher_client.get(_page(whole)))
    shown = [
        ("Problems", "none"),
        ("Dry run", "No"),
        ("Photos", "104,000"),
        ("Seed", "345705"),
        ("Solvable", "0.6157"),
        ("Splits train", "7,000"),
        ("Rows", "image a.jpg, why gone"),
        ("Left", "0.jpg; 1.jpg; 2.jpg; 3.jpg; 4.jpg; 5.jpg; 2 more"),
    ]
    for name, value in shown:
        assert f'<dt>{name}</dt><dd class="long">{value}</dd>' in page, name
    assert "<dt>Warning</dt>" not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234567.89, "1,234,568"),
        (12.300000001, "12.3"),
        (0.0, "0"),
        (-0.25, "-0.25"),
        (1e-7, "1e-07"),
        (999.96, "1000"),
        ({}, "none"),
        ([True, None], "Yes; –"),
    ],
)
def test_job_figures_have_four_digits(value: object, shown: str) -> None:
    assert views._format_value(value) == shown


def test_subjob_error_has_its_own_row(researcher_client: Client, whole: Job) -> None:
    whole.subjobs.filter(title="The left half").update(state=JobState.FAILED, error="no <room> left")
    page = squeezed(researcher_client.get(_page(whole)))
    row = '<tr class="part-error"><td colspan="6"><small class="long">no &lt;room&gt; left</small></td></tr>'
    assert page.count(row) == 1
    assert page.index("The left half</a>") < page.index(row) < page.index("The right half</a>")
