"""How a batch's tasks are listed on a marketplace: their title, their description, and how long they take."""

from dataclasses import dataclass

from hits import registry
from hits.models import Batch

KEY = "listing"  # in a batch's provenance


@dataclass(frozen=True, slots=True)
class Listing:
    """What workers read before they accept."""

    title: str
    description: str
    keywords: str
    usual_seconds: int


def listing_of(batch: Batch) -> Listing:
    """Return the kind's own words, or those that the batch was launched with where its kind leaves them open.

    The batch's name keeps the groups of two batches apart in the worker's list.
    """
    kind = registry.get(batch.kind)
    own = batch.provenance.get(KEY, {})
    return Listing(
        title=own.get("title") or kind.title,
        description=own.get("description") or f"{kind.description} ({batch.name})",
        keywords=own.get("keywords") or kind.keywords,
        usual_seconds=own.get("usual_seconds") or kind.usual_seconds,
    )
