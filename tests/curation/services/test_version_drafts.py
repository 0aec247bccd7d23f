"""What a draft would hold: at once where it is little, by a job where it is much, and kept until rows change."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation import tasks
from curation.models import DatasetVersion
from curation.services import drafts
from curation.services.drafts import request_draft_plan
from curation.services.versions import create_version
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services.errors import Conflict
from tests.support.many_pairs import fill_pairs

pytestmark = pytest.mark.django_db
COUNT = "Count its contents"


@pytest.fixture
def draft(project: Project, monkeypatch: pytest.MonkeyPatch) -> DatasetVersion:
    """Return a draft of more pairs than are planned at once."""
    monkeypatch.setattr(drafts, "MAX_INLINE_PAIRS", 50)
    fill_pairs(project, 40, 120)
    return create_version(project=project, name="v1", by=None)


def test_large_draft_page_reads_no_pair(
    draft: DatasetVersion, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "plan_version", lambda *args: pytest.fail("the page planned the version"))
    with CaptureQueriesContext(connection) as queries:
        reply = admin_client.get(reverse("version", args=[draft.pk]))
    assert reply.status_code == 200
    assert COUNT in reply.content.decode()
    assert len(queries) < 40
    assert not [query for query in queries if '"hits_observation"."clue"' in query["sql"]]


def test_large_draft_is_counted_by_a_job_whose_result_is_kept_until_rows_change(
    draft: DatasetVersion, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("version", args=[draft.pk])
    admin_client.post(reverse("version-plan", args=[draft.pk]))
    job = Job.objects.get(task="curation.plan_version")
    assert job.title in admin_client.get(address).content.decode()
    with pytest.raises(Conflict):
        request_draft_plan(version=draft, by=None)

    tasks.plan_version(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert job.result["summary"] == drafts.summarise_draft(draft)
    with monkeypatch.context() as patched:
        patched.setattr(drafts, "plan_version", lambda *args: pytest.fail("the page planned the version"))
        shown = admin_client.get(address).content.decode()
    assert "+120</b> added" in shown
    assert COUNT not in shown

    first = Image.objects.earliest("pk")
    Image.objects.filter(pk=first.pk).update(taken_down_at=first.imported_at)
    assert COUNT in admin_client.get(address).content.decode()


def test_draft_that_cannot_be_counted_shows_error(draft: DatasetVersion, admin_client: Client) -> None:
    Image.objects.filter(pk=Image.objects.earliest("pk").pk).update(split="everything")
    job = request_draft_plan(version=draft, by=None)
    tasks.plan_version(job.pk)
    shown = admin_client.get(reverse("version", args=[draft.pk])).content.decode()
    assert "Not counted: split" in shown
    assert COUNT in shown
