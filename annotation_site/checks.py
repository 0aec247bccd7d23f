"""System checks that find deployment mistakes at start. Each has an id and names the fix."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from hits import registry
from hits.mturk import environments


@register()
def check_marketplace_endpoint(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that the endpoint is known and that production is confirmed."""
    try:
        environments.current_environment()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="deerstalker.E001")]
    return []


@register()
def check_origins(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that HIT_ORIGIN differs from PUBLIC_URL, and that a public server uses https."""
    found: list[CheckMessage] = []
    if settings.PUBLIC_URL == settings.HIT_ORIGIN:
        found.append(
            Warning(
                "HIT_ORIGIN equals PUBLIC_URL, so HIT pages could read the console's cookies.",
                hint="Give the HIT pages a host name of their own.",
                id="deerstalker.W001",
            )
        )
    local = {"localhost", "127.0.0.1"}
    for name in ("PUBLIC_URL", "HIT_ORIGIN"):
        parts = urlsplit(getattr(settings, name))
        if parts.scheme != "https" and parts.hostname not in local:
            found.append(
                Warning(
                    f"{name} is served without https.",
                    hint="Put a proxy with a certificate in front of it.",
                    id="deerstalker.W002",
                )
            )
    return found


@register()
def check_hit_kinds(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that every kind folder has a usable kind and that no two share a name."""
    found: list[CheckMessage] = []
    try:
        names = registry.kind_names()
    except LookupError as error:
        return [Error(str(error), id="deerstalker.E002")]
    for name in names:
        try:
            problems = registry.get_kind(name).find_problems()
        except (LookupError, ImportError, AttributeError) as error:
            problems = [str(error)]
        found += [Error(f"HIT kind {name}: {problem}", id="deerstalker.E003") for problem in problems]
    return found
