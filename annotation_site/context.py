"""What every console page shows besides its own content."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def console(request: HttpRequest) -> dict[str, Any]:
    """Return the origins and the marketplace's name."""
    return {"PUBLIC_URL": settings.PUBLIC_URL, "HIT_ORIGIN": settings.HIT_ORIGIN}
