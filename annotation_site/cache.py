"""A Redis cache that tolerates outages: until Redis answers, every read misses and every write is dropped.

Counts that must survive an outage (wrong passwords, wrong keys) are in the database.
"""

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

logger = logging.getLogger(__name__)


class TolerantRedisCache(RedisCache):
    """Django's Redis cache; while Redis does not answer, every read is a miss and every write is dropped.

    Each process logs the start and the end of an outage once.
    """

    _is_down = False

    def _call(self, call: Callable[[], Any], default: Any) -> Any:
        try:
            found = call()
        except (RedisConnectionError, RedisTimeoutError) as error:
            if not TolerantRedisCache._is_down:
                TolerantRedisCache._is_down = True
                logger.error(
                    "the cache does not answer (%s): limits of pages and the API are not counted", error
                )
            return default
        if TolerantRedisCache._is_down:
            TolerantRedisCache._is_down = False
            logger.warning("the cache answers again")
        return found

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        """Return a value, or the default."""
        return self._call(lambda: super(TolerantRedisCache, self).get(key, default, version), default)

    def set(self, key: Any, value: Any, *args: Any, **more: Any) -> None:
        """Store a value if Redis answers."""
        self._call(lambda: super(TolerantRedisCache, self).set(key, value, *args, **more), None)

    def add(self, key: Any, value: Any, *args: Any, **more: Any) -> bool:
        """Store a value unless the key exists; an outage counts as stored."""
        return bool(self._call(lambda: super(TolerantRedisCache, self).add(key, value, *args, **more), True))

    def touch(self, key: Any, *args: Any, **more: Any) -> bool:
        """Extend a value's lifetime."""
        return bool(self._call(lambda: super(TolerantRedisCache, self).touch(key, *args, **more), False))

    def delete(self, key: Any, version: Any = None) -> bool:
        """Delete a value."""
        return bool(self._call(lambda: super(TolerantRedisCache, self).delete(key, version), False))

    def get_many(self, keys: Any, version: Any = None) -> dict[Any, Any]:
        """Return the cached values."""
        found = self._call(lambda: super(TolerantRedisCache, self).get_many(keys, version), {})
        return dict(found)

    def set_many(self, data: Any, *args: Any, **more: Any) -> list[Any]:
        """Store several values if Redis answers."""
        return list(
            self._call(lambda: super(TolerantRedisCache, self).set_many(data, *args, **more), []) or []
        )

    def has_key(self, key: Any, version: Any = None) -> bool:
        """Return whether a value is cached."""
        return bool(self._call(lambda: super(TolerantRedisCache, self).has_key(key, version), False))

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        """Increment a counter; in an outage it starts at ``delta``."""
        return int(self._call(lambda: super(TolerantRedisCache, self).incr(key, delta, version), delta))
