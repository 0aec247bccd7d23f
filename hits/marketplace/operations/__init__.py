"""The API's operations, one small file a topic. Importing this package registers them all."""

from . import (
    account,
    assignments,
    blocks,
    bonuses,
    expiry,
    hits,
    listing,
    messages,
    notifications,
    qualification_requests,
    qualification_types,
    qualifications,
    review,
    uploads,
)

__all__ = [
    "account",
    "assignments",
    "blocks",
    "bonuses",
    "expiry",
    "hits",
    "listing",
    "messages",
    "notifications",
    "qualification_requests",
    "qualification_types",
    "qualifications",
    "review",
    "uploads",
]
