"""Pages of the apps above hits. Each app registers its own when it starts, so that pages below can link to them."""

from typing import Any

from django.urls import reverse

_PAGES: dict[str, str] = {}


def register_pages(**pages: str) -> None:
    """Register pages by a short name, with the name of the address: ``register_pages(worker="worker-detail")``."""
    _PAGES.update(pages)


def page_url(name: str, *args: Any) -> str:
    """Return the address of a registered page, or nothing when no installed app brings it."""
    return reverse(_PAGES[name], args=args) if name in _PAGES else ""
