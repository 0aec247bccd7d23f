"""Read a page as a person does: how its source is wrapped and indented says nothing."""

import re
import time
from collections.abc import Callable
from typing import Any

_BETWEEN_TAGS = re.compile(r">\s+<")


# Two frames: the first may have been under way before the page was whole.
DRAWN = "() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))"


def wait_until_seen(page: Any, root: Any = None) -> None:
    """Wait until a page is loaded and drawn: nobody presses a key on a page that they cannot see yet.

    A browser may drop keys that come between a page's arrival and its first picture. ``root`` is a frame in it that
    is drawn by itself.
    """
    page.wait_for_load_state()
    (root or page).locator("html").evaluate(DRAWN)


def give_time(page: Any, ready: Callable[[], bool]) -> None:
    """Wait until something holds, a minute at most: what is asserted next then says what is wrong."""
    ends = time.monotonic() + 60
    while not ready() and time.monotonic() < ends:
        page.wait_for_timeout(50)


def until(page: Any, ready: Callable[[], bool], what: str = "it did not come about") -> None:
    """Wait until something holds, and fail with ``what`` when it never does: a worker may still be starting."""
    ends = time.monotonic() + 180
    while not ready():
        assert time.monotonic() < ends, what
        page.wait_for_timeout(100)


def squeezed(response: Any) -> str:
    """Return a response's HTML without the white space between tags, and single spaces elsewhere."""
    return _BETWEEN_TAGS.sub("><", " ".join(response.content.decode().split()))
