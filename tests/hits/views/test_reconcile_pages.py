"""The pages on which a person looks at what does not match, and decides."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits.domain.states import AssignmentStatus, BatchState, HitState, JobState
from hits.marketplace.models import HIT, Requester
from hits.marketplace.services import accounts
from hits.models import Assignment, Attempt, Batch, Hit, Image, Job, Project, Resolution, Submission
from hits.mturk.boto import marketplace
from hits.services import projects
from hits.services.collecting import assignment_sync
from hits.services.launching.terms import LaunchTerms
from hits.services.reconciling.reconcile import reconcile_batch
from hits.tasks import reconcile_batch as reconcile_task
from hits.tasks import sync_batch as sync_task
from hits.views.balance import clear_cached_balance
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import page_key, published, store

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


@pytest.fixture
def researcher_client(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


@pytest.fixture
def batch(project: Project, make_image: MakeImage) -> Batch:
    """Return a batch with one of each: matched, made up, somebody else's, never handed over."""
    market.fund()
    live = published(project, [make_image(1)], terms=LaunchTerms(redundancy=6))
    Job.objects.update(state=JobState.DONE)
    hit = Hit.objects.get()
    mine = market.work(hit, market.market_worker("matched"))
    made_up = market.accept(hit, market.market_worker("made-up"))
    market.submit_form(made_up, mine, submission_id="made up", sha256="<b>bold</b>")
    market.submit_form(market.accept(hit, market.market_worker("thief")), mine)
    lost = market.accept(hit, market.market_worker("lost"))
    stored = store(page_key(hit, lost.slot.assignment_id, lost.worker.worker_id), observations(4))
    ago = timedelta(seconds=live.duration_seconds, hours=2)
    Attempt.objects.filter(pk=stored.attempt_id).update(opened_at=timezone.now() - ago)
    reconcile_batch(batch=live, marketplace=marketplace())
    return live


def _words(reply: Any) -> str:
    return " ".join(reply.content.decode().split())


def _url(name: str, batch: Batch, *more: Any) -> str:
    return reverse(name, args=[batch.pk, *more])


def test_reconcile_page_shows_classes_and_differences_without_worker_ids(
    researcher_client: Client, batch: Batch
) -> None:
    page = _words(researcher_client.get(_url("batch-reconcile", batch)))
    assert "3 open" in page
    assert "1 only on the marketplace, 1 with a different answer, 1 only stored here" in page
    assert "Worker, Assignment" in page
    assert "No stored answer" in page
    assert "Equal" in page
    assert not any(row.worker.worker_id in page for row in Assignment.objects.select_related("worker"))


def test_approval_pays_and_leaves_the_list(researcher_client: Client, batch: Batch) -> None:
    row = Assignment.objects.get(match="marketplace_only")
    url = _url("reconcile-assignment", batch, row.pk)
    page = _words(researcher_client.get(url))
    assert "Approve and pay $1.10" in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    reply = researcher_client.post(url, {"remedy": "approve", "note": " "}, follow=True)
    assert "write the reason, for the record" in _words(reply)
    reply = researcher_client.post(url, {"remedy": "approve", "note": "Described by mail."}, follow=True)
    assert "Approved as shown" in _words(reply)
    row.refresh_from_db()
    assert row.status == AssignmentStatus.APPROVED
    page = _words(reply)
    assert "2 open" in page
    assert "Described by mail." in page
    assert "rosa" in page
    assert "Nothing to decide" in _words(researcher_client.get(url))
    assert "decided on this assignment" in _words(
        researcher_client.post(url, {"remedy": "approve", "note": "Twice."}, follow=True)
    )


def test_automatically_approved_work_can_only_be_left(researcher_client: Client, batch: Batch) -> None:
    row = Assignment.objects.get(match="mismatch")
    marketplace().approve(row.assignment_id, "")
    assignment_sync.sync_batch(batch=batch, marketplace=marketplace())
    url = _url("reconcile-assignment", batch, row.pk)
    page = _words(researcher_client.get(url))
    assert 'value="approve"' not in page
    assert "Nothing was decided: This assignment is approved already." in _words(
        researcher_client.post(url, {"remedy": "reject", "note": "Not his."})
    )
    assert not Resolution.objects.exists()
    researcher_client.post(url, {"remedy": "keep", "note": "Paid already."})
    assert Resolution.objects.get().remedy == "keep"


