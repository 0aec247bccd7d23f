"""The API's operations, one small file a topic. Importing this package registers them all."""

from . import account, assignments, bonuses, expiry, hits, listing, review

__all__ = ["account", "assignments", "bonuses", "expiry", "hits", "listing", "review"]
