"""A review round in a browser: launched, judged by keyboard and by touch; closed to other workers."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from curation.models import Pair
from hits.domain.states import BatchState, SubmissionMatch, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Worker as MarketWorker
from hits.models import Batch, Hit, Image, Project, Submission, Worker
from hits.mturk.boto import marketplace
from hits.mturk.environments import current_environment
from hits.services.launching.eligibility import build_eligibility
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.services.workers import qualifications
from tests.support import box_editor, loop, market
from tests.support.answers import observations
from tests.support.axe import check_page, check_width
from tests.support.pages import until, wait_until_seen
from validation.models import JudgingRound
from validation.selectors.judging import pair_judgments
from validation.services.judging import launch_review

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
READY = "html[data-ready=true]"
# The five colours of tokens.css; the second one is orange.
ORANGE = "rgb(200, 74, 0)"


@pytest.fixture
def author() -> MarketWorker:
    return market.market_worker("arthur")


@pytest.fixture
def pairs(site: str, project: Project, make_image: Callable[..., Image], author: MarketWorker) -> list[Pair]:
    """Return three approved pairs of the author on one photo."""
    market.fund()
    batch = loop.published(project, [make_image(1, width=640, height=480)])
    market.work(batch.units.get().hits.get(), author, observations(3))
    (assignment,) = loop.collected(batch)
    loop.approve(assignment)
    return list(Pair.objects.order_by("index"))


def qualify(project: Project, worker: MarketWorker) -> None:
    """Grant the qualification, here and on the marketplace."""
    ours, _ = Worker.objects.get_or_create(environment=current_environment().name, worker_id=worker.worker_id)
    decision = qualifications.decide_on_worker(
        project=project,
        worker=ours,
        action=WorkerAction.GRANT,
        pool=Pool.QUALIFIED,
        reason="9 of 9 pairs were reasonable.",
        by=None,
    )
    qualifications.settle_decision(decision=decision, marketplace=marketplace())


def tab_to(page: Any, root: Any, selector: str) -> None:
    """Press Tab until the element has the focus, as users without a mouse do."""
    for _ in range(80):
        if root.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with the keyboard")


def launch_by_keys(page: Any, project: Project) -> Batch:
    """Select a sample of two for qualified workers and launch it with the keyboard."""
    page.goto(reverse("judging", args=[project.slug]))
    tab_to(page, page, "a:text('Launch a review round')")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judging/review/")
    tab_to(page, page, "input[name=how]")
    page.keyboard.press("ArrowDown")
    tab_to(page, page, "input[name=n]")
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    tab_to(page, page, "input[name=pool]")
    while not page.locator("input[name=pool][value=qualified]").is_checked():
        page.keyboard.press("ArrowUp")
    check_page(page, "the launch form")
    tab_to(page, page, "button[value=estimate]")
    page.keyboard.press("Enter")
    page.locator(".launch-confirm").wait_for()
    page.wait_for_load_state()
    assert "2 of 3 not yet sent to judges, by 1 author" in page.locator("main").inner_text()
    check_page(page, "the cost")
    tab_to(page, page, "button[value=launch]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judging/")
    return Batch.objects.get(kind="observation_review")


def judge_by_keys(page: Any) -> None:
    """Take the first task on the worker site and answer it by digits, consent included."""
    page.get_by_role("button", name="Start").first.focus()
    page.keyboard.press("Enter")
    frame = page.frame_locator("iframe")
    frame.locator("[data-agree]:enabled").wait_for()  # Tab skips it until the script is ready
    frame.locator("#country").focus()
    page.keyboard.type("United States")
    tab_to(page, frame, "[data-agree]")
    page.keyboard.press("Enter")
    frame.locator(READY).wait_for(state="attached")
    tab_to(page, frame, "#boxes-1")
    page.keyboard.press("2")
    page.keyboard.press("1")
    assert frame.locator("#count").inner_text() == "2 of 3 answered"
    page.keyboard.press("ArrowUp")  # back without an answer, and forward again
    page.keyboard.press("ArrowDown")
    page.keyboard.press("4")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Submitted", exact=False).first.wait_for()


def test_round_is_launched_and_judged_by_keyboard(
    worker_process: None,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    pairs: list[Pair],
    researcher: User,
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    batch = launch_by_keys(page, project)
    until(page, lambda: Batch.objects.get(pk=batch.pk).state == BatchState.LIVE, "the round did not go live")
    assert JudgingRound.objects.get(batch=batch).selection["how"] == "sample"

    judge = market.market_worker("wilma")
    qualify(project, judge)
    work = open_page()
    sign_in(work, "wilma")
    judge_by_keys(work)
    (assignment,) = loop.collected(batch)
    assert assignment.match == SubmissionMatch.MATCHED
    submission = Submission.objects.get(kind="observation_review")
    assert submission.answer == {"boxes": "mostly", "reasonable": "highly", "interesting": "not_at_all"}
    assert 0 < submission.active_seconds < 120
    assert [pair.judge_count for pair in pair_judgments(project=project).values()] == [1]

    page.goto(reverse("judging", args=[project.slug]))
    text = " ".join(page.locator("main").inner_text().split())
    assert (
        "1 of 3 approved pairs has not been sent to judges; 5 judgments of other pairs are pending." in text
    )
    assert "1 of 6" in text
    check_page(page, "the judging page")


@pytest.fixture
def review(project: Project, pairs: list[Pair]) -> Callable[..., Hit]:
    """Return a function that publishes a round over the second pair, and returns its HIT."""

    def publish_round(**more: Any) -> Hit:
        batch, _ = launch_review(project=project, observations=[pairs[1]], by=None, **more)
        publish.publish_batch(batch=batch, marketplace=marketplace())
        return Hit.objects.get(unit__batch=batch)

    return publish_round


def opened(open_page: Callable[..., Any], hit: Hit, **window: Any) -> Any:
    """Open the task's page after the consent."""
    accepted = box_editor.agreed(market.accept(hit, market.market_worker("wilma")))
    page = open_page(**window)
    page.goto(box_editor.task_address(accepted))
    page.locator(READY).wait_for(state="attached")
    wait_until_seen(page)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
