"""What axe-core finds on a page, and what is wider than its place, as one readable failure."""

import os
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

from axe_playwright_python.sync_playwright import Axe

ALL_SIZES = os.environ.get("DEERSTALKER_ALL_SIZES") == "1"
ONLY_VIOLATIONS = {"resultTypes": ["violations"]}  # what is in order is not told element by element

# A colour that is on its way to another has no contrast to speak of. A transition may also never end: what is no
# longer drawn stands still.
SETTLED = """() => Promise.race([
    Promise.allSettled(document.getAnimations()
        .filter((one) => one instanceof CSSTransition).map((one) => one.finished)),
    new Promise((over) => setTimeout(over, 3000)),
])"""


@cache
def _script() -> str:
    return str(Axe().axe_script)  # half a megabyte


def check_page(page: Any, state: str) -> None:
    """Fail with every rule that the page breaks and the elements that break it; ``state`` says where we are."""
    page.wait_for_load_state()
    page.evaluate(SETTLED)
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(_script())
    found = page.evaluate("options => axe.run(options)", ONLY_VIOLATIONS)["violations"]
    lines = [f"{v['id']}: {v['help']} — {[n['html'][:160] for n in v['nodes'][:3]]}" for v in found]
    assert not lines, f"{state}: " + "\n".join(lines)


TOO_WIDE = """() => [...document.querySelectorAll(".scroll-x")]
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => box.querySelector("table").className)"""


def narrowest_and_widest(sizes: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return a window of the least and one of the greatest width, and between them every colour scheme."""
    widths = [width for width, _ in sizes]
    narrow = [size for size in sizes if size[0] == min(widths)]
    wide = [size for size in sizes if size[0] == max(widths)]
    chosen = max(product(narrow, wide), key=lambda pair: len({scheme for _, scheme in pair}))
    seen = {scheme for _, scheme in chosen}
    return list(dict.fromkeys([*chosen, *(size for size in sizes if size[1] not in seen)]))


def check_width(page: Any, state: str) -> None:
    """Fail when the page is wider than the window, or a table has to be scrolled sideways."""
    page.wait_for_load_state()  # words are there before the stylesheet is
    wide = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{state} is {wide} px too wide"
    tables = page.evaluate(TOO_WIDE)
    assert not tables, f"{state} has tables that scroll sideways: {tables}"


def check_sizes(page: Any, state: str, sizes: Sequence[tuple[int, str]]) -> None:
    """Check page and widths in each window of ``(width, colour scheme)``, without loading the page again.

    ``make nightly`` checks all of them, the other runs the narrowest and the widest, light and dark.
    """
    for width, scheme in sizes if ALL_SIZES else narrowest_and_widest(sizes):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        check_page(page, f"{state} at {width}, {scheme}")
        check_width(page, f"{state} at {width}, {scheme}")
