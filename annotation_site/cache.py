"""Redis as a cache that may be away: then nothing is known, and everything goes on.

What must not be forgotten in an outage (wrong passwords, wrong keys) is counted in the database.
"""

import logging
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import ConnectionError as RedisAway
from redis.exceptions import TimeoutError as RedisSlow

logger = logging.getLogger(__name__)


class ForgivingRedisCache(RedisCache):
    """Django's Redis cache; while Redis does not answer, every question is a miss and every write is lost.

    The beginning and the end of an outage are logged once each, by every process.
    """

    _is_away = False

    def _asked(self, ask: Callable[[], Any], otherwise: Any) -> Any:
        try:
            found = ask()
        except (RedisAway, RedisSlow) as error:
            if not ForgivingRedisCache._is_away:
                ForgivingRedisCache._is_away = True
                logger.error(
                    "the cache does not answer (%s): limits of pages and the API are not counted", error
                )
            return otherwise
        if ForgivingRedisCache._is_away:
            ForgivingRedisCache._is_away = False
            logger.warning("the cache answers again")
        return found

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        """Return a value, or the default."""
        return self._asked(lambda: super(ForgivingRedisCache, self).get(key, default, version), default)

    def set(self, key: Any, value: Any, *args: Any, **more: Any) -> None:
        """Keep a value, if that is possible."""
        self._asked(lambda: super(ForgivingRedisCache, self).set(key, value, *args, **more), None)

    def add(self, key: Any, value: Any, *args: Any, **more: Any) -> bool:
        """Keep a value unless there is one; in an outage it is taken for kept."""
        return bool(
            self._asked(lambda: super(ForgivingRedisCache, self).add(key, value, *args, **more), True)
        )

    def touch(self, key: Any, *args: Any, **more: Any) -> bool:
        """Prolong a value's life."""
        return bool(self._asked(lambda: super(ForgivingRedisCache, self).touch(key, *args, **more), False))

    def delete(self, key: Any, version: Any = None) -> bool:
        """Forget a value."""
        return bool(self._asked(lambda: super(ForgivingRedisCache, self).delete(key, version), False))

    def get_many(self, keys: Any, version: Any = None) -> dict[Any, Any]:
        """Return those values that are known."""
        found = self._asked(lambda: super(ForgivingRedisCache, self).get_many(keys, version), {})
        return dict(found)

    def set_many(self, data: Any, *args: Any, **more: Any) -> list[Any]:
        """Keep several values, if that is possible."""
        return list(
            self._asked(lambda: super(ForgivingRedisCache, self).set_many(data, *args, **more), []) or []
        )

    def has_key(self, key: Any, version: Any = None) -> bool:
        """Whether a value is known."""
        return bool(self._asked(lambda: super(ForgivingRedisCache, self).has_key(key, version), False))

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        """Count; in an outage from the beginning."""
        return int(self._asked(lambda: super(ForgivingRedisCache, self).incr(key, delta, version), delta))
