"""The context processor of console pages."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def origins_context(request: HttpRequest) -> dict[str, Any]:
    """Return the settings ``PUBLIC_URL`` and ``HIT_ORIGIN``."""
    return {"PUBLIC_URL": settings.PUBLIC_URL, "HIT_ORIGIN": settings.HIT_ORIGIN}
