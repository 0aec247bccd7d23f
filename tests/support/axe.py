"""What axe-core finds on a page, as one readable failure."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe


def check_page(page: Any, state: str) -> None:
    """Fail with every rule that the page breaks and the elements that break it; ``state`` says where we are."""
    found = Axe().run(page).response["violations"]
    lines = [f"{v['id']}: {v['help']} — {[n['html'][:160] for n in v['nodes'][:3]]}" for v in found]
    assert not lines, f"{state}: " + "\n".join(lines)