def test_review_task_is_accessible_and_fits(
    review: Callable[..., Hit], open_page: Callable[..., Any], width: int, height: int, scheme: str
) -> None:
    page = opened(open_page, review(), width=width, height=height, color_scheme=scheme)
    check_page(page, "with the instructions open")
    page.locator("#how").evaluate("how => { how.open = false; }")
    check_page(page, "folded")
    check_width(page, "the review page")
    assert page.locator("#stage .box .line").count() == len(hit_boxes())
    stroke = page.locator("#stage .box .line").first.evaluate("line => getComputedStyle(line).stroke")
    assert stroke == ORANGE, "the second pair's boxes have the colour that its author saw"
    assert page.get_by_text("Your first judgment is fine.", exact=True).is_visible()
    for question in page.locator(".rate").all():
        question.locator("input").first.check()
    assert page.locator("#count").inner_text() == "3 of 3 answered"
    assert page.locator("#submit").get_attribute("aria-disabled") == "false"
    check_page(page, "answered")


def hit_boxes() -> list[dict[str, int]]:
    boxes: list[dict[str, int]] = Hit.objects.get(unit__batch__kind="observation_review").unit.payload[
        "boxes"
    ]
    return boxes


def test_single_keys_can_be_turned_off(review: Callable[..., Hit], open_page: Callable[..., Any]) -> None:
    page = opened(open_page, review())
    page.locator("#how .how-b").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#how .how-b:focus").count() == 1, "arrows scroll the instructions"
    page.get_by_role("button", name="Turn keys off").click()
    page.keyboard.press("2")
    assert page.locator("#count").inner_text() == "0 of 3 answered"
    page.locator("#boxes-1").focus()
    page.keyboard.press("Space")
    assert page.locator("#count").inner_text() == "1 of 3 answered", (
        "a radio that has the focus still answers"
    )
    check_page(page, "keys off")
    page.reload()
    page.locator(READY).wait_for(state="attached")
    page.get_by_role("button", name="Turn keys on").click()
    page.locator("#reasonable-1").focus()
    page.keyboard.press("1")
    assert page.locator("#count").inner_text() == "2 of 3 answered"


def test_pair_is_judged_by_touch_on_a_phone(
    review: Callable[..., Hit], open_page: Callable[..., Any]
) -> None:
    hit = review()
    page = opened(open_page, hit, width=390, height=844, has_touch=True, is_mobile=True)
    for question, value in (("boxes", "entirely_off"), ("reasonable", "un"), ("interesting", "very")):
        page.locator(f"label:has(input[name={question}][value={value}])").tap()
    page.locator("#submit").tap()
    page.get_by_text("Submitted", exact=False).first.wait_for()
    assert Submission.objects.get(kind="observation_review").answer["interesting"] == "very"
    (assignment,) = loop.collected(hit.unit.batch)
    assert assignment.match == SubmissionMatch.MATCHED


def test_author_and_unqualified_worker_cannot_judge(
    review: Callable[..., Hit],
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    author: MarketWorker,
) -> None:
    """The marketplace refuses unqualified workers; our page refuses both, even with the URL."""
    hit = review(terms=LaunchTerms(eligibility=build_eligibility(pool=Pool.QUALIFIED)))
    market.market_worker("una")
    page = open_page()
    sign_in(page, "una")
    assert page.get_by_role("button", name="Start").count() == 0
    assert "qualified" in page.locator("main").inner_text()

    qualify(project, author)
    with pytest.raises(ActionRefused, match="This task is about your own work"):
        market.accept(hit, author)
    late = market.market_worker("walter")
    qualify(project, late)
    accepted = market.accept(hit, late)
    row, _ = Worker.objects.get_or_create(environment=hit.environment, worker_id=late.worker_id)
    hit.unit.excluded_workers.add(row)  # found out after they had accepted it
    page.goto(box_editor.task_address(accepted))
    page.get_by_text(
        "This task is about your own work, or you judged it before, so somebody else has to do it."
    ).wait_for()
    assert page.locator("#task").count() == 0
