"""A real server, a real worker process and a real browser on the test's own database."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hits.models import Image, Project
from hits.services.images.import_image import import_image
from hits.services.launching.terms import LaunchTerms
from tests.support import box_editor, children, market
from tests.support.browser import CHROMIUM, FLAGS
from tests.support.loop import published
from tests.support.ready_server import ReadyServer

PATIENCE = 60_000  # milliseconds; on a busy machine a page can take many times as long as usual


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return a headless Chromium, or skip loudly."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: BROWSER TESTS ARE SKIPPED")
    from playwright.sync_api import expect, sync_playwright

    try:
        playwright = sync_playwright().start()
    except Exception as error:
        pytest.skip(f"Playwright's driver does not run ({error}): BROWSER TESTS ARE SKIPPED")
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=2 * PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield browser
    browser.close()
    playwright.stop()


@pytest.fixture(scope="session")
def loaded_site(django_db_setup: None) -> Iterator[ReadyServer]:
    """Return a web server that is loaded and can be started in no time."""
    server = children.ready_server()
    yield server
    server.close()


@pytest.fixture
def site(transactional_db: None, settings: Any, loaded_site: ReadyServer) -> Iterator[str]:
    """Run the web server on this test's database; yields the public address."""
    with loaded_site.running(settings.MEDIA_ROOT) as base:
        settings.PUBLIC_URL = base
        settings.HIT_ORIGIN = base.replace("localhost", "127.0.0.1")
        yield base


@pytest.fixture
def worker_process(site: str) -> Iterator[None]:
    """Run the background workers, so that what the pages queue is done."""
    with children.forked_workers():
        yield


@pytest.fixture
def open_page(chromium: Any, site: str) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a fresh browser window; errors on the page fail the test."""
    contexts, problems = [], []

    def open_(width: int = 1280, height: int = 900, **more: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": height}, base_url=site, **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: (
                problems.append(message.text) if "Content Security Policy" in message.text else None
            ),
        )
        return page

    yield open_
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def sign_in() -> Callable[[Any, str], None]:
    """Return a function that signs a person in through the page."""

    def go(page: Any, username: str) -> None:
        page.goto("/sign-in/")
        page.fill("input[name=username]", username)
        page.fill("input[name=password]", "a long pass phrase")
        page.locator("main form button").first.click()
        page.wait_for_url(lambda url: "/sign-in/" not in url)

    return go


@pytest.fixture
def accept_photo(
    site: str, project: Project, make_image: Callable[..., Image]
) -> Callable[..., market.Accepted]:
    """Return a function that publishes one photo of a size and takes it as a worker who agreed to everything."""

    def accept(
        width: int = 640, height: int = 480, *, worker: str = "wilma", redundancy: int = 1
    ) -> market.Accepted:
        market.fund()
        data = box_editor.plain_photo(width, height)
        image = import_image(project=project, name=f"{width}x{height}.jpg", data=data)[0]
        batch = published(project, [image], terms=LaunchTerms(redundancy=redundancy))
        hit = batch.units.get().hits.get()
        return box_editor.agreed(market.accept(hit, market.market_worker(worker)))

    return accept


@pytest.fixture
def open_task(
    accept_photo: Callable[..., market.Accepted], open_page: Callable[..., Any]
) -> Callable[..., box_editor.Task]:
    """Return a function that opens a task's page by itself, as large as the window; ``size`` is the photo's."""

    def open_(
        size: tuple[int, int] = (640, 480), *, folded: bool = True, redundancy: int = 1, **window: Any
    ) -> box_editor.Task:
        accepted = accept_photo(*size, redundancy=redundancy)
        page = open_page(**window)
        page.goto(box_editor.task_address(accepted))
        task = box_editor.Task(page, page, *size, accepted).ready()
        return task.fold() if folded else task

    return open_