def test_lost_work_is_compensated_from_its_page(researcher_client: Client, batch: Batch) -> None:
    stored = _lost()
    url = _url("reconcile-submission", batch, stored.pk)
    page = _words(researcher_client.get(url))
    assert "Compensate with $1.25" in page
    assert "the lamp at the left" in page
    reply = _words(
        researcher_client.post(url, {"remedy": "compensate", "note": "The network broke."}, follow=True)
    )
    assert f"{stored.attempt.worker} gets a task that pays $1.25" in reply
    assert "Compensated" in reply
    assert "Nothing to decide" in _words(researcher_client.get(url))
    assert Batch.objects.get(kind="compensation").reward_cents == 125


def test_lost_work_is_kept_and_unknown_remedy_is_refused(researcher_client: Client, batch: Batch) -> None:
    url = _url("reconcile-submission", batch, _lost().pk)
    for remedy in ("approve", "nonsense", ""):
        assert "Nothing was decided" in _words(
            researcher_client.post(url, {"remedy": remedy, "note": "Why."}, follow=True)
        )
    assert "Left unchanged." in _words(
        researcher_client.post(url, {"remedy": "keep", "note": "A test."}, follow=True)
    )
    assert Resolution.objects.get().remedy == "keep"


def test_pages_of_another_batch_are_not_found(
    researcher_client: Client, batch: Batch, project: Project, make_image: MakeImage
) -> None:
    other = published(project, [make_image(9)])
    assert (
        researcher_client.get(_url("reconcile-assignment", other, Assignment.objects.first().pk)).status_code
        == 404
    )  # type: ignore[union-attr]
    assert researcher_client.get(_url("reconcile-submission", other, _lost().pk)).status_code == 404
    assert researcher_client.get(_url("reconcile-submission", batch, uuid.uuid4())).status_code == 404


def test_compensation_above_threshold_must_be_typed(
    researcher_client: Client, batch: Batch, project: Project
) -> None:
    Project.objects.filter(pk=project.pk).update(confirm_above_cents=100)
    url = _url("reconcile-submission", batch, _lost().pk)
    assert 'name="typed_cost"' in _words(researcher_client.get(url))
    form = {"remedy": "compensate", "note": "The network broke."}
    for typed, why in (("", "Nothing was typed"), ("1.24", "$1.24 is another sum")):
        reply = researcher_client.post(url, form | {"typed_cost": typed})
        page = _words(reply)
        assert reply.status_code == 400
        assert f"{why}; type the maximum cost, 1.25." in page
        assert (f'value="{typed}" aria-invalid="true"' if typed else 'aria-invalid="true"') in page
        assert ">The network broke.</textarea>" in page
    assert not Resolution.objects.exists()
    researcher_client.post(url, form | {"typed_cost": "1.25"})
    assert Batch.objects.filter(kind="compensation").count() == 1


def test_a_compensation_that_would_be_refused_is_not_offered(
    researcher_client: Client, batch: Batch, project: Project
) -> None:
    """Over the project's cap, and then a cent short; what needs no money can still be chosen."""
    url = _url("reconcile-submission", batch, _lost().pk)
    assert 'value="compensate"' in _words(researcher_client.get(url))
    Project.objects.filter(pk=project.pk).update(budget_cap_cents=batch.estimate_cents + 124)
    page = _words(researcher_client.get(url))
    assert "Over the budget: the project" in page
    assert ('value="compensate"' in page, 'value="keep"' in page) == (False, True)
    refused = researcher_client.post(url, {"remedy": "compensate", "note": "The network broke."})
    assert refused.status_code == 400
    assert "Nothing was decided: budget: the project" in _words(refused)
    assert ">The network broke.</textarea>" in _words(refused)

    Project.objects.filter(pk=project.pk).update(budget_cap_cents=None)
    free = marketplace().get_balance().available_cents
    market.ledger_adjust(Requester.objects.get(name=accounts.PLATFORM_NAME), 124 - free)
    clear_cached_balance()
    page = _words(researcher_client.get(url))
    assert "The account has $1.24, $0.01 less than needed" in page
    assert ('value="compensate"' in page, 'value="keep"' in page) == (False, True)


