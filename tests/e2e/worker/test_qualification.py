"""A whole qualification HIT in a browser: by keyboard at a desk, by touch on a phone; nothing lost by a reload."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.domain.states import SubmissionMatch
from hits.models import Batch, Hit, Image, Project, Submission
from tests.support import box_editor, market
from tests.support.axe import check_sizes
from tests.support.learning import qualification
from tests.support.loop import collected

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
READY = "html[data-ready=true]"


@pytest.fixture
def batch(site: str, project: Project, make_image: Callable[..., Image]) -> Batch:
    """Return a live qualification batch on three photos of different shapes."""
    market.fund()
    sizes = [(640, 480), (480, 640), (900, 300)]
    images = [make_image(seed, width=w, height=h) for seed, (w, h) in enumerate(sizes)]
    return qualification(project, images)


def _task_in_frame(page: Any, sign_in: Callable[[Any, str], None]) -> Any:
    """Start the task on the worker site with the keyboard, consent included, and return its frame."""
    market.market_worker("wilma")
    sign_in(page, "wilma")
    page.get_by_role("button", name="Start").first.focus()
    page.keyboard.press("Enter")
    frame = page.frame_locator("iframe")
    frame.locator("[data-agree]:enabled").wait_for()  # Tab passes it by until the script is ready
    frame.locator("#country").focus()
    page.keyboard.type("United States")
    for _ in range(12):
        page.keyboard.press("Tab")
        if frame.locator("[data-agree]:focus").count():
            break
    page.keyboard.press("Enter")
    frame.locator(READY).wait_for(state="attached")
    return frame


def _tab_to(page: Any, frame: Any, selector: str) -> None:
    """Press Tab until the control has the focus: whoever has no mouse must get there, too."""
    for _ in range(60):
        if frame.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is out of the keyboard's reach")


def _write_photo_by_keys(page: Any, frame: Any, photo: int) -> None:
    _tab_to(page, frame, f"#desc-{photo}")
    page.keyboard.type(f"Coloured stripes. It is photo {photo}.")
    for pair in (1, 2, 3):
        card = f"#p-{photo}-{pair}"
        _tab_to(page, frame, f"{card} summary")
        if frame.locator(card).get_attribute("open") is None:
            page.keyboard.press("Enter")
        _tab_to(page, frame, f"#clue-{photo}-{pair}")
        page.keyboard.type(f"the stripe {pair} of photo {photo}")
        page.keyboard.press("Enter")
        page.keyboard.type(f"Somebody painted it {pair} days ago.")
        _tab_to(page, frame, f"#c-{photo}-{pair}-1")
        page.keyboard.press("Space")
        for _ in range(1, pair):
            page.keyboard.press("ArrowRight")


def _check_answer(batch: Batch) -> None:
    (assignment,) = collected(batch)
    assert assignment.match == SubmissionMatch.MATCHED
    answer = Submission.objects.get().answer
    assert [photo["image"] for photo in answer["images"]] == Hit.objects.get().unit.payload["images"]
    for place, photo in enumerate(answer["images"], start=1):
        assert photo["description"] == f"Coloured stripes. It is photo {place}."
        assert [pair["clue"] for pair in photo["pairs"]] == [
            f"the stripe {n} of photo {place}" for n in (1, 2, 3)
        ]
        assert [pair["confidence"] for pair in photo["pairs"]] == [1, 2, 3]
    assert answer["exam"] == [{"question": "caption", "choice": 1}, {"question": "proof", "choice": 0}]


def test_qualification_task_by_keyboard(
    batch: Batch, open_page: Callable[..., Any], sign_in: Callable[[Any, str], None]
) -> None:
    page = open_page(1280, 900)
    frame = _task_in_frame(page, sign_in)
    _tab_to(page, frame, "#submit")
    page.keyboard.press("Enter")  # not complete: the focus goes to the first gap, and it is said
    assert frame.locator("#desc-1:focus").count() == 1
    assert frame.locator("#say").inner_text() == "Not complete yet: Photo 1: describe it."
    for photo in (1, 2, 3):
        _write_photo_by_keys(page, frame, photo)
        _tab_to(page, frame, f"[data-next='{photo}']")
        page.keyboard.press("Enter")
        assert frame.locator(f"#t-{photo + 1}:focus").count() == 1, "the next part's heading is read out"
    _tab_to(page, frame, "#q-1-1")
    page.keyboard.press("ArrowDown")
    _tab_to(page, frame, "#q-2-1")
    page.keyboard.press("Space")
    assert frame.locator("#tally").inner_text() == "9 of 9 pairs complete"
    assert frame.locator("#gaps li").count() == 0
    _tab_to(page, frame, "#submit")
    page.keyboard.press("Enter")
    page.get_by_text("Submitted", exact=False).first.wait_for()
    _check_answer(batch)


def _write_photo_by_taps(frame: Any, photo: int) -> None:
    frame.locator(f"#desc-{photo}").fill(f"Coloured stripes. It is photo {photo}.")
    for pair in (1, 2, 3):
        card = frame.locator(f"#p-{photo}-{pair}")
        if card.get_attribute("open") is None:
            card.locator("summary").tap()
        frame.locator(f"#clue-{photo}-{pair}").fill(f"the stripe {pair} of photo {photo}")
        frame.locator(f"#inf-{photo}-{pair}").fill(f"Somebody painted it {pair} days ago.")
        card.locator(".seg label").nth(pair - 1).tap()


def test_qualification_task_by_touch_on_a_phone_with_reload(
    batch: Batch, open_page: Callable[..., Any], sign_in: Callable[[Any, str], None]
) -> None:
    market.market_worker("wilma")
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    sign_in(page, "wilma")
    page.get_by_role("button", name="Start").first.tap()
    frame = page.frame_locator("iframe")
    frame.locator("#country").select_option("US")
    frame.get_by_role("button", name="I agree").tap()
    frame.locator(READY).wait_for(state="attached")

    photo = frame.locator(".stage--look:visible svg")
    before = photo.bounding_box()["width"]
    frame.get_by_role("button", name="Zoom in").tap()
    assert photo.bounding_box()["width"] > before, "a photo can be enlarged"
    frame.get_by_role("button", name="Fit the photo").tap()
    assert abs(photo.bounding_box()["width"] - before) < 1

    _write_photo_by_taps(frame, 1)
    frame.get_by_role("button", name="Next: photo 2").tap()
    assert abs(frame.locator(".steps").evaluate("steps => steps.getBoundingClientRect().top")) < 40
    frame.locator("#desc-2").fill("Coloured stripes. It is photo 2.")
    frame.locator("#save", has_text="Saved").wait_for()
    page.reload()
    frame = page.frame_locator("iframe")
    frame.locator(READY).wait_for(state="attached")
    assert frame.locator(".step[aria-current] span").first.inner_text() == "Photo 2", (
        "work goes on where it was left"
    )
    assert frame.locator("#desc-2").input_value() == "Coloured stripes. It is photo 2."
    assert frame.locator(".step").first.inner_text().split() == ["Photo", "1", "Complete"]
    _write_photo_by_taps(frame, 2)
    frame.locator(".step").nth(2).tap()
    _write_photo_by_taps(frame, 3)
    frame.locator("#gaps a").first.tap()  # the only gap left leads to the questions
    frame.locator("#q-1 .choice").nth(1).tap()
    frame.locator("#q-2 .choice").nth(0).tap()
    frame.get_by_role("button", name="Submit for $2.00").tap()
    page.get_by_text("Submitted", exact=False).first.wait_for()
    _check_answer(batch)


def _opened(batch: Batch, open_page: Callable[..., Any], **window: Any) -> Any:
    """Open the task's page by itself, with the consent given."""
    accepted = box_editor.agreed(market.accept(batch.units.get().hits.get(), market.market_worker("wilma")))
    page = open_page(**window)
    page.goto(box_editor.task_address(accepted))
    page.locator(READY).wait_for(state="attached")
    return page


