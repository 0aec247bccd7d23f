"""The trainer desk: remarks on places, one answer an attempt, pay in any case, trust when the trainer says so."""

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
from tests.support.market import fund, market_worker, work
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
    """Return a function that lets the worker hand in the task with the photo of that number."""

    def hand_in(number: int = 0) -> Assignment:
        hit = Hit.objects.filter(unit__batch=batch).order_by("pk")[number]
        work(hit, wilma, observations(salt=str(number)))
        collected(batch)
        return Assignment.objects.select_related("hit__unit__batch__project", "worker", "submission").get(
            hit=hit
        )

    return hand_in


def say(
    assignment: Assignment, by: User, outcome: TrainingOutcome = TrainingOutcome.RETRY, **more: Any
) -> Feedback:
    values = {"summary": "Say more of what you cannot see.", "remarks": [REMARK]} | more
    return give_feedback(assignment=assignment, outcome=outcome, by=by, **values)


def test_try_once_more_pays_and_grants_nothing(
    client: Client, project: Project, batch: Batch, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    client.force_login(researcher)
    desk = reverse("training-queue", args=[project.slug])
    page = client.get(desk).content.decode()
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
    assert f"{row.worker} tries once more. The attempt is answered and paid." in reply.content.decode()
    row.refresh_from_db()
    assert row.status == AssignmentStatus.APPROVED
    assert ledger.sum_entries(batch=batch).reward == 190
    written = Feedback.objects.get()
    assert (written.outcome, written.remarks, written.written_by) == ("again", [REMARK], researcher)
    assert Decision.objects.get().feedback == "Say more of what you cannot see."
    assert pool_worker_ids(project, Pool.TRAINED) == set()
    assert not training.unanswered_attempts(project).exists()


def test_ready_grants_and_changes_the_standing_on_both_sides(
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
    assert [worker_id for worker_id, _ in port.holders(str(type_id))] == [wilma.worker_id]
    place = current_status(row.worker, project)
    assert (place.status, place.by) == (WorkerStatus.TRAINED, "rosa")
    assert "ready for this project" in place.reason
    row.refresh_from_db()
    assert row.status == AssignmentStatus.APPROVED


def test_repeating_a_lost_request_writes_nothing_twice(
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


def test_the_second_of_two_trainers_is_told(
    attempt: Callable[..., Assignment], researcher: User, admin: User
) -> None:
    row = attempt()
    say(row, researcher)
    with pytest.raises(Conflict, match="just given feedback"):
        say(row, admin, TrainingOutcome.COMPLETE)
    assert Feedback.objects.get().written_by == researcher
    assert not WorkerDecision.objects.exists()


def test_once_more_needs_words_and_a_remark_needs_a_place_in_the_answer(
    client: Client, project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    with pytest.raises(Refused, match="write what to do differently"):
        say(row, researcher, summary=" ", remarks=[])
    with pytest.raises(Refused, match="box"):
        say(row, researcher, remarks=[REMARK | {"box": 2}])
    client.force_login(researcher)
    url = reverse("training-answer", args=[project.slug, row.pk])
    kept = client.post(url, {"outcome": "again", "remark-2-boxes-7": "Where?", "remark-1-clue": "Keep me."})
    assert kept.status_code == 400
    assert "Keep me." in kept.content.decode()
    assert client.post(url, {"outcome": "later"}).status_code == 400
    assert not Feedback.objects.exists()
    assert not Decision.objects.exists()


def test_a_paused_worker_is_paid_but_not_called_ready(
    project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    change_worker_status(
        project=project, worker=row.worker, status=WorkerStatus.PAUSED, reason="Why", by=researcher
    )
    with pytest.raises(Refused, match="reinstate the worker first"):
        say(row, researcher, TrainingOutcome.COMPLETE)
    assert not Feedback.objects.exists()
    assert not Decision.objects.exists()
    say(row, researcher)
    assert Decision.objects.count() == 1
    assert current_status(row.worker, project).status is WorkerStatus.PAUSED


def test_what_was_approved_elsewhere_is_still_answered(
    project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    row = attempt()
    approve(row)
    assert training.unanswered_attempts(project).count() == 1
    row.refresh_from_db()
    say(row, researcher, TrainingOutcome.COMPLETE)
    assert Decision.objects.count() == 1
    assert pool_worker_ids(project, Pool.TRAINED) == {row.worker_id}


def test_earlier_attempts_stand_beside_the_next_and_phrases_come_back(
    client: Client, project: Project, attempt: Callable[..., Assignment], researcher: User
) -> None:
    say(attempt(0), researcher)
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
    ("name", "place"),
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
def test_a_field_names_its_place_and_a_place_its_field(name: str, place: RemarkTarget | None) -> None:
    assert target_from_field(name) == place
    assert place is None or place.field == name


def test_remarks_come_in_the_order_of_the_page() -> None:
    fields = [
        ("remark-2-clue", "c"),
        ("csrfmiddlewaretoken", "x"),
        ("remark-1", "b"),
        ("remark-whole", "a"),
        ("remark-2", ""),
    ]
    assert [row["text"] for row in parse_remarks(fields)] == ["a", "b", "c"]
