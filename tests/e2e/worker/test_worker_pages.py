"""Every page that a worker sees, beside the observation task's own: axe-core finds nothing, nothing overflows."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from curation.models import Pair
from hits.domain.states import ReviewVerdict, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.marketplace.models import HITType
from hits.marketplace.services import payouts
from hits.models import Hit, Image, Project, Worker
from hits.mturk.boto import marketplace
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import Eligibility, LaunchTerms, PlannedRequirement
from hits.services.publishing.publish import publish_batch
from hits.services.reviewing import review
from hits.services.workers import qualifications
from tests.support import market
from tests.support.answers import observations
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import agreed, task_address
from tests.support.loop import collected, published
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.services.judging import launch_comparison, launch_review

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
MakeImage = Callable[..., Image]


SIZES = [(1280, "light"), (1280, "dark"), (768, "light"), (390, "light")]


def _look(page: Any, address: str, state: str) -> None:
    page.goto(address)
    check_sizes(page, state, SIZES)


@pytest.fixture
def busy(site: str, project: Project, make_image: MakeImage) -> market.Accepted:
    """Return a task in hand of a worker with work done, rejected, closed and taken away."""
    market.fund()
    worker = market.market_worker("wilma")
    batch = published(project, [make_image(n) for n in range(3)])
    first, second, third = Hit.objects.filter(unit__batch=batch).order_by("pk")
    market.work(first, worker, observations(5))
    market.work(second, worker)
    done, bad = sorted(collected(batch), key=lambda row: row.hit_id)
    for row, verdict, words in (
        (done, ReviewVerdict.APPROVE, ""),
        (bad, ReviewVerdict.REJECT, "Box each clue by itself."),
    ):
        decision = review.decide_assignment(assignment=row, verdict=verdict, by=None, feedback=words)
        review.settle_decision(decision=decision, marketplace=marketplace())
    ours = Worker.objects.get(worker_id=worker.worker_id)
    history = (
        (WorkerAction.GRANT, Pool.QUALIFIED),
        (WorkerAction.GRANT, Pool.TRAINED),
        (WorkerAction.REVOKE, Pool.TRAINED),
        (WorkerAction.GRANT, Pool.EXCLUDED),
        (WorkerAction.REVOKE, Pool.EXCLUDED),
    )
    for action, pool in history:
        made = qualifications.decide_on_worker(
            project=project, worker=ours, action=action, pool=pool, reason="Boxes were drawn late.", by=None
        )
        qualifications.settle_decision(decision=made, marketplace=marketplace())
    closed, _ = launch_batch(
        project=project,
        kind_name="sherlock_observation",
        name="For the trained",
        units=[PlannedUnit("one", {"image": make_image(9).pk})],
        by=None,
        terms=LaunchTerms(
            eligibility=Eligibility(requirements=(PlannedRequirement(Pool.TRAINED, Comparator.EXISTS),))
        ),
    )
    publish_batch(batch=closed, marketplace=marketplace())
    return market.accept(third, worker)


@pytest.mark.long
def test_the_worker_site(busy: market.Accepted, open_page: OpenPage, sign_in: Any) -> None:
    page = open_page()
    _look(page, "/sign-in/", "sign-in")
    sign_in(page, "wilma")
    for name in ("work", "history", "earnings", "qualifications", "messages", "messages"):
        _look(page, reverse(f"marketplace:{name}"), name)  # the second time, the messages are read
    for group in HITType.objects.order_by("pk"):
        _look(
            page, reverse("marketplace:preview", args=[group.hit_type_id]), f"preview of {group.description}"
        )
    task = reverse("marketplace:task", args=[busy.slot.assignment_id])
    _look(page, task, "a task's own bar")
    page.goto(task)
    page.get_by_role("button", name="Return").first.click()
    check_sizes(page, "asked whether to return", SIZES)
    page.get_by_role("dialog").get_by_role("button", name="Return").click()
    page.wait_for_url("**/work/**")
    _look(page, task, "a task that was returned")


@pytest.mark.long
def test_the_platform_admins_pages(busy: market.Accepted, open_page: OpenPage, sign_in: Any) -> None:
    get_user_model().objects.create_superuser("root", password="a long pass phrase")
    owner = market.fund(123_456_789_00)
    slip = payouts.Transfer(busy.worker, 60, payouts.today(), "Bank transfer", "SEPA-2026-000001-of-the-bank")
    payouts.record_payout(transfer=slip, idempotency_key="1", by=None)
    page = open_page()
    sign_in(page, "root")
    for name, *of in (
        ("payouts",),
        ("payout-import",),
        ("worker-payouts", busy.worker.pk),
        ("accounts",),
        ("requester-statement", owner.pk),
    ):
        _look(page, reverse(f"marketplace:{name}", args=of), name)


def test_what_stands_in_the_frame_when_nothing_can_be_done(
    busy: market.Accepted, open_page: OpenPage, site: str
) -> None:
    page = open_page()
    address = task_address(busy)
    Hit.objects.get(pk=busy.hit.pk).unit.images.update(taken_down_at="2026-01-01T00:00Z")
    _look(page, address, "a photo that was taken down")


def _set(pair: Pair) -> SetToJudge:
    texts = [CandidateToRate(f"c{n}", f"Somebody left {n} minutes ago.") for n in range(10)]
    return SetToJudge("set-1", pair.instance_id, pair.image_id, pair.boxes, texts)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_judging_tasks(busy: market.Accepted, project: Project, open_page: OpenPage, scheme: str) -> None:
    pairs = list(Pair.objects.order_by("pk"))
    judged, _ = launch_review(project=project, observations=pairs[:1], by=None)
    rated, _ = launch_comparison(project=project, sets=[_set(pairs[0])], by=None, name="Ratings")
    judge = market.market_worker("wanda")
    page = open_page(color_scheme=scheme)
    for batch in (judged, rated):
        publish_batch(batch=batch, marketplace=marketplace())
        task = agreed(market.accept(Hit.objects.get(unit__batch=batch), judge))
        page.goto(task_address(task))
        page.locator("html[data-ready=true]").wait_for(state="attached")
        check_page(page, f"{batch.kind}, at a first visit")
        page.get_by_role("button", name="Submit").click(force=True)
        check_page(page, f"{batch.kind}, with gaps")
        page.set_viewport_size({"width": 390, "height": 844})
        check_page(page, f"{batch.kind}, on a phone")
        page.set_viewport_size({"width": 1280, "height": 900})
