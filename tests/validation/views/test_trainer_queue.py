"""The training queue: remarks, one answer per attempt, pay in any case, and the qualification after “Ready”."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.domain.states import AssignmentStatus, TrainingOutcome
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.models import Worker as MarketWorker
from hits.models import Assignment, Batch, Decision, Feedback, Hit, Image, Project, Worker, WorkerDecision
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.selectors.eligibility.eligibility import pool_worker_ids
from hits.services.errors import Conflict, Refused
from tests.support.answers import observations
from tests.support.loop import approve, collected, published
from tests.support.market import fund, list_holders, market_worker, work
from tests.support.pages import squeezed
from validation.domain.qualification.remarks import RemarkTarget, parse_remarks, target_from_field
from validation.domain.qualification.worker_status import WorkerStatus
from validation.models import StatusChange
from validation.selectors import training
from validation.selectors.worker_status import current_status
from validation.services.training import give_feedback
from validation.services.worker_status import change_worker_status

pytestmark = pytest.mark.django_db(transaction=True)
REMARK = {"observation": 2, "part": "boxes", "box": 1, "text": "Draw it round the cup alone."}


@pytest.fixture
def batch(project: Project, make_image: Callable[..., Image]) -> Batch:
    fund()
    return published(project, [make_image(seed) for seed in range(3)], kind="sherlock_training")


@pytest.fixture
def wilma() -> MarketWorker:
    return market_worker()


@pytest.fixture
def attempt(batch: Batch, wilma: MarketWorker) -> Callable[[int], Assignment]:
    """Return a function that submits the task with the photo of that number."""

    def submit(number: int = 0) -> Assignment:
        hit = Hit.objects.filter(unit__batch=batch).order_by("pk")[number]
        work(hit, wilma, observations(salt=str(number)))
        collected(batch)
        return Assignment.objects.select_related("hit__unit__batch__project", "worker", "submission").get(
            hit=hit
        )

    return submit


def answer(
    assignment: Assignment, by: User, outcome: TrainingOutcome = TrainingOutcome.RETRY, **more: Any
) -> Feedback:
    values = {"summary": "Say more of what you cannot see.", "remarks": [REMARK]} | more
    return give_feedback(assignment=assignment, outcome=outcome, by=by, **values)


def test_try_once_more_pays_without_granting(
    client: Client, project: Project, batch: Batch, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    client.force_login(researcher)
    url = reverse("training-queue", args=[project.slug])
    page = squeezed(client.get(url))
    assert "1 attempt waits for an answer" in page
    assert 'name="remark-2-boxes-1"' in page
    values = {
        "outcome": "again",
        "summary": "Say more of what you cannot see.",
        "remark-2-boxes-1": "Draw it round the cup alone.",
        "remark-whole": " ",
        "remark-9-clue": "There is no ninth.",
    }
    reply = client.post(reverse("training-answer", args=[project.slug, row.pk]), values, follow=True)
    assert f"{row.worker} tries again. The attempt is answered and paid." in reply.content.decode()
    row.refresh_from_db()
    assert row.status == AssignmentStatus.APPROVED
    assert ledger.sum_entries(batch=batch).reward == 190
    written = Feedback.objects.get()
    assert (written.outcome, written.remarks, written.written_by) == ("again", [REMARK], researcher)
    assert Decision.objects.get().feedback == "Say more of what you cannot see."
    assert pool_worker_ids(project, Pool.TRAINED) == set()
    assert not training.attempts_without_feedback(project).exists()


def test_ready_grants_the_qualification_and_changes_the_status(
    client: Client,
    project: Project,
    attempt: Callable[..., Assignment],
    wilma: MarketWorker,
    researcher: User,
) -> None:
    row = attempt()
    client.force_login(researcher)
    client.post(reverse("training-answer", args=[project.slug, row.pk]), {"outcome": "complete"})
    assert pool_worker_ids(project, Pool.TRAINED) == {row.worker_id}
    port = marketplace()
    type_id = port.find_qualification_type("street-scenes: trained")
    assert [worker_id for worker_id, _ in list_holders(port, str(type_id))] == [wilma.worker_id]
    current = current_status(row.worker, project)
    assert (current.status, current.by) == (WorkerStatus.TRAINED, "rosa")
    assert "ready for this project" in current.reason
    row.refresh_from_db()
    assert row.status == AssignmentStatus.APPROVED


def test_repeated_request_is_stored_once(
    client: Client, project: Project, batch: Batch, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    client.force_login(researcher)
    url = reverse("training-answer", args=[project.slug, row.pk])
    for _ in range(2):
        values = {"outcome": "complete", "summary": "Well done.\r\nGo on so.", "remark-1": "Sharp."}
        assert client.post(url, values).status_code == 302
    counts = [m.objects.count() for m in (Feedback, Decision, WorkerDecision, StatusChange)]
    assert counts == [1, 1, 1, 1]
    assert ledger.sum_entries(batch=batch).reward == 190


def test_second_trainer_gets_a_conflict(
    attempt: Callable[..., Assignment], researcher: User, admin: User
) -> None:
    row = attempt()
    answer(row, researcher)
    with pytest.raises(Conflict, match="just given feedback"):
        answer(row, admin, TrainingOutcome.COMPLETE)
    assert Feedback.objects.get().written_by == researcher
    assert not WorkerDecision.objects.exists()


def test_try_once_more_needs_text_and_valid_remark_targets(
    client: Client, project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    with pytest.raises(Refused, match="write what to do differently"):
        answer(row, researcher, summary=" ", remarks=[])
    with pytest.raises(Refused, match="box"):
        answer(row, researcher, remarks=[REMARK | {"box": 2}])
    client.force_login(researcher)
    url = reverse("training-answer", args=[project.slug, row.pk])
    reply = client.post(url, {"outcome": "again", "remark-2-boxes-7": "Where?", "remark-1-clue": "Keep me."})
    assert reply.status_code == 400
    assert "Keep me." in reply.content.decode()
    assert client.post(url, {"outcome": "later"}).status_code == 400
    assert not Feedback.objects.exists()
    assert not Decision.objects.exists()


def test_paused_worker_is_paid_but_cannot_be_ready(
    project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    change_worker_status(
        project=project, worker=row.worker, status=WorkerStatus.PAUSED, reason="Why", by=researcher
    )
    with pytest.raises(Refused, match="reinstate the worker first"):
        answer(row, researcher, TrainingOutcome.COMPLETE)
    assert not Feedback.objects.exists()
    assert not Decision.objects.exists()
    answer(row, researcher)
    assert Decision.objects.count() == 1
    assert current_status(row.worker, project).status is WorkerStatus.PAUSED


def test_attempt_approved_on_the_marketplace_can_be_answered(
    project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    approve(row)
    assert training.attempts_without_feedback(project).count() == 1
    row.refresh_from_db()
    answer(row, researcher, TrainingOutcome.COMPLETE)
    assert Decision.objects.count() == 1
    assert pool_worker_ids(project, Pool.TRAINED) == {row.worker_id}


def test_page_shows_earlier_attempts_and_recent_remarks(
    client: Client, project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    answer(attempt(0), researcher)
    second = attempt(1)
    client.force_login(researcher)
    page = client.get(reverse("training-queue", args=[project.slug])).content.decode()
    assert f"Attempt 2 of {second.worker}" in page
    assert "Attempt 1</b>" in page
    assert "<dt>Box 2</dt><dd>Draw it round the cup alone.</dd>" in page
    assert "“Say more of what you cannot see.”" in page
    assert "data-phrase>Draw it round the cup alone.</button>" in page
    assert second.worker.worker_id not in page
    assert Worker.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("remark-whole", RemarkTarget()),
        ("remark-3", RemarkTarget(3)),
        ("remark-2-inference", RemarkTarget(2, "inference")),
        ("remark-2-boxes-12", RemarkTarget(2, "boxes", 12)),
        ("remark-6", None),
        ("remark-2-colour", None),
        ("remark-2-clue-1", None),
        ("remark-2-boxes-0", None),
        ("summary", None),
    ],
)
def test_remark_target_and_field_name_convert_both_ways(name: str, target: RemarkTarget | None) -> None:
    assert target_from_field(name) == target
    assert target is None or target.field == name


def test_remarks_are_in_the_order_of_the_page() -> None:
    fields = [
        ("remark-2-clue", "c"),
        ("csrfmiddlewaretoken", "x"),
        ("remark-1", "b"),
        ("remark-whole", "a"),
        ("remark-2", ""),
    ]
    assert [row["text"] for row in parse_remarks(fields)] == ["a", "b", "c"]
