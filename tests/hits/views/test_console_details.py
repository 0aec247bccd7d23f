"""Details of console pages that people tripped over: short names, fair defaults, honest states of jobs."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.domain.states import JobState
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.services.projects import create_project, derive_short_name
from hits.templatetags import console
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db


@pytest.fixture
def superuser(client: Client) -> User:
    found = User.objects.create_superuser("root", password="a long pass phrase")
    client.force_login(found)
    return found


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Straßen und Plätze", "strassen-und-platze"),
        ("Élan à Łódź", "elan-a-lodz"),
        ("街の写真", "jienoxiezhen"),
        ("Street scenes", "street-scenes"),
    ],
)
def test_short_name_keeps_every_letter_of_a_name(name: str, short: str) -> None:
    assert derive_short_name(name).replace("-", "") == short.replace("-", "")


def test_short_name_of_a_long_name_ends_with_a_whole_word() -> None:
    short = derive_short_name("photographs of crowded streets " * 4)
    assert len(short) <= 60
    assert short.endswith(("photographs", "of", "crowded", "streets"))
    assert derive_short_name("x" * 120) == "x" * 60


def test_project_form_reports_taken_short_name(client: Client, superuser: User) -> None:
    address = reverse("project-new")
    assert client.post(address, {"name": "One", "short_name": "streets"}).status_code == 302
    assert Project.objects.get(slug="streets").name == "One"
    again = client.post(address, {"name": "Two", "short_name": "streets"})
    assert again.status_code == 400
    assert again.context["form"].errors["short_name"] == [
        "A project streets exists already; choose another short name."
    ]
    assert 'value="Two"' in again.content.decode()


@pytest.mark.parametrize("short", ["Streets", "a b", "ä", "x" * 61, "../up"])
def test_short_name_of_other_letters_is_refused(short: str, db: None) -> None:
    with pytest.raises(Refused, match="small letters, digits and hyphens"):
        create_project(name="Streets", by=None, short_name=short)


def test_projects_page_names_administrators_to_researchers(client: Client, researcher: User) -> None:
    client.force_login(researcher)
    page = client.get(reverse("projects")).content.decode()
    assert reverse("project-new") not in page
    assert "Only server administrators can create a project" in page


@pytest.mark.parametrize(
    ("target", "reward"), [(1500, "1.25"), (1800, "1.50"), (2013, "1.70"), (600, "1.10")]
)
def test_launch_form_default_reward_reaches_target(
    client: Client, researcher: User, project: Project, make_image: Any, target: int, reward: str
) -> None:
    make_image(1)
    Project.objects.filter(pk=project.pk).update(target_cents_per_hour=target)
    client.force_login(researcher)
    page = squeezed(client.get(reverse("batch-new", args=[project.slug])))
    assert f'name="reward" value="{reward}"' in page
    cents = round(float(reward) * 100)
    assert f'data-target="{target}"' in page
    assert f"${cents * 12 / 100:.2f}/h" in page, "a task of five minutes"


def test_typed_reward_below_target_stays(
    client: Client, researcher: User, project: Project, make_image: Any
) -> None:
    make_image(1)
    client.force_login(researcher)
    page = squeezed(client.post(reverse("batch-new", args=[project.slug]), {"reward": "0.40"}))
    assert 'name="reward" value="0.40"' in page


@pytest.fixture
def job(client: Client, researcher: User, project: Project) -> Job:
    client.force_login(researcher)
    return Job.objects.create(task="hits.count", title="Count", project=project, state=JobState.RUNNING)


def _page(client: Client, job: Job, **changes: Any) -> str:
    Job.objects.filter(pk=job.pk).update(**changes)
    return squeezed(client.get(reverse("job-detail", args=[job.pk])))


def test_job_finished_before_cancellation_has_its_own_label(client: Client, job: Job) -> None:
    page = _page(client, job, state=JobState.DONE, cancel_requested=True)
    assert "Finished before the cancellation" in page
    assert "Finished before the cancellation" not in _page(client, job, cancel_requested=False)


def test_job_without_progress_shows_its_phase(client: Client, job: Job) -> None:
    assert "Loading models and data" in _page(client, job)
    assert "Waiting for a worker process" in _page(client, job, state=JobState.QUEUED)
    assert "Preparing" not in _page(client, job, state=JobState.RUNNING, done=1, total=4)


def test_job_result_has_labels_and_units(client: Client, job: Job) -> None:
    result = {"options": {"memory_mib": 2048, "keep": "random"}, "why": "few rows", "other_key": 3}
    page = _page(client, job, result=result)
    assert '<dt>Memory limit, MiB</dt><dd class="long">2,048</dd>' in page
    assert "<dt>Which photo to keep</dt>" in page
    assert "<dt>Other key</dt>" in page


def test_history_labels_every_recorded_action_in_words() -> None:
    sources = (
        path.read_text() for app in ("hits", "validation", "curation") for path in Path(app).rglob("*.py")
    )
    actions = {action for source in sources for action in re.findall(r'action="([a-z_]+\.[a-z_]+)"', source)}
    assert len(actions) > 40
    assert sorted(action for action in actions if action not in console.ACTION_LABELS) == []
    assert console.audit_data_label("fee_cents") == "fee cents"
    assert console.audit_data_label("more_opinions") == "additional workers"
