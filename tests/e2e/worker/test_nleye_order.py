"""What a submission says of the order of two images is what the browser showed."""

from collections.abc import Callable
from typing import Any

import pytest

from hits.models import Hit, Project, Submission
from tests.support import market
from tests.support.box_editor import agreed, task_address
from tests.support.nleye_units import WHY, image_of, launched, plausibility_unit, ready, three_images

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]


def tiles(page: Any) -> list[str]:
    """Return the files of the images that the page shows, from left to right."""
    found = page.locator(".tile img").evaluate_all(
        """all => all.map((img) => [img.getBoundingClientRect().left, img.currentSrc])
               .sort((a, b) => a[0] - b[0]).map(([, src]) => src)"""
    )
    return [str(address).rsplit("/", 1)[-1] for address in found]


def answer(page: Any) -> None:
    """Answer all questions by keys; the left hypothesis is chosen."""
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.keyboard.type(WHY)
    for key in ("Tab", "Enter", "d", "Enter", "2", "Enter", "5", "Enter"):
        page.keyboard.press(key)


def test_stored_order_is_that_of_the_browser(site: str, open_page: OpenPage, project: Project) -> None:
    market.fund()
    images = three_images(project)
    roles = {str(row.file).rsplit("/", 1)[-1]: role for role, pk in images.items() for row in [image_of(pk)]}
    hit: Hit = launched(project, "triplet_plausibility", plausibility_unit(images))
    seen = []
    for name in ("wanda", "walter"):
        page = open_page()
        page.goto(task_address(agreed(market.accept(hit, market.market_worker(name)))))
        ready(page)
        order = [role for role in (roles[file] for file in tiles(page)) if role != "premise"]
        answer(page)
        stored = _submit(page)
        assert (stored.shown or {})["order"] == order
        assert stored.answer["choice"] == order[0]
        seen.append(order)
    assert sorted(seen) == [["h1", "h2"], ["h2", "h1"]]


def _submit(page: Any) -> Submission:
    before = set(Submission.objects.values_list("pk", flat=True))
    page.locator("#submit[aria-disabled=false]").focus()
    with page.expect_request("**/mturk/externalSubmit"):
        page.keyboard.press("Enter")
    return Submission.objects.exclude(pk__in=before).get()
