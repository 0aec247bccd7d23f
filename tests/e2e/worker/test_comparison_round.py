"""The page on which ten sentences are rated: by keys alone, five at a time, with and without the mark, on a phone."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from curation.models import ComparisonRound
from curation.services import comparison as services
from hits.models import Hit, Image, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.images.import_image import import_image
from hits.services.publishing.publish import publish_batch
from tests.support import market
from tests.support.axe import check_page, check_sizes, check_width
from tests.support.box_editor import READY, agreed, plain_photo, task_address
from tests.support.judging.work import Work
from tests.support.pages import wait_until_seen
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.services.judging import launch_comparison

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
BOX = {"left": 200, "top": 120, "width": 220, "height": 150}
REFERENCE = "The owner is only away for a minute."
CURRENT = ".row--now .n"
# The page's clock, which stands while ``stands`` has a value.
CLOCK = """
const runs = performance.now.bind(performance);
performance.now = () => window.stands ?? runs();
"""
ZOOMED = re.compile(r"^(?!0 0 640 426$)")


@pytest.fixture
def work(project: Project) -> Work:
    """Return a maker of confirmed work in the project."""
    return Work(project)


@pytest.fixture
def photo(site: str, project: Project) -> Image:
    """Return a photograph of 640 by 426 pixels."""
    return import_image(project=project, name="shore.jpg", data=plain_photo(640, 426))[0]


@pytest.fixture
def published_set(work: Work, photo: Image) -> Callable[..., Hit]:
    """Return a function that publishes a set of ten; its options are those of ``SetToJudge``."""

    def publish(**options: Any) -> Hit:
        market.fund()
        gold = work.observed(photo, worker="AUTHOR")[0]
        texts = [CandidateToRate(f"c{n}", f"Somebody left {n} minutes ago.") for n in range(10)]
        comparison = SetToJudge("set-1", gold.instance_id, photo.pk, [BOX], texts, **options)
        batch, _ = launch_comparison(project=work.project, sets=[comparison], by=None, name="Ratings")
        publish_batch(batch=batch, marketplace=marketplace())
        return Hit.objects.get(unit__batch=batch)

    return publish


def _open(page: Any, hit: Hit, worker: str = "wanda") -> market.Accepted:
    task = agreed(market.accept(hit, market.market_worker(worker)))
    page.goto(task_address(task))
    _ready(page)
    return task


def _ready(page: Any) -> None:
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    wait_until_seen(page)


def _order(page: Any) -> list[str]:
    rows = page.locator(".cand").evaluate_all("rows => rows.map((row) => row.dataset.candidate)")
    return [str(row) for row in rows]


def _submit_by_keys(page: Any) -> Submission:
    page.locator("#submit[aria-disabled=false]").focus()
    with page.expect_request("**/mturk/externalSubmit"):
        page.keyboard.press("Enter")
    return Submission.objects.get(attempt__hit__unit__batch__kind="likert_comparison")


def _seen(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".cand:visible .n").all_text_contents()]


def test_ten_keys_give_ten_ratings_in_shown_order(
    published_set: Callable[..., Hit], open_page: OpenPage
) -> None:
    page = open_page()
    hit = published_set()
    _open(page, hit)
    order = _order(page)
    page.reload()
    _ready(page)
    assert _order(page) == order, "a reload shows the same order"
    expect(page.locator(".cand:visible")).to_have_count(10)
    assert not page.locator("#pager").is_visible()
    given = [1, 2, 3, 3, 2, 1, 1, 2, 3, 2]
    for rating in given:
        page.keyboard.press(str(rating))
    expect(page.locator("#count")).to_contain_text("10 of 10")
    check_page(page, "all rated")
    stored = _submit_by_keys(page)
    assert stored.shown is not None
    assert stored.shown["order"] == order
    assert {r["candidate"]: r["rating"] for r in stored.answer["ratings"]} == dict(
        zip(order, given, strict=True)
    )
    assert [r["candidate"] for r in stored.answer["ratings"]] == [f"c{n}" for n in range(10)]
    other = open_page()
    _open(other, hit, "walter")
    assert _order(other) == order[::-1], "another worker has the reverse order"


def test_five_statements_per_page_show_missing_ratings(
    published_set: Callable[..., Hit], open_page: OpenPage
) -> None:
    page = open_page()
    _open(page, published_set(per_page=5))
    assert _seen(page) == ["1", "2", "3", "4", "5"]
    expect(page.locator("#range")).to_have_text("1 to 5 of 10")
    assert not page.get_by_role("button", name="Previous").is_visible()
    for _ in range(5):
        page.keyboard.press("3")
    assert _seen(page) == ["6", "7", "8", "9", "10"], "the keys go on to the next page"
    assert page.locator(CURRENT).text_content() == "6"
    expect(page.locator("#count")).to_contain_text("5 of 10")
    page.keyboard.press("ArrowUp")
    assert _seen(page)[0] == "1"
    page.get_by_role("button", name="Next 5").click()
    assert page.locator(CURRENT).text_content() == "6"
    check_page(page, "the second page of five")
    page.get_by_role("button", name="Previous 5").click()
    assert _seen(page)[0] == "1"
    page.locator("#gaps a", has_text="9").click()
    assert page.locator(CURRENT).text_content() == "9"
    for _ in range(5):
        page.keyboard.press("2")
    page.locator("#save").get_by_text(re.compile("^Saved")).wait_for()
    page.reload()
    _ready(page)
    expect(page.locator("#count")).to_contain_text("10 of 10")
    assert len(_submit_by_keys(page).answer["ratings"]) == 10


def test_reload_opens_page_of_first_missing_rating(
    published_set: Callable[..., Hit], open_page: OpenPage
) -> None:
    page = open_page()
    _open(page, published_set(per_page=5))
    for _ in range(6):
        page.keyboard.press("1")
    page.locator("#save").get_by_text(re.compile("^Saved")).wait_for()
    page.reload()
    _ready(page)
    assert _seen(page) == ["6", "7", "8", "9", "10"]
    assert page.locator(CURRENT).text_content() == "7"


def test_region_mark_is_shared_rendering_and_can_be_hidden(
    published_set: Callable[..., Hit], open_page: OpenPage
) -> None:
    page = open_page()
    page.add_init_script(CLOCK)
    with page.expect_response("**/region") as reply:
        _open(page, published_set())
    assert reply.value.status == 200
    assert reply.value.header_value("content-type") == "image/jpeg"
    marked = page.locator("#marked")
    button = page.locator("#hide")
    # The page's clock stands: a machine that is busy turns no press into a long one.
    page.evaluate("window.stands = performance.now()")
    page.keyboard.press("h")
    expect(marked).to_have_attribute("visibility", "hidden")
    expect(button).to_contain_text("Show the mark")
    page.keyboard.press("h")
    expect(marked).to_have_attribute("visibility", "visible")
    page.keyboard.down("h")
    expect(marked).to_have_attribute("visibility", "hidden")
    page.evaluate("window.stands += 500")
    page.keyboard.up("h")
    expect(marked).to_have_attribute("visibility", "visible")
    button.click()
    expect(marked).to_have_attribute("visibility", "hidden")
    check_page(page, "without the mark")
    page.keyboard.press("z")
    expect(page.locator("#photo")).to_have_attribute("viewBox", ZOOMED)
    page.keyboard.press("z")
    expect(page.locator("#photo")).to_have_attribute("viewBox", "0 0 640 426")
    assert not page.locator("#no-mark").is_visible()
    assert page.locator("#count").text_content().startswith("0 of 10"), "no key of the photo rates"


def test_single_keys_can_be_turned_off(published_set: Callable[..., Hit], open_page: OpenPage) -> None:
    page = open_page()
    _open(page, published_set())
    page.get_by_role("button", name="Turn keys off").click()
    for key in ("3", "h", "z"):
        page.keyboard.press(key)
    expect(page.locator("#count")).to_contain_text("0 of 10")
    assert page.locator("#marked").get_attribute("visibility") is None
    expect(page.locator("#photo")).to_have_attribute("viewBox", "0 0 640 426")
    page.locator("#row1 input").first.focus()
    page.keyboard.press("Space")
    expect(page.locator("#count")).to_contain_text("1 of 10")
    page.get_by_role("button", name="Turn keys on").click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("3")
    expect(page.locator("#count")).to_contain_text("2 of 10")
    check_page(page, "keys off and on again")


def test_page_without_region_mark_shows_a_message(
    published_set: Callable[..., Hit], open_page: OpenPage
) -> None:
    page = open_page()
    page.route("**/region", lambda route: route.abort())
    _open(page, published_set())
    expect(page.locator("#no-mark")).to_be_visible()
    check_page(page, "the mark did not load")


def test_clue_and_reference_are_shown_if_selected(
    published_set: Callable[..., Hit], open_page: OpenPage
) -> None:
    page = open_page()
    _open(page, published_set(reference=REFERENCE, clue="a rope on the pier"))
    look = page.locator(".look")
    expect(look).to_contain_text(REFERENCE)
    expect(look).to_contain_text("a rope on the pier")
    assert page.locator(".cand", has_text=REFERENCE).count() == 0, "it is not to be rated"
    page.keyboard.press("3")  # so that a rated row is seen too
    expect(page.locator("#count")).to_contain_text("1 of 10")
    check_sizes(page, "with the reference", [(1280, "light"), (1280, "dark")])


@pytest.mark.parametrize("per_page", [5, 10])
def test_page_on_a_phone_does_not_scroll_sideways(
    published_set: Callable[..., Hit], open_page: OpenPage, per_page: int
) -> None:
    page = open_page(width=390, height=844, has_touch=True)
    _open(page, published_set(per_page=per_page, reference=REFERENCE))
    check_width(page, "at the start")
    check_page(page, "on a phone")
    for number in range(1, 11):
        if number == 6 and per_page == 5:
            page.get_by_role("button", name="Next 5").tap()
        page.locator(f"#row{number} label").nth(1).tap()
    expect(page.locator("#count")).to_contain_text("10 of 10")
    check_width(page, "all rated")


def test_preview_shows_all_statements(published_set: Callable[..., Hit], open_page: OpenPage) -> None:
    hit = published_set(per_page=5)
    page = open_page()
    base = task_address(market.accept(hit, market.market_worker("wanda"))).split("?")[0]
    page.goto(f"{base}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE")
    page.locator(READY).wait_for(state="attached")
    expect(page.locator(".cand:visible")).to_have_count(10)
    check_page(page, "a preview")


@pytest.fixture
def built_round(work: Work, photo: Image) -> ComparisonRound:
    """Return a comparison round with one set of five."""
    pairs = [*work.observed(photo, worker="ONE"), *work.observed(work.image(2), worker="TWO")]
    return services.store_round(
        project=work.project,
        options=services.RoundOptions(min_candidates=2),
        built=services.BuiltRound(
            encoder="made up",
            provenance={"code": "test"},
            instances=6,
            inferences=6,
            sets=[services.BuiltSet(pairs[0].pk, [p.instance_id for p in pairs[1:]], 1, {"available": 30})],
            skipped={},
        ),
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_round_is_launched_with_its_options(
    built_round: ComparisonRound, open_page: OpenPage, sign_in: Any, width: int, admin: Any
) -> None:
    market.fund()
    page = open_page(width=width, height=900)
    sign_in(page, admin.username)
    page.goto(reverse("comparison-round", args=[built_round.project.slug, built_round.pk]))
    check_page(page, "the round's page")
    check_width(page, "the round's page")
    page.get_by_label("Show the reference inference").check()
    page.get_by_label("Candidates per page").select_option("5")
    page.get_by_role("button", name="See what it costs").click()
    expect(page.locator("#launch")).to_contain_text("the reference inference and 5 candidates at a time")
    check_page(page, "what it costs")
    page.get_by_role("button", name=re.compile("^Launch 1 task")).click()
    page.get_by_text("is launched; its tasks are being published").wait_for()
    built_round.refresh_from_db()
    assert built_round.batch is not None
    payload = built_round.batch.units.get().payload
    gold = built_round.sets.get().observation
    assert payload["reference"] == gold.inference
    assert (payload["clue"], payload["per_page"]) == (None, 5)
