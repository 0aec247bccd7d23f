"""One worker, one unit, and the most that one worker may do: told before work starts, and true under races."""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits.domain.pool import Pool
from hits.domain.states import Match, UnitScope, WorkerAction
from hits.marketplace.errors import Refused as MarketRefused
from hits.marketplace.models import Clock
from hits.marketplace.models import Worker as MarketWorker
from hits.marketplace.services import attempts as market_attempts
from hits.models import Assignment, Attempt, Batch, Draft, Hit, Image, Project, Submission, Worker
from hits.selectors.eligibility import why_not
from hits.selectors.limits import unit_taken
from hits.services import submit
from hits.services.launch import Access, Terms
from hits.services.qualifications import decide_about
from hits.services.submit import NotEligible, PageKey
from hits.tasks import sync_live_batches
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, page_key, published, store
from tests.support.threads import together

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
ONE_EACH = Terms(opinions=2, access=Access(worker_limit=1))


def _key(task: market.Accepted) -> PageKey:
    return page_key(task.hit, task.slot.assignment_id, task.worker.worker_id)


def _page(task: market.Accepted) -> Any:
    """Ask for the task's page, as the marketplace's frame does."""
    frame = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))
    return frame.get(
        reverse("hit-page", args=[task.hit.unit.public_id]),
        {
            "assignmentId": task.slot.assignment_id,
            "hitId": task.hit.hit_id,
            "workerId": task.worker.worker_id,
            "turkSubmitTo": f"{settings.PUBLIC_URL}/a/secret",
        },
    )


def _both(project: Project, make_image: MakeImage, terms: Terms = ONE_EACH) -> tuple[Hit, Hit]:
    market.fund()
    first, second = published(project, [make_image(1), make_image(2)], terms=terms).units.all()
    return first.hits.get(), second.hits.get()


def _over(attempt: Attempt, by: timedelta) -> None:
    """Move an opening back to where its time was over ``by`` ago."""
    duration = timedelta(seconds=attempt.hit.unit.batch.duration_seconds)
    Attempt.objects.filter(pk=attempt.pk).update(opened_at=timezone.now() - duration - by)


@pytest.mark.rule(
    "one-worker-one-unit",
    source="ours",
    text="Twelve opinions are a HIT of nine and one of three, and the worker of one is refused in the other.",
)
def test_twelve_opinions_are_nine_and_three_and_nobody_gives_two(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    published(project, [make_image(1)], terms=Terms(opinions=12))
    nine, three = Hit.objects.order_by("part")
    assert (nine.max_assignments, three.max_assignments) == (9, 3)
    worker = market.market_worker()
    first = market.accept(nine, worker)
    submit.open_attempt(_key(first))
    second = market.accept(three, worker)  # the marketplace keeps them apart in one HIT alone
    page = _page(second)
    assert page.status_code == 403
    assert "You have this one in hand already, in another task." in page.text
    with pytest.raises(NotEligible, match=r"which you opened at \d\d:\d\d UTC and may hand in until"):
        submit.open_attempt(_key(second))
    market.hand_over(first, store(_key(first), observations()))
    with pytest.raises(NotEligible, match="You did this one already, in another task"):
        submit.open_attempt(_key(second))
    assert Attempt.objects.count() == 1
    submit.open_attempt(_key(market.accept(three, market.market_worker("somebody else"))))


def test_another_slot_of_the_same_hit_proves_that_the_first_was_given_back(
    project: Project, make_image: MakeImage
) -> None:
    """No notification told us so, and somebody else has done the first slot meanwhile."""
    market.fund()
    batch = published(project, [make_image(1)], terms=Terms(opinions=2))
    Batch.objects.filter(pk=batch.pk).update(worker_limit=1)
    hit, ann, bob = Hit.objects.get(), market.market_worker("ann"), market.market_worker("bob")
    first = market.accept(hit, ann)
    submit.open_attempt(_key(first))
    market_attempts.return_task(worker=ann, assignment_id=first.slot.assignment_id, now=Clock.now())
    Attempt.objects.update(released_at=None)
    taken = market.accept(hit, bob)
    assert taken.slot.assignment_id == first.slot.assignment_id
    market.hand_over(taken, store(_key(taken), observations()))
    second = market.accept(hit, ann)
    assert second.slot.assignment_id != first.slot.assignment_id
    assert _page(second).status_code == 200
    market.hand_over(second, store(_key(second), observations(salt="again")))
    assert {row.match for row in collected(batch)} == {Match.MATCHED}


@pytest.mark.parametrize(("scope", "open_again"), [(UnitScope.BATCH, True), (UnitScope.PROJECT, False)])
def test_the_same_unit_in_another_batch(
    project: Project, make_image: MakeImage, scope: UnitScope, open_again: bool
) -> None:
    market.fund()
    image, worker = make_image(1), market.market_worker()
    earlier = published(project, [image])
    market.work(Hit.objects.get(unit__batch=earlier), worker)
    again = published(project, [image, make_image(2)], terms=Terms(unit_scope=scope))
    same, other = Hit.objects.filter(unit__batch=again).order_by("pk")
    submit.open_attempt(_key(market.accept(other, worker)))
    task = market.accept(same, worker)
    assert (_page(task).status_code == 200) is open_again
    if open_again:
        submit.open_attempt(_key(task))
    else:
        with pytest.raises(NotEligible, match="You did this one already"):
            submit.open_attempt(_key(task))


def test_a_training_task_may_be_done_again(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)], kind="sherlock_training")
    hit, worker = Hit.objects.get(unit__batch=batch), market.market_worker()
    market.work(hit, worker)
    ours = Worker.objects.get(worker_id=worker.worker_id)
    assert unit_taken(ours, hit) == []


