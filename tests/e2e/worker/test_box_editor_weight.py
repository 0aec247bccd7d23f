"""How much a task page weighs and how soon the first box can be drawn, measured as it is served in production."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support import box_editor, children, market

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST_BYTES = 150_000
SLOWDOWN = 4
# The goal is a second. What this asserts is that nothing has gone badly wrong, on a machine that has other work too.
MOST_MS = 6_000
LOADED = """() => new Promise((done) => {
    const end = () => performance.getEntriesByType('navigation')[0].loadEventEnd;
    const look = () => (end() ? done(end()) : setTimeout(look, 20));
    look();
})"""
COLLECT = """
from django.core.management import call_command
call_command("collectstatic", interactive=False, verbosity=0)
"""


@pytest.fixture
def site(transactional_db: None, settings: Any, tmp_path: Any) -> Iterator[str]:
    """Serve collected, hashed and compressed files, as ``manage.py serve`` does."""
    collected = children.run(COLLECT, DEBUG="0")
    assert collected.returncode == 0, collected.stderr
    with children.server(children.free_port(), DEBUG="0") as base:
        settings.PUBLIC_URL = base
        settings.HIT_ORIGIN = base.replace("localhost", "127.0.0.1")
        yield base


def test_the_page_is_light_and_soon_ready(
    accept_photo: Callable[..., market.Accepted], open_page: Callable[..., Any], record_property: Any
) -> None:
    weight, requests, loaded_ms, ready_ms = _measured(open_page(), accept_photo(1920, 1080))
    for worker in ("walter", "wanda"):
        if ready_ms < MOST_MS:
            break
        # The machine may have had other work just then; what the page itself needs, it needs every time.
        again = _measured(open_page(), accept_photo(1920, 1080, worker=worker))
        weight = max(weight, again[0])
        if again[3] < ready_ms:
            _, requests, loaded_ms, ready_ms = again

    box_editor.report(record_property, "task_page_kB_compressed", weight / 1000)
    box_editor.report(record_property, "task_page_requests", requests)
    at = f"at_{SLOWDOWN}x_slower_cpu"
    box_editor.report(record_property, f"loaded_ms_{at}", loaded_ms)
    box_editor.report(record_property, f"first_box_possible_ms_{at}", ready_ms)
    box_editor.report(
        record_property, f"first_box_possible_ms_after_load_{at}", max(0.0, ready_ms - loaded_ms)
    )
    assert weight < MOST_BYTES
    assert ready_ms < MOST_MS


def _measured(page: Any, accepted: market.Accepted) -> tuple[int, int, float, float]:
    """Open the task in a fresh window; return its bytes, its requests, and when it was loaded and ready."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    kinds: dict[str, str] = {}
    sizes: dict[str, int] = {}
    session.on("Network.responseReceived", lambda e: kinds.update({e["requestId"]: e["type"]}))
    session.on("Network.loadingFinished", lambda e: sizes.update({e["requestId"]: e["encodedDataLength"]}))

    page.goto(box_editor.task_address(accepted))
    task = box_editor.Task(page, page, 1920, 1080, accepted).ready()
    # The mark is set by the page as it becomes ready to take a box; both times begin with the first byte asked for.
    ready_ms = page.evaluate("performance.getEntriesByName('ready')[0].startTime")
    loaded_ms = page.evaluate(LOADED)
    task.drag((200, 200), (500, 400))
    assert task.boxes() == [(200, 200, 300, 200)]
    page.wait_for_load_state("networkidle")

    weight = sum(size for request, size in sizes.items() if kinds.get(request) != "Image")
    return weight, len(sizes), loaded_ms, ready_ms
