"""What the console's pages do: launch, review, pay, look after jobs and people."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from hits import tasks
from hits.domain.money.pay import approval_cost
from hits.domain.states import AssignmentStatus, BatchState, CallState, JobState, SubmissionMatch
from hits.models import Assignment, Batch, Decision, Heartbeat, Hit, Image, Job, OutgoingCall, Project
from hits.mturk.boto import BotoMarketplace, marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.payments import ledger
from hits.payments.summary import sum_batch_money
from hits.selectors import console
from hits.services.launching.terms import LaunchTerms
from hits.views.batches import batches
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, launched, page_key, published, store
from tests.support.pages import squeezed
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


@pytest.fixture
def researcher_client(client: Client, researcher: User) -> Client:
    """Return a browser that a researcher of the project signed in to."""
    client.force_login(researcher)
    return client


@pytest.fixture
def waiting(project: Project, make_image: MakeImage) -> Callable[..., list[Assignment]]:
    """Return a function that makes a live batch with submissions that wait for a decision."""

    def make(count: int = 1, *, pairs: int = 3, **more: Any) -> list[Assignment]:
        market.fund()
        batch = published(project, [make_image(seed) for seed in range(count)], **more)
        worker = market.market_worker(f"worker-{batch.pk}")
        for hit in Hit.objects.filter(unit__batch=batch):
            market.work(hit, worker, observations(pairs, salt=str(hit.pk)))
        return collected(batch)

    return make


# --- launch


def test_launch_needs_confirmation_and_estimate_spends_nothing(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund(10_000)
    for seed in range(3):
        make_image(seed)
    url = reverse("batch-new", args=[project.slug])
    form = {"name": "Kitchens", "reward": "1.10", "bonus": "0.15", "assignments": "2", "which": "first"}
    form |= {"first": "2", "step": "estimate"}
    page = squeezed(researcher_client.post(url, form))
    assert not Batch.objects.exists()
    assert "Launch 2 tasks, hold $4.40" in page
    assert "5.60" in page  # the most it can cost: 4 × (1.10 + 2 × 0.15)
    assert "$1.80 under the target" in page
    assert "$1.25" in page
    reply = researcher_client.post(url, form | {"step": "launch"})
    batch = Batch.objects.get()
    assert reply.headers["Location"] == reverse("batch-detail", args=[batch.pk])
    assert (batch.name, batch.units.count(), batch.redundancy) == ("Kitchens", 2, 2)
    assert Job.objects.get().state == JobState.QUEUED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": "1.105"}, "Enter US dollars with at most two decimals, such as 0.46."),
        ({"reward": "0"}, "Pay at least one cent."),
        ({"reward": "2000"}, "check the decimal point"),
        ({"first": "9"}, "There are 1 photos"),
        ({"assignments": "101"}, "less than or equal to 100"),
        ({"name": ""}, "This field is required."),
    ],
)
def test_invalid_launch_form_names_the_error_and_launches_nothing(
    researcher_client: Client, project: Project, make_image: MakeImage, change: dict[str, str], message: str
) -> None:
    make_image(1)
    form = {"name": "K", "reward": "1.10", "bonus": "0", "assignments": "1", "which": "first", "first": "1"}
    reply = researcher_client.post(
        reverse("batch-new", args=[project.slug]), form | change | {"step": "launch"}
    )
    assert reply.status_code == 400
    assert message in squeezed(reply)
    assert not Batch.objects.exists()


def test_photo_is_offered_once_per_kind(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    launched(project, [make_image(1)])
    page = squeezed(researcher_client.get(reverse("batch-new", args=[project.slug])))
    assert "Every photo is in a batch of this kind already" in page


def test_insufficient_funds_are_shown_before_launch(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund(100)
    make_image(1)
    form = {"name": "K", "reward": "1.10", "bonus": "0", "assignments": "1", "which": "all", "first": "1"}
    page = squeezed(
        researcher_client.post(reverse("batch-new", args=[project.slug]), form | {"step": "estimate"})
    )
    assert "$0.10 less than needed" in page


# --- the batch's page


def test_money_table_adds_up(researcher_client: Client, waiting: Any) -> None:
    rows = waiting(3, pairs=5)
    batch = rows[0].hit.unit.batch
    researcher_client.post(reverse("decide", args=[rows[0].pk]), {"verdict": "approve"})
    researcher_client.post(
        reverse("decide", args=[rows[1].pk]), {"verdict": "reject", "feedback": "No box fits."}
    )
    money = sum_batch_money(batch)
    assert (money.reward, money.bonus, money.held, money.released) == (110, 30, 110, 110)
    assert money.spent + money.held + money.remaining == money.budget == batch.estimate_cents
    page = squeezed(researcher_client.get(reverse("batch-detail", args=[batch.pk])))
    assert '<tr class="sum"><td>Spent</td><td class="n"></td><td class="n">1.40</td></tr>' in page


def test_stopped_publishing_shows_reason_and_resumes(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    batch = launched(project, [make_image(1)])
    tasks.publish_batch(Job.objects.get().pk)
    page = squeezed(researcher_client.get(reverse("batch-detail", args=[batch.pk])))
    assert "Publishing stopped: 1 of 1 tasks are not published" in page
    assert "Add funds to the account first" in page
    market.fund()
    researcher_client.post(reverse("batch-publish", args=[batch.pk]))
    tasks.publish_batch(Job.objects.order_by("-pk")[0].pk)
    batch.refresh_from_db()
    assert batch.state == BatchState.LIVE
    assert "Publishing stopped" not in squeezed(
        researcher_client.get(reverse("batch-detail", args=[batch.pk]))
    )


def test_second_sync_is_refused_while_one_runs(researcher_client: Client, waiting: Any) -> None:
    batch = waiting()[0].hit.unit.batch
    Job.objects.all().delete()
    url = reverse("batch-sync", args=[batch.pk])
    researcher_client.post(url)
    assert "running already" in squeezed(researcher_client.post(url, follow=True))
    assert Job.objects.count() == 1


def test_sync_collects_submissions(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker())
    researcher_client.post(reverse("batch-sync", args=[batch.pk]))
    tasks.sync_batch(Job.objects.order_by("-pk")[0].pk)
    assert Assignment.objects.get().match == SubmissionMatch.MATCHED
    assert Job.objects.order_by("-pk")[0].result == {"new": 1, "unmatched": 0}


def test_unmatched_submission_is_listed_and_cannot_be_approved(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    worker = market.market_worker()
    task = market.accept(Hit.objects.get(), worker)
    submission = store(page_key(task.hit, task.slot.assignment_id, worker.worker_id), observations())
    market.submit_form(task, submission, submission_id="made up")
    (row,) = collected(batch)
    assert "1 only on the marketplace." in squeezed(
        researcher_client.get(reverse("batch-detail", args=[batch.pk]))
    )
    page = squeezed(researcher_client.get(reverse("assignment-detail", args=[row.pk])))
    assert 'value="reject"' in page
    assert 'value="approve"' not in page
    researcher_client.post(reverse("decide", args=[row.pk]), {"verdict": "approve"})
    assert not Decision.objects.exists()


def test_closing_batch_ends_when_all_submissions_are_decided(researcher_client: Client, waiting: Any) -> None:
    (row,) = waiting(1, terms=LaunchTerms(redundancy=2))
    batch = row.hit.unit.batch
    researcher_client.post(reverse("batch-close", args=[batch.pk]))
    job = Job.objects.order_by("-pk")[0]
    tasks.close_batch(job.pk)
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSING  # one submission still waits
    assert marketplace().get_hit(row.hit.hit_id).expires_at <= timezone.now()
    researcher_client.post(reverse("decide", args=[row.pk]), {"verdict": "approve"})
    tasks.sync_live_batches()
    batch.refresh_from_db()
    assert batch.state == BatchState.CLOSED


# --- review and pay


def test_approval_pays_and_redirects_to_next_submission(researcher_client: Client, waiting: Any) -> None:
    first, second, third = waiting(3, pairs=4)
    reply = researcher_client.post(
        reverse("decide", args=[first.pk]), {"verdict": "approve", "scope": "batch"}
    )
    batch = first.hit.unit.batch
    assert reply.headers["Location"] == f"{reverse('batch-review', args=[batch.pk])}?at={second.pk}"
    first.refresh_from_db()
    assert first.status == AssignmentStatus.APPROVED
    assert ledger.sum_entries(batch=batch).spent == 125
    page = squeezed(researcher_client.get(reply.headers["Location"]))
    assert f"Submission {first.pk} approved, $1.25 paid." in page
    assert "2 submissions to review" in page
    researcher_client.post(reverse("decide", args=[third.pk]), {"verdict": "approve", "scope": "project"})
    reply = researcher_client.post(
        reverse("decide", args=[second.pk]), {"verdict": "approve", "scope": "project"}
    )
    assert reply.headers["Location"] == reverse("project-review", args=[batch.project.slug])
    assert "No submissions to review" in squeezed(researcher_client.get(reply.headers["Location"]))


def test_rejection_without_reason_is_refused(researcher_client: Client, waiting: Any) -> None:
    (row,) = waiting()
    reply = researcher_client.post(
        reverse("decide", args=[row.pk]), {"verdict": "reject", "feedback": "  "}, follow=True
    )
    assert "write the reason" in squeezed(reply)
    assert not Decision.objects.exists()


def test_failed_payment_is_stored_and_retried(
    researcher_client: Client, waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = waiting(pairs=4)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise MarketplaceError(Failure.NO_FUNDS, "the account is empty")

    monkeypatch.setattr(BotoMarketplace, "send_bonus", refuse)
    page = squeezed(
        researcher_client.post(
            reverse("decide", args=[row.pk]), {"verdict": "approve", "scope": "batch"}, follow=True
        )
    )
    assert "the decision is not carried out yet" in page
    batch = row.hit.unit.batch
    assert "Refused payments" in squeezed(researcher_client.get(reverse("batch-detail", args=[batch.pk])))
    monkeypatch.undo()
    researcher_client.post(reverse("pay-again", args=[row.pk]))
    assert set(OutgoingCall.objects.values_list("state", flat=True)) == {CallState.DONE}
    assert ledger.sum_entries(batch=batch).bonus == 15


def test_approve_all_covers_only_counted_submissions(researcher_client: Client, waiting: Any) -> None:
    rows = waiting(3)
    batch = rows[0].hit.unit.batch
    page = squeezed(researcher_client.get(reverse("batch-detail", args=[batch.pk])))
    assert "Approve and pay $3.30" in page
    researcher_client.post(reverse("batch-approve-all", args=[batch.pk]), {"last": rows[1].pk})
    assert Assignment.objects.filter(status=AssignmentStatus.APPROVED).count() == 2


@pytest.mark.parametrize("bonus_cents", [0, 15])
def test_batch_page_sums_waiting_payouts_without_loading_assignments(
    researcher_client: Client, waiting: Any, bonus_cents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = waiting(3, pairs=4)
    batch = rows[0].hit.unit.batch
    Batch.objects.filter(pk=batch.pk).update(bonus_cents=bonus_cents)
    batch.refresh_from_db()
    expected = [
        approval_cost(
            reward_cents=batch.reward_cents,
            bonus_each_cents=bonus_cents,
            bonus_items=1,
            max_assignments=row.hit.max_assignments,
            fees=batch.fees,
        ).total_cents
        for row in rows
    ]
    made: list[int] = []
    real = Assignment.from_db.__func__
    monkeypatch.setattr(
        Assignment, "from_db", classmethod(lambda cls, *args: (made.append(1), real(cls, *args))[1])
    )
    found = batches._approval_context(batch, console.progress_by_batch([batch])[batch.pk])
    assert found == {"waiting": 3, "waiting_cents": sum(expected), "last": max(row.pk for row in rows)}
    assert made == []


def test_many_approvals_become_a_job(
    researcher_client: Client, waiting: Any, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hits.views.batches.batches.MAX_APPROVALS_IN_REQUEST", 1)
    rows = waiting(2)
    batch = rows[0].hit.unit.batch
    researcher_client.post(reverse("batch-approve-all", args=[batch.pk]), {"last": rows[1].pk})
    job = Job.objects.order_by("-pk")[0]
    assert not Decision.objects.exists()
    tasks.approve_waiting_assignments(job.pk)
    job.refresh_from_db()
    assert job.result == {"approved": 2, "outstanding": 0}
    assert set(Decision.objects.values_list("decided_by", flat=True)) == {researcher.pk}


def test_review_page_shows_boxes_checks_and_sums(researcher_client: Client, waiting: Any) -> None:
    (row,) = waiting(pairs=4)
    page = squeezed(researcher_client.get(reverse("batch-review", args=[row.hit.unit.batch_id])))
    assert page.count('class="box obs') == 4
    assert "Each pair has its own box" in page
    assert "Bonus, 1 complete pair" in page
    assert "4 pairs" in page, "the queue shows how much each submission holds"
    assert "$1.25" in page
    assert "Bonus not taken." in page
    assert row.worker.worker_id not in page, "a worker is shown by a short id"


# --- photos


def test_upload_names_bad_files_and_keeps_good_ones(researcher_client: Client, project: Project) -> None:
    files = [
        SimpleUploadedFile("fine.png", picture(seed=1)),
        SimpleUploadedFile("broken.jpg", b"no picture"),
        SimpleUploadedFile("wrong.jpg", picture(seed=2)),
    ]
    reply = researcher_client.post(reverse("project-images", args=[project.slug]), {"files": files})
    assert reply.status_code == 400
    page = squeezed(reply)
    assert "2 files could not be used" in page
    assert "broken.jpg: is not a readable image" in page
    assert "wrong.jpg: is a PNG file" in page
    assert list(project.images.values_list("name", flat=True)) == ["fine.png"]


# --- jobs, people, the frame


def test_job_page_shows_progress_and_cancels(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    launched(project, [make_image(1)])
    job = Job.objects.get()
    facts = researcher_client.get(reverse("api-job", args=[job.pk])).json()
    assert (facts["state"], facts["over"]) == ("queued", False)
    researcher_client.post(reverse("job-cancel", args=[job.pk]))
    facts = researcher_client.get(reverse("api-job", args=[job.pk])).json()
    assert (facts["state"], facts["over"]) == ("cancelled", True)


def test_worker_warning_appears_only_while_jobs_wait(
    researcher_client: Client, project: Project, make_image: MakeImage
) -> None:
    url = reverse("project-batches", args=[project.slug])
    assert "No worker process" not in squeezed(researcher_client.get(url))
    launched(project, [make_image(1)])
    assert "No worker process is running" in squeezed(researcher_client.get(url))
    Heartbeat.objects.create(name="worker", at=timezone.now())
    assert "No worker process" not in squeezed(researcher_client.get(url))
    Heartbeat.objects.update(at=timezone.now() - timezone.timedelta(seconds=61))
    assert "No worker process is running" in squeezed(researcher_client.get(url))


def test_last_admin_cannot_be_demoted(client: Client, project: Project, admin: User) -> None:
    client.force_login(admin)
    url = reverse("member-role", args=[project.slug, admin.pk])
    assert "at least one admin" in squeezed(client.post(url, {"role": "researcher"}, follow=True))
    assert project.memberships.get(user=admin).role == "admin"


def test_unknown_member_name_is_shown(client: Client, project: Project, admin: User) -> None:
    client.force_login(admin)
    reply = client.post(reverse("member-add", args=[project.slug]), {"username": "nobody", "role": "admin"})
    assert reply.status_code == 400
    assert "There is no account called nobody." in squeezed(reply)


def test_rehearsal_badge_is_shown(client: Client, rehearsal: Project, admin: User) -> None:
    client.force_login(admin)
    assert ">Rehearsal</span>" in squeezed(client.get(reverse("project-people", args=[rehearsal.slug])))


def test_pages_have_no_inline_script_or_style(researcher_client: Client, waiting: Any) -> None:
    (row,) = waiting()
    batch = row.hit.unit.batch
    for name, key in [
        ("batch-detail", batch.pk),
        ("batch-review", batch.pk),
        ("project-images", batch.project.slug),
    ]:
        page = researcher_client.get(reverse(name, args=[key])).content.decode()
        assert " style=" not in page
        assert "<style" not in page
        assert "onclick" not in page
        assert page.count("<script") == page.count('<script type="module" src=')


# --- as many questions for many rows as for few


@pytest.mark.parametrize(
    "name",
    ["projects", "project-batches", "project-images", "project-people", "project-review", "batch-detail"],
)
def test_queries_do_not_grow_with_rows(
    researcher_client: Client, project: Project, waiting: Any, make_image: MakeImage, name: str
) -> None:
    def count() -> int:
        keys = {"projects": [], "batch-detail": [batch.pk]}.get(name, [project.slug])
        researcher_client.get(reverse(name, args=keys))  # sessions, caches and content types are warm
        with CaptureQueriesContext(
            connection,
        ) as seen:
            assert researcher_client.get(reverse(name, args=keys)).status_code == 200
        return len(seen)

    market.fund()
    batch = published(project, [make_image(seed) for seed in range(8)])
    hits = list(Hit.objects.filter(unit__batch=batch))

    def add(hit: Hit, number: int) -> None:
        market.work(hit, market.market_worker(f"w{number}"), observations(salt=str(number)))

    for number in (0, 1):
        add(hits[number], number)
    collected(batch)
    few = count()
    for number in range(2, 7):
        add(hits[number], number)
    launched(project, [make_image(20)])
    launched(project, [make_image(21)])
    collected(batch)
    assert count() == few
