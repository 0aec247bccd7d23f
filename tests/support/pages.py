"""Read a page as a person does: how its source is wrapped and indented says nothing."""

import re
from typing import Any

_BETWEEN_TAGS = re.compile(r">\s+<")


# Two frames: the first may have been under way before the page was whole.
DRAWN = "() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))"


def wait_until_seen(page: Any) -> None:
    """Wait until a page is loaded and drawn: nobody presses a key on a page that they cannot see yet.

    A browser may drop keys that come between a page's arrival and its first picture.
    """
    page.wait_for_load_state()
    page.evaluate(DRAWN)


def squeezed(response: Any) -> str:
    """Return a response's HTML without the white space between tags, and single spaces elsewhere."""
    return _BETWEEN_TAGS.sub("><", " ".join(response.content.decode().split()))
