"""Tasks whose page is a form: what a browser sends is the kind's own sample answer, and nothing can be left out."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from hits import registry
from hits.models import Hit, Image, Project, Submission
from hits.services.images import import_image
from tests.support import market
from tests.support.axe import check_page, check_sizes
from tests.support.bench import READY, agreed, plain_photo, task_address
from tests.support.pages import wait_until_seen
from tests.support.play import Play

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "light")]


def _is_a_form(name: str) -> bool:
    module = inspect.getfile(type(registry.get(name)))
    script = Path(module).parent / "static" / name / "task.js"
    return script.is_file() and "plain-form.js" in script.read_text("utf-8")


FORMS = [name for name in registry.names() if _is_a_form(name)]


@pytest.fixture
def photos(site: str, project: Project) -> list[Image]:
    """Return a wide photo, a tall one and a square one."""
    market.fund()
    return [
        import_image(project=project, name=f"{width}.jpg", data=plain_photo(width, height))[0]
        for width, height in ((640, 426), (420, 640), (500, 500))
    ]


@pytest.mark.parametrize("name", FORMS)
def test_what_a_form_sends_is_the_answer(
    name: str, open_page: Callable[..., Any], project: Project, photos: list[Image]
) -> None:
    play = Play(registry.get(name), project, photos)
    task = agreed(market.accept(Hit.objects.get(unit__batch=play.launched()), market.market_worker("wanda")))
    page = open_page(width=1280, height=900)
    page.goto(task_address(task))
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    wait_until_seen(page)
    button = page.locator("#submit")
    expect(button).to_have_attribute("aria-disabled", "true")
    for gap in page.locator("#gaps a").all():
        assert gap.text_content(), "what is missing is said"
    page.locator("#gaps a").first.click()
    assert page.evaluate("document.activeElement.closest('#work') !== null"), (
        "a gap's link leads to its field"
    )
    check_sizes(page, name, SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    for field, value in play.sample["answer"].items():
        _fill(page, field, value)
    expect(page.locator("#gaps a")).to_have_count(0)
    page.locator("#save").get_by_text("Saved").wait_for()
    page.reload()
    page.locator(READY).wait_for(state="attached")
    expect(button).to_have_attribute("aria-disabled", "false")  # what was written is there again
    check_page(page, f"{name}, complete")
    with page.expect_request("**/mturk/externalSubmit"):
        button.click()
    assert Submission.objects.get().answer == play.sample["answer"]


def _fill(page: Any, field: str, value: Any) -> None:
    controls = page.locator(f"#work [name={field}]")
    kind = controls.first.get_attribute("type")
    if kind in ("radio", "checkbox"):
        for one in value if isinstance(value, list) else [value]:
            ticked = controls.first if one is True else page.locator(f"#work [name={field}][value='{one}']")
            ticked.check(force=True)
    else:
        controls.fill(str(value))