def test_a_refused_remedy_keeps_its_reason(researcher_client: Client, batch: Batch) -> None:
    row = Assignment.objects.get(match="mismatch")
    url = _url("reconcile-assignment", batch, row.pk)
    refused = researcher_client.post(url, {"remedy": "nonsense", "note": "Another one’s answer."})
    assert refused.status_code == 400
    assert "Nothing was decided: Choose an action." in _words(refused)
    assert ">Another one’s answer.</textarea>" in _words(refused)


def test_comparison_is_a_job_and_a_second_is_refused(researcher_client: Client, batch: Batch) -> None:
    url = _url("reconcile-compare", batch)
    researcher_client.post(url)
    job = Job.objects.get(task="hits.reconcile_batch")
    assert "is running already" in _words(researcher_client.post(url, follow=True))
    reconcile_task(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["mismatch"], job.result["ours_only"]) == (JobState.DONE, 1, 1)
    assert researcher_client.get(reverse("job-detail", args=[job.pk])).status_code == 200


def test_missing_hit_is_repaired_from_the_page(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    Job.objects.update(state=JobState.DONE)
    hit = Hit.objects.get()
    HIT.objects.filter(hit_id=hit.hit_id).update(hit_id="3ELSEWHERE", annotation="")
    Hit.objects.update(attempt_at=timezone.now() - timedelta(hours=1))
    reconcile_batch(batch=batch, marketplace=marketplace())
    assert "Publish again" in _words(researcher_client.get(_url("batch-reconcile", batch)))
    act = _url("reconcile-hit", batch)
    assert "Choose an action" in _words(
        researcher_client.post(act, {"act": "x", "hit_id": hit.hit_id}, follow=True)
    )
    assert "was repaired already" in _words(
        researcher_client.post(act, {"act": "anew", "hit_id": "3NONE"}, follow=True)
    )
    researcher_client.post(act, {"act": "anew", "hit_id": hit.hit_id})
    hit.refresh_from_db()
    assert (hit.state, hit.generation) == (HitState.PLANNED, 2)


def test_closing_batch_adopts_an_orphan_hit(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    """Nothing is published in it any more, so publishing cannot be what takes the task up."""
    market.fund()
    batch = published(project, [make_image(1)])
    Job.objects.update(state=JobState.DONE)
    hit_id = Hit.objects.get().hit_id
    Hit.objects.update(state=HitState.INTENT, hit_id=None)
    Batch.objects.update(state=BatchState.CLOSING)
    batch.refresh_from_db()
    reconcile_batch(batch=batch, marketplace=marketplace())
    assert "its publication never finished" in _words(researcher_client.get(_url("batch-reconcile", batch)))
    reply = researcher_client.post(
        _url("reconcile-hit", batch), {"act": "adopt", "hit_id": hit_id}, follow=True
    )
    assert "The HIT is added to the batch and will not be offered again." in _words(reply)
    sync_task(Job.objects.get(task="hits.sync_batch", state=JobState.QUEUED).pk)
    assert (Hit.objects.get().state, Hit.objects.get().hit_id) == (HitState.LIVE, hit_id)


def test_queries_do_not_grow_with_rows(
    researcher_client: Client, batch: Batch, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    url = _url("batch-reconcile", batch)
    with CaptureQueriesContext(connection) as few:
        researcher_client.get(url)
    hit = Hit.objects.get()
    for number in range(2):
        task = market.accept(hit, market.market_worker(f"more{number}"))
        market.submit_form(task, _lost(), submission_id="made up")
    assignment_sync.sync_batch(batch=batch, marketplace=marketplace())
    with django_assert_max_num_queries(len(few)):
        researcher_client.get(url)


def test_an_admin_of_another_project_sees_nothing(client: Client, batch: Batch, make_user: Any) -> None:
    stranger = make_user("stella")
    projects.create_project(name="Another", by=stranger)
    client.force_login(stranger)
    row = Assignment.objects.get(match="mismatch")
    url = _url("reconcile-assignment", batch, row.pk)
    assert client.post(url, {"remedy": "approve", "note": "Mine now."}).status_code == 404
    assert not Resolution.objects.exists()


def _lost() -> Submission:
    return Submission.objects.get(attempt__worker__assignments=None)
