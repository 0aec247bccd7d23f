"""Links to pages of the apps above hits, which register their pages at start-up."""

from typing import Any

from django.urls import reverse

_PAGES: dict[str, str] = {}


def register_pages(**pages: str) -> None:
    """Register pages: a short name and the URL's name, as in ``register_pages(worker="worker-detail")``."""
    _PAGES.update(pages)


def page_url(name: str, *args: Any) -> str:
    """Return the address of a registered page, or an empty text if no installed app registered it."""
    return reverse(_PAGES[name], args=args) if name in _PAGES else ""