def test_an_accepted_task_counts_and_the_second_one_is_refused_before_any_work(
    project: Project, make_image: MakeImage
) -> None:
    one, two = _both(project, make_image)
    worker = market.market_worker()
    submit.open_attempt(_key(market.accept(one, worker)))
    second = market.accept(two, worker)
    before = Attempt.objects.count(), Worker.objects.count(), Submission.objects.count()
    page = _page(second)
    assert page.status_code == 403
    assert "Each worker may do this once. Finish “Write observations" in page.text.replace("&quot;", '"')
    assert before == (Attempt.objects.count(), Worker.objects.count(), Submission.objects.count())
    with pytest.raises(NotEligible, match=r"or return it\. Please return this task\."):
        submit.open_attempt(_key(second))


def _meet_after_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two openings look before either writes, unless something makes the second one wait for the first."""
    meet, real = threading.Barrier(2), submit.why_not_this

    def slowly(*args: Any, **more: Any) -> list[str]:
        reasons = real(*args, **more)
        with suppress(threading.BrokenBarrierError):
            meet.wait(2)
        return reasons

    monkeypatch.setattr(submit, "why_not_this", slowly)


def _one_of_two_begins(hits: tuple[Hit, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    worker = market.market_worker()
    Worker.objects.create(environment="local", worker_id=worker.worker_id)
    keys = [_key(market.accept(hit, worker)) for hit in hits]
    _meet_after_the_look(monkeypatch)
    results = together([lambda key=key: submit.open_attempt(key) for key in keys])
    assert sorted(type(result).__name__ for result in results) == ["Attempt", "NotEligible"]
    assert Attempt.objects.count() == 1


def test_of_two_tasks_accepted_at_once_one_begins(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _one_of_two_begins(_both(project, make_image), monkeypatch)


def test_of_two_parts_of_a_unit_accepted_at_once_one_begins(
    project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.fund()
    published(project, [make_image(1)], terms=Terms(opinions=12))
    _one_of_two_begins(tuple(Hit.objects.all()), monkeypatch)


def test_returned_work_does_not_count(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image)
    worker = market.market_worker()
    attempt = submit.open_attempt(_key(market.accept(one, worker)))
    second = _key(market.accept(two, worker))
    Attempt.objects.filter(pk=attempt.pk).update(released_at=timezone.now())  # as a notification has it
    submit.open_attempt(second)


def test_work_whose_time_is_over_does_not_count(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image)
    worker = market.market_worker()
    attempt = submit.open_attempt(_key(market.accept(one, worker)))
    second = _key(market.accept(two, worker))
    _over(attempt, -timedelta(minutes=1))
    with pytest.raises(NotEligible):
        submit.open_attempt(second)
    _over(attempt, timedelta(seconds=1))
    submit.open_attempt(second)


def test_an_answer_that_never_got_through_locks_nobody_out(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image)
    worker = market.market_worker()
    task = market.accept(one, worker)
    stored = store(_key(task), observations())
    second = _key(market.accept(two, worker))
    collected(one.unit.batch)
    with pytest.raises(NotEligible, match="This can be done once, and you have handed yours in"):
        submit.open_attempt(second)
    _over(stored.attempt, timedelta(hours=1, minutes=1))
    collected(one.unit.batch)
    submit.open_attempt(second)


def test_who_accepts_a_returned_task_again_begins_anew_and_an_old_tab_does_not(
    project: Project, make_image: MakeImage
) -> None:
    one, _ = _both(project, make_image)
    worker = market.market_worker()
    key = _key(market.accept(one, worker))
    attempt = submit.open_attempt(key)
    market_attempts.return_task(worker=worker, assignment_id=key.assignment_id, now=Clock.now())
    _over(attempt, timedelta(minutes=5))
    Attempt.objects.filter(pk=attempt.pk).update(released_at=timezone.now())
    submit.save_draft(key=key, content={"late": True}, revision=0)
    attempt.refresh_from_db()
    assert attempt.released_at is not None
    assert _key(market.accept(one, worker)) == key  # the slot comes back under the same id
    again = submit.open_attempt(key)
    assert again.pk == attempt.pk
    assert again.released_at is None
    assert again.opened_at > timezone.now() - timedelta(minutes=1)
    assert Draft.objects.get().content == {"late": True}  # nothing that was written is lost


def test_a_returned_assignment_that_another_worker_gets_is_kept_apart(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    first, second = market.market_worker("first"), market.market_worker("second")
    left = market.accept(hit, first)
    store(_key(left), observations(salt="left"))
    market_attempts.return_task(worker=first, assignment_id=left.slot.assignment_id, now=Clock.now())
    taken = market.accept(hit, second)
    assert taken.slot.assignment_id == left.slot.assignment_id
    theirs = store(_key(taken), observations(salt="done"))
    market.hand_over(taken, theirs)
    (assignment,) = collected(batch)
    assert (assignment.match, assignment.submission) == (Match.MATCHED, theirs)
    assert assignment.worker.worker_id == second.worker_id
    assert Attempt.objects.values("assignment_id").distinct().count() == 1
    assert Attempt.objects.count() == 2


def test_a_second_click_a_second_tab_and_a_reload_are_one_submission(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    task = market.accept(Hit.objects.get(), market.market_worker())
    key, once = _key(task), uuid.uuid4()
    submit.agree(key=key, version=1, country="US")
    sent = {"key": key, "client_uuid": once, "answer": observations(), "active_seconds": 30.0}
    results = together([lambda: submit.store_submission(**sent)] * 3)
    assert len({stored.pk for stored, _ in results}) == 1
    assert sorted(new for _, new in results) == [False, False, True]
    for _ in range(2):
        market.hand_over(task, results[0][0])
    assert len(collected(batch)) == 1
    assert Submission.objects.count() == Assignment.objects.count() == 1


@pytest.mark.rule(
    "soft-block-within-a-poll",
    source="ours",
    text="A soft block closes our page at once, and the marketplace within one poll.",
)
def test_a_soft_block_holds_within_one_poll(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image, Terms(opinions=2))
    worker = market.market_worker()
    ours = Worker.objects.create(environment="local", worker_id=worker.worker_id)
    lagging = market.accept(one, worker)
    decide_about(
        project=project, worker=ours, action=WorkerAction.GRANT, pool=Pool.EXCLUDED, reason="Boxes.", by=None
    )
    assert _page(lagging).status_code == 403
    with pytest.raises(NotEligible, match=r"no new tasks of this project since .*Boxes\."):
        submit.open_attempt(_key(lagging))
    sync_live_batches()
    with pytest.raises(MarketRefused):
        market.accept(two, worker)


def test_the_limits_take_as_many_queries_for_a_long_history(
    project: Project, make_image: MakeImage, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    one, _ = _both(project, make_image)
    batch = Batch.objects.select_related("project").get(pk=one.unit.batch_id)
    worker = Worker.objects.create(environment="local", worker_id="AHARD")
    Attempt.objects.bulk_create(
        Attempt(hit=one, assignment_id=f"3A{n}", worker=worker, released_at=timezone.now())
        for n in range(300)
    )
    assert isinstance(market.market_worker(), MarketWorker)
    with django_assert_max_num_queries(4):
        assert why_not(worker, batch) == []
