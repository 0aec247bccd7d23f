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
    qualification_types,
    qualifications,
    review,
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
    "qualification_types",
    "qualifications",
    "review",
]
