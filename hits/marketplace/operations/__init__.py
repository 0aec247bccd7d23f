"""The API's operations, one file per topic. Importing this package registers all of them."""

from . import (
    account,
    assignments,
    blocks,
    bonuses,
    hit_expiration,
    hit_lists,
    hits,
    messages,
    notifications,
    qualification_requests,
    qualification_types,
    qualifications,
    review,
    uploads,
)