@pytest.mark.long
def test_qualification_task_is_accessible_in_each_state(batch: Batch, open_page: Callable[..., Any]) -> None:
    both = [(1280, "light"), (1280, "dark")]
    page = _opened(batch, open_page)
    check_sizes(page, "at first", both)
    page.locator("#desc-1").fill("One thing is here. Then another thing. Then a third.")
    page.locator("#clue-1-1").fill("the stripe on the left")
    page.locator("#inf-1-1").fill("She painted it an hour ago.")
    page.locator("#long-1").wait_for()
    page.locator("#p-1-1 .hint mark", has_text="She").wait_for()
    check_sizes(page, "with a hint", both)
    page.locator(".step").last.click()
    page.locator("#q-1-2").check()
    check_sizes(page, "the last step", both)


def test_server_error_is_shown_at_its_field(batch: Batch, open_page: Callable[..., Any]) -> None:
    """The page's own checks are bypassed, as an old copy of its script would."""
    page = _opened(batch, open_page)
    for photo in (1, 2, 3):
        page.locator(".step").nth(photo - 1).click()
        page.locator(f"#desc-{photo}").fill(f"Photo {photo}.")
        for pair in (1, 2, 3):
            if page.locator(f"#p-{photo}-{pair}").get_attribute("open") is None:
                page.locator(f"#p-{photo}-{pair} summary").click()
            page.locator(f"#clue-{photo}-{pair}").fill("the stripe")
            page.locator(f"#inf-{photo}-{pair}").fill(
                "Somebody\u0007 painted it." if (photo, pair) == (2, 3) else "New."
            )
            page.locator(f"#p-{photo}-{pair} .seg label").first.click()
    page.locator(".step").last.click()
    page.locator("#q-1-1").check()
    page.locator("#q-2-1").check()
    page.locator("#submit").click()
    link = page.locator("#errors a")
    link.wait_for()
    assert link.inner_text().startswith(
        "Photo 2, pair 3, It might indicate that: contains the control character"
    )
    link.click()
    assert page.locator("#inf-2-3:focus").count() == 1
    assert not Submission.objects.exists()


def test_preview_shows_all_photos_and_accepts_no_answer(
    batch: Batch, open_page: Callable[..., Any], settings: Any
) -> None:
    page = open_page()
    address = reverse("hit-page", args=[batch.units.get().public_id])
    page.goto(f"{settings.HIT_ORIGIN}{address}?assignmentId={NO_ASSIGNMENT}")
    page.locator(READY).wait_for(state="attached")
    for photo in (1, 2, 3):
        page.locator(".step").nth(photo - 1).click()
        assert page.locator(f"#desc-{photo}").is_disabled()
        assert page.locator(".stage--look:visible").count() == 1
        assert page.locator(f"#t-{photo}").is_visible()
    page.locator(".step").last.click()
    assert page.locator("#q-1-1").is_disabled()
