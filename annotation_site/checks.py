"""Deployment mistakes, found at start. Each has an id and says how to mend it."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from hits import registry
from hits.mturk import environments


@register()
def marketplace_endpoint(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The endpoint is known, and production is guarded."""
    try:
        environments.current()
    except ImproperlyConfigured as error:
        return [Error(str(error), id="deerstalker.E001")]
    return []


@register()
def origins(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The HIT frame is cross-site, and a public server speaks https."""
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
                    hint="Put a proxy with a certificate before it.",
                    id="deerstalker.W002",
                )
            )
    return found


@register()
def hit_kinds(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Every kind folder holds a usable kind, and no two share a name."""
    found: list[CheckMessage] = []
    try:
        names = registry.names()
    except LookupError as error:
        return [Error(str(error), id="deerstalker.E002")]
    for name in names:
        try:
            wrong = registry.get(name).problems()
        except (LookupError, ImportError, AttributeError) as error:
            wrong = [str(error)]
        found += [Error(f"HIT kind {name}: {problem}", id="deerstalker.E003") for problem in wrong]
    return found
