"""The marketplace as a Django app."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class MarketplaceConfig(AppConfig):
    """Label ``marketplace``; creates the platform's own account after each migration if it is missing."""

    name = "hits.marketplace"
    label = "marketplace"
    verbose_name = "Marketplace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the hook that creates the platform's own requester account."""
        post_migrate.connect(_ensure_platform_requester, sender=self)


def _ensure_platform_requester(**kwargs: Any) -> None:
    from .services.accounts import ensure_platform_requester  # noqa: PLC0415  models are not loaded before

    ensure_platform_requester(using=kwargs["using"])
