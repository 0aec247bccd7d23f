"""The pages of work review: launch, who reviews, what was found, digests of 48 hours."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.models import Batch, Hit, OutgoingCall, Worker, WorkerDecision
from tests.support.judging.work import Work
from tests.support.market import fund
from tests.support.vcr.reviews import ADVICE, review_answer, written
from validation.domain.qualification.work_digest import window_number
from validation.services.work_reviews import launch_work_review, set_reviewer

pytestmark = pytest.mark.django_db


@pytest.fixture
def console(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


def page(console: Client, work: Work, name: str = "work-review", query: str = "") -> str:
    reply = console.get(reverse(name, args=[work.project.slug]) + query)
    assert reply.status_code == 200
    return re.sub(r"\s+", " ", reply.content.decode())


def reviewed(work: Work) -> Worker:
    """Let an author write, and a reviewer review it; return the reviewer."""
    submission = written(work, work.image(1), "AUTHOR")
    launched = launch_work_review(project=work.project, by=None, every=1, seed=4)
    assert launched.batch is not None
    work.publish(launched.batch)
    reviewer = Worker.objects.create(environment="local", worker_id="REVIEWER")
    set_reviewer(project=work.project, worker=reviewer, is_reviewer=True, reason="Clear.", by=None)
    hit = Hit.objects.get(unit__key=submission.pk.hex)
    work.answered(hit, "REVIEWER", review_answer(2, tags="wrong_object"))
    return reviewer


def test_round_is_launched_after_its_cost_is_confirmed(console: Client, work: Work) -> None:
    fund()
    written(work, work.image(1), "AUTHOR")
    assert "Nobody can take these tasks yet" in page(console, work)
    address = reverse("work-review", args=[work.project.slug])
    data = {"name": "", "every": "1", "seed": "4", "assignments": "1", "reward": "0.40"}
    shown = console.post(address, data | {"step": "estimate"})
    assert shown.status_code == 200
    assert not Batch.objects.filter(kind="work_review").exists()
    key = re.search(r'name="idempotency_key" value="(\w+)"', shown.content.decode())
    assert key
    confirmed = data | {"step": "launch", "idempotency_key": key[1]}
    for _ in range(2):
        assert console.post(address, confirmed).status_code == 302
    batch = Batch.objects.get(kind="work_review")
    assert (batch.provenance["every"], batch.provenance["seed"]) == (1, 4)
    assert [row.qualification.slug for row in batch.requirements.all() if row.qualification] == [
        "excluded",
        "work-reviewers",
    ]


def test_sample_without_a_new_submission_is_refused_at_its_field(console: Client, work: Work) -> None:
    written(work, work.image(1), "AUTHOR")
    data = {"every": "100000", "seed": "4", "assignments": "1", "reward": "0.40", "step": "estimate"}
    reply = console.post(reverse("work-review", args=[work.project.slug]), data)
    assert reply.status_code == 400
    assert "None of 1 new submissions is in this sample." in reply.content.decode()


def test_page_counts_what_reviews_found_by_author(console: Client, work: Work) -> None:
    reviewed(work)
    text = page(console, work)
    author = Worker.objects.get(worker_id="AUTHOR")
    row = re.search(rf"<b>{author}</b>.*?</tr>", text)
    assert row
    numbers = [int(n) for n in re.findall(r'<td class="n" data-label="[^"]*">(\d+)</td>', row[0])]
    assert numbers == [
        1,
        2,
        2,
        2,
        2,
        0,
        0,
    ]  # submissions, questions, four favourable counts, without an error
    assert "1 keep, with advice" in row[0]


def test_worker_is_made_a_reviewer_and_loses_it_again(console: Client, work: Work) -> None:
    written(work, work.image(1), "AUTHOR")
    author = Worker.objects.get(worker_id="AUTHOR")
    address = reverse("reviewer-set", args=[work.project.slug])
    console.post(address, {"worker": "W-99999", "reason": "Clear.", "on": "yes"})
    assert "no worker of this project is “W-99999”" in page(console, work)
    console.post(address, {"worker": str(author), "reason": "", "on": "yes"})
    assert not WorkerDecision.objects.filter(worker=author).exists()
    console.post(address, {"worker": str(author), "reason": "Clear.", "on": "yes"})
    assert f'value="{author}"' in page(console, work)
    console.post(address, {"worker": str(author), "reason": "No time.", "on": "no"})
    assert f'value="{author}"' not in page(console, work)


def test_digest_is_read_changed_and_sent(console: Client, work: Work) -> None:
    reviewed(work)
    window = window_number(work.clock)
    text = page(console, work, "work-digests", f"?window={window}")
    author = Worker.objects.get(worker_id="AUTHOR")
    assert ADVICE in text
    assert "Why does person 1 look at person 2 like that?" in text
    assert "REVIEWER" not in text
    address = reverse("digest-send", args=[work.project.slug, author.pk, window])
    console.post(address, {"text": "Thank you. Please explain more."})
    assert OutgoingCall.objects.get(operation="notify").args["text"] == "Thank you. Please explain more."
    assert "Sent" in page(console, work, "work-digests", f"?window={window}")
    assert "No work in these 48 hours" in page(console, work, "work-digests", f"?window={window - 3}")
