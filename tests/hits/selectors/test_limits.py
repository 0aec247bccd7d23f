"""One worker, one unit, and the most that one worker may do: told before work starts, and true under races."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits.domain.states import SubmissionMatch, UnitScope, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.marketplace.models import HIT, Clock
from hits.marketplace.models import Worker as MarketWorker
from hits.marketplace.services import attempts as market_attempts
from hits.models import Assignment, Attempt, Batch, Draft, Hit, Image, Project, Submission, Worker
from hits.selectors.eligibility.limits import unit_taken_refusals
from hits.services.collecting import submit
from hits.services.collecting.page_keys import PageKey
from hits.services.collecting.submit import NotEligible
from hits.services.launching.terms import Eligibility, LaunchTerms
from hits.services.workers.qualifications import decide_on_worker
from hits.tasks import sync_live_batches
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, page_key, published, store
from tests.support.refusals import batch_refusals
from tests.support.threads import together

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
ONE_EACH = LaunchTerms(redundancy=2, eligibility=Eligibility(worker_limit=1))


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
            "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{task.secret}",
        },
    )


def _both(project: Project, make_image: MakeImage, terms: LaunchTerms = ONE_EACH) -> tuple[Hit, Hit]:
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
    text="Twelve workers per unit make a HIT of nine and one of three; the worker of one is refused in the other.",
)
def test_redundancy_of_twelve_is_split_and_no_worker_repeats(project: Project, make_image: MakeImage) -> None:
    market.fund()
    published(project, [make_image(1)], terms=LaunchTerms(redundancy=12))
    nine, three = Hit.objects.order_by("slice")
    assert (nine.max_assignments, three.max_assignments) == (9, 3)
    worker = market.market_worker()
    first = market.accept(nine, worker)
    with pytest.raises(MarketRefused, match="You have already accepted this item in another task"):
        market.accept(three, worker)
    market.submit_form(first, store(_key(first), observations()))
    collected(nine.unit.batch)
    with pytest.raises(MarketRefused, match="You have already worked on this item in another task"):
        market.accept(three, worker)
    assert Attempt.objects.count() == 1
    submit.open_attempt(_key(market.accept(three, market.market_worker("somebody else"))))


def test_second_slot_of_a_hit_is_allowed_after_a_return(project: Project, make_image: MakeImage) -> None:
    """No notification told us so, and somebody else has done the first slot meanwhile."""
    market.fund()
    batch = published(project, [make_image(1)], terms=LaunchTerms(redundancy=2))
    Batch.objects.filter(pk=batch.pk).update(worker_limit=1)
    hit, ann, bob = Hit.objects.get(), market.market_worker("ann"), market.market_worker("bob")
    first = market.accept(hit, ann)
    submit.open_attempt(_key(first))
    market_attempts.return_task(worker=ann, assignment_id=first.slot.assignment_id, now=Clock.now())
    Attempt.objects.update(released_at=None)
    taken = market.accept(hit, bob)
    assert taken.slot.assignment_id == first.slot.assignment_id
    market.submit_form(taken, store(_key(taken), observations()))
    second = market.accept(hit, ann)
    assert second.slot.assignment_id != first.slot.assignment_id
    assert _page(second).status_code == 200
    market.submit_form(second, store(_key(second), observations(salt="again")))
    assert {row.match for row in collected(batch)} == {SubmissionMatch.MATCHED}


@pytest.mark.parametrize(("scope", "open_again"), [(UnitScope.BATCH, True), (UnitScope.PROJECT, False)])
def test_same_unit_in_another_batch_follows_the_unit_scope(
    project: Project, make_image: MakeImage, scope: UnitScope, open_again: bool
) -> None:
    market.fund()
    image, worker = make_image(1), market.market_worker()
    earlier = published(project, [image])
    market.work(Hit.objects.get(unit__batch=earlier), worker)
    collected(earlier)
    again = published(project, [image, make_image(2)], terms=LaunchTerms(unit_scope=scope))
    same, other = Hit.objects.filter(unit__batch=again).order_by("pk")
    submit.open_attempt(_key(market.accept(other, worker)))
    if open_again:
        task = market.accept(same, worker)
        assert _page(task).status_code == 200
        submit.open_attempt(_key(task))
    else:
        with pytest.raises(MarketRefused, match="You have already worked on this item"):
            market.accept(same, worker)


def test_training_task_can_be_repeated(project: Project, make_image: MakeImage) -> None:
    market.fund()
    batch = published(project, [make_image(1)], kind="sherlock_training")
    hit, worker = Hit.objects.get(unit__batch=batch), market.market_worker()
    market.work(hit, worker)
    ours = Worker.objects.get(worker_id=worker.worker_id)
    assert unit_taken_refusals(ours, hit) == []


def test_accepted_task_counts_without_opening_its_page(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image)
    worker = market.market_worker()
    market.accept(one, worker)
    with pytest.raises(MarketRefused, match="Each worker can do this once"):
        market.accept(two, worker)
    assert Attempt.objects.count() == Worker.objects.count() == 0


def _one_of_two_is_given(hits: tuple[Hit, ...]) -> None:
    worker = market.market_worker()
    results = together([lambda hit=hit: market.accept(hit, worker) for hit in hits])
    assert sorted(type(result).__name__ for result in results) == ["Accepted", "ActionRefused"]


def test_concurrent_accepts_respect_the_worker_limit(project: Project, make_image: MakeImage) -> None:
    _one_of_two_is_given(_both(project, make_image))


def test_concurrent_accepts_of_two_slices_give_one(project: Project, make_image: MakeImage) -> None:
    market.fund()
    published(project, [make_image(1)], terms=LaunchTerms(redundancy=12))
    _one_of_two_is_given(tuple(Hit.objects.all()))


def test_returned_work_stops_counting_immediately(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image)
    worker = market.market_worker()
    task = market.accept(one, worker)
    submit.open_attempt(_key(task))
    market_attempts.return_task(worker=worker, assignment_id=task.slot.assignment_id, now=Clock.now())
    second = market.accept(two, worker)
    assert _page(second).status_code == 200
    submit.open_attempt(_key(second))


def test_lost_answer_does_not_block_the_worker(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image)
    worker = market.market_worker()
    task = market.accept(one, worker)
    store(_key(task), observations())
    market_attempts.return_task(worker=worker, assignment_id=task.slot.assignment_id, now=Clock.now())
    submit.open_attempt(_key(market.accept(two, worker)))


def test_accept_from_group_skips_done_units(project: Project, make_image: MakeImage) -> None:
    market.fund()
    published(project, [make_image(1), make_image(2)], terms=LaunchTerms(redundancy=12))
    worker = market.market_worker()
    group = HIT.objects.first().hit_type  # type: ignore[union-attr]
    units = set()
    for _ in range(2):
        slot = market_attempts.accept_or_resume_from_group(worker=worker, hit_type=group, now=Clock.now())
        hit = Hit.objects.get(hit_id=slot.hit.hit_id)
        task = market.Accepted(hit, slot, worker)
        market.submit_form(task, store(_key(task), observations(salt=str(hit.pk))))
        units.add(hit.unit_id)
    assert len(units) == 2
    with pytest.raises(MarketRefused, match="You have already accepted this item"):
        market_attempts.accept_or_resume_from_group(worker=worker, hit_type=group, now=Clock.now())


@pytest.fixture
def foreign(project: Project, make_image: MakeImage) -> tuple[Hit, Hit]:
    """Two HITs under a limit of one, as if they stood on a marketplace that is not ours."""
    _both(project, make_image)
    Batch.objects.update(environment="aws-production")
    Hit.objects.update(environment="aws-production")
    return tuple(Hit.objects.select_related("unit__batch__project").order_by("pk"))  # type: ignore[return-value]


def _foreign_page(hit: Hit, assignment: str, worker: str = "AWILMA") -> Any:
    frame = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))
    values = {"assignmentId": assignment, "hitId": hit.hit_id, "workerId": worker}
    return frame.get(
        reverse("hit-page", args=[hit.unit.public_id]), values | {"turkSubmitTo": "https://www.mturk.com"}
    )


def test_forged_assignments_on_foreign_marketplace_use_no_limit(foreign: tuple[Hit, Hit]) -> None:
    one, two = foreign
    for n in range(3):
        submit.open_attempt(page_key(one, f"3INVENTED{n}", "AWILMA"))
    assert _foreign_page(two, "3REAL").status_code == 200
    submit.open_attempt(page_key(two, "3REAL", "AWILMA"))


def test_confirmed_work_on_foreign_marketplace_limits_the_next_task(
    foreign: tuple[Hit, Hit],
) -> None:
    one, two = foreign
    worker = Worker.objects.create(environment="aws-production", worker_id="AWILMA")
    Assignment.objects.create(
        hit=one,
        worker=worker,
        assignment_id="3DONE",
        status="Submitted",
        submitted_at=timezone.now(),
        synced_at=timezone.now(),
    )
    page = _foreign_page(two, "3REAL")
    assert page.status_code == 403
    assert "This task is not open to you." in page.text
    assert "hand" not in page.text, "a foreign page tells no reason"
    with pytest.raises(NotEligible, match=r"^This task is not open to you\. Please return this task\.$"):
        submit.open_attempt(page_key(two, "3REAL", "AWILMA"))


def test_reaccepted_task_restarts_and_old_tab_is_refused(project: Project, make_image: MakeImage) -> None:
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


def test_returned_assignment_of_another_worker_is_separate(project: Project, make_image: MakeImage) -> None:
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
    market.submit_form(taken, theirs)
    (assignment,) = collected(batch)
    assert (assignment.match, assignment.submission) == (SubmissionMatch.MATCHED, theirs)
    assert assignment.worker.worker_id == second.worker_id
    assert Attempt.objects.values("assignment_id").distinct().count() == 1
    assert Attempt.objects.count() == 2


def test_double_click_second_tab_and_reload_are_one_submission(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    task = market.accept(Hit.objects.get(), market.market_worker())
    key, once = _key(task), uuid.uuid4()
    submit.record_consent(key=key, version=1, country="US")
    sent = {"key": key, "client_uuid": once, "answer": observations(), "active_seconds": 30.0}
    results = together([lambda: submit.store_submission(**sent)] * 3)
    assert len({stored.pk for stored, _ in results}) == 1
    assert sorted(new for _, new in results) == [False, False, True]
    for _ in range(2):
        market.submit_form(task, results[0][0])
    assert len(collected(batch)) == 1
    assert Submission.objects.count() == Assignment.objects.count() == 1


@pytest.mark.rule(
    "soft-block-within-a-poll",
    source="ours",
    text="A soft block closes our page at once, and the marketplace within one poll.",
)
def test_soft_block_applies_within_one_poll(project: Project, make_image: MakeImage) -> None:
    one, two = _both(project, make_image, LaunchTerms(redundancy=2))
    worker = market.market_worker()
    ours = Worker.objects.create(environment="local", worker_id=worker.worker_id)
    lagging = market.accept(one, worker)
    decide_on_worker(
        project=project, worker=ours, action=WorkerAction.GRANT, pool=Pool.EXCLUDED, reason="Boxes.", by=None
    )
    assert _page(lagging).status_code == 403
    with pytest.raises(NotEligible, match=r"no new tasks of this project\. This was decided on .*Boxes\."):
        submit.open_attempt(_key(lagging))
    sync_live_batches()
    with pytest.raises(MarketRefused):
        market.accept(two, worker)


def test_limit_queries_are_independent_of_history(
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
        assert batch_refusals(worker, batch) == []
