"""What axe-core finds on a page, and what is wider than its place, as one readable failure."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe


def check_page(page: Any, state: str) -> None:
    """Fail with every rule that the page breaks and the elements that break it; ``state`` says where we are."""
    found = Axe().run(page).response["violations"]
    lines = [f"{v['id']}: {v['help']} — {[n['html'][:160] for n in v['nodes'][:3]]}" for v in found]
    assert not lines, f"{state}: " + "\n".join(lines)


TOO_WIDE = """() => [...document.querySelectorAll(".scroll-x")]
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => box.querySelector("table").className)"""


def check_width(page: Any, state: str) -> None:
    """Fail when the page is wider than the window, or a table has to be scrolled sideways."""
    wide = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{state} is {wide} px too wide"
    tables = page.evaluate(TOO_WIDE)
    assert not tables, f"{state} has tables that scroll sideways: {tables}"
