"""The account's balance, asked for at most twice a minute, and never inside a transaction."""

import logging

from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured

from hits.mturk.boto import marketplace
from hits.mturk.environments import current
from hits.mturk.port import Balance, MarketplaceError

logger = logging.getLogger(__name__)

SECONDS = 30


def balance() -> Balance | None:
    """Return the balance of the configured marketplace, or ``None`` when it cannot be had now."""
    try:
        key = f"balance:{current().name}"
        found: Balance | None = cache.get(key)
        if found is None:
            found = marketplace().balance()
            cache.set(key, found, SECONDS)
    except (MarketplaceError, ImproperlyConfigured) as error:
        logger.warning("the balance cannot be shown: %s", error)
        return None
    return found


def forget_balance() -> None:
    """Ask anew next time, because money moved."""
    cache.delete(f"balance:{current().name}")
