"""The account's balance, fetched at most twice a minute and never inside a transaction."""

import logging

from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured

from hits.mturk.boto import marketplace
from hits.mturk.environments import current_environment
from hits.mturk.port import Balance, MarketplaceError

logger = logging.getLogger(__name__)

CACHE_SECONDS = 30


def account_balance() -> Balance | None:
    """Return the balance of the configured marketplace, or ``None`` if it is not available."""
    try:
        key = f"balance:{current_environment().name}"
        cached_balance: Balance | None = cache.get(key)
        if cached_balance is None:
            cached_balance = marketplace().get_balance()
            cache.set(key, cached_balance, CACHE_SECONDS)
    except (MarketplaceError, ImproperlyConfigured) as error:
        logger.warning("the balance is not available: %s", error)
        return None
    return cached_balance


def clear_cached_balance() -> None:
    """Clear the cached balance after a payment."""
    cache.delete(f"balance:{current_environment().name}")
